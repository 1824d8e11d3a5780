"""The options that commands share, in groups as the help shows them, and shell completion."""

import glob
import os
import re
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import fields
from typing import Any

from opelda import _names
from opelda.cli._app import RUNNING, Group, argument, option
from opelda.corpus.formats import FORMATS
from opelda.errors import InputError

# the panels of the help below the common options
READING, WORDS, LEARNING = "Advanced: reading", "Advanced: words", "Advanced: learning"
RESULTS, INFERENCE = "Advanced: results", "Advanced: inference"
COMMON = ""


def dashed(class_name: str) -> str:
    """Return a learner's name on the command line."""
    return re.sub("^(ML|[A-Z][a-z]+)", r"\1-", class_name).lower()


# the paper's seven: the command line's name -> class
LEARNERS = {dashed(name): name for name in _names.LEARNERS}


def complete_model(incomplete: str) -> Iterator[str]:
    """Suggest model files, and folders with model files."""
    for path in sorted(glob.glob(glob.escape(incomplete) + "*")):
        if os.path.isdir(path):
            yield f"{path}/"
        elif path.endswith(".opelda"):
            yield path


SOURCES = argument("CORPUS", "Files, folders or patterns; - is standard input.")
MODEL = argument(
    "MODEL", "A model file, or the checkpoint folder of a stream.", autocompletion=complete_model
)
AS_JSON = option("--json", "Print one JSON object.", False)
SEMICOLONS = option(
    "--semicolons", "Write .csv with semicolons and decimal commas, as German Excel needs.", False
)
JOBS = option("--jobs -j N", "Number of threads; default: all cores.", panel=COMMON, min=1)
TOPICS = option("--topics -k K", "Number of topics; default: 100.", min=1)
ONLY = option("--only N", "Show this topic (repeatable).", min=0)
ENGINES = "cpu (the default), cuda (an NVIDIA GPU), auto (the faster) or reference (plain NumPy)."
ENGINE = option("--engine NAME", f"Engine: {ENGINES}", choices=_names.ENGINES, panel=RUNNING)
TRANSFORM_METHOD = option(
    "--transform-method same|METHOD",
    "Inference method, or same for the method of learning. Default: same, but em instead of ope.",
    choices=("same", *_names.METHODS),
    panel=INFERENCE,
)


class Accuracy(Group, panel=INFERENCE):
    """How good documents' mixtures must be."""

    max_loss: str | None = option(
        "--max-loss NATS",
        "Maximum loss of log-likelihood per document in nats, as 0.01 or 0.0001/token. Other "
        "documents get the most likely mixture, which may predict short texts worse.",
    )

    def parameters(self) -> dict[str, Any]:
        """Return the given options as parameters of a model."""
        given = given_options(self)
        if self.max_loss is not None:
            loss = self.max_loss
            number = loss.removesuffix("/token")
            try:
                given["max_loss"] = float(number)
            except ValueError:
                raise InputError(
                    f"must be a number of nats such as 0.01 or 0.0001/token, not {loss!r}.",
                    "max_loss",
                ) from None
            if number != loss:
                from opelda.inference import PerToken

                given["max_loss"] = PerToken(given["max_loss"])
        return given


EMBEDDINGS = option(
    "--embeddings FILE|COLUMN",
    "Vectors of the documents: a .npy file with a row each, or a column of lists.",
    panel=READING,
)


PREVALENCE = option(
    "--prevalence FORMULA", 'Columns that topics depend on, as "party + s(year)".', panel=LEARNING
)


CONTENT = option(
    "--content COLUMN", "Column of groups that word topics in their own way.", panel=LEARNING
)


class Inference(Accuracy):
    """How documents' mixtures are inferred."""

    transform_method: str | None = TRANSFORM_METHOD


SUMMARIES = {name: format.summary for name, format in FORMATS.items()}


class NamelessReading(Group, panel=READING):
    """How documents are read by commands that show no names, and by how many threads."""

    n_jobs: int | None = JOBS
    format: str = option(
        "--format -f FORMAT", "Format; default: detected.", "auto", choices=SUMMARIES
    )
    text_column: list[str] | None = option(
        "--text-column -t COLUMN", "Key or column of the text (repeatable).", panel=COMMON
    )
    encoding: str = option("--encoding NAME", "Encoding of texts; default: UTF-8.", "utf-8")
    column_words: str | None = option(
        "--column-words FILE", "File of the columns' words, one per line."
    )
    first_id: int | None = option("--first-id N", "Number of the first word, 0 or 1.", min=0, max=1)
    on_error: str = option(
        "--on-error stop|skip", "Action on a malformed document: stop or skip.", "stop"
    )
    limit: int | None = option("--limit N", "Maximum number of documents to read.", min=1)


class Reading(NamelessReading):
    """How documents and their names are read."""

    name_column: str | None = option("--name-column COLUMN", "Key or column of document names.")


class Columns(Group, panel=COMMON):
    """Columns of the documents: times, groups and covariates."""

    time: str | None = option("--time COLUMN", "Key or column of document times.")
    unit: str | None = option(
        f"--unit {'|'.join(_names.UNITS)}", "Length of a time interval.", panel=RESULTS
    )
    by: str | None = option("--by COLUMN", "Key or column of document groups.")
    effect: list[str] | None = option(
        "--effect FORMULA",
        'Columns to regress topic shares on, as party or "party * s(year)" (repeatable).',
    )
    at: str | None = option(
        "--at COLUMN", "Predict shares over this column of --effect.", panel=RESULTS
    )
    clusters: str | None = option(
        "--clusters COLUMN", "Column of documents alike, such as author, for --effect.",
        panel=RESULTS,
    )  # fmt: skip
    n_splits: int | None = option(
        "--splits N",
        "Random splits for --effect on training documents; 3 are enough and take six fits.",
        min=2, panel=RESULTS,
    )  # fmt: skip

    def check(self) -> None:
        """Reject an unknown unit, and more than one kind of column."""
        from opelda._validation import choice  # and NumPy

        if self.unit is not None:
            choice("unit", self.unit, _names.UNITS)
        given = [f"--{name}" for name in ("time", "by", "effect") if getattr(self, name)]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} are mutually exclusive; remove one of them.")
        for name in ("at", "clusters", "n_splits"):
            if getattr(self, name) and not self.effect:
                raise InputError("requires --effect; add --effect FORMULA.", name)

    def effects(self, model: Any, documents: Any, **more: Any) -> Any:
        """Return the table of --effect, with a bar while topics are learned again."""
        from opelda.cli._terminal import reading_bar
        from opelda.report import estimate_effect

        more |= {"at": self.at, "clusters": self.clusters, "n_splits": self.n_splits or 0}
        with reading_bar("refitting", "fits") if self.n_splits else nullcontext() as bar:
            if bar is not None:
                more["progress"] = lambda doing, done, fits: bar(done, done, fits)
            return estimate_effect(model, documents, self.effect or (), **more)

    def names(self) -> list[str]:
        """Return the columns that are named."""
        from opelda.corpus._design import names_in  # and SciPy

        named = [name for name in (self.time, self.by, self.clusters) if name is not None]
        return named + names_in(*(self.effect or ()))


class StreamText(Group, panel=WORDS):
    """How texts are made into words, as they come."""

    stop_words: str | None = option(
        "--stop-words en|auto|none|FILE|+FILE",
        "Words to exclude: a language or a file; +FILE and en+FILE add a file.",
        panel=COMMON,
    )
    stem: str | None = option(
        "--stem LANGUAGE", "Reduce words to stems of a language, such as english."
    )
    ngrams: int | None = option("--ngrams N", "2: count pairs of words, too.", min=1, max=2)
    phrases: bool = option("--phrases", "Merge frequent pairs of words into single words.", False)
    pattern: str | None = option("--pattern REGEX", "Regular expression of a word.")
    keep_markup: bool = option(
        "--keep-markup", "Keep URLs, HTML, e-mail addresses and @names as words.", False
    )
    no_lower: bool = option("--no-lower", "Distinguish upper and lower case.", False)
    max_features: int | None = option(
        "--max-features N", "Keep only the N most frequent words.", min=1
    )
    min_df: str | None = option("--min-df N|SHARE", "Exclude words in fewer documents than this.")


class Text(StreamText):
    """How the texts of a whole collection are made into words."""

    max_df: str | None = option("--max-df N|SHARE", "Exclude words in more documents than this.")
    dedupe: bool = option("--dedupe", "Remove near duplicates of earlier documents.", False)


class Learning(Group, panel=LEARNING):
    """How topics are learned: each field a parameter of the learner; None is the preset's."""

    preset: str | None = option(
        "--preset best|fast|paper",
        "Preset of parameters: best (default), fast or paper.",
        panel=COMMON,
    )
    seeds: str | None = option(
        "--seed-words FILE", "File of seed words with lines 'name: word, word'.", panel=COMMON
    )
    learner: str | None = option(
        "--learner NAME",
        f"Learner instead of a preset: {', '.join(LEARNERS)}.",
        choices=LEARNERS.keys(),
    )
    batch_size: int | None = option(
        "--batch-size N", "Documents per update (mini-batch size).", min=1
    )
    doc_topic_prior: float | None = option(
        "--alpha X", "Dirichlet prior of document topics; default: 1/topics, adapted."
    )
    topic_word_prior: float | None = option("--eta X", "Dirichlet prior of topic words.")
    n_iter: int | None = option("--iterations N", "Inference iterations per document.", min=1)
    transform_method: str | None = TRANSFORM_METHOD
    random_state: int | None = option("--seed N", "Random seed; default: 0.", min=0)


class CollectionLearning(Learning):
    """How topics of a whole collection are learned."""

    n_passes: int | None = option(
        "--passes N", "Passes; default: 1 or 2, fast: up to 10 for few documents.", min=1
    )
    n_sweeps: int | None = option(
        "--sweeps N", "Final Gibbs sweeps; default: 80 with best, else 0.", min=0
    )
    n_runs: int | None = option("--runs N", "Number of runs; the most typical one is kept.", min=1)
    n_groups: int | None = option(
        "--groups N", "Groups of similar documents that share a prior; 0: none.", min=0
    )


def given_options(group: Any) -> dict[str, Any]:
    """Return the options of a group that differ from their defaults."""
    values = {part.name: (getattr(group, part.name), part.default) for part in fields(group)}
    return {name: value for name, (value, default) in values.items() if value != default}


def refuse(group: Any, why: str) -> None:
    """Reject a group's options that were given and would have no effect."""
    for name in given_options(group).keys() - {"n_jobs"}:
        raise InputError(f"has no effect here: {why}; remove the option.", name)
