"""Lines of a file, many at a time, from any place that was reached before."""

import codecs
import io
import re
from collections.abc import Callable, Iterator, Sequence, Sized
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from opelda.corpus._block import Block
from opelda.corpus.formats._encoding import Recoded, codec
from opelda.corpus.formats._files import Input
from opelda.corpus.formats._format import Options
from opelda.corpus.formats._streams import buffered
from opelda.errors import InputError

CHUNK = 1 << 20
# Documents that are longer are no documents; blocks end early once they hold this much.
LONGEST_LINE = 1 << 28
LARGEST_BLOCK = 1 << 28
NEWLINE = ord("\n")
POSITION = ("offset", "line")
LONE = re.compile("[\ud800-\udfff]")

Parse = Callable[[list[str], Sequence[int]], tuple[list[str], list[str] | None]]


class LineReader:
    """Takes whole lines off a source, as UTF-8 whatever it is written in.

    Parameters
    ----------
    input : Input
    options : Options
    position : what `position` was before, or None

    Examples
    --------
    >>> reader = LineReader(Input.of(io.BytesIO(b"tea\\ncup\\npot")), Options(), None)
    >>> reader.take(2), reader.position, reader.take(2), reader.take(2)
    (b'tea\\ncup\\n', {'offset': 8, 'line': 2}, b'pot', b'')
    """

    def __init__(self, input: Input, options: Options, position: Any) -> None:
        self.label = input.label
        self.offset, self.line = _checked(position, input.label)
        self._chunk = b""
        self._at = 0
        self._ends: NDArray[np.intp] = np.zeros(0, np.intp)
        self._next = 0
        self._file = self._open(input, codec(options.encoding))

    @property
    def position(self) -> dict[str, Any]:
        """Where the next line begins."""
        return {"offset": self.offset, "line": self.line}

    def take(self, n_lines: int, n_bytes: int | None = None) -> bytes:
        """Return the next lines with their ends, fewer if they hold `n_bytes`; none at the end.

        Without `n_bytes` they hold as much as a block may.

        Raises
        ------
        InputError
            When a line is longer than any document.
        """
        n_bytes = LARGEST_BLOCK if n_bytes is None else n_bytes
        pieces: list[bytes] = []
        size = unended = 0
        while n_lines > 0:
            if self._at == len(self._chunk) and not self._fill():
                break
            # the line that brings the bytes over the limit is the last one
            last = self._next + n_lines - 1
            full = int(np.searchsorted(self._ends, self._at + n_bytes - size - 1))
            last = min(last, max(full, self._next))
            if last < len(self._ends):
                end = int(self._ends[last]) + 1
                n_lines = 0
            else:
                last = len(self._ends) - 1
                end = len(self._chunk)
                n_lines -= last + 1 - self._next
            before = int(self._ends[last]) + 1 if last >= self._next else self._at
            unended = end - before + (unended if last < self._next else 0)
            self.line += last + 1 - self._next
            pieces.append(self._chunk[self._at : end])
            size += end - self._at
            self._at, self._next = end, last + 1
            if unended > LONGEST_LINE:
                raise InputError(
                    f"{self.label}, line {self.line + 1} is longer than {LONGEST_LINE >> 20} MB; "
                    "check the format of the file."
                )
        if unended and n_lines:
            self.line += 1
        self.offset += size
        return b"".join(pieces)

    def put_back(self, data: bytes) -> None:
        """Take lines back that were taken last."""
        self.offset -= len(data)
        self.line -= count_lines(data)
        self._keep(data + self._chunk[self._at :])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> "LineReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, input: Input, encoding: str) -> io.BufferedReader:
        """Open the source where reading begins."""
        seek = encoding == "utf-8" and self.offset > 0 and input.seekable
        file = input.open()
        if encoding != "utf-8":
            file = buffered(Recoded(file, encoding, self.label))
        if seek:
            short = (input.size or 0) < self.offset
            if not short:  # no file system goes to a byte of any number
                file.seek(self.offset)
        else:
            short = not _pass_over(file, self.offset)
        if short:
            file.close()
            raise InputError(
                f"{self.label} ends before byte {self.offset}, from where it should go on; "
                "give the file as it was, or begin anew."
            )
        if not self.offset:
            head = file.read(len(codecs.BOM_UTF8))
            if head == codecs.BOM_UTF8:
                self.offset = len(head)
            else:
                self._keep(head)
        return file

    def _fill(self) -> bool:
        """Read some more; False at the end."""
        self._keep(self._file.read1(CHUNK))
        return bool(self._chunk)

    def _keep(self, chunk: bytes) -> None:
        self._chunk = chunk
        self._at = self._next = 0
        self._ends = np.flatnonzero(np.frombuffer(chunk, np.uint8) == NEWLINE)


def count_lines(data: bytes) -> int:
    """Return how many lines there are, the last one with or without an end.

    Examples
    --------
    >>> count_lines(b"a\\nb"), count_lines(b"a\\n")
    (2, 1)
    """
    return data.count(b"\n") + bool(data and not data.endswith(b"\n"))


def text_blocks(input: Input, options: Options, position: Any, parse: Parse) -> Iterator[Block]:
    """Yield blocks of the documents that `parse` makes of lines, each full if it can be.

    Lines that are not of the encoding are reported and left out.

    Parameters
    ----------
    parse : callable (lines, their numbers) -> texts, names or None
        May leave lines out.
    """
    with LineReader(input, options, position) as reader:
        while (block := one_block(reader, options, parse)) is not None:
            yield block


def one_block(reader: LineReader, options: Options, parse: Parse) -> Block | None:
    """Return the next block; None at the end."""
    texts: list[str] = []
    names: list[str] = []
    for lines, numbers in full_block(reader, options, texts):
        some, called = parse(lines, numbers)
        texts += some
        names += called or ()
    return Block(as_series(texts), reader.position, names or None) if texts else None


def full_block(
    reader: LineReader, options: Options, made: Sized
) -> Iterator[tuple[list[str], Sequence[int]]]:
    """Yield lines and their numbers until as much was made of them as fills a block."""
    left = LARGEST_BLOCK
    while (missing := options.block_size - len(made)) > 0 and (left > 0 or not len(made)):
        first = reader.line + 1
        data = reader.take(missing, max(left, 1))
        if not data:
            return
        left -= len(data)
        yield decoded(data, first, reader.label, options)


def as_series(texts: list[str]) -> pl.Series:
    """Return texts as polars has them; half a pair of surrogates becomes a replacement mark."""
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series([LONE.sub("\ufffd", text) for text in texts], dtype=pl.String)


def decoded(
    data: bytes, first: int, label: str, options: Options
) -> tuple[list[str], Sequence[int]]:
    """Return lines without their ends, and their numbers; bad ones are reported and left out."""
    try:
        text = data.removesuffix(b"\n").decode()
    except UnicodeDecodeError:
        lines, numbers = [], []
        for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), first):
            try:
                lines.append(line.decode())
                numbers.append(number)
            except UnicodeDecodeError:
                report_encoding(f"{label}, line {number}", line, options)
        n_ended = data.count(b"\n")
        pairs = zip(lines, numbers, strict=True)
        return [_without_return(line, n < first + n_ended) for line, n in pairs], numbers
    if "\r" in text:
        text = _without_return(text.replace("\r\n", "\n"), data.endswith(b"\n"))
    lines = text.split("\n")
    return lines, range(first, first + len(lines))


def _without_return(line: str, ended: bool) -> str:
    r"""Return a line without the first half of a \r\n that ended it."""
    return line.removesuffix("\r") if ended else line


def report_encoding(where: str, data: bytes, options: Options) -> None:
    """Report that some bytes are not of the encoding that was promised."""
    if codec(options.encoding) != "utf-8":
        what, remedy = f"is not valid {options.encoding}", "give the encoding it is written in"
        options.problems.add(where, what, remedy)
        return
    start = 0
    try:
        data.decode()
    except UnicodeDecodeError as error:
        start = error.start
    column = len(data[:start].decode())
    wide = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    options.problems.add(
        where,
        f"is not valid utf-8 (byte 0x{data[start]:02x} at column {column + 1})",
        "give {encoding} or what it is written in",
        encoding="utf-16" if wide else "latin-1",
    )


def _checked(position: Any, label: str) -> tuple[int, int]:
    if position is None:
        return 0, 0
    numbers = [position.get(key) if isinstance(position, dict) else None for key in POSITION]
    good = [n for n in numbers if isinstance(n, int) and 0 <= n < 2**63]
    if len(good) < 2:
        raise InputError(f"{position!r} is no place in {label}; give one that was reached in it.")
    return good[0], good[1]


def _pass_over(file: io.BufferedReader, n: int) -> bool:
    """Read past some bytes; False if there are fewer."""
    while n > 0:
        read = len(file.read1(min(n, CHUNK)))
        if not read:
            return False
        n -= read
    return True
