"""Records of a table in text form: where they end, although quoted fields may hold line ends.

What follows RFC 4180 to the letter is cut by arrays, all records at once. Anything else goes
record by record through Python's csv module, which says what is wrong with it.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opelda.corpus.formats._lines import LARGEST_BLOCK, LONGEST_LINE, LineReader

QUOTE, NEWLINE, RETURN = b'"\n\r'
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Records:
    """Where the records and fields of some well-formed bytes are.

    Attributes
    ----------
    data : bytes
    starts, ends : arrays
        Of the records, without line ends.
    lines : array
        How many lines come before each record.
    delimiters : array
        Where fields end, of all records.
    first : array
        Each record's first delimiter among them.
    n_fields : array
        Fields of each record.
    quoted : bool
        Whether there are quotes around fields.
    doubled : array
        Records that have quotes within quoted fields.
    """

    data: bytes
    starts: Ints
    ends: Ints
    lines: Ints
    delimiters: Ints
    first: Ints
    n_fields: Ints
    quoted: bool
    doubled: Ints

    def column(self, number: int, rows: Ints) -> tuple[list[int], list[int]]:
        """Return where a field begins and ends in some records that have it, without quotes."""
        last = self.first[rows] + number
        begin = self.starts[rows] if number == 0 else self.delimiters[last - 1] + 1
        inner = number + 1 < self.n_fields[rows]
        end = self.ends[rows]
        end[inner] = self.delimiters[last[inner]]
        if self.quoted:
            buffer = np.frombuffer(self.data, np.uint8)
            some = begin < end
            some[some] = buffer[begin[some]] == QUOTE
            begin, end = begin + some, end - some
        return begin.tolist(), end.tolist()


def take_records(reader: LineReader, n: int, quoted: bool) -> bytes:
    """Take so many records, going by whether quotes before a line's end are even in number."""
    pieces: list[bytes] = []
    size = n_done = odd = 0
    while (n_done < n and size < LARGEST_BLOCK) or odd:
        data = reader.take(max(n - n_done, 1), max(LARGEST_BLOCK - size, 1))
        pieces.append(data)
        size += len(data)
        if not data or size > LARGEST_BLOCK + LONGEST_LINE:
            break
        if quoted and b'"' in data:
            buffer = np.frombuffer(data, np.uint8)
            quotes = np.flatnonzero(buffer == QUOTE)
            before = np.searchsorted(quotes, np.flatnonzero(buffer == NEWLINE)) + odd
            n_done += int((before % 2 == 0).sum())
            odd = (odd + len(quotes)) % 2
        elif not odd:
            n_done += data.count(b"\n")
    return b"".join(pieces)


def well_formed(data: bytes, delimiter: str, quoted: bool) -> Records | None:
    """Return where everything is; None where quotes are not as RFC 4180 has them.

    Examples
    --------
    >>> records = well_formed(b'1,"a,\\nb"\\r\\n2,c\\n', ",", quoted=True)
    >>> records.n_fields.tolist(), records.lines.tolist(), records.column(1, np.arange(2))
    ([2, 2], [0, 2], ([3, 12], [7, 13]))
    >>> well_formed(b'1,5" disk\\n', ",", quoted=True) is None
    True
    """
    buffer = np.frombuffer(data, np.uint8)
    newlines = ends = np.flatnonzero(buffer == NEWLINE)
    delimiters = np.flatnonzero(buffer == ord(delimiter))
    quoted = quoted and b'"' in data
    doubled = np.zeros(0, np.intp)
    if quoted:
        quotes = np.flatnonzero(buffer == QUOTE)
        if not _are_regular(buffer, quotes, ord(delimiter)):
            return None
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
        delimiters = delimiters[np.searchsorted(quotes, delimiters) % 2 == 0]
        doubled = np.unique(np.searchsorted(ends, quotes[1:][np.diff(quotes) == 1]))
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    starts = np.concatenate(([0], ends[:-1] + 1))
    first = np.searchsorted(delimiters, starts)
    n_fields = np.searchsorted(delimiters, ends) - first + 1
    lines = np.searchsorted(newlines, starts)
    returned = (buffer[ends - 1] == RETURN) & (ends > starts) & (ends < len(data))
    ends = ends - returned
    return Records(data, starts, ends, lines, delimiters, first, n_fields, quoted, doubled)


def _are_regular(buffer: NDArray[np.uint8], quotes: Ints, delimiter: int) -> bool:
    """Whether quotes stand around whole fields, or are doubled within them."""
    if len(quotes) % 2:
        return False
    last = len(buffer) - 1
    opening, closing = quotes[::2], quotes[1::2]
    before = buffer[np.maximum(opening - 1, 0)]
    after = buffer[np.minimum(closing + 1, last)]
    behind = buffer[np.minimum(closing + 2, last)]
    opens = (before == delimiter) | (before == NEWLINE) | (before == QUOTE) | (opening == 0)
    # where nothing follows the last quote, `after` is that quote itself
    closes = (after == delimiter) | (after == NEWLINE) | (after == QUOTE)
    closes |= (after == RETURN) & (behind == NEWLINE)
    return bool(opens.all() and closes.all())


def one_by_one(
    reader: LineReader, n: int, delimiter: str, report: Callable[[int, str], None]
) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the line and the fields of so many records; bytes that are not UTF-8 as surrogates.

    A record that is malformed is reported, and reading goes on in the line after its first.
    """
    while n > 0:
        first, taken = reader.line + 1, list[bytes]()
        try:
            with _long_fields():
                lines = _lines(reader, taken)
                row = next(csv.reader(lines, delimiter=delimiter, strict=True), None)
        except csv.Error as error:
            reader.put_back(b"".join(taken[1:]))
            report(first, f"is malformed ({error})")
            continue
        if row is None:
            return
        n -= 1
        yield first, row


def _lines(reader: LineReader, taken: list[bytes]) -> Iterator[str]:
    size = 0
    while data := reader.take(1):
        taken.append(data)
        size += len(data)
        if size > LONGEST_LINE:
            raise csv.Error("a quote is not closed")
        yield data.decode("utf-8", "surrogateescape")


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let csv read longer fields than its 128 KiB, which it knows for all readers only."""
    before = csv.field_size_limit(LONGEST_LINE)
    try:
        yield
    finally:
        csv.field_size_limit(before)
