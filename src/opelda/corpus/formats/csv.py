"""Tables in text form: comma-separated and tab-separated values."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from opelda.corpus._block import Beside, Block, joined_columns
from opelda.corpus._forks import lacks_pool
from opelda.corpus.formats._cells import LONE, as_series, cells
from opelda.corpus.formats._encodings import report_encoding
from opelda.corpus.formats._fields import OPEN, fields_of
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._layout import Layout, read_layout, stored_layout
from opelda.corpus.formats._line_reader import (
    LARGEST_BLOCK,
    LONGEST_LINE,
    LineReader,
    Values,
    count_lines,
)
from opelda.corpus.formats._registry import Options
from opelda.corpus.formats._text_columns import wanted_columns
from opelda.errors import InputError

NEWLINE, QUOTE, RETURN = b'\n"\r'


def blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    """Yield the documents of a table with a header, a document a row.

    Fields may stand in quotes and hold line ends then, as RFC 4180 has it; a first row without a
    comma may separate fields by semicolons or tabs. ``options.text_columns`` names columns of the
    header, see `_columns.choose`; if they are numbers, from 1 on, there is no header. Blank lines
    are passed over, except in a table of one column, where they are empty documents.
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
            layout = read_layout(reader, options, delimiters, quoted)
        else:
            layout = stored_layout(position, input.label)
        if layout is not None:
            yield from iter(_Table(reader, options, layout).block, None)


def _end_of_regular(data: bytes, layout: Layout) -> int:
    """Return where the whole rows of a table end; 0 if any is malformed or of the wrong width."""
    buffer, delimiter = np.frombuffer(data, np.uint8), ord(layout.delimiter)
    returns = np.flatnonzero(buffer[:-1] == RETURN) if b"\r" in data else np.zeros(0, np.intp)
    if (buffer[returns + 1] != NEWLINE).any():  # polars drops some of those that end no line
        return 0
    ends = np.flatnonzero(buffer == NEWLINE)
    delimiters = np.flatnonzero(buffer == delimiter)
    if layout.quoted and b'"' in data:
        quotes = np.flatnonzero(buffer == QUOTE)
        # after an even number of quotes one is outside of them, as a doubled one counts twice
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
        delimiters = delimiters[np.searchsorted(quotes, delimiters) % 2 == 0]
        quotes = quotes[: np.searchsorted(quotes, ends[-1])] if len(ends) else quotes[:0]
        before, after = buffer[quotes[::2] - 1], buffer[quotes[1::2] + 1]
        before = before[int((quotes[:1] == 0).sum()) :]  # nothing is before the first byte
        outside = (delimiter, NEWLINE, QUOTE)
        if not (np.isin(before, outside).all() and np.isin(after, (*outside, RETURN)).all()):
            return 0
    n_before = np.arange(1, len(ends) + 1) * (layout.width - 1)  # delimiters, if all are as wide
    regular = len(ends) > 0 and np.array_equal(np.searchsorted(delimiters, ends), n_before)
    return int(ends[-1]) + 1 if regular else 0


class _Table:
    """Makes blocks of a table's rows.

    polars reads those that follow RFC 4180, where it has its threads. It would also take rows of
    any width, and text behind quotes, so that all is checked before; the others are read field by
    field. Both together took 0.11 s for 57 MB without quotes (0.24 s with), `csv.reader` 0.55 s
    (0.47 s).
    """

    def __init__(self, reader: LineReader, options: Options, layout: Layout) -> None:
        self.reader, self.options, self.layout = reader, options, layout
        self.kept = layout.beside(options, reader.label)
        asked = [n for n in self.kept.values() if layout.names[n] in wanted_columns(options)]
        self.checked = [*layout.text, *asked]  # in the others what is no UTF-8 is replaced
        self.columns = [f"column_{n}" for n in range(layout.width)]
        # before rows of any bytes: polars drops a mark, and unpacks what looks compressed
        self.header = layout.delimiter.join(self.columns).encode() + b"\n"

    def block(self) -> Block | None:
        """Return the next block; None at the end."""
        texts: list[pl.Series] = []
        beside: list[tuple[Beside, int]] = []
        start, missing = self.reader.offset, self.options.block_size
        while missing > 0:
            data = self.reader.take(missing)
            if not data and missing == self.options.block_size and self.reader.goes_on():
                continue
            if not data:
                break
            try:
                some, columns = self._regular_rows(data) or self._rows(data, missing)
            except InputError:
                if not texts or self.reader.is_file:
                    raise
                break
            texts.append(some)
            beside.append((columns, len(some)))
            missing -= len(some)
            if missing < self.options.block_size and self.reader.offset - start >= LARGEST_BLOCK:
                break
        if missing == self.options.block_size:
            return None
        position = {**self.reader.position, "table": asdict(self.layout)}
        return Block(pl.concat(texts), position, joined_columns(beside))

    def _regular_rows(self, data: bytes) -> tuple[pl.Series, Beside] | None:
        """Return whole rows, texts and what is beside them, and put the rest back.

        None if one is bad.
        """
        layout = self.layout
        end = 0 if lacks_pool() else _end_of_regular(data, layout)
        if not end:
            return None
        wanted = {*layout.text, *self.kept.values()}
        try:
            rows = pl.read_csv(
                self.header + data[:end],
                schema=dict.fromkeys(self.columns, pl.String),
                columns=sorted(self.columns[n] for n in wanted),
                separator=layout.delimiter,
                quote_char='"' if layout.quoted else None,
            )
        except pl.exceptions.PolarsError:
            return None
        self.reader.put_back(data[end:])
        fields = [rows[self.columns[n]].fill_null("") for n in layout.text]
        text = pl.concat_str(fields, separator=" ")
        texts = fields[0] if len(fields) == 1 else rows.select(text).to_series()
        # a field without anything in it is a missing value, in quotes or not
        return texts, {k: rows[self.columns[n]].replace("", None) for k, n in self.kept.items()}

    def _rows(self, data: bytes, n: int) -> tuple[pl.Series, Beside]:
        """Return up to `n` rows, one by one, texts and what is beside, and put the rest back."""
        texts: list[str] = []
        beside: Values = {kept: [] for kept in self.kept}
        layout = self.layout
        text = data.decode("utf-8", "surrogateescape")
        line, at = self.reader.line + 1 - count_lines(data), 0
        try:
            while at < len(text) and len(texts) < n:
                fields, after = fields_of(text, at, layout.delimiter, layout.quoted)
                is_open = not fields and OPEN.match(text, after) is not None
                if is_open and len(text) - at < LONGEST_LINE:  # it may be closed later on
                    more = self.reader.take_all(max(n, text.count("\n", at)))
                    text += more.decode("utf-8", "surrogateescape")
                    if more:
                        continue
                whole = len(fields) == layout.width
                if not fields:  # reading goes on in the line after its first
                    why = "a quote is not closed" if is_open else "text follows a closing quote"
                    self._report(line, f"is malformed ({why})")
                    after = text.find("\n", at) + 1 or len(text)
                elif whole and any(LONE.search(fields[column]) for column in self.checked):
                    record = text[at:after].encode("utf-8", "surrogateescape")
                    report_encoding(f"{self.reader.label}, line {line}", record, self.options)
                elif whole:
                    texts.append(" ".join([fields[column] for column in layout.text]))
                    for kept, column in self.kept.items():
                        beside[kept].append(fields[column] or None)
                elif text[at:after].strip("\r\n"):  # blank lines are passed over
                    self._report(line, f"has {len(fields)} fields, not {layout.width} as the first")
                line += text.count("\n", at, after)
                at = after
        except InputError:
            if self.reader.is_file or not texts:
                raise
        finally:
            self.reader.put_back(text[at:].encode("utf-8", "surrogateescape"))
        return as_series(texts), {kept: cells(values) for kept, values in beside.items()}

    def _report(self, line: int, what: str) -> None:
        self.options.problems.add(f"{self.reader.label}, line {line}", what, "correct the line")
