"""`opelda topics --time`, `--by` and `--effect`: topics by the columns of documents."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from opelda.cli._inputs import read_over
from opelda.cli._models import columns_of
from opelda.cli._options import Columns, NamelessReading, Show
from opelda.cli._paths import check_output
from opelda.cli._show import by_weight, share, skipped_documents
from opelda.cli._standard_streams import console_for, note, print_json, print_line, print_table
from opelda.errors import InputError

SUFFIXES = (".csv", ".tsv", ".xlsx")


def show_over_columns(
    model: Any,
    sources: list[str],
    columns: Columns,
    reading: NamelessReading,
    show: Show,
    jobs: int | None,
    *,
    only: list[int] | None,
    by_number: bool,
    n_words: int,
    output: str | None,
    as_json: bool,
) -> None:
    """Print shares by time or group, or effects of columns; or write them."""
    path = _target(output, sources, reading)
    kept = columns.names() or "auto"
    documents = read_over(columns_of(model), sources, reading, show, jobs, metadata=kept)
    skipped_documents(documents.n_skipped, documents.problems, show)
    rows = _rows(model, documents, columns, _topics(model, only, by_number), n_words)
    if path is not None:
        _write(rows, path)
        note(show, f"{len(rows):,} rows: {output}")
    elif as_json:
        print_json({"effects" if columns.effect else "shares": [asdict(row) for row in rows]})
    else:
        (_print_effects if columns.effect else _print_shares)(rows)
    note(show, rows.note)


def _rows(model: Any, documents: Any, columns: Columns, topics: list[int], n_words: int) -> Any:
    from opelda import report

    if columns.effect:
        return report.estimate_effect(model, documents, columns.effect, topics=topics)
    asked: dict[str, Any] = {"topics": topics, "n_words": n_words}
    if columns.by is not None:
        return report.topics_by(model, documents, columns.by, **asked)
    return report.topics_over_time(model, documents, columns.time, unit=columns.unit, **asked)  # type: ignore[arg-type]


def _topics(model: Any, only: list[int] | None, by_number: bool) -> list[int]:
    """Return the topics to show, the heaviest first."""
    from opelda.report import topic_table

    table = topic_table(model, 1, only=only)
    return [row.topic for row in (table if by_number else by_weight(table))]


def _print_shares(rows: Sequence[Any]) -> None:
    """Write each topic, and below it a line for each time or group."""
    room, topic = console_for(sys.stdout).width, None
    width = max(len(row.bin) for row in rows)
    digits = max(4, *(len(f"{row.n_docs:,}") for row in rows))
    print_line(
        f"    {'':{width}}  corrected share, 95%       mean  {'docs':>{digits}}  words"[:room]
    )
    for row in rows:
        if row.topic != topic:
            print_line()
            topic = row.topic
            print_line(f"{topic}  {row.label}"[:room])
        ends = "" if row.low is None else f"{share(row.low)} to {share(row.high)}"
        line = f"    {row.bin:<{width}}  {share(row.corrected_share):>6}  {ends:<15}  "
        line += f"{share(row.mean_share):>6}  {row.n_docs:>{digits},}  {' '.join(row.words)}"
        print_line(line if len(line) <= room else line[: room - 1] + "…")


def _print_effects(rows: Sequence[Any]) -> None:
    names = ("topic", "term", "effect", "from", "to", "p", "label")
    cells = (
        (str(row.topic), row.term, *map(_points, (row.estimate, row.low, row.high)),
         f"{row.p:.2g}", row.label)
        for row in rows
    )  # fmt: skip
    print_table(names, cells, right=("topic", "effect", "from", "to", "p"))


def _points(part: float) -> str:
    """Return a change of a share in percentage points."""
    return f"{100 * part:+.3g}%"


def _target(output: str | None, sources: list[str], reading: NamelessReading) -> Path | None:
    if output is None:
        return None
    if Path(output).suffix.lower() not in SUFFIXES:
        raise InputError(f"The output {output!r} must end in {', '.join(SUFFIXES)}.")
    return check_output(output, sources, [reading.column_words])


def _write(rows: Any, path: Path) -> None:
    """Write a table in one step; no cell is ever run as a formula."""
    import polars as pl

    from opelda.cli._mixture_files import safe_texts
    from opelda.cli._spreadsheet import Sheet
    from opelda.corpus.formats._writing import write_in_one_step

    table = rows.to_polars().with_columns(pl.col(pl.List(pl.String)).list.join(" "))
    with write_in_one_step(path) as file:
        if path.suffix.lower() == ".xlsx":
            with Sheet(file) as sheet:
                sheet.add(table)
        else:
            separator = "," if path.suffix.lower() == ".csv" else "\t"
            file.write(safe_texts(table).write_csv(separator=separator).encode())
