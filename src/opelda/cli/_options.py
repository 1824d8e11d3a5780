"""The options that commands share, in groups as the help shows them, and shell completion."""

import glob
import os
import re
from collections.abc import Iterator
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
    """Offer model files, and folders that may hold some."""
    for path in sorted(glob.glob(glob.escape(incomplete) + "*")):
        if os.path.isdir(path):
            yield f"{path}/"
        elif path.endswith(".opelda"):
            yield path


SOURCES = argument("CORPUS", "Files, folders or patterns; - is standard input.")
MODEL = argument(
    "MODEL", "A model file, or the checkpoint folder of a stream.", autocompletion=complete_model
)
AS_JSON = option("--json", "Print one JSON object, for programs.", False)
JOBS = option("--jobs -j N", "Threads; every core if not given.", panel=COMMON, min=1)
TOPICS = option("--topics -k K", "Number of topics; 100.", min=1)
ONLY = option("--only N", "Show this topic (repeatable).", min=0)
ENGINES = "cpu (the default), cuda (an NVIDIA GPU), auto (the faster) or reference (plain NumPy)."
ENGINE = option("--engine NAME", f"Where it runs: {ENGINES}", choices=_names.ENGINES, panel=RUNNING)
TRANSFORM_METHOD = option(
    "--transform-method same|METHOD",
    "Method of inference, or same: that of learning. If not given the same, but em for ope.",
    choices=("same", *_names.METHODS),
    panel=INFERENCE,
)


class Accuracy(Group, panel=INFERENCE):
    """How good documents' mixtures must be."""

    max_loss: str | None = option(
        "--max-loss NATS",
        "Nats a document's likelihood may be below the optimum: 0.01, or 0.0001/token. Others get "
        "the most likely mixture, which may predict short texts worse.",
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
                    f"must be 0.01 or 0.0001/token, say, not {loss!r}.", "max_loss"
                ) from None
            if number != loss:
                from opelda.inference import PerToken

                given["max_loss"] = PerToken(given["max_loss"])
        return given


class Inference(Accuracy):
    """How documents' mixtures are inferred."""

    transform_method: str | None = TRANSFORM_METHOD


SUMMARIES = {name: format.summary for name, format in FORMATS.items()}


class NamelessReading(Group, panel=READING):
    """How documents are read by commands that show no names, and by how many threads."""

    n_jobs: int | None = JOBS
    format: str = option("--format -f FORMAT", "Found out if not given.", "auto", choices=SUMMARIES)
    text_column: list[str] | None = option(
        "--text-column -t COLUMN", "Key or column that holds the text (repeatable).", panel=COMMON
    )
    encoding: str = option("--encoding NAME", "Of texts; UTF-8 if not given.", "utf-8")
    column_words: str | None = option("--column-words FILE", "The columns' words, a line each.")
    first_id: int | None = option(
        "--first-id N", "Number of the first word, if unusual.", min=0, max=1
    )
    on_error: str = option("--on-error stop|skip", "What to do at a malformed document.", "stop")
    limit: int | None = option("--limit N", "Read at most N documents.", min=1)


class Reading(NamelessReading):
    """How documents and their names are read."""

    name_column: str | None = option(
        "--name-column COLUMN", "Key or column of the documents' names."
    )


class Columns(Group, panel=COMMON):
    """Columns of the documents: times, groups and covariates."""

    time: str | None = option("--time COLUMN", "Key or column of the documents' times.")
    unit: str | None = option(
        f"--unit {'|'.join(_names.UNITS)}", "Length of each time.", panel=RESULTS
    )
    by: str | None = option("--by COLUMN", "Key or column of the documents' groups.")
    effect: list[str] | None = option(
        "--effect COLUMN", "Regress shares of topics on this (repeatable)."
    )

    def check(self) -> None:
        """Reject an unknown unit, and more than one kind of column."""
        from opelda._validation import choice  # and NumPy

        if self.unit is not None:
            choice("unit", self.unit, _names.UNITS)
        given = [f"--{name}" for name in ("time", "by", "effect") if getattr(self, name)]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} are answered one at a time; leave one out.")

    def names(self) -> list[str]:
        """Return the columns that are named."""
        return [name for name in (self.time, self.by, *(self.effect or ())) if name is not None]


class StreamText(Group, panel=WORDS):
    """How texts are made into words, as they come."""

    stop_words: str | None = option(
        "--stop-words en|auto|none|FILE|+FILE",
        "Words to leave out, of a language or of a file; +FILE and en+FILE add a file.",
        panel=COMMON,
    )
    stem: str | None = option("--stem LANGUAGE", "Reduce words to stems, as of english.")
    ngrams: int | None = option("--ngrams N", "2: also pairs of words.", min=1, max=2)
    phrases: bool = option("--phrases", "Make frequent pairs of words single words.", False)
    pattern: str | None = option("--pattern REGEX", "Regular expression of a word.")
    keep_markup: bool = option(
        "--keep-markup", "Keep URLs, HTML, e-mail addresses and @names as words.", False
    )
    no_lower: bool = option("--no-lower", "Keep capital letters apart.", False)
    max_features: int | None = option("--max-features N", "Keep the most frequent words.", min=1)
    min_df: str | None = option("--min-df N|SHARE", "Leave out words of fewer documents than this.")


class Text(StreamText):
    """How the texts of a whole collection are made into words."""

    max_df: str | None = option("--max-df N|SHARE", "Leave out words of more documents than this.")
    dedupe: bool = option("--dedupe", "Leave out near copies of earlier documents.", False)


class Learning(Group, panel=LEARNING):
    """How topics are learned: each field a parameter of the learner; None is the preset's."""

    preset: str | None = option(
        "--preset best|fast|paper", "Settings: best (the default), fast or paper.", panel=COMMON
    )
    seeds: str | None = option(
        "--seed-words FILE", "Lines 'name: word, word' of your topics.", panel=COMMON
    )
    learner: str | None = option(
        "--learner NAME", f"In place of a preset: {', '.join(LEARNERS)}.", choices=LEARNERS.keys()
    )
    batch_size: int | None = option("--batch-size N", "Documents per update.", min=1)
    doc_topic_prior: float | None = option(
        "--alpha X", "Prior of a document's topics; 1/topics, adapted."
    )
    topic_word_prior: float | None = option("--eta X", "Prior of a topic's words.")
    n_iter: int | None = option("--iterations N", "Steps of inference per document.", min=1)
    transform_method: str | None = TRANSFORM_METHOD
    random_state: int | None = option("--seed N", "Of the random numbers; 0.", min=0)


class CollectionLearning(Learning):
    """How topics of a whole collection are learned."""

    n_passes: int | None = option(
        "--passes N", "Until 400,000 documents are seen; fast: 100,000.", min=1
    )
    n_sweeps: int | None = option(
        "--sweeps N", "Closing Gibbs sweeps; 80 with best, else 0.", min=0
    )
    n_runs: int | None = option("--runs N", "Learn N times, and keep the most typical run.", min=1)


def given_options(group: Any) -> dict[str, Any]:
    """Return the options of a group that differ from their defaults."""
    values = {part.name: (getattr(group, part.name), part.default) for part in fields(group)}
    return {name: value for name, (value, default) in values.items() if value != default}


def refuse(group: Any, why: str) -> None:
    """Reject a group's options that were given and would have no effect."""
    for name in given_options(group).keys() - {"n_jobs"}:
        raise InputError(f"has no effect here: {why}; leave it out.", name)
