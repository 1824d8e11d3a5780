"""The options that commands share, in groups as the help shows them."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from opelda.cli._choices import complete_format, complete_learner, one_of

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
AsJson = Annotated[
    bool, typer.Option("--json", help="One JSON object on standard output, for machines.")
]


def _option(*names: str, help: str, panel: str | None = None, **more: Any) -> Any:
    if "min" in more:
        more.setdefault("metavar", "N")
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False, **more)


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
    """How topics are learned; what is not given is chosen for the collection."""

    learner: Annotated[
        str | None,
        _option(
            "--learner",
            help="online-ope if not given; ml-ope, streaming-ope, online-vb, streaming-vb, "
            "online-cvb0 or online-cgs.",
            panel=LEARNING,
            metavar="NAME",
            autocompletion=complete_learner,
        ),
    ] = None
    batch_size: Annotated[
        int | None, _option("--batch-size", help="Documents per update.", panel=LEARNING, min=1)
    ] = None
    alpha: Annotated[
        float | None,
        _option("--alpha", help="Prior of a document's topics; 1/topics.", panel=LEARNING),
    ] = None
    eta: Annotated[
        float | None,
        _option("--eta", help="Prior of a topic's words; 1/topics.", panel=LEARNING),
    ] = None
    n_iter: Annotated[
        int | None,
        _option("--n-iter", help="Steps of inference per document; 20.", panel=LEARNING, min=1),
    ] = None
    learning_decay: Annotated[
        float | None,
        _option(
            "--learning-decay",
            help="kappa: update t moves by (t + offset)^-kappa; 0.6.",
            panel=LEARNING,
        ),
    ] = None
    learning_offset: Annotated[
        float | None,
        _option("--learning-offset", help="The offset, tau; 10.", panel=LEARNING),
    ] = None
    seed: Annotated[
        int | None,
        _option("--seed", help="Of the random numbers; 0.", panel=LEARNING, min=0),
    ] = None
