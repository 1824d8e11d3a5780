"""Tables in text form: comma-separated and tab-separated values."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from opelda.corpus._block import Beside, Block, joined_columns
from opelda.corpus._forks import contains, evaluate, evaluate_table, lacks_pool, require_pool
from opelda.corpus.formats._encodings import as_series, report_encoding
from opelda.corpus.formats._input import Input, check_position
from opelda.corpus.formats._line_reader import (
    LARGEST_BLOCK,
    LONGEST_LINE,
    LineReader,
    count_lines,
)
from opelda.corpus.formats._registry import Options
from opelda.corpus.formats._text_columns import choose, columns_beside, wanted_columns
from opelda.errors import InputError

NEWLINE, QUOTE, RETURN = b'\n"\r'
REPLACED = "\ufffd"  # what polars makes of bytes that are not UTF-8
FEW = 64  # lines that are looked at after a malformed one: many such lines stay cheap


def blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    """Yield the documents of a table with a header, a document a row.

    Fields may stand in quotes and hold line ends then, as RFC 4180 has it; a first row without a
    comma may separate fields by semicolons or tabs. ``options.text_columns`` names columns of the
    header, see `_text_columns.choose`; if they are numbers, from 1 on, there is no header. Blank
    lines are passed over, except in a table of one column, where they are empty documents.
    """
    return _blocks(input, options, position, ",;\t", True)


def tsv_blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    """Yield the documents of a table like `blocks`; fields hold neither tabs nor line ends."""
    return _blocks(input, options, position, "\t", False)


def _blocks(
    input: Input, options: Options, position: Any, delimiters: str, quoted: bool
) -> Iterator[Block]:
    """Yield the documents of a table; the first delimiter that its first line has separates."""
    with LineReader(input, options, position) as reader:
        if position is None:
            layout = _read_layout(reader, options, delimiters, quoted)
        else:
            layout = _stored_layout(position, input.label)
        if layout is not None:
            yield from iter(_Table(reader, options, layout).block, None)


@dataclass(frozen=True)
class Layout:
    """The form of a table's rows; if they are not `quoted`, quotes are letters like any other."""

    delimiter: str
    quoted: bool
    width: int
    text: list[int]
    names: list[str]  # of the columns; their numbers from 1 on where there is no header


def _read_layout(
    reader: LineReader, options: Options, delimiters: str, quoted: bool
) -> Layout | None:
    """Learn from the first row, which is taken unless columns are given by number."""
    data = reader.take(1)
    if not data:
        return None
    where = f"{reader.label}, line 1"
    delimiter = next((d for d in delimiters if d.encode() in data), delimiters[0])
    rows = _leading_rows(reader, data, delimiter, quoted)
    end, width = int(rows.ends[0]), int(rows.widths[0])
    if not width:
        raise InputError(f"{where} is malformed, as its quotes do not match; correct the line.")
    header, _ = _parsed(rows.data[:end], width, delimiter, rows.quoted, range(width), reader.label)
    names = [name.strip() for name in header.row(0)]
    wanted = options.text_columns
    if wanted and all(column.isdecimal() for column in wanted):
        columns = [_numbered(column, names, where) for column in wanted]
        for column in wanted_columns(options):
            _numbered(column, names, where)
        names = [str(number) for number in range(1, width + 1)]
        end = 0
    else:
        try:
            chosen = choose(names, [name for name in names if name], wanted, where)
        except InputError as error:
            raise InputError(
                f"{error.message[:-1]}, or give columns by number, as '2', if there is no header.",
                **error.advice,
            ) from None
        columns = [names.index(column) for column in chosen]
    reader.put_back(rows.data[end:])
    return Layout(delimiter, quoted, width, columns, names)


def _numbered(column: str, names: list[str], where: str) -> int:
    if not column.isdecimal() or not 1 <= int(column[:9]) <= len(names):
        raise InputError(
            f"{where} has {len(names)} columns, and {column!r} is none of their numbers from 1 on; "
            "give all columns by number, or all by name."
        )
    return int(column) - 1


def _stored_layout(position: Any, label: str) -> Layout:
    """Return the layout that was known when the position was reached."""
    try:
        layout = Layout(**position["table"])
        good = (
            bool(layout.text)
            and layout.delimiter in (",", ";", "\t")
            and all(isinstance(n, int) and 0 <= n < layout.width for n in layout.text)
            and len(layout.names) == layout.width
            and all(isinstance(name, str) for name in layout.names)
        )
    except (TypeError, ValueError, KeyError):
        good = False
    check_position(good, position, label)
    return layout


class _Rows(NamedTuple):
    """Rows at the beginning of some lines; a malformed first row is its first line, of width 0."""

    data: bytes
    ends: NDArray[np.intp]
    widths: NDArray[np.intp]  # how many fields each row has
    quoted: bool  # whether quotes in these rows are more than letters
    is_cut: bool  # whether a misplaced quote follows the rows
    why: str = ""  # the first row is malformed


def _leading_rows(reader: LineReader, data: bytes, delimiter: str, quoted: bool) -> _Rows:
    """Find whole rows, and take as many lines more as the first of them needs."""
    while True:
        ends, widths, is_cut = _find_rows(data, delimiter, quoted)
        if len(ends):
            return _Rows(data, ends, widths, quoted, is_cut)
        more = b""
        if not is_cut and len(data) < LONGEST_LINE:  # a quote is open, and may be closed later on
            more = reader.take_all(count_lines(data))
        if not more:
            break
        data += more
    # before the first field that begins with a quote, all quotes are letters
    first = re.search(rb'(?:\A|\n|%b)"' % re.escape(delimiter.encode()), data)
    plain = data if first is None else data[: data.rfind(b"\n", 0, first.start() + 1) + 1]
    if plain:
        ends, widths, _ = _find_rows(plain, delimiter, False)
        return _Rows(data, ends, widths, False, True)
    end = np.array([data.find(b"\n") + 1 or len(data)])
    why = "a quote stands within a field" if is_cut else "a quote is not closed"
    return _Rows(data, end, np.zeros(1, np.intp), True, True, why)


def _find_rows(
    data: bytes, delimiter: str, quoted: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp], bool]:
    """Return whole rows' ends and numbers of fields, and whether a misplaced quote follows."""
    buffer = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(buffer == NEWLINE) + 1
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    separators = np.flatnonzero(buffer == ord(delimiter))
    end = len(data)
    if quoted and b'"' in data:
        quotes = np.flatnonzero(buffer == QUOTE)
        around = np.frombuffer(b"\n%b\n\n" % data, np.uint8)
        outside = (ord(delimiter), NEWLINE, QUOTE)
        opening, closing = quotes[::2], quotes[1::2]
        after = around[closing + 2]
        closes = (after == RETURN) & (around[closing + 3] == NEWLINE)
        closes |= np.isin(after, outside)
        opens = np.isin(around[opening], outside)
        end = min(opening[~opens].min(initial=end), closing[~closes].min(initial=end))
        # after an even number of quotes one is outside of them, as a doubled one counts twice
        ends = ends[(np.searchsorted(quotes, ends) % 2 == 0) & (ends <= end)]
        separators = separators[np.searchsorted(quotes, separators) % 2 == 0]
    widths = np.diff(np.searchsorted(separators, ends), prepend=0) + 1
    return ends, widths, end < len(data)


def _parsed(
    rows: bytes, width: int, delimiter: str, quoted: bool, wanted: Any, label: str
) -> tuple[pl.DataFrame, bool]:
    """Return some columns of whole rows, and whether bytes that are not UTF-8 were replaced."""
    names = [f"column_{n}" for n in range(width)]
    if lacks_pool():
        return _parsed_by_python(rows, delimiter, quoted, wanted, label)
    # before rows of any bytes a header: polars drops a mark, and unpacks what looks compressed
    read = partial(
        pl.read_csv,
        delimiter.join(names).encode() + b"\n" + rows,
        schema=dict.fromkeys(names, pl.String),
        columns=[names[n] for n in wanted],
        separator=delimiter,
        quote_char='"' if quoted else None,
    )
    try:
        return read().fill_null(""), False
    except pl.exceptions.PolarsError:
        return read(encoding="utf8-lossy").fill_null(""), True


def _parsed_by_python(
    rows: bytes, delimiter: str, quoted: bool, wanted: Any, label: str
) -> tuple[pl.DataFrame, bool]:
    """Return the same in a forked process, where polars cannot read."""
    text = rows.decode("utf-8", "replace")
    file = io.StringIO(text, newline="")
    try:
        table = [*csv.reader(file, delimiter=delimiter, quoting=0 if quoted else csv.QUOTE_NONE)]
    except csv.Error:  # a field is very long, or holds a return
        require_pool(label)
    columns = {f"column_{n}": as_series([row[n] if row else "" for row in table]) for n in wanted}
    return pl.DataFrame(columns), REPLACED in text


class _Table:
    """Makes blocks of a table's rows."""

    def __init__(self, reader: LineReader, options: Options, layout: Layout) -> None:
        self.reader, self.options, self.layout = reader, options, layout
        names, text = layout.names, [layout.names[n] for n in layout.text]
        kept = columns_beside(names, text, options, f"{reader.label}, line 1")
        self.kept = {key: names.index(name) for key, name in kept.items()}
        asked = [n for n in self.kept.values() if names[n] in wanted_columns(options)]
        self.checked = {*layout.text, *asked}  # in the others what is no UTF-8 is replaced
        self.wanted = sorted({*layout.text, *self.kept.values()})

    def block(self) -> Block | None:
        """Return the next block; None at the end."""
        texts: list[pl.Series] = []
        beside: list[tuple[Beside, int]] = []
        start, size = self.reader.offset, self.options.block_size
        missing = n_lines = size
        while missing > 0:
            data = self.reader.take(min(missing, n_lines))
            if not data and missing == size and self.reader.goes_on():
                continue
            if not data:
                break
            rows = _leading_rows(self.reader, data, self.layout.delimiter, self.layout.quoted)
            try:
                some, columns = self._rows(rows)
            except InputError:
                if not texts or self.reader.is_file:
                    raise
                break
            n_lines = FEW if rows.is_cut else 2 * n_lines
            if len(some):
                texts.append(some)
                beside.append((columns, len(some)))
            missing -= len(some)
            if missing < size and self.reader.offset - start >= LARGEST_BLOCK:
                break
        if missing == size:
            return None
        position = {**self.reader.position, "table": asdict(self.layout)}
        return Block(pl.concat(texts), position, joined_columns(beside))

    def _rows(self, rows: _Rows) -> tuple[pl.Series, Beside]:
        """Return the texts of rows and what is beside them; put back what follows them.

        Bad rows are left out and reported. In a pipe a row whose report is an error is put back,
        too: first the rows before it are given.
        """
        data, ends, widths = rows.data, rows.ends, rows.widths
        starts = np.concatenate(([0], ends[:-1]))
        good = widths == self.layout.width
        table, replaced = self._columns(rows, starts, good)
        if replaced:
            fields = [contains(table[f"column_{n}"], REPLACED) for n in self.checked]
            for i in np.flatnonzero(good)[np.any([field.to_numpy() for field in fields], axis=0)]:
                row = data[starts[i] : ends[i]]
                good[i] = row.decode("utf-8", "ignore").encode() == row
        n_rows = len(ends)
        if not good.all():
            n_rows = self._report(rows, starts, good)
            good[n_rows:] = False
            table, _ = self._columns(rows, starts, good)
        self.reader.put_back(data[int(ends[n_rows - 1]) :])
        fields = [table[f"column_{n}"] for n in self.layout.text]
        text = pl.concat_str([field.name for field in fields], separator=" ")
        texts = fields[0] if len(fields) == 1 else evaluate_table(table, text)
        # a field without anything in it is a missing value, in quotes or not
        kept = {key: table[f"column_{n}"] for key, n in self.kept.items()}
        return texts, {
            key: evaluate(values, lambda column: column.replace("", None))
            for key, values in kept.items()
        }

    def _columns(
        self, rows: _Rows, starts: NDArray[np.intp], good: NDArray[np.bool_]
    ) -> tuple[pl.DataFrame, bool]:
        """Return what is wanted of the good rows, see `_parsed`."""
        data, layout = rows.data[: int(rows.ends[-1])], self.layout
        if not good.all():
            pairs = zip(starts[good], rows.ends[good], strict=True)
            data = b"".join(data[start:end] for start, end in pairs)
        form = layout.width, layout.delimiter, rows.quoted
        return _parsed(data, *form, self.wanted, self.reader.label)

    def _report(self, rows: _Rows, starts: NDArray[np.intp], good: NDArray[np.bool_]) -> int:
        """Report bad rows; return how many rows can be given before one stops the reading."""
        data, width = rows.data, self.layout.width
        first = self.reader.line + 1 - count_lines(data)
        newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == NEWLINE)
        for i in np.flatnonzero(~good).tolist():
            row, n_fields = data[starts[i] : rows.ends[i]], rows.widths[i]
            where = f"{self.reader.label}, line {first + np.searchsorted(newlines, starts[i])}"
            what = f"has {n_fields} fields, not {width} as the first"
            if not n_fields:
                what = f"is malformed ({rows.why})"
            try:
                if n_fields == width:
                    report_encoding(where, row, self.options)
                elif row.strip(b"\r\n"):  # blank lines are passed over
                    self.options.problems.add(where, what, "correct the line")
            except InputError:
                if self.reader.is_file or i == 0:
                    self.reader.put_back(data)
                    raise
                return i
        return len(rows.ends)
