"""The options that commands share, in groups as the help shows them."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from opelda.cli._choices import (
    ENGINES,
    LEARNERS,
    PRESETS,
    TRANSFORM_METHODS,
    complete_format,
    complete_preset,
    one_of,
)

READING, TEXT, LEARNING = "Reading", "Texts to words", "Learning"


Sources = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders or patterns; - is standard input.",
        metavar="CORPUS",
        show_default=False,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        help="Threads; every core if not given. Results do not depend on it.",
        min=1,
        metavar="N",
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="Where it runs: cpu, or reference (slow, plain NumPy); cpu if not given.",
        metavar="NAME",
        autocompletion=one_of(*ENGINES),
        show_default=False,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="One JSON object on standard output, for machines.")
]


def _option(*names: str, help: str, panel: str | None = None, **more: Any) -> Any:
    if "min" in more:
        more.setdefault("metavar", "N")
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False, **more)


def transform_option(panel: str | None = None) -> Any:
    """Return the option for how a model infers documents' topics."""
    return _option(
        "--transform-method",
        help="How the model infers documents' topics: same (as while learning) or a method; if not "
        "given as while learning, but em in the place of ope, which predicts words better.",
        panel=panel,
        metavar="same|METHOD",
        autocompletion=one_of(*TRANSFORM_METHODS),
    )


@dataclass(frozen=True)
class Show:
    """How much is said, and how."""

    quiet: Annotated[bool, _option("--quiet", "-q", help="Say nothing but results and errors.")] = (
        False
    )
    verbose: Annotated[bool, _option("--verbose", "-v", help="Say more: a line per update.")] = (
        False
    )
    debug: Annotated[bool, _option("--debug", help="Show tracebacks (or set OPELDA_DEBUG=1).")] = (
        False
    )


@dataclass(frozen=True)
class Reading:
    """How documents are read."""

    format: Annotated[
        str,
        _option(
            "--format",
            "-f",
            help="The files' format; found out if not given.",
            panel=READING,
            metavar="FORMAT",
            autocompletion=complete_format,
        ),
    ] = "auto"
    text_column: Annotated[
        list[str] | None,
        _option(
            "--text-column",
            "-t",
            help="Column or key that holds the text; may be given several times.",
            panel=READING,
            metavar="COLUMN",
        ),
    ] = None
    name_column: Annotated[
        str | None,
        _option(
            "--name-column",
            help="Column or key that names the documents.",
            panel=READING,
            metavar="COLUMN",
        ),
    ] = None
    encoding: Annotated[
        str, _option("--encoding", help="Of texts; UTF-8 if not given.", panel=READING)
    ] = "utf-8"
    column_words: Annotated[
        str | None,
        _option(
            "--column-words",
            help="File of the columns' words, one a line, where documents number them; by default "
            "it is looked for beside the corpus.",
            panel=READING,
            metavar="FILE",
        ),
    ] = None
    first_id: Annotated[
        int | None,
        _option(
            "--first-id",
            help="Number of the first word, 0 or 1, where a file breaks its format's custom.",
            panel=READING,
            min=0,
            max=1,
        ),
    ] = None
    on_error: Annotated[
        str,
        _option(
            "--on-error",
            help="stop at a malformed document, or skip and count it.",
            panel=READING,
            metavar="stop|skip",
            autocompletion=one_of("stop", "skip"),
        ),
    ] = "stop"
    limit: Annotated[
        int | None,
        _option("--limit", help="Read the first so many documents only.", panel=READING, min=1),
    ] = None


@dataclass(frozen=True)
class Text:
    """How texts are made into words."""

    stop_words: Annotated[
        str | None,
        _option(
            "--stop-words",
            help="Words to leave out: a language such as en, auto (the texts' own), none, or a "
            "file with a word a line.",
            panel=TEXT,
            metavar="en|auto|none|FILE",
            autocompletion=one_of("auto", "none", "en", "de", "fr", "es", "it", "pt", "nl"),
        ),
    ] = None
    stem: Annotated[
        str | None,
        _option(
            "--stem",
            help="Reduce words to stems of a language, such as english.",
            panel=TEXT,
            metavar="LANGUAGE",
        ),
    ] = None
    ngrams: Annotated[
        int | None,
        _option("--ngrams", help="2: pairs of words are words too.", panel=TEXT, min=1, max=2),
    ] = None
    pattern: Annotated[
        str | None,
        _option("--pattern", help="Regular expression of a word.", panel=TEXT, metavar="REGEX"),
    ] = None
    no_lower: Annotated[
        bool, _option("--no-lower", help="Keep capital letters apart.", panel=TEXT)
    ] = False
    min_df: Annotated[
        str | None,
        _option(
            "--min-df",
            help="Leave out words of fewer documents: a number (5), or a share (0.001).",
            panel=TEXT,
            metavar="N|SHARE",
        ),
    ] = None
    max_df: Annotated[
        str | None,
        _option(
            "--max-df",
            help="Leave out words of more documents: a share (0.5), or a number (10000).",
            panel=TEXT,
            metavar="N|SHARE",
        ),
    ] = None
    max_features: Annotated[
        int | None,
        _option("--max-features", help="Keep the most frequent words only.", panel=TEXT, min=1),
    ] = None


@dataclass(frozen=True)
class Learning:
    """How topics are learned: each field a parameter of the learner; None is the preset's."""

    preset: Annotated[
        str | None,
        _option(
            "--preset",
            help="The settings: best (the default), fast, or paper; each of the other options here "
            "replaces one of them.",
            panel=LEARNING,
            metavar="|".join(PRESETS),
            autocompletion=complete_preset,
        ),
    ] = None
    learner: Annotated[
        str | None,
        _option(
            "--learner",
            help=f"In place of a preset, a learner of the paper with the paper's settings: "
            f"{', '.join(LEARNERS)}.",
            panel=LEARNING,
            metavar="NAME",
            autocompletion=one_of(*LEARNERS),
        ),
    ] = None
    batch_size: Annotated[
        int | None, _option("--batch-size", help="Documents per update.", panel=LEARNING, min=1)
    ] = None
    doc_topic_prior: Annotated[
        float | None,
        _option(
            "--alpha",
            help="Prior of a document's topics; 1/topics, and sweeps adapt it.",
            panel=LEARNING,
            metavar="X",
        ),
    ] = None
    topic_word_prior: Annotated[
        float | None,
        _option("--eta", help="Prior of a topic's words.", panel=LEARNING, metavar="X"),
    ] = None
    n_iter: Annotated[
        int | None,
        _option("--iterations", help="Steps of inference per document.", panel=LEARNING, min=1),
    ] = None
    learning_decay: Annotated[
        float | None,
        _option(
            "--learning-decay",
            help="kappa: update t moves by (t + offset)^-kappa.",
            panel=LEARNING,
            metavar="X",
        ),
    ] = None
    learning_offset: Annotated[
        float | None,
        _option("--learning-offset", help="The offset, tau.", panel=LEARNING, metavar="X"),
    ] = None
    transform_method: Annotated[str | None, transform_option(LEARNING)] = None
    random_state: Annotated[
        int | None,
        _option("--seed", help="Of the random numbers; 0.", panel=LEARNING, min=0),
    ] = None
