"""From options to documents."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from opelda.cli._options import Reading, Show, Text
from opelda.cli._progress import reading_bar
from opelda.errors import InputError


def read_corpus(
    sources: list[str],
    reading: Reading,
    text: Text,
    show: Show,
    *,
    jobs: int | None = None,
) -> Any:
    """Read a collection, with a bar where somebody watches."""
    from opelda.corpus import read

    with reading_bar(show) as progress:
        return read(
            source_of(sources),
            **reading_options(reading),
            tokenizer=tokenizer_of(text),
            min_df=as_bound("--min-df", text.min_df),
            max_df=as_bound("--max-df", text.max_df),
            max_features=text.max_features,
            limit=reading.limit,
            n_jobs=jobs,
            progress=progress,
        )


def check_words(documents: Any) -> None:
    """Refuse documents in which there is nothing to learn from."""
    if not documents.X.nnz:
        raise InputError(
            f"There are no words in these {len(documents):,} documents; look at them with `opelda "
            "info`, and at --text-column, --format, --stop-words and --pattern."
        )


def source_of(sources: list[str]) -> Any:
    """Return what `opelda.corpus.read` is to read."""
    if len(sources) > 1 and "-" in sources:
        raise InputError("Standard input (-) cannot be mixed with files; give one or the other.")
    for source in sources:
        # complains here: what is no file might be taken for a text
        if source != "-" and not is_pattern(source) and not _exists(source):
            raise InputError(f"There is no file or folder {source!r}; check the path.")
    # strings in a list might be taken for texts, too
    found = ["-" if source == "-" else Path(source) for source in sources]
    return found[0] if len(found) == 1 else found


def is_pattern(source: str) -> bool:
    """Whether a source stands for the files that match it.

    >>> is_pattern("logs/*.txt"), is_pattern("log.txt")
    (True, False)
    """
    return bool(set("*?[") & set(source)) and not _exists(source)


def _exists(source: str) -> bool:
    try:
        return bool(source) and Path(source).exists()
    except (OSError, ValueError):  # no path at all: too long, or with a zero byte
        return False


def reading_options(reading: Reading) -> dict[str, Any]:
    """Return the options that concern the source itself."""
    return {
        "format": reading.format,
        "text_column": list(reading.text_column) if reading.text_column else None,
        "name_column": reading.name_column,
        "encoding": reading.encoding,
        "column_words": reading.column_words,
        "first_id": reading.first_id,
        "on_error": reading.on_error,
    }


def tokenizer_of(text: Text, stop_words: str = "auto") -> Any:
    """Return how texts are made into words; `stop_words` where the user does not say."""
    from opelda.corpus import Tokenizer

    return Tokenizer(
        lower=not text.no_lower,
        pattern=text.pattern,
        stop_words=stop_words_of(text.stop_words or stop_words),
        stem=text.stem,
        ngrams=text.ngrams or 1,
    )


def stop_words_of(given: str) -> Any:
    """Return a language's code, None, or the words of a file."""
    if given == "none":
        return None
    path = Path(given)
    if given == "auto" or not path.is_file():
        if path.suffix or "/" in given:  # meant as a file
            raise InputError(f"There is no file {given!r} of stop words; check the path.")
        return given
    from opelda.corpus import stop_words_from

    return stop_words_from(path)


def as_bound(option: str, given: str | None) -> int | float | None:
    """Return a number of documents, or a share of them.

    >>> as_bound("--min-df", "5"), as_bound("--max-df", "0.5"), as_bound("--max-df", "50%")
    (5, 0.5, 0.5)
    """
    if given is None:
        return None
    try:
        if given.endswith("%"):
            return float(given[:-1]) / 100
        return int(given) if given.lstrip("+-").isdecimal() else float(given)
    except ValueError:
        raise InputError(
            f"{option} must be a number of documents (5) or a share (0.1), not {given!r}."
        ) from None


def given_options(group: Any) -> dict[str, Any]:
    """Return those of a group's options that were given."""
    values = {field.name: getattr(group, field.name) for field in fields(group)}
    defaults = {field.name: field.default for field in fields(group)}
    return {name: value for name, value in values.items() if value != defaults[name]}


def refuse_text_options(text: Text, why: str) -> None:
    """Complain of options for texts, which would have no effect."""
    refuse(given_options(text), why)


def refuse(names: Iterable[str], why: str, options: Mapping[str, str] | None = None) -> None:
    """Complain of options that would have no effect; `options` are those of other names."""
    for name in names:
        option = (options or {}).get(name, "--" + name.replace("_", "-"))
        raise InputError(f"{option} has no effect here: {why}; leave it out.")
