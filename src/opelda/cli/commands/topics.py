"""`opelda topics`: the words of a model's topics, typical documents, and labels."""

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from opelda.cli._app import command, option
from opelda.cli._change_table import show_moves
from opelda.cli._column_tables import show_over_columns
from opelda.cli._inputs import read_over
from opelda.cli._label_options import labels_by_command, labels_from
from opelda.cli._models import columns_of, load_model, save_labels
from opelda.cli._options import (
    AsJson,
    Columns,
    Jobs,
    Model,
    Reading,
    Show,
    given_options,
    refuse,
)
from opelda.cli._show import by_weight, count, print_topics, topic_as_plain
from opelda.cli._standard_streams import note, print_json
from opelda.cli._tree_table import note_similar, show_tree
from opelda.cli._typical import as_plain, print_with_documents, typical_documents
from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda._word_ranking import Rank

RANKS = ("relevance", "probability", "tfidf", "frex", "coherence")
ORDERS = ("weight", "number")
LAMBDA = 0.6


@command(
    "topics",
    "opelda topics model.opelda",
    "opelda topics model.opelda --lambda 0.4 --words 15",
    "opelda topics model.opelda --only 3 --only 8 --json",
    "opelda topics model.opelda articles.jsonl --docs 3",
    "opelda topics model.opelda articles.jsonl --time date --unit month --only 3",
    "opelda topics model.opelda articles.jsonl --by party -o parties.xlsx",
    "opelda topics model.opelda articles.jsonl --effect party --effect date",
    "opelda topics model.opelda --label 17='health care' --label 3=courts",
    "opelda topics model.opelda articles.jsonl --label-with 'llm -m a-model'",
    "opelda topics model.opelda --tree",
    "opelda topics state --since 1h",
)
def topics(
    *,
    model: Model,
    corpus: Annotated[
        list[str] | None,
        typer.Argument(help="Documents to look at; - is standard input.", metavar="CORPUS"),
    ] = None,
    words: int = option(10, "--words", "-n", help="Words per topic.", min=1),
    rank: str = option(
        RANKS[0],
        help="How words are ranked: relevance (probable here rather than elsewhere), probability, "
        "tfidf, frex (frequent and exclusive), or coherence (relevant, and in the same documents "
        "of CORPUS).",
        choices=RANKS,
    ),
    lambda_: float | None = option(
        None,
        "--lambda",
        help=f"For relevance: 1 is probability, 0 is lift; {LAMBDA}.",
        min=0.0,
        max=1.0,
    ),
    only: list[int] | None = option(
        None, help="Show this topic; may be given several times.", min=0
    ),
    sort: str = option(ORDERS[0], help="The heaviest first, or by number.", choices=ORDERS),
    docs: int | None = option(
        None, help="Show so many documents of CORPUS that are typical of each topic.", min=1
    ),
    label: list[str] | None = option(
        None,
        help="Name a topic and save that in the model; nothing after = takes a label back. May be "
        "given several times.",
        metavar="TOPIC=TEXT",
    ),
    label_with: str | None = option(
        None,
        help="Name topics by a command, such as one that asks a language model: it gets a request "
        "with a topic's words, and documents of CORPUS if given, and prints a name. Saved.",
        metavar="COMMAND",
    ),
    since: str | None = option(
        None,
        help="Of a stream: how topics moved, their words, and events, in the last 1h, "
        "1d or N documents before its last checkpoint.",
        metavar="TIME|N",
    ),
    tree: bool = option(
        False, "--tree", help="Show topics as a tree: merged step by step, the most alike first."
    ),
    columns: Columns,
    output: str | None = option(
        None,
        "--output",
        "-o",
        help="Write times, groups or effects to this .csv, .tsv or .xlsx file.",
        metavar="FILE",
    ),
    as_json: AsJson = False,
    jobs: Jobs = None,
    reading: Reading,
    show: Show,
) -> None:
    """Show a model's topics: their share of the tokens, a label, and their words.

    With a corpus, and --docs, documents that are typical of them; with --time or --by, their
    corrected shares of documents with 95% intervals, the mean of the documents' mixtures, and their
    words there; with --effect, how their shares go with
    columns, the others being equal. With --label, name them first.
    """
    if rank not in RANKS:
        raise InputError(f"--rank must be one of {', '.join(RANKS)}, not {rank!r}.")
    if sort not in ORDERS:
        raise InputError(f"--sort must be one of {', '.join(ORDERS)}, not {sort!r}.")
    if lambda_ is not None and rank not in ("relevance", "coherence"):
        raise InputError(f"--lambda has no effect with --rank {rank}; leave it out.")
    if tree:
        shown = rank != RANKS[0] or only or sort != ORDERS[0] or docs or corpus or since
        if shown or label or label_with or output or given_options(columns):
            raise InputError(
                "--tree shows all topics; leave --rank, --only, --sort, --docs, --label, "
                "--label-with, --since, columns, --output and a CORPUS out."
            )
        show_tree(load_model(model, jobs), model, words, as_json=as_json)
        return
    if since is not None:
        others = only or docs or label or label_with or corpus or output or given_options(columns)
        if rank != RANKS[0] or sort != ORDERS[0] or others:
            raise InputError(
                "--since shows what moved; leave --rank, --only, --sort, --docs, --label, "
                "--label-with, columns, --output and a CORPUS out."
            )
        show_moves(model, since, words, as_json=as_json)
        return
    columns.check()
    over = given_options(columns)
    needs = {"--docs": docs is not None, "--rank coherence": rank == "coherence"}
    needs |= {f"--{name}": True for name in over}
    if not corpus:
        for name in (name for name, is_given in needs.items() if is_given):
            raise InputError(f"{name} looks at documents of a CORPUS; name it after the model.")
        refuse(reading, "no documents are read without a CORPUS")
    elif not any(needs.values()) and label_with is None:
        raise InputError(
            "Documents are shown with --docs, as --docs 3, or by columns, as --time date; give one "
            "of these, or no CORPUS."
        )
    if over and (docs is not None or rank != RANKS[0] or label_with is not None):
        raise InputError(
            "Topics are shown by columns alone; leave --docs, --rank and --label-with out."
        )
    if output is not None and not over:
        raise InputError("--output takes times, groups or effects; leave it out.")
    from opelda.learning._representation import NAMELESS
    from opelda.report import topic_table

    if label:
        new = labels_from(label)
        save_labels(model, new)
        note(show, f"{count(len(new), 'label')} saved in {model}.")
    learned = load_model(model, jobs)
    if over and corpus:
        how: dict[str, Any] = {
            "only": only or None,
            "by_number": sort == "number",
            "n_words": words,
        }
        how |= {"output": output, "as_json": as_json}
        show_over_columns(learned, corpus, columns, reading, show, jobs, **how)
        return
    if label_with is not None:
        found = typical_documents(learned, 4, corpus, reading, show, jobs) if corpus else ()
        named = labels_by_command(label_with, learned, found, only or None, show)
        save_labels(model, named)
        note(show, f"{count(len(named), 'label')} saved in {model}.")
        learned = load_model(model, jobs)
    X = None
    if rank == "coherence":
        X = read_over(columns_of(learned), corpus or [], reading, show, jobs).X
    weight = LAMBDA if lambda_ is None else lambda_
    by = cast("Rank", rank)
    table = topic_table(learned, words, by=by, lambda_=weight, only=only or None, X=X)
    rows = by_weight(table) if sort == "weight" else list(table)
    found = None
    if docs is not None:
        found = typical_documents(learned, docs, corpus or [], reading, show, jobs)
    if as_json:
        topics = [topic_as_plain(r) if found is None else as_plain(r, found) for r in rows]
        print_json({"model": model, "rank": rank, "topics": topics})
    elif found is None:
        print_topics(rows)
    else:
        print_with_documents(rows, found)
    if not as_json:
        if not learned._knows_words():
            note(show, NAMELESS)
        note_similar(learned, model, show)
