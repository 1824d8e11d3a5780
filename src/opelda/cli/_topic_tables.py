"""What `opelda topics` prints beside words: documents, columns, changes of a stream, a tree."""

import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from opelda.cli._inputs import Blocks
from opelda.cli._models import columns_of, load_model
from opelda.cli._options import Reading
from opelda.cli._terminal import (
    VERBOSITY,
    count,
    note,
    print_json,
    print_line,
    print_table,
    share,
    width,
)
from opelda.errors import InputError


def typical_documents(model: Any, n: int, sources: list[str], reading: Reading) -> Any:
    """Return the most typical documents of each topic as rows."""
    from opelda.metrics._top_words import labels_of
    from opelda.report._document_blocks import mixtures, numbered
    from opelda.report._retrieval import TypicalDocuments

    found = TypicalDocuments(n)
    for block in numbered(Blocks(columns_of(model), sources, reading)):
        found.add(block, mixtures(model, block.X))
    return found.table(labels_of(model))


def print_with_documents(rows: Sequence[Any], documents: Sequence[Any]) -> None:
    """Write each topic, its words, and below them its documents, a line each."""
    from opelda.report._document_blocks import called

    for row in rows:
        print_line(f"{row.topic}  {share(row.weight)}  {row.label}", cut=True)
        print_line(f"    {' '.join(row.words)}", cut=True)
        for document in documents:
            if document.topic == row.topic:
                name = called(document.name, document.document, document.text)
                print_line(f"    {share(document.weight):>6}  {name}", cut=True)
        print_line()


def print_shares(rows: Sequence[Any]) -> None:
    """Write each topic, and below it a line for each time or group."""
    room, topic = width(), None
    wide = max(len(row.bin) for row in rows)
    digits = max(4, *(len(f"{row.n_docs:,}") for row in rows))
    head = f"    {'':{wide}}  corrected share, 95%       mean  {'docs':>{digits}}  words"
    print_line(head[:room])
    for row in rows:
        if row.topic != topic:
            print_line()
            topic = row.topic
            print_line(f"{topic}  {row.label}"[:room])
        ends = "" if row.low is None else f"{share(row.low)} to {share(row.high)}"
        line = f"    {row.bin:<{wide}}  {share(row.corrected_share):>6}  {ends:<15}  "
        line += f"{share(row.mean_share):>6}  {row.n_docs:>{digits},}  {' '.join(row.words)}"
        print_line(line, cut=True)


def print_effects(rows: Sequence[Any]) -> None:
    """Write effects as a table, in percentage points."""
    names = ("topic", "term", "effect", "from", "to", "p", "label")
    cells = []
    for row in rows:
        points = [f"{100 * part:+.3g}%" for part in (row.estimate, row.low, row.high)]
        cells.append((str(row.topic), row.term, *points, f"{row.p:.2g}", row.label))
    print_table(names, cells, right=("topic", "effect", "from", "to", "p"))


def show_changes(given: str, since: str, n_words: int, *, as_json: bool) -> None:
    """Print shares and words of a stream's topics then and now, and the events meanwhile."""
    from opelda._validation import steps_or_seconds
    from opelda.learning.persistence._stored_model import model_path
    from opelda.learning.streaming._events import Times
    from opelda.report._topic_table import topic_moves

    n_documents, seconds = steps_or_seconds("since", since)
    model = load_model(given)
    times = Times(model_path(given).parent)
    if seconds and not times:
        raise InputError(f"--since {since}: {given} keeps no times; give documents.")
    now = model.n_docs_seen_
    begin = times.documents(times.last - seconds) if seconds else now - n_documents
    first, moves = topic_moves(model, begin)
    events = [replace(e, time=times.at(e.document)) for e in model.events_ if e.document > first]
    if as_json:
        found = {"model": given, "documents": now, "since": first}
        found["topics"] = [asdict(move) for move in moves]
        print_json(found | {"events": [event.as_dict() for event in events]})
        return
    earliest = " (as far back as is known)" if first > begin else ""
    print_line(f"From {count(first, 'document')}{earliest} to {now:,}, moved most:")
    cells = []
    for move in moves[:20]:
        words = (" ".join(part[:n_words]) for part in (move.words, move.came, move.went))
        shares = share(move.share_before), share(move.share)
        cells.append((str(move.topic), *shares, f"{move.rho:.2f}", *words))
    names = ("topic", "then", "now", "rho", "words", "came", "went")
    print_table(names, cells, right=names[:4])
    for event in events:
        print_line(str(event))


def show_tree(model: Any, path: str, n_words: int, *, as_json: bool) -> None:
    """Print the hierarchy of topics."""
    from opelda.report import topic_tree

    tree = topic_tree(model, n_words if as_json else min(n_words, 4))
    if as_json:
        print_json({"model": path, "merges": [asdict(row) for row in tree.merges]})
        return
    for line in str(tree).splitlines():
        print_line(line)


def note_similar(topics: Any, path: str) -> None:
    """Say which topics are nearly the same, and how to merge them."""
    if VERBOSITY.quiet or topics.size > 2**25:  # comparing all pairs would take seconds
        return
    from opelda._word_ranking import similar_groups

    groups = [",".join(map(str, group)) for group in similar_groups(topics)]
    if groups:
        named = " ".join(f"--merge {group}" for group in groups[:10])
        more = "" if len(groups) <= 10 else f" (and {len(groups) - 10} more)"
        which = " and ".join(groups[0].split(",")[:2])
        note(
            f"topics {which}{'' if len(groups) == 1 else ', and others,'} are nearly the same; "
            f"merge them with: opelda edit {path} {named} -o NEW{more}"
        )


def labels_from(given: list[str]) -> dict[int, str]:
    """Return labels by topic."""
    labels: dict[int, str] = {}
    for text in given:
        found = re.fullmatch(r"\s*([0-9]{1,9})\s*=(.*)", text, re.DOTALL)
        if found is None:
            raise InputError(f"--label must be TOPIC=TEXT, not {text!r}.")
        number = int(found[1])
        if number in labels:
            raise InputError(f"--label names topic {number} twice; give one label.")
        labels[number] = found[2].strip()
    return labels


def labels_by_command(
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
