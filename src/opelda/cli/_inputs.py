"""Documents and models, read and created from options."""

import glob
import json
import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opelda.cli import _options as options
from opelda.cli._exit import as_option
from opelda.cli._terminal import count, reading_bar, skipped_documents, tell
from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda.corpus import MiniBatch

BLOCK = 4096  # documents
# A vocabulary, or None where columns have no names, and their number.
Columns = tuple[Any, int]

PRESET = "best"
# parameters that a model keeps
FIXED = (
    "preset", "learner", "doc_topic_prior", "topic_word_prior", "random_state", "seeds",
    "n_sweeps", "n_runs", "n_groups",
)  # fmt: skip
SEEDS_FORM = "write one line such as 'health care: health, insurance, medicaid' per topic"


def read_corpus(
    sources: list[str], reading: options.NamelessReading, text: options.Text, **more: Any
) -> Any:
    """Read a collection, with a progress bar on a terminal."""
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
            progress=progress,
            **more,
        )
    skipped_documents(found.n_skipped, found.problems)
    return found


class Blocks:
    """A collection over known columns, as blocks of counts in constant memory."""

    def __init__(
        self, columns: Columns, sources: list[str], reading: options.NamelessReading, **more: Any
    ) -> None:
        from opelda.corpus import stream

        vocabulary = columns[0]
        options = {**reading_options(reading), "vocabulary": vocabulary, **more}
        self.opened = stream(source_of(sources), batch_size=BLOCK, **options)
        self._columns = columns
        if vocabulary is None and self.opened.vocabulary is not None:
            raise InputError("The model has numbered columns and no words; pass counts.")

    def __iter__(self) -> "Iterator[MiniBatch]":
        n_docs, opened = 0, self.opened
        with reading_bar() as progress:
            for batch in opened.batches(*self._columns, learn=False):
                yield batch
                # shown once it was worked on, not when it was read
                n_docs += batch.X.shape[0]
                if progress is not None:
                    progress(n_docs, *(opened.progress() or (None, None)))
        if not n_docs:
            raise InputError(f"{opened.label} holds no documents.")
        skipped_documents(opened.problems.n_skipped, opened.problems.first)


def read_over(
    columns: Columns, sources: list[str], reading: options.NamelessReading, **more: Any
) -> Any:
    """Read a collection with known columns into memory."""
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


class Embeddings:
    """Vectors of documents, from a .npy file or a column of lists, in the order of documents."""

    def __init__(self, given: str | None) -> None:
        import numpy as np

        self._given, self._next, self._file = given, 0, None
        if given is not None and given.endswith(".npy"):
            try:
                self._file = np.load(given, mmap_mode="r", allow_pickle=False)
            except (OSError, ValueError) as error:
                raise InputError(f"{given} is not a .npy file of numbers ({error}).") from None
        is_column = given is not None and self._file is None
        self.reading: dict[str, Any] = {"metadata": [given]} if is_column else {}

    def of(self, documents: Any) -> Any:
        """Return the vectors of the next documents; None if none are given."""
        import numpy as np

        n_docs = documents.X.shape[0]
        if self._file is not None:
            self._next += n_docs
            return self._file[self._next - n_docs : self._next]
        if self._given is None:
            return None
        lists = documents.metadata[self._given]  # as texts: "0.25, -1" or "[0.25, -1]"
        try:
            return np.array([each.strip("[]").split(",") for each in lists], np.float32)
        except (AttributeError, ValueError):
            raise InputError(
                f"column {self._given} must have a list of numbers for each document, all of the "
                "same length.",
                "embeddings",
            ) from None

    def end(self) -> None:
        """Raise for vectors without documents."""
        if self._file is not None and self._next != len(self._file):
            raise InputError(
                f"{self._given} has {len(self._file):,} rows, but there are {self._next:,} "
                "documents; pass the vectors of these documents.",
                "embeddings",
            )


def with_columns(
    reading: dict[str, Any], formula: str | None, content: str | None
) -> dict[str, Any]:
    """Return reading parameters with the columns of a formula, and another column."""
    if formula is None and content is None:
        return reading
    from opelda.corpus._design import names_in

    names = [*names_in(*filter(None, [formula])), *filter(None, [content])]
    return {"metadata": [*reading.get("metadata", ()), *names]}


def source_of(sources: list[str]) -> Any:
    """Return the source for `opelda.corpus.read`."""
    if len(sources) > 1 and "-" in sources:
        raise InputError(
            "Standard input (-) and files are mutually exclusive; pass only one of them."
        )
    for source in sources:
        # before `read` might take the name of a missing file for a text
        if source != "-" and not is_pattern(source) and not os.path.exists(source):
            raise InputError(f"{source!r} is not a file or folder; check the path.")
    # as paths: strings in a list might be taken for texts, too
    found = ["-" if source == "-" else Path(source) for source in sources]
    return found[0] if len(found) == 1 else found


def is_pattern(source: str) -> bool:
    """Whether a source stands for the files that match it."""
    return glob.has_magic(source) and not os.path.exists(source)


def reading_options(reading: options.NamelessReading) -> dict[str, Any]:
    """Return the reading parameters of `opelda.corpus.read` and `stream`."""
    nameless: dict[str, Any] = {"name_column": False}  # names take time, and memory
    return nameless | asdict(reading) | {"text_column": reading.text_column or None}


def as_given(corpus: Sequence[str], reading: options.NamelessReading) -> str:
    """Return documents and reading options as arguments of another command."""
    plain = {"format": "auto", "encoding": "utf-8", "on_error": "stop", "limit": reading.limit}
    plain["n_jobs"] = reading.n_jobs
    words = [*corpus] if len(corpus) <= 3 and "-" not in corpus else ["CORPUS"]
    for name, value in asdict(reading).items():
        for each in value if isinstance(value, list) else [value]:
            if each is not None and each != plain.get(name):
                words += [as_option(name), str(each)]
    return shlex.join(words)


def tokenizer_of(text: options.StreamText) -> Any:
    """Return a tokenizer with the options and the words of the files they name."""
    from opelda.corpus import Tokenizer, stop_words_from

    first, *more = _parts(text.stop_words or "auto")
    stop_words: Any = None if first == "none" else first or "auto"
    if Path(first).is_file() and first not in ("none", "auto"):
        stop_words = stop_words_from(first)
    elif Path(first).suffix or "/" in first:  # meant as a file
        raise InputError(f"The file {first!r} of stop words does not exist; check the path.")
    return Tokenizer(
        lower=not text.no_lower,
        pattern=text.pattern,
        stop_words=stop_words,
        extra_stop_words=[word for path in more for word in stop_words_from(path)],
        stem=text.stem,
        ngrams=text.ngrams or 1,
        phrases=text.phrases,
        keep_markup=text.keep_markup,
    )


def stop_word_files(text: options.StreamText) -> list[str]:
    """Return the files among the requested stop words."""
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


def checkpoint_file(folder: str | Path) -> Path:
    """Return the file that holds the model of a stream's checkpoint."""
    from opelda.learning.persistence._stored_model import CHECKPOINT_FILE as FILE

    return Path(folder) / FILE


def load_model(
    given: str,
    jobs: int | None = None,
    engine: str | None = None,
    inference: options.Accuracy | None = None,
) -> Any:
    """Read a model and set its engine and inference."""
    import opelda

    model = on_machine(opelda.load(given), jobs, engine)
    return model if inference is None else model.set_params(**inference.parameters())


def on_machine(model: Any, jobs: int | None, engine: str | None = None) -> Any:
    """Set the engine of a model."""
    return model.set_params(n_jobs=jobs, engine=engine or "cpu")


def columns_of(model: Any) -> Columns:
    """Return a model's vocabulary, None if its columns have no words, and their number."""
    return model._state.vocabulary, int(model.n_features_in_)


def topic_facts(coherence: Any, stability: Any, seeds: dict[str, str]) -> dict[str, Any]:
    """Return coherence, stability and recovered seed words, if the model has them."""
    return {
        "coherence": None if coherence is None else float(coherence.mean()),
        "incoherent_topics": None if coherence is None else int((coherence < 0).sum()),
        **({} if stability is None else {"stability": float(stability.mean())}),
        **({"seed_words_in_top_20": seeds} if seeds else {}),
    }


def seeds_found(model: Any) -> dict[str, str]:
    """Return how many seed words of each seeded topic are among its top words."""
    return {name: f"{n_found} of {n}" for name, (n_found, n) in model.seed_coverage_.items()}


def seeds_text(found: dict[str, str]) -> str:
    """Return a line about seed words."""
    return ", ".join(map(" ".join, found.items())) + " (among the 20 top words)"


def tell_missed(n: int) -> None:
    """Report the number of documents that missed the accuracy, if any."""
    if n:
        tell(f"{count(n, 'document')} missed the requested accuracy; request a lower accuracy.")


def new_learner(learning: options.Learning, n_topics: int | None = None) -> Any:
    """Return a `TopicModel` with a preset, or a learner of the paper, with the given options."""
    import opelda
    from opelda.inference import OPE

    given = {"random_state": 0} | _given(learning)
    if n_topics is not None:
        given["n_components"] = n_topics
    # at most one: a preset belongs to `TopicModel`, the paper's learners are classes
    preset, learner = given.pop("preset", None), given.pop("learner", None)
    if learner is None:
        if "n_iter" in given:
            given["inference"] = OPE(n_iter=given.pop("n_iter"))
        return opelda.TopicModel(preset=preset or PRESET, **given)
    if learner not in options.LEARNERS:
        raise InputError(
            f"must be one of {', '.join(options.LEARNERS)}, not {learner!r}.", "learner"
        )
    if preset is not None:
        raise InputError(
            "has no effect with {preset}; remove one of the options.", "learner", preset=preset
        )
    for name in {"n_sweeps", "n_runs", "n_groups", "seeds"} & given.keys():
        raise InputError(
            "has no effect with {learner}; remove one of the options.", name, learner=learner
        )
    return getattr(opelda, options.LEARNERS[learner])(**given)


def _given(learning: options.Learning) -> dict[str, Any]:
    """Return the parameters that were given, with the seed words of the file."""
    given = options.given_options(learning)
    return given | {"seeds": read_seeds(given["seeds"])} if "seeds" in given else given


def changed(model: Any, learning: options.Learning) -> Any:
    """Set the parameters that may change before a model continues to learn."""
    given = options.given_options(learning)
    for name in FIXED:
        if name in given:
            raise InputError(
                "has no effect here because the model has a fixed value; remove the option.", name
            )
    given.pop("n_passes", None)  # of this command, not of the model
    if "n_iter" in given and not hasattr(model, "n_iter"):
        from sklearn.base import clone

        method = model._settings()["inference"]
        if not hasattr(method, "n_iter"):
            what = f"{type(method).__name__} does not have this parameter"
            raise InputError(f"has no effect here: {what}; remove the option.", "n_iter")
        given["inference"] = clone(method).set_params(n_iter=given.pop("n_iter"))
    return model.set_params(**given)


def check_same(model: Any, learning: options.Learning, n_topics: int | None, folder: str) -> None:
    """Reject options that differ from the options of the checkpoint."""
    asked = _given(learning) | ({} if n_topics is None else {"n_components": n_topics})
    asked.pop("transform_method", None)  # learning does not depend on it
    # also the parameters that the preset chose
    has = {"learner": options.dashed(type(model).__name__)} | model.get_params(deep=False)
    if hasattr(model, "preset"):
        has = {**model._settings(), "learner": None}
        has["n_iter"] = getattr(has["inference"], "n_iter", None)
        seeds = model._seed_topics(model.n_components)
        if seeds is not None:
            has["seeds"] = {name: list(words) for name, words in seeds.words.items()}
    made = f"The checkpoint in {folder} was made"
    for name, value in asked.items():
        own = has.get(name)
        if own != value:
            said, advised = ("without", ...) if own is None else ("with", own)
            if name == "seeds" and own is not None:
                said, advised = "with other", ...
            raise InputError(
                f"{made} {said} {{{name}}}; remove the option.", None, **{name: advised}
            )


def read_seeds(given: str) -> dict[str, list[str]]:
    """Read seed words: a line for each topic, or from a .json file an object of lists."""
    path, found = Path(given), {}
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path} cannot be read as UTF-8 text: {error}.") from None
    if path.suffix.lower() == ".json":
        try:
            found = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{path}, line {error.lineno} is not valid JSON; correct the line."
            ) from None
    else:
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            name, _, rest = (part.strip() for part in line.partition(":"))
            words = [word.strip() for word in rest.split(",") if word.strip()]
            if not (name and words):
                raise InputError(f"{path}, line {number} lacks a name or words; {SEEDS_FORM}.")
            if name in found:
                raise InputError(
                    f"{path}, line {number} has the duplicate name {name!r}; "
                    "merge the two lists of words."
                )
            found[name] = words
    if not found:
        raise InputError(f"{path} has no seed words; {SEEDS_FORM}.")
    return found
