"""The options of `python -m reproduction`."""

from argparse import ArgumentParser, HelpFormatter, Namespace
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from opelda.errors import InputError
from reproduction.running import EXPERIMENTS, find_experiment
from reproduction.settings import Settings

ALL = "all"


class Option(NamedTuple):
    """An option that sets a parameter: of the settings, of reading, or of the tokenizer."""

    flags: str
    parameter: str
    help: str
    kind: type = str


# the settings' help ends with the paper's value, and with that of --quick where it has another
SETTINGS = (
    Option("-k --topics", "n_topics", "topics; 100, quick 10", int),
    Option("--alpha", "doc_topic_prior", "prior of a document's topics; 1/topics", float),
    Option("--eta", "topic_word_prior", "prior of a topic's words; 1/topics", float),
    Option("--batch-size", "batch_size", "documents per update; 5000, quick 250", int),
    Option("--learning-decay", "learning_decay", "kappa; 0.9", float),
    Option("--learning-offset", "learning_offset", "tau; 1", float),
    Option("--iterations", "n_iter", "steps of inference per document; 50", int),
    Option("--passes", "n_passes", "times through the collection; 5, quick 2", int),
    Option("--test-docs", "n_test", "documents set aside for testing; 1000, quick 100", int),
    Option(
        "--splits", "n_splits", "splits of each into words seen and to predict; 5, quick 2", int
    ),
    Option("--held-out", "held_out", "share of the words to predict; 0.3", float),
    Option("-n --words", "n_words", "top words for coherence; 10", int),
    Option("--scoring", "scoring", "method that infers the test documents' mixtures; vb"),
    Option("--seeds", "n_seeds", "models per setting; 1", int),
    Option("--seed", "seed", "seed of the first model; 0", int),
    Option("-j --jobs", "n_jobs", "threads, all cores if not given; -1", int),
)
READING = (
    Option("-f --format", "format", "the files' format; found out if not given"),
    Option("-t --text-column", "text_column", "column or key with the text; may be repeated", list),
    Option("--encoding", "encoding", "of texts; UTF-8 if not given"),
    Option("--column-words", "column_words", "file of the columns' words, one a line"),
    Option("--first-id", "first_id", "number of the first word, 0 or 1; of --test if given", int),
    Option("--on-error", "on_error", "stop at a malformed document, or skip it"),
    Option("--limit", "limit", "read the first N documents only", int),
)
TEXTS = (
    Option("--stop-words", "stop_words", "a language such as en, auto, none, or a file of words"),
    Option("--stem", "stem", "reduce words to stems of a language, such as english"),
    Option("--ngrams", "ngrams", "2: pairs of words are words too", int),
    Option("--pattern", "pattern", "regular expression of a word"),
    Option("--no-lower", "lower", "keep capital letters apart", bool),
    Option("--min-df", "min_df", "leave out words of fewer documents: a number, or a share"),
    Option("--max-df", "max_df", "leave out words of more documents: a number, or a share"),
    Option("--max-features", "max_features", "keep the most frequent words only", int),
)
GROUPS = {"settings": SETTINGS, "reading": READING, "texts to words": TEXTS}


class Parser(ArgumentParser):
    """A parser whose complaints are the package's errors."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print and exit with."""
        sentence = message[0].upper() + message[1:].rstrip(".")
        raise InputError(f"{sentence}; see python -m reproduction --help.")


class Columns(HelpFormatter):
    """Help with room for the longest option."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=100)


def parser() -> ArgumentParser:
    """Return the parser of the command line."""
    made = Parser(
        prog="python -m reproduction",
        description="Run experiments of the paper: for each a table, a figure, and verdicts. "
        "Finished runs are kept: after Ctrl-C the same command resumes.",
        formatter_class=Columns,
    )
    made.add_argument("names", nargs="*", metavar="NAME", help=f"{known()}; or {ALL}")
    made.add_argument("--list", action="store_true", help="list the experiments and exit")
    made.add_argument("-o", "--out", metavar="DIR", help="folder for everything that is made")
    made.add_argument(
        "-d",
        "--data",
        action="append",
        metavar="CORPUS",
        help="files or folders as for `opelda fit`, may be repeated; or generated:nyt, "
        "generated:pubmed, generated:small, also with a number of documents: generated:nyt:20000",
    )
    made.add_argument(
        "--test",
        metavar="DIR",
        help="folder of test documents that are split: LDA-C files NAME_part_1.txt (seen) and "
        "NAME_part_2.txt (to predict), and the vocabulary, over which --data is counted",
    )
    made.add_argument(
        "--quick",
        action="store_true",
        help="small settings and few points, for a look; without --data on generated:small",
    )
    made.add_argument("-q", "--quiet", action="store_true", help="print the results only")
    made.add_argument("-v", "--verbose", action="store_true", help="say a line per run")
    made.add_argument("--debug", action="store_true", help="show tracebacks")
    for title, options in GROUPS.items():
        group = made.add_argument_group(title)
        for option in options:
            how: dict[str, Any] = {"type": option.kind, "metavar": "X"}
            if option.kind is bool:
                how = {"action": "store_false"}
            elif option.kind is list:
                how = {"action": "append", "metavar": "X"}
            flags = option.flags.split()
            group.add_argument(*flags, dest=option.parameter, default=None, help=option.help, **how)
    return made


def known() -> str:
    """Return the names of all experiments in a line, with their numbers in the paper."""
    return ", ".join(map(str, EXPERIMENTS.values()))


def parsed(args: Sequence[str] | None) -> Namespace:
    """Return the options of the command line, checked without reading data."""
    options = parser().parse_args(args)
    if options.list:
        return options
    if not options.names:
        raise InputError(f"Say which experiment to run: {known()}, or {ALL}.")
    if ALL in options.names:
        options.names = list(EXPERIMENTS)
    options.names = list(dict.fromkeys(find_experiment(name).name for name in options.names))
    if not options.out:
        raise InputError("There is nowhere to write to; give a folder with --out.")
    if not options.data and not options.quick:
        raise InputError(
            "There is nothing to run the experiments on; give documents with --data, or try "
            "--quick on generated ones."
        )
    options.data = options.data or ["generated:small"]
    return options


def given(options: Namespace, group: tuple[Option, ...]) -> dict[str, Any]:
    """Return a group's parameters that were given."""
    values = {option.parameter: getattr(options, option.parameter) for option in group}
    return {name: value for name, value in values.items() if value is not None}


def flag(parameter: str) -> str:
    """Return the option that sets a parameter, or the parameter itself without one.

    >>> flag("n_test"), flag("engine")
    ('--test-docs', 'engine')
    """
    every = (option for group in GROUPS.values() for option in group)
    return next((o.flags.split()[-1] for o in every if o.parameter == parameter), parameter)


def settings_of(options: Namespace) -> Settings:
    """Return the requested settings."""
    values = given(options, SETTINGS)
    return Settings.small(**values) if options.quick else Settings(**values)
