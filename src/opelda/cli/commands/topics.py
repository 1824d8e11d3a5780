"""`opelda topics`: the words of a model's topics, typical documents, and labels."""

import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from opelda._names import NAMELESS
from opelda.cli import _options as options
from opelda.cli import _terminal as terminal
from opelda.cli._app import argument, command, option
from opelda.cli._inputs import Blocks, columns_of, load_model, read_over
from opelda.cli._outputs import TABLES, check_output, check_semicolons, write_rows
from opelda.cli._terminal import count, note, share
from opelda.errors import InputError

RANKS = ("relevance", "probability", "exclusive", "tfidf", "frex", "coherence")


@command(
    "opelda topics model.opelda",
    "opelda topics model.opelda -o topics.xlsx",
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
        f"--rank {'|'.join(RANKS)}", "Ranking of words.", RANKS[0], panel=options.RESULTS
    ),
    lambda_: float | None = option(
        "--lambda X",
        "Weight of probability (1) against lift (0); default: 0.6.",
        min=0.0,
        max=1.0,
        panel=options.RESULTS,
    ),
    only: list[int] | None = options.ONLY,
    sort: str = option("--sort weight|number", "Order of topics.", "weight", panel=options.RESULTS),
    docs: int | None = option("--docs N", "Show N typical documents per topic.", min=1),
    columns: options.Columns,
    by_group: bool = option(
        "--content", "Show the words of each group, of a model fitted with --content.", False
    ),
    tree: bool = option("--tree", "Show a tree of similar topics.", False),
    since: str | None = option(
        "--since TIME|N", "Show changes of a stream's topics in the last 1h or N documents."
    ),
    label: list[str] | None = option(
        "--label TOPIC=TEXT", "Store a label of a topic in the model (repeatable)."
    ),
    label_with: str | None = option(
        "--label-with COMMAND",
        "Command that receives a topic's words and prints a label.",
        panel=options.RESULTS,
    ),
    output: str | None = option(
        "--output -o FILE", "Write the table to a .csv, .tsv or .xlsx file."
    ),
    semicolons: bool = options.SEMICOLONS,
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
        raise InputError(f"--lambda has no effect with --rank {rank}; remove --lambda.")
    over = options.given_options(columns)
    if tree or since is not None:
        alone = "--tree" if tree else "--since"
        others = only or docs or corpus or label or label_with or output or over
        if others or rank != RANKS[0] or sort != "weight" or (tree and since):
            raise InputError(f"{alone} shows all topics; combine it only with --words and --json.")
        if tree:
            from opelda.report import topic_tree

            hierarchy = topic_tree(
                load_model(model, reading.n_jobs), n_words if as_json else min(n_words, 4)
            )
            if as_json:
                merges = [asdict(row) for row in hierarchy.merges]
                terminal.print_json({"model": model, "merges": merges})
            for line in () if as_json else str(hierarchy).splitlines():
                terminal.print_line(line)
        else:
            _show_changes(model, str(since), n_words, as_json=as_json)
        return
    columns.check()
    needs = [f"--{name}" for name in over] + (["--docs"] if docs else [])
    needs += ["--rank coherence"] if rank == "coherence" else []
    if not corpus:
        if needs:
            raise InputError(f"{needs[0]} needs documents; add a CORPUS after the model.")
        options.refuse(reading, "no documents are read without a CORPUS")
    elif not needs and label_with is None:
        raise InputError(
            "A CORPUS needs --docs 3, --time date, --by or --effect; add one of these options."
        )
    if over and (docs is not None or rank != RANKS[0] or label_with is not None):
        raise InputError("Columns exclude --docs, --rank and --label-with; remove these options.")
    check_semicolons(semicolons, output)
    path = None
    if output is not None:
        files = [model, reading.column_words]
        path = check_output(output, corpus or (), files, suffixes=TABLES)
    if label:
        _save_labels(model, _labels_from(label))
    if by_group:
        if corpus or rank != RANKS[0] or label or label_with:
            raise InputError(
                "--content shows the model's words; combine it with --words and --only."
            )
        from opelda.report import words_by_group

        words = words_by_group(load_model(model, reading.n_jobs), n_words, only=only or None)
        if path is not None:
            _write(words, path, semicolons)
        elif as_json:
            terminal.print_json({"words": [asdict(row) for row in words]})
        else:
            _print_group_words(words)
        return
    how: dict[str, Any] = {"by": rank, "only": only or None}
    if lambda_ is not None:
        how["lambda_"] = lambda_
    if not corpus and label_with is None:
        from opelda.learning.persistence._stored_model import StoredModel

        stored = StoredModel.read(model)
        if not stored.has_seed_words:  # only a learner finds its seed words
            topics = stored.topics(n_words, **how)
            if path is not None:
                _write(_sorted(topics, sort), path, semicolons)
                return
            _print(topics, rank, sort, model, as_json=as_json)
            if not as_json:
                if stored.words is None:
                    note(NAMELESS)
                terminal.note_similar(stored.components, model)
            return
    from opelda import report

    learned = load_model(model, reading.n_jobs)
    if over and corpus:
        table = report.topic_table(learned, 1, only=only)
        numbers = [row.topic for row in (table if sort == "number" else terminal.by_weight(table))]
        kept = columns.names() or "auto"
        documents = read_over(columns_of(learned), corpus, reading, metadata=kept)
        asked: dict[str, Any] = {"topics": numbers, "n_words": n_words}
        rows: Any
        if columns.effect:
            rows = columns.effects(learned, documents, topics=numbers)
        elif columns.by is not None:
            rows = report.topics_by(learned, documents, columns.by, **asked)
        else:
            asked["unit"] = columns.unit
            rows = report.topics_over_time(learned, documents, columns.time, **asked)
        if path is not None:
            _write(rows, path, semicolons)
        elif as_json:
            terminal.print_json(
                {"effects" if columns.effect else "shares": [asdict(row) for row in rows]}
            )
        else:
            (_print_effects if columns.effect else _print_shares)(rows)
        note(rows.note)
        return
    if label_with is not None:
        found = _typical_documents(learned, 4, corpus, reading) if corpus else ()
        _save_labels(model, _labels_by_command(label_with, learned, found, only or None))
        learned = load_model(model, reading.n_jobs)
    if rank == "coherence":
        how["X"] = read_over(columns_of(learned), corpus or [], reading).X
    table, found = report.topic_table(learned, n_words, **how), None
    if docs is not None:
        found = _typical_documents(learned, docs, corpus or [], reading)
    if path is not None:
        _write(_sorted(table, sort) if found is None else found, path, semicolons)
        return
    _print(table, rank, sort, model, found, as_json=as_json)
    if not as_json:
        if not learned._knows_words():
            note(NAMELESS)
        terminal.note_similar(learned.components_, model)


def _sorted(table: Any, sort: str) -> Any:
    return terminal.by_weight(table) if sort == "weight" else list(table)


def _write(rows: Any, path: Path, semicolons: bool) -> None:
    from opelda.report.rows import Table, TopicRow

    write_rows(Table(TopicRow, rows) if isinstance(rows, list) else rows, path, semicolons)
    note(f"{len(rows):,} rows: {path}")


def _print(
    table: Any, rank: str, sort: str, model: str, documents: Any = None, *, as_json: bool
) -> None:
    rows = _sorted(table, sort)
    if as_json:
        found = [terminal.topic_as_plain(row) for row in rows]
        for topic in found if documents is not None else ():
            own = (asdict(row) for row in documents if row.topic == topic["topic"])
            topic["documents"] = [
                {name: value for name, value in row.items() if name not in ("topic", "label")}
                for row in own
            ]
        terminal.print_json({"model": model, "rank": rank, "topics": found})
    elif documents is None:
        terminal.print_topics(rows)
    else:
        _print_with_documents(rows, documents)


def _save_labels(given: str, labels: dict[int, str]) -> None:
    """Give topics labels, in the model's own file."""
    from opelda.model_file import change

    change(given, lambda model: model.set_topic_labels(labels))
    note(f"{count(len(labels), 'label')} saved in {given}.")


def _typical_documents(model: Any, n: int, sources: list[str], reading: options.Reading) -> Any:
    """Return the most typical documents of each topic as rows."""
    from opelda.metrics._mixture_measures import mixtures
    from opelda.metrics._top_words import labels_of
    from opelda.report._document_blocks import numbered
    from opelda.report._retrieval import TypicalDocuments

    found = TypicalDocuments(n)
    for block in numbered(Blocks(columns_of(model), sources, reading, metadata="auto")):
        found.add(block, mixtures(model, block.X))
    return found.table(labels_of(model))


def _print_with_documents(rows: Sequence[Any], documents: Sequence[Any]) -> None:
    """Write each topic, its words, and below them its documents, a line each."""
    from opelda.report._document_blocks import with_details

    for row in rows:
        terminal.print_line(f"{row.topic}  {share(row.weight)}  {row.label}", cut=True)
        terminal.print_line(f"    {' '.join(row.words)}", cut=True)
        for found in documents:
            if found.topic == row.topic:
                line = f"    {share(found.weight):>6}  {with_details(found)}"
                terminal.print_line(line, cut=True)
        terminal.print_line()


def _print_shares(rows: Sequence[Any]) -> None:
    """Write each topic, and below it a line for each time or group."""
    room, topic = terminal.width(), None
    wide = max(len(row.bin) for row in rows)
    digits = max(4, *(len(f"{row.n_docs:,}") for row in rows))
    head = f"    {'':{wide}}  corrected share, 95%       mean  {'docs':>{digits}}  words"
    terminal.print_line(head[:room])
    for row in rows:
        if row.topic != topic:
            terminal.print_line()
            topic = row.topic
            terminal.print_line(f"{topic}  {row.label}"[:room])
        ends = "" if row.low is None else f"{share(row.low)} to {share(row.high)}"
        line = f"    {row.bin:<{wide}}  {share(row.corrected_share):>6}  {ends:<15}  "
        line += f"{share(row.mean_share):>6}  {row.n_docs:>{digits},}  {' '.join(row.words)}"
        terminal.print_line(line, cut=True)


def _print_effects(rows: Sequence[Any]) -> None:
    """Write effects as a table, in percentage points, or predicted shares."""
    names = ("topic", "term", "effect", "from", "to", "p", "label")
    cells, sign = [], "+" if any(row.term == "intercept" for row in rows) else ""
    for row in rows:
        points = [f"{100 * part:{sign}.3g}%" for part in (row.estimate, row.low, row.high)]
        cells.append((str(row.topic), row.term, *points, f"{row.p:.2g}", row.label))
    terminal.print_table(names, cells, right=("topic", "effect", "from", "to", "p"))


def _print_group_words(rows: Sequence[Any]) -> None:
    """Write words and their ratios as a table."""
    cells = []
    for row in rows:
        words = (f"{word} {x:.3g}x" for word, x in zip(row.words, row.ratios, strict=True))
        cells.append((str(row.topic), row.label, row.group, ", ".join(words)))
    terminal.print_table(("topic", "label", "group", "words"), cells, right=("topic",))


def _show_changes(given: str, since: str, n_words: int, *, as_json: bool) -> None:
    """Print shares and words of a stream's topics then and now, and the events meanwhile."""
    from opelda._validation import steps_or_seconds
    from opelda.learning.persistence._stored_model import model_path
    from opelda.learning.streaming._events import Times
    from opelda.report._topic_table import topic_moves

    n_documents, seconds = steps_or_seconds("since", since)
    model = load_model(given)
    times = Times(model_path(given).parent)
    if seconds and not times:
        raise InputError(f"--since {since}: {given} stores no times; pass a number of documents.")
    now = model.n_docs_seen_
    begin = times.documents(times.last - seconds) if seconds else now - n_documents
    first, moves = topic_moves(model, begin)
    events = [replace(e, time=times.at(e.document)) for e in model.events_ if e.document > first]
    if as_json:
        found = {"model": given, "documents": now, "since": first}
        found["topics"] = [asdict(move) for move in moves]
        terminal.print_json(found | {"events": [event.as_dict() for event in events]})
        return
    earliest = " (the earliest stored state)" if first > begin else ""
    terminal.print_line(f"From {count(first, 'document')}{earliest} to {now:,}, largest changes:")
    cells = []
    for move in moves[:20]:
        words = (" ".join(part[:n_words]) for part in (move.words, move.came, move.went))
        shares = share(move.share_before), share(move.share)
        cells.append((str(move.topic), *shares, f"{move.rho:.2f}", *words))
    names = ("topic", "then", "now", "rho", "words", "came", "went")
    terminal.print_table(names, cells, right=names[:4])
    for event in events:
        terminal.print_line(str(event))


def _labels_from(given: list[str]) -> dict[int, str]:
    """Return labels by topic."""
    labels: dict[int, str] = {}
    for text in given:
        found = re.fullmatch(r"\s*([0-9]{1,9})\s*=(.*)", text, re.DOTALL)
        if found is None:
            raise InputError(f"--label must be TOPIC=TEXT, not {text!r}.")
        number = int(found[1])
        if number in labels:
            raise InputError(f"--label has the duplicate topic {number}; pass one label per topic.")
        labels[number] = found[2].strip()
    return labels


def _labels_by_command(
    command: str, model: Any, documents: Iterable[Any], only: list[int] | None
) -> dict[int, str]:
    """Return the labels that a shell command prints, asked for each topic on standard input."""
    from opelda.report import topic_table
    from opelda.report._topic_table import N_WORDS, labels_by

    def ask(topic: Any) -> str:
        done = subprocess.run(
            command, shell=True, input=topic.prompt, stdout=subprocess.PIPE, text=True, check=False
        )
        label: str = done.stdout.strip()
        if done.returncode or not label:
            said = f"ended with {done.returncode}" if done.returncode else "printed nothing"
            raise InputError(f"--label-with {command!r} {said} for topic {topic.topic}.")
        note(f"topic {topic.topic}: {label.splitlines()[0]}")
        return label

    return labels_by(ask, topic_table(model, N_WORDS, only=only), documents)
