"""`opelda topics`: the words of a model's topics, typical documents, and labels."""

from dataclasses import asdict
from typing import Any

from opelda._names import NAMELESS
from opelda.cli import _options as options
from opelda.cli import _topic_tables as tables
from opelda.cli._app import argument, command, option
from opelda.cli._inputs import read_over
from opelda.cli._models import columns_of, load_model
from opelda.cli._outputs import TABLES, check_output, write_rows
from opelda.cli._terminal import by_weight, count, note, print_json, print_topics, topic_as_plain
from opelda.errors import InputError

RANKS = ("relevance", "probability", "tfidf", "frex", "coherence")


@command(
    "opelda topics model.opelda",
    "opelda topics model.opelda articles.jsonl --docs 3",
    "opelda topics model.opelda articles.jsonl --time date --unit month --only 3",
    "opelda topics model.opelda articles.jsonl --effect party --effect date",
    "opelda topics model.opelda --label 17='health care' --label 3=courts",
)
def topics(
    *,
    model: str = options.MODEL,
    corpus: list[str] | None = argument("CORPUS", "Documents; - is standard input.", None),
    n_words: int = option("--words -n N", "Words per topic.", 10, min=1),
    rank: str = option(
        f"--rank {'|'.join(RANKS)}", "How words are ranked.", RANKS[0], panel=options.RESULTS
    ),
    lambda_: float | None = option(
        "--lambda X",
        "Relevance: 1 is probability, 0 lift; 0.6.",
        min=0.0,
        max=1.0,
        panel=options.RESULTS,
    ),
    only: list[int] | None = options.ONLY,
    sort: str = option("--sort weight|number", "Order of topics.", "weight", panel=options.RESULTS),
    docs: int | None = option("--docs N", "Show N typical documents of CORPUS per topic.", min=1),
    columns: options.Columns,
    tree: bool = option("--tree", "Merge similar topics step by step.", False),
    since: str | None = option(
        "--since TIME|N", "How a stream's topics moved in the last 1h or N documents."
    ),
    label: list[str] | None = option(
        "--label TOPIC=TEXT", "Name a topic in the model (repeatable)."
    ),
    label_with: str | None = option(
        "--label-with COMMAND",
        "Name topics by a command that gets their words.",
        panel=options.RESULTS,
    ),
    output: str | None = option(
        "--output -o FILE", "Write shares or effects as .csv, .tsv or .xlsx."
    ),
    n_jobs: int | None = options.JOBS,
    as_json: bool = options.AS_JSON,
    reading: options.Reading,
) -> None:
    """Show a model's topics: their share of the tokens, a label, and their words.

    With a corpus: --docs adds typical documents; --time and --by show corrected shares of documents
    with 95% intervals, mean mixtures and words by time or group; --effect shows regressions of
    shares on columns. --label names topics first.
    """
    from opelda._validation import choice

    choice("rank", rank, RANKS)
    choice("sort", sort, ("weight", "number"))
    if lambda_ is not None and rank not in ("relevance", "coherence"):
        raise InputError(f"--lambda has no effect with --rank {rank}; leave it out.")
    over = options.given_options(columns)
    if tree or since is not None:
        alone = "--tree" if tree else "--since"
        others = only or docs or corpus or label or label_with or output or over
        if others or rank != RANKS[0] or sort != "weight" or (tree and since):
            raise InputError(f"{alone} shows all topics; it goes with --words and --json only.")
        if tree:
            tables.show_tree(load_model(model, n_jobs), model, n_words, as_json=as_json)
        else:
            tables.show_changes(model, str(since), n_words, as_json=as_json)
        return
    columns.check()
    asked = {"--docs": docs, "--rank coherence": rank == "coherence"}
    asked |= {f"--{name}": True for name in over}
    needs = [name for name, is_given in asked.items() if is_given]
    if not corpus:
        if needs:
            raise InputError(f"{needs[0]} looks at documents of a CORPUS; name it after the model.")
        options.refuse(reading, "no documents are read without a CORPUS")
    elif not needs and label_with is None:
        raise InputError("A CORPUS needs --docs 3, --time date, --by or --effect; give one.")
    if over and (docs is not None or rank != RANKS[0] or label_with is not None):
        raise InputError("Columns go without --docs, --rank and --label-with; leave these out.")
    if output is not None and not over:
        raise InputError("--output takes times, groups or effects; leave it out.")
    if label:
        _save_labels(model, tables.labels_from(label))
    how: dict[str, Any] = {"by": rank, "only": only or None}
    if lambda_ is not None:
        how["lambda_"] = lambda_
    if not corpus and label_with is None:
        from opelda.learning.persistence._stored_model import StoredModel

        stored = StoredModel.read(model)
        if not stored.has_seed_words:  # only a learner finds its seed words
            _print(stored.topics(n_words, **how), rank, sort, model, as_json=as_json)
            if not as_json:
                if stored.words is None:
                    note(NAMELESS)
                tables.note_similar(stored.components, model)
            return
    from opelda.report import topic_table

    learned = load_model(model, n_jobs)
    if over and corpus:
        table = topic_table(learned, 1, only=only)
        numbers = [row.topic for row in (table if sort == "number" else by_weight(table))]
        kept = columns.names() or "auto"
        files = [reading.column_words]
        path = None if output is None else check_output(output, corpus, files, suffixes=TABLES)
        documents = read_over(columns_of(learned), corpus, reading, metadata=kept)
        rows = _rows_by(columns, learned, documents, numbers, n_words)
        if path is not None:
            write_rows(rows, path)
            note(f"{len(rows):,} rows: {output}")
        elif as_json:
            print_json({"effects" if columns.effect else "shares": [asdict(row) for row in rows]})
        else:
            (tables.print_effects if columns.effect else tables.print_shares)(rows)
        note(rows.note)
        return
    if label_with is not None:
        found = tables.typical_documents(learned, 4, corpus, reading) if corpus else ()
        _save_labels(model, tables.labels_by_command(label_with, learned, found, only or None))
        learned = load_model(model, n_jobs)
    if rank == "coherence":
        how["X"] = read_over(columns_of(learned), corpus or [], reading).X
    table, found = topic_table(learned, n_words, **how), None
    if docs is not None:
        found = tables.typical_documents(learned, docs, corpus or [], reading)
    _print(table, rank, sort, model, found, as_json=as_json)
    if not as_json:
        if not learned._knows_words():
            note(NAMELESS)
        tables.note_similar(learned.components_, model)


def _rows_by(
    columns: options.Columns, model: Any, documents: Any, topics: list[int], n_words: int
) -> Any:
    """Return shares of topics by time or group, or effects of columns on them."""
    from opelda import report

    if columns.effect:
        return report.estimate_effect(model, documents, columns.effect, topics=topics)
    asked: dict[str, Any] = {"topics": topics, "n_words": n_words}
    if columns.by is not None:
        return report.topics_by(model, documents, columns.by, **asked)
    asked["unit"] = columns.unit
    return report.topics_over_time(model, documents, columns.time, **asked)


def _print(
    table: Any, rank: str, sort: str, model: str, documents: Any = None, *, as_json: bool
) -> None:
    rows = by_weight(table) if sort == "weight" else list(table)
    if as_json:
        found = [topic_as_plain(row) for row in rows]
        for topic in found if documents is not None else ():
            own = (asdict(row) for row in documents if row.topic == topic["topic"])
            topic["documents"] = [
                {name: value for name, value in row.items() if name not in ("topic", "label")}
                for row in own
            ]
        print_json({"model": model, "rank": rank, "topics": found})
    elif documents is None:
        print_topics(rows)
    else:
        tables.print_with_documents(rows, documents)


def _save_labels(given: str, labels: dict[int, str]) -> None:
    """Give topics labels, in the model's own file."""
    from opelda.model_file import change

    change(given, lambda model: model.set_topic_labels(labels))
    note(f"{count(len(labels), 'label')} saved in {given}.")
