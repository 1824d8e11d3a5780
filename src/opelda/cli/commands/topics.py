"""`opelda topics`: the words of a model's topics, typical documents, and labels."""

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

import typer

from opelda._names import NAMELESS
from opelda.cli._app import command, option
from opelda.cli._inputs import read_over
from opelda.cli._models import columns_of, load_model
from opelda.cli._options import (
    RESULTS,
    AsJson,
    Columns,
    Jobs,
    Model,
    Reading,
    Show,
    given_options,
    refuse,
)
from opelda.cli._outputs import check_output
from opelda.cli._show import by_weight, count, print_topics, skipped_documents, topic_as_plain
from opelda.cli._standard_streams import note, print_json
from opelda.cli._topic_tables import (
    labels_by_command,
    labels_from,
    note_similar,
    print_effects,
    print_shares,
    print_with_documents,
    rows_by_columns,
    show_changes,
    show_tree,
    topics_in_order,
    typical_documents,
    with_documents_as_plain,
    write_rows,
)
from opelda.errors import InputError

RANKS = ("relevance", "probability", "tfidf", "frex", "coherence")
ORDERS = ("weight", "number")
LAMBDA = 0.6
TABLES = (".csv", ".tsv", ".xlsx")


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
    n_words: int = option(10, "--words", "-n", help="Words per topic.", min=1),
    rank: str = option(
        RANKS[0],
        help="How words are ranked: relevance (probable here rather than elsewhere), probability, "
        "tfidf, frex (frequent and exclusive), or coherence (relevant, and in the same documents "
        "of CORPUS).",
        choices=RANKS,
        panel=RESULTS,
    ),
    lambda_: float | None = option(
        None,
        "--lambda",
        help=f"For relevance: 1 is probability, 0 is lift; {LAMBDA}.",
        min=0.0,
        max=1.0,
        panel=RESULTS,
    ),
    only: list[int] | None = option(
        None, help="Show this topic; may be given several times.", min=0
    ),
    sort: str = option(
        ORDERS[0], help="The heaviest first, or by number.", choices=ORDERS, panel=RESULTS
    ),
    docs: int | None = option(
        None, help="Show N documents of CORPUS that are typical of each topic.", min=1
    ),
    columns: Columns,
    tree: bool = option(
        False, "--tree", help="Show topics as a tree: merged step by step, the most alike first."
    ),
    since: str | None = option(
        None,
        help="Of a stream: how topics moved, their words, and events, in the last 1h, "
        "1d or N documents before its last checkpoint.",
        metavar="TIME|N",
    ),
    label: list[str] | None = option(
        None, help="Name a topic, saved in the model (repeatable).", metavar="TOPIC=TEXT"
    ),
    label_with: str | None = option(
        None,
        help="Name topics by a command, such as one that asks a language model: it gets a request "
        "with a topic's words, and documents of CORPUS if given, and prints a name. Saved.",
        metavar="COMMAND",
        panel=RESULTS,
    ),
    output: str | None = option(
        None,
        "--output",
        "-o",
        help="Write times, groups or effects: .csv, .tsv or .xlsx.",
        metavar="FILE",
    ),
    n_jobs: Jobs = None,
    as_json: AsJson = False,
    reading: Reading,
    show: Show,
) -> None:
    """Show a model's topics: their share of the tokens, a label, and their words.

    With a corpus, and --docs, documents that are typical of them; with --time or --by, their
    corrected shares of documents with 95% intervals, the mean of the documents' mixtures, and their
    words there; with --effect, how their shares go with
    columns, the others being equal. With --label, name them first.
    """
    from opelda._validation import choice

    choice("rank", rank, RANKS)
    choice("sort", sort, ORDERS)
    if lambda_ is not None and rank not in ("relevance", "coherence"):
        raise InputError(f"--lambda has no effect with --rank {rank}; leave it out.")
    over = given_options(columns)
    if tree or since is not None:
        others = only or docs or corpus or label or label_with or output or over
        if others or rank != RANKS[0] or sort != ORDERS[0] or (tree and since):
            raise InputError(
                f"{'--tree' if tree else '--since'} shows all topics; leave --rank, --only, "
                f"--sort, --docs, --label, --label-with, {'--since' if tree else '--tree'}, "
                "columns, --output and a CORPUS out."
            )
        if tree:
            show_tree(load_model(model, n_jobs), model, n_words, as_json=as_json)
        else:
            show_changes(model, str(since), n_words, as_json=as_json)
        return
    columns.check()
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
    if label:
        _save_labels(model, labels_from(label), show)
    how: dict[str, Any] = {"by": rank, "lambda_": LAMBDA if lambda_ is None else lambda_}
    how["only"] = only or None
    if not corpus and label_with is None:
        from opelda.learning.persistence._stored_model import StoredModel

        stored = StoredModel.read(model)
        if not stored.has_seed_words:  # of which a learner alone knows which it has found
            _print(stored.topics(n_words, **how), rank, sort, model, as_json=as_json)
            if not as_json:
                if stored.words is None:
                    note(show, NAMELESS)
                note_similar(stored.components, model, show)
            return
    from opelda.report import topic_table

    learned = load_model(model, n_jobs)
    if over and corpus:
        files, rows_of = [reading.column_words], topics_in_order(learned, only, sort == "number")
        path = None if output is None else check_output(output, corpus, files, suffixes=TABLES)
        kept = columns.names() or "auto"
        documents = read_over(columns_of(learned), corpus, reading, show, n_jobs, metadata=kept)
        skipped_documents(documents.n_skipped, documents.problems, show)
        rows = rows_by_columns(learned, documents, columns, rows_of, n_words)
        if path is not None:
            write_rows(rows, path)
            note(show, f"{len(rows):,} rows: {output}")
        elif as_json:
            print_json({"effects" if columns.effect else "shares": [asdict(row) for row in rows]})
        else:
            (print_effects if columns.effect else print_shares)(rows)
        note(show, rows.note)
        return
    if label_with is not None:
        found = typical_documents(learned, 4, corpus, reading, show, n_jobs) if corpus else ()
        _save_labels(model, labels_by_command(label_with, learned, found, only or None, show), show)
        learned = load_model(model, n_jobs)
    if rank == "coherence":
        how["X"] = read_over(columns_of(learned), corpus or [], reading, show, n_jobs).X
    table, found = topic_table(learned, n_words, **how), None
    if docs is not None:
        found = typical_documents(learned, docs, corpus or [], reading, show, n_jobs)
    _print(table, rank, sort, model, found, as_json=as_json)
    if not as_json:
        if not learned._knows_words():
            note(show, NAMELESS)
        note_similar(learned.components_, model, show)


def _print(
    table: Any, rank: str, sort: str, model: str, documents: Any = None, *, as_json: bool
) -> None:
    rows = by_weight(table) if sort == "weight" else list(table)
    if as_json:
        plain = topic_as_plain
        if documents is not None:
            plain = partial(with_documents_as_plain, documents=documents)
        print_json({"model": model, "rank": rank, "topics": [plain(row) for row in rows]})
    elif documents is None:
        print_topics(rows)
    else:
        print_with_documents(rows, documents)


def _save_labels(given: str, labels: dict[int, str], show: Show) -> None:
    """Give topics labels, in the model's own file."""
    from opelda.model_file import change

    change(given, lambda model: model.set_topic_labels(labels))
    note(show, f"{count(len(labels), 'label')} saved in {given}.")
