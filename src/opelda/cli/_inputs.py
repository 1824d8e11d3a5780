"""Documents read as the options say: as a corpus, or in blocks over columns that are known."""

import glob
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opelda.cli._exit import as_option
from opelda.cli._options import NamelessReading, StreamText, Text
from opelda.cli._terminal import reading_bar, skipped_documents
from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda.corpus import MiniBatch

BLOCK = 4096  # documents
# A vocabulary, or None where columns have no names; their number; the threads that read.
Columns = tuple[Any, int, int | None]


def read_corpus(
    sources: list[str], reading: NamelessReading, text: Text, jobs: int | None = None
) -> Any:
    """Read a collection, with a bar where somebody watches."""
    from opelda.corpus import read

    with reading_bar() as progress:
        found = read(
            source_of(sources),
            **reading_options(reading),
            tokenizer=tokenizer_of(text),
            min_df=as_bound("min_df", text.min_df),
            max_df=as_bound("max_df", text.max_df),
            max_features=text.max_features,
            dedupe=text.dedupe,
            n_jobs=jobs,
            progress=progress,
        )
    skipped_documents(found.n_skipped, found.problems)
    return found


class Blocks:
    """A collection over columns that are known, as blocks of counts in constant memory."""

    def __init__(
        self, columns: Columns, sources: list[str], reading: NamelessReading, **more: Any
    ) -> None:
        from opelda.corpus import stream

        vocabulary, _, n_jobs = columns
        options = {**reading_options(reading), "vocabulary": vocabulary, "n_jobs": n_jobs, **more}
        self.opened = stream(source_of(sources), batch_size=BLOCK, **options)
        self._columns = columns
        if vocabulary is None and self.opened.vocabulary is not None:
            raise InputError("The model has numbered columns and no words; give counts.")

    def __iter__(self) -> "Iterator[MiniBatch]":
        n_docs, opened = 0, self.opened
        with reading_bar() as progress:
            for batch in opened.batches(*self._columns[:2], learn=False):
                yield batch
                # shown once it was worked on, not when it was read
                n_docs += batch.X.shape[0]
                if progress is not None:
                    progress(n_docs, *(opened.progress() or (None, None)))
        if not n_docs:
            raise InputError(f"{opened.label} holds no documents.")
        skipped_documents(opened.problems.n_skipped, opened.problems.first)


def read_over(columns: Columns, sources: list[str], reading: NamelessReading, **more: Any) -> Any:
    """Read a collection whose columns are known beforehand into memory."""
    from polars import concat

    from opelda.corpus import Corpus
    from opelda.corpus._matrix import stacked

    # not by `read`, which cuts numbered columns to the number that is known
    blocks = Blocks(columns, sources, reading, **more)
    found = list(blocks)
    names = [name for block in found for name in block.names or ()]
    kept = [block.metadata for block in found if block.metadata is not None]
    X = stacked([block.X for block in found], columns[1])
    return Corpus(
        X,
        columns[0],
        names if len(names) == X.shape[0] else None,
        n_skipped=blocks.opened.problems.n_skipped,
        problems=tuple(blocks.opened.problems.first),
        n_unknown_tokens=sum(block.n_unknown_tokens for block in found),
        metadata=concat(kept) if kept else None,
    )


def source_of(sources: list[str]) -> Any:
    """Return the source for `opelda.corpus.read`."""
    if len(sources) > 1 and "-" in sources:
        raise InputError("Standard input (-) cannot be mixed with files; give only one.")
    for source in sources:
        # before `read` might take the name of a missing file for a text
        if source != "-" and not is_pattern(source) and not os.path.exists(source):
            raise InputError(f"{source!r} is no file or folder; check the path.")
    # as paths: strings in a list might be taken for texts, too
    found = ["-" if source == "-" else Path(source) for source in sources]
    return found[0] if len(found) == 1 else found


def is_pattern(source: str) -> bool:
    """Whether a source stands for the files that match it."""
    return glob.has_magic(source) and not os.path.exists(source)


def reading_options(reading: NamelessReading) -> dict[str, Any]:
    """Return the arguments of `opelda.corpus.read` and `stream` that say how to read."""
    nameless: dict[str, Any] = {"name_column": False}  # names take time, and memory
    return nameless | asdict(reading) | {"text_column": reading.text_column or None}


def as_given(corpus: Sequence[str], reading: NamelessReading) -> str:
    """Return documents and how they were read, as another command takes them."""
    plain = {"format": "auto", "encoding": "utf-8", "on_error": "stop", "limit": reading.limit}
    words = [*corpus] if len(corpus) <= 3 and "-" not in corpus else ["CORPUS"]
    for name, value in asdict(reading).items():
        for each in value if isinstance(value, list) else [value]:
            if each is not None and each != plain.get(name):
                words += [as_option(name), str(each)]
    return shlex.join(words)


def tokenizer_of(text: StreamText) -> Any:
    """Return how texts are made into words."""
    from opelda.corpus import Tokenizer

    stop_words, more = _stop_words(text.stop_words or "auto")
    return Tokenizer(
        lower=not text.no_lower,
        pattern=text.pattern,
        stop_words=stop_words,
        extra_stop_words=more,
        stem=text.stem,
        ngrams=text.ngrams or 1,
        phrases=text.phrases,
        keep_markup=text.keep_markup,
    )


def _stop_words(given: str) -> tuple[Any, list[str]]:
    """Return a language's code, None, or the words of a file; and the words of added files."""
    from opelda.corpus import stop_words_from

    first, *more = _parts(given)
    added = [word for path in more for word in stop_words_from(path)]
    if Path(first).is_file() and first not in ("none", "auto"):
        return stop_words_from(first), added
    if Path(first).suffix or "/" in first:  # meant as a file
        raise InputError(f"There is no file {first!r} of stop words; check the path.")
    return None if first == "none" else first or "auto", added


def stop_word_files(text: StreamText) -> list[str]:
    """Return the files among the stop words asked for."""
    return [part for part in _parts(text.stop_words or "") if Path(part).is_file()]


def _parts(given: str) -> list[str]:
    """Return the parts of a sum such as en+FILE."""
    return [given] if Path(given).is_file() else given.split("+")


def as_bound(name: str, given: str | None) -> int | float | None:
    """Return a number or a share of documents."""
    if given is None:
        return None
    try:
        if given.endswith("%"):
            return float(given[:-1]) / 100
        return int(given) if given.lstrip("+-").isdecimal() else float(given)
    except ValueError:
        raise InputError(f"must be a number (5) or a share (0.1), not {given!r}.", name) from None
