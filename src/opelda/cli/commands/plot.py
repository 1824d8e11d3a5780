"""`opelda plot`: figures of a model for papers and slides."""

from typing import Any

from opelda.cli import _options as options
from opelda.cli._app import argument, command, option
from opelda.cli._inputs import columns_of, load_model, read_over
from opelda.cli._outputs import FIGURES, check_output, save_figure
from opelda.cli._terminal import note
from opelda.errors import InputError

KINDS = {
    "words": "top words of the largest topics",
    "map": "map of all topics by similarity",
    "tree": "tree of all topics",
    "time": "shares of topics over time",
    "groups": "shares of topics by group",
    "effect": "effects of a column on the shares of topics",
    "learning": "learning curve",
}
EITHER = "time or groups"
# the options that a figure of documents honours, besides --only and --topics
OF_DOCUMENTS = {
    "time": {"unit", "time"},
    "groups": {"by"},
    "effect": {"effect", "at", "clusters", "n_splits"},
    EITHER: set[str](),
}


@command(
    "opelda plot model.opelda -o topics.png",
    "opelda plot model.opelda -o tree.pdf --kind tree",
    "opelda plot model.opelda articles.jsonl -o years.pdf --time date --unit year",
)
def plot(
    *,
    model: str = options.MODEL,
    corpus: list[str] | None = argument("CORPUS", "Documents for times, groups and effects.", None),
    output: str = option("--output -o FILE", "A .png, .svg or .pdf file.", "topics.png"),
    kind: str | None = option(
        f"--kind {'|'.join(KINDS)}",
        "Default: words; with a CORPUS time or groups, depending on its columns.",
        choices=KINDS,
    ),
    n_topics: int | None = option(
        "--topics -k N",
        "Maximum number of topics; default: 12 with words, 20 with effects, else 6.",
        min=1,
    ),
    only: list[int] | None = options.ONLY,
    n_words: int | None = option("--words -n N", "Words per topic; default: 8.", min=1),
    title: str | None = option("--title TEXT", "Title of the figure."),
    columns: options.Columns,
    reading: options.NamelessReading,
) -> None:
    """Draw a model: its words, a map, topics over time or by group, how it learned.

    Columns of times and groups are found by their usual names if they are not given.

    It needs matplotlib: [cyan]pip install 'opelda\\[plot]'[/cyan].
    """
    from opelda._validation import choice, whole

    if kind is not None:
        choice("kind", kind, KINDS)
    columns.check()
    given = {"only": only or None, "topics": n_topics, "words": n_words}
    given = {name: value for name, value in given.items() if value is not None}
    given |= options.given_options(columns)
    if kind is None:
        kinds = {"time": "time", "by": "groups", "effect": "effect", "unit": "time"}
        otherwise = EITHER if corpus else "words"
        kind = next((kinds[column] for column in kinds if column in given), otherwise)
    _check(kind, given, bool(corpus))
    if not corpus:
        options.refuse(reading, "no documents are read")
    path = check_output(output, corpus or (), [model, reading.column_words], suffixes=FIGURES)
    learned = load_model(model, reading.n_jobs)
    for number in only or ():
        whole("only", number, 0, len(learned.components_) - 1)
    documents = None
    if corpus:
        named = columns.names()
        documents = read_over(columns_of(learned), corpus, reading, metadata=named or "auto")
        kind = kind if named else _drawable(kind, documents)
    save_figure(path, lambda: _draw(learned, kind, documents, given, columns), title)
    note(f"{KINDS[kind][0].upper()}{KINDS[kind][1:]}: {output}")


def _check(kind: str, given: dict[str, Any], has_corpus: bool) -> None:
    """Reject options without effect on a kind of figure."""
    if kind in OF_DOCUMENTS and not has_corpus:
        raise InputError(f"A figure of {kind} needs documents; add a CORPUS after the model.")
    if has_corpus and kind not in OF_DOCUMENTS:
        raise InputError(f"A figure of {kind} uses only the model; remove the CORPUS.")
    useful = OF_DOCUMENTS.get(kind, {"words"} if kind == "words" else set[str]())
    if kind == "words" or kind in OF_DOCUMENTS:
        useful = useful | {"only", "topics"}
    for name in sorted(given.keys() - useful):
        raise InputError(f"--{name} has no effect on a figure of {kind}; remove the option.")
    if kind == "effect" and "effect" not in given:
        raise InputError("A figure of effect needs a column; add --effect COLUMN.")
    if {"only", "topics"} <= given.keys():
        raise InputError("--only and --topics are mutually exclusive; remove --topics.")


def _draw(
    model: Any, kind: str, documents: Any, given: dict[str, Any], columns: options.Columns
) -> Any:
    """Return the axes of a new figure."""
    from opelda.report import plots

    names = {"topics": "n_topics", "only": "only" if kind == "words" else "topics"}
    names |= {"words": "n_words", "unit": "unit"}
    asked = {names[name]: value for name, value in given.items() if name in names}
    of_model: dict[str, Any] = {"words": plots.plot_topics, "map": plots.plot_map}
    of_model |= {"tree": plots.plot_tree, "learning": plots.plot_learning}
    if kind in of_model:
        return of_model[kind](model, **asked)
    if kind == "effect":
        rows = columns.effects(model, documents, topics=asked.pop("topics", None))
        return (plots.plot_predicted if "at" in given else plots.plot_effect)(rows, **asked)
    draw = plots.plot_over_time if kind == "time" else plots.plot_groups
    return draw(model, documents, given.get("time", given.get("by")), **asked)


def _drawable(kind: str, documents: Any) -> str:
    """Return the kind of figure that the documents have a column for, found by its name."""
    from opelda.corpus._column_names import usual_column

    columns = () if documents.metadata is None else documents.metadata.columns
    known = {"time": ("date", "--time"), "groups": ("section", "--by")}
    wanted = known if kind == EITHER else (kind,)
    for name in wanted:
        if usual_column(name, columns) is not None:
            return name
    usual, flags = (" or ".join(known[name][i] for name in wanted) for i in (0, 1))
    raise InputError(f"The documents have no column such as {usual}; select a column with {flags}.")
