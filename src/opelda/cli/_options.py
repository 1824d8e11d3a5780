"""The options that commands share, in groups as the help shows them, and what the shell offers."""

import glob
import os
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Any

import typer

from opelda import _names
from opelda.cli._app import group, one_of, option
from opelda.corpus.formats import FORMATS
from opelda.errors import InputError

# the panels of the help below the common options
READING, WORDS, LEARNING = "Advanced: reading", "Advanced: words", "Advanced: learning"
RUNNING, RESULTS = "Advanced: running", "Advanced: results"


def dashed(class_name: str) -> str:
    """Return what the command line calls a learner.

    >>> dashed("MLOPE"), dashed("OnlineCVB0"), dashed("TopicModel")
    ('ml-ope', 'online-cvb0', 'topic-model')
    """
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


Sources = Annotated[
    list[str],
    typer.Argument(help="Files, folders or patterns; - is standard input.", metavar="CORPUS"),
]
Model = Annotated[
    str,
    typer.Argument(
        help="A model file, or the checkpoint folder of a stream.",
        metavar="MODEL",
        autocompletion=complete_model,
    ),
]
JSON_HELP = "Print one JSON object, for programs."
AsJson = Annotated[bool, typer.Option("--json", help=JSON_HELP)]
AsJsonAdvanced = Annotated[bool, typer.Option("--json", help=JSON_HELP, rich_help_panel=RUNNING)]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", help="Threads; every core if not given.", min=1, metavar="N"),
]
Engine = Annotated[
    str | None,
    typer.Option(
        help="Where it runs: cpu (the default), cuda (an NVIDIA GPU), auto (the GPU where that is "
        "faster) or reference (slow, plain NumPy).",
        metavar="NAME",
        autocompletion=one_of(_names.ENGINES),
        rich_help_panel=RUNNING,
    ),
]


def transform_option() -> Any:
    """Return the option for how a model infers documents' topics."""
    return option(
        None,
        help="How the model infers documents' topics: same (as while learning) or a method; if not "
        "given as while learning, but em in the place of ope, which predicts words better.",
        metavar="same|METHOD",
        choices=("same", *_names.METHODS),
        panel="Advanced: inference",
    )


@group("Advanced: inference")
class AccuracyOptions:
    """How good documents' mixtures must be."""

    max_loss: str | None = option(
        None,
        help="Nats, such as 0.01, a document's likelihood may be below the optimum; or nats for "
        "each of its tokens, such as 0.0001/token. Others get the most likely mixture, which may "
        "predict short texts worse (see `opelda evaluate`).",
        metavar="NATS",
    )


@group(RUNNING)
class Show:
    """How much is said, and how."""

    quiet: bool = option(False, "--quiet", "-q", help="Print results and errors only.", common=True)
    verbose: bool = option(
        False, "--verbose", "-v", help="Print a line per update, and every document skipped."
    )
    debug: bool = option(False, "--debug", help="Show tracebacks (or set OPELDA_DEBUG=1).")


@group(READING)
class NamelessReading:
    """How documents are read by commands that do not show their names."""

    format: str = option(
        "auto",
        "--format",
        "-f",
        help="The files' format; found out if not given.",
        metavar="FORMAT",
        autocompletion=one_of({name: format.summary for name, format in FORMATS.items()}),
    )
    text_column: list[str] | None = option(
        None,
        "--text-column",
        "-t",
        help="Column or key that holds the text (repeatable).",
        metavar="COLUMN",
        common=True,
    )
    encoding: str = option("utf-8", help="Of texts; UTF-8 if not given.")
    column_words: str | None = option(
        None,
        help="File of the columns' words, one per line; found beside the corpus.",
        metavar="FILE",
    )
    first_id: int | None = option(
        None,
        help="Number of the first word, where a file breaks its format's custom.",
        min=0,
        max=1,
    )
    on_error: str = option(
        "stop", help="stop at a malformed document, or skip and count it.", choices=("stop", "skip")
    )
    limit: int | None = option(None, help="Read at most N documents.", min=1)


@group(READING)
class Reading(NamelessReading):
    """How documents and their names are read."""

    name_column: str | None = option(
        None, help="Column or key that names the documents; found by its name.", metavar="COLUMN"
    )


@group("")
class Columns:
    """Columns of the documents that topics are looked at by."""

    time: str | None = option(None, help="Column or key of the documents' times.", metavar="COLUMN")
    unit: str | None = option(
        None, help="Length of each time; as fits if not given.", choices=_names.UNITS, panel=RESULTS
    )
    by: str | None = option(
        None, help="Column or key of the documents' groups, such as a section.", metavar="COLUMN"
    )
    effect: list[str] | None = option(
        None,
        help="Column or key that shares of topics are regressed on (repeatable).",
        metavar="COLUMN",
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


@group(WORDS)
class StreamText:
    """How texts are made into words, as they come."""

    stop_words: str | None = option(
        None,
        help="Words to leave out: a language such as en, auto (the texts' own), none, or a file "
        "with a word a line; +FILE adds a file to the texts' own language, en+FILE to another.",
        metavar="en|auto|none|FILE|+FILE",
        choices=("auto", "none", "en", "de", "fr", "es", "it", "pt", "nl"),
        common=True,
    )
    stem: str | None = option(
        None, help="Reduce words to stems of a language, such as english.", metavar="LANGUAGE"
    )
    ngrams: int | None = option(None, help="2: pairs of words are words too.", min=1, max=2)
    phrases: bool = option(
        False, "--phrases", help="Let frequent pairs of words become single words."
    )
    pattern: str | None = option(None, help="Regular expression of a word.", metavar="REGEX")
    keep_markup: bool = option(
        False, "--keep-markup", help="Keep URLs, HTML, e-mail addresses and @names as words."
    )
    no_lower: bool = option(False, "--no-lower", help="Keep capital letters apart.")
    max_features: int | None = option(None, help="Keep the most frequent words only.", min=1)
    min_df: str | None = option(
        None, help="Leave out words of fewer documents: 5, or a share: 0.001.", metavar="N|SHARE"
    )


@group(WORDS)
class Text(StreamText):
    """How the texts of a whole collection are made into words."""

    max_df: str | None = option(
        None, help="Leave out words of more documents: 10000, or a share: 0.5.", metavar="N|SHARE"
    )
    dedupe: bool = option(
        False, "--dedupe", help="Leave out documents that are nearly copies of earlier ones."
    )


@group(LEARNING)
class Learning:
    """How topics are learned: each field a parameter of the learner; None is the preset's."""

    preset: str | None = option(
        None,
        help="The settings: best (the default), fast, or paper; options for learning replace one "
        "of them each.",
        choices=_names.PRESETS,
        common=True,
    )
    seeds: str | None = option(
        None,
        "--seed-words",
        help="File of your own topics: 'name: word, word'.",
        metavar="FILE",
        common=True,
    )
    learner: str | None = option(
        None,
        help="In place of a preset, a learner of the paper with the paper's settings: "
        f"{', '.join(LEARNERS)}.",
        choices=LEARNERS.keys(),
        metavar="NAME",
    )
    batch_size: int | None = option(None, help="Documents per update.", min=1)
    doc_topic_prior: float | None = option(
        None, "--alpha", help="Prior of a document's topics; 1/topics, and sweeps adapt it."
    )
    topic_word_prior: float | None = option(None, "--eta", help="Prior of a topic's words.")
    n_iter: int | None = option(
        None, "--iterations", help="Steps of inference per document.", min=1
    )
    transform_method: str | None = transform_option()
    random_state: int | None = option(None, "--seed", help="Of the random numbers; 0.", min=0)


def asked_accuracy(group: AccuracyOptions) -> dict[str, Any]:
    """Return the accuracy that was asked for as a model's parameter."""
    if group.max_loss is None:
        return {}
    number = group.max_loss.removesuffix("/token")
    try:
        loss: Any = float(number)
    except ValueError:
        raise InputError(
            f"must be nats, such as 0.01, or 0.0001/token, not {group.max_loss!r}.", "max_loss"
        ) from None
    if number != group.max_loss:
        from opelda.inference import PerToken

        loss = PerToken(loss)
    return {"max_loss": loss}


def given_options(group: Any) -> dict[str, Any]:
    """Return those of a group's options that were given."""
    values = {part.name: (getattr(group, part.name), part.default) for part in fields(group)}
    return {name: value for name, (value, default) in values.items() if value != default}


def refuse(group: Any, why: str) -> None:
    """Reject a group's options that were given and would have no effect."""
    for name in given_options(group):
        raise InputError(f"has no effect here: {why}; leave it out.", name)
