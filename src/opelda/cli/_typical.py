"""`opelda topics --docs`: topics with documents that are typical of them."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from opelda.cli._inputs import blocks, open_over
from opelda.cli._models import columns_of
from opelda.cli._options import Reading, Show
from opelda.cli._show import share, skipped_documents, topic_as_plain
from opelda.cli._standard_streams import console_for, print_line


def typical_documents(
    model: Any, n: int, sources: list[str], reading: Reading, show: Show, jobs: int | None
) -> Any:
    """Return the most typical documents of each topic as rows."""
    from opelda.metrics._top_words import labels_of
    from opelda.report._document_blocks import mixtures, numbered
    from opelda.report._typical_documents import TypicalDocuments

    columns = columns_of(model)
    opened = open_over(columns, sources, reading, jobs)
    found = TypicalDocuments(n)
    for block in numbered(blocks(opened, columns, show, "inferring")):
        found.add(block, mixtures(model, block.X))
    skipped_documents(opened.problems.n_skipped, opened.problems.first, show)
    return found.table(labels_of(model))


def as_plain(row: Any, documents: Sequence[Any]) -> dict[str, Any]:
    """Return a topic with its documents as JSON holds it."""
    own = [asdict(document) for document in documents if document.topic == row.topic]
    for document in own:
        del document["topic"], document["label"]
    return {**topic_as_plain(row), "documents": own}


def print_with_documents(rows: Sequence[Any], documents: Sequence[Any]) -> None:
    """Write each topic, its words, and below them its documents, a line each."""
    from opelda.report._document_blocks import called

    room = console_for(sys.stdout).width
    for row in rows:
        _print(f"{row.topic}  {share(row.weight)}  {row.label}", room)
        _print(f"    {' '.join(row.words)}", room)
        for document in documents:
            if document.topic == row.topic:
                name = called(document.name, document.document, document.text)
                _print(f"    {share(document.weight):>6}  {name}", room)
        print_line()


def _print(line: str, room: int) -> None:
    print_line(line if len(line) <= room else line[: room - 1] + "…")
