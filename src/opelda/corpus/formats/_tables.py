"""Tables in text form: which columns hold the text, and the text in them."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from opelda.corpus._block import Block
from opelda.corpus.formats._files import Input
from opelda.corpus.formats._format import Options
from opelda.corpus.formats._lines import LARGEST_BLOCK, LONE, LineReader, as_series, report_encoding
from opelda.corpus.formats._records import (
    Ints,
    Records,
    one_by_one,
    take_records,
    well_formed,
)
from opelda.corpus.formats.columns import choose
from opelda.errors import InputError

REMEDY = "correct the line"


@dataclass(frozen=True)
class Layout:
    """What a table's first row tells about the others.

    Attributes
    ----------
    delimiter : str
    quoted : bool
        Whether fields may stand in quotes; if not, quotes are letters like any other.
    width : int
        Fields of a row.
    text : list of int
        Columns that hold the text.
    name : int or None
        The column that holds the documents' names.
    """

    delimiter: str
    quoted: bool
    width: int
    text: list[int]
    name: int | None


def table_blocks(
    input: Input, options: Options, position: Any, delimiters: str, quoted: bool
) -> Iterator[Block]:
    """Yield the documents of a table.

    Parameters
    ----------
    delimiters : str
        What may stand between fields; the first one that the first row has does.
    quoted : bool
    """
    with LineReader(input, options, position) as reader:
        layout = _stored(position, input.label)
        if layout is None:
            layout = _read_layout(reader, options, delimiters, quoted)
        if layout is None:
            return
        table = _Table(reader, options, layout)
        while (block := table.block()) is not None:
            yield block


def _read_layout(
    reader: LineReader, options: Options, delimiters: str, quoted: bool
) -> Layout | None:
    """Learn from the first row; it is taken, unless columns are given by number."""
    data = take_records(reader, 1, quoted)
    if not data:
        return None
    delimiter = next((d for d in delimiters if d.encode() in data), delimiters[0])
    where = f"{reader.label}, line 1"
    records = well_formed(data, delimiter, quoted)
    if records is None or len(records.starts) != 1:
        raise InputError(f"{where} is malformed, as its quotes do not match; correct the line.")
    fields = [
        _fields(records, i, np.zeros(1, np.intp), "replace")[0] for i in range(records.n_fields[0])
    ]
    names = [field.strip() for field in fields]
    if options.text_columns and all(text.isdecimal() for text in options.text_columns):
        reader.put_back(data)
        text = [_numbered(column, names, where) for column in options.text_columns]
        name = None if options.name_column is None else _numbered(options.name_column, names, where)
        return Layout(delimiter, quoted, len(names), text, name)
    try:
        chosen = choose(names, [name for name in names if name], options.text_columns, where)
    except InputError as error:
        raise InputError(
            f"{error.message[:-1]}, or give columns by number, as '2', if there is no header.",
            **error.advice,
        ) from None
    if options.name_column is not None:
        choose(names, (), (options.name_column,), where)
    name = None if options.name_column is None else names.index(options.name_column)
    return Layout(delimiter, quoted, len(names), [names.index(column) for column in chosen], name)


def _numbered(column: str, names: list[str], where: str) -> int:
    if not column.isdecimal() or not 1 <= int(column[:9]) <= len(names):
        raise InputError(
            f"{where} has {len(names)} columns, and {column!r} is none of their numbers from 1 on; "
            "give all columns by number, or all by name."
        )
    return int(column) - 1


def _stored(position: Any, label: str) -> Layout | None:
    """Return what was learned from the first row when the position was reached."""
    if position is None:
        return None
    try:
        layout = Layout(**position["table"])
        columns = [*layout.text, 0 if layout.name is None else layout.name]
        good = (
            isinstance(layout.delimiter, str)
            and len(layout.delimiter.encode()) == 1
            and layout.delimiter not in '"\r\n'
            and all(isinstance(column, int) and 0 <= column < layout.width for column in columns)
        )
    except (TypeError, ValueError, KeyError):
        good = False
    if not good or not layout.text:
        raise InputError(f"{position!r} is no place in {label}; give one that was reached in it.")
    return layout


def _fields(records: Records, column: int, rows: Ints, errors: str = "strict") -> list[str]:
    """Return the fields of a column."""
    begin, end = records.column(column, rows)
    data = records.data
    if data.isascii():
        text = str(data, "ascii")
        fields = [text[a:b] for a, b in zip(begin, end, strict=True)]
    else:
        fields = [data[a:b].decode("utf-8", errors) for a, b in zip(begin, end, strict=True)]
    for i in np.flatnonzero(np.isin(rows, records.doubled)).tolist():
        fields[i] = fields[i].replace('""', '"')
    return fields


class _Table:
    """Makes blocks of a table's rows."""

    def __init__(self, reader: LineReader, options: Options, layout: Layout) -> None:
        self.reader = reader
        self.options = options
        self.layout = layout
        self.columns = [*layout.text] + ([] if layout.name is None else [layout.name])

    def block(self) -> Block | None:
        """Return the next block; None at the end."""
        rows: list[Sequence[str]] = []
        start = self.reader.offset
        while (missing := self.options.block_size - len(rows)) > 0:
            some = self._rows(missing)
            if some is None:
                break
            rows += some
            if rows and self.reader.offset - start >= LARGEST_BLOCK:
                break
        if not rows:
            return None
        n_texts = len(self.layout.text)
        texts = (
            [row[0] for row in rows] if n_texts == 1 else [" ".join(row[:n_texts]) for row in rows]
        )
        names = None if self.layout.name is None else [row[-1] for row in rows]
        position = {**self.reader.position, "table": asdict(self.layout)}
        return Block(as_series(texts), position, names)

    def _rows(self, n: int) -> list[Sequence[str]] | None:
        """Return the wanted fields of up to `n` rows; None at the end."""
        first = self.reader.line + 1
        data = take_records(self.reader, n, self.layout.quoted)
        if not data:
            return None
        records = well_formed(data, self.layout.delimiter, self.layout.quoted)
        if records is None:
            self.reader.put_back(data)
            return self._slowly(n)
        wrong = np.flatnonzero(records.n_fields != self.layout.width)
        for row in wrong.tolist():
            if records.starts[row] < records.ends[row]:
                self._report_width(first + int(records.lines[row]), int(records.n_fields[row]))
        rows = np.flatnonzero(records.n_fields == self.layout.width)
        try:
            fields = [_fields(records, column, rows) for column in self.columns]
        except UnicodeDecodeError:
            return self._one_by_one(records, rows, first)
        return list(zip(*fields, strict=True))

    def _one_by_one(self, records: Records, rows: Ints, first: int) -> list[Sequence[str]]:
        """Return rows as they are, and report those that cannot be decoded."""
        kept: list[Sequence[str]] = []
        for row in rows:
            one = np.array([row])
            try:
                kept.append([_fields(records, column, one)[0] for column in self.columns])
            except UnicodeDecodeError:
                where = f"{self.reader.label}, line {first + int(records.lines[row])}"
                data = records.data[records.starts[row] : records.ends[row]]
                report_encoding(where, data, self.options)
        return kept

    def _slowly(self, n: int) -> list[Sequence[str]]:
        kept: list[Sequence[str]] = []
        for line, row in one_by_one(self.reader, n, self.layout.delimiter, self._report):
            fields = row or ([""] if self.layout.width == 1 else row)
            if not fields:
                continue
            if len(fields) != self.layout.width:
                self._report_width(line, len(fields))
                continue
            wanted = [fields[column] for column in self.columns]
            if any(LONE.search(field) for field in wanted):
                data = self.layout.delimiter.join(fields).encode("utf-8", "surrogateescape")
                report_encoding(f"{self.reader.label}, line {line}", data, self.options)
                continue
            kept.append(wanted)
        return kept

    def _report_width(self, line: int, n_fields: int) -> None:
        self._report(line, f"has {n_fields} fields, not {self.layout.width} as the first")

    def _report(self, line: int, what: str) -> None:
        self.options.problems.add(f"{self.reader.label}, line {line}", what, REMEDY)
