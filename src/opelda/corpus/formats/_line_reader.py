"""Lines of a file, many at a time, from any former position."""

import codecs
import io
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any

from opelda.corpus._block import Block
from opelda.corpus._replay import Former, Seen, digest, ended, recognise
from opelda.corpus.formats import Options
from opelda.corpus.formats._compression import CHUNK, ByteStream
from opelda.corpus.formats._input import ChangedError, Input, check_position, codec
from opelda.corpus.formats._text_columns import as_series, cells
from opelda.errors import InputError

# A longer line is no document; a block ends early once it holds this many bytes.
LONGEST_LINE = LARGEST_BLOCK = 1 << 28
TAIL = 1 << 14  # a position in a file has a digest of this many bytes before it

Values = dict[str | None, list[Any]]  # beside texts, by the names of columns; None: their names
# Lines and their numbers to texts and the values beside them; lines may be left out.
Parse = Callable[[list[str], Sequence[int]], tuple[list[str], Values | None]]
# Whole lines and the number of the first to the same, and whether some lines were put back.
ParseBytes = Callable[[bytes, int], tuple[list[str], Values | None, bool]]


class LineReader:
    """Takes whole lines off a source, as UTF-8, from a position on.

    Raises `ChangedError` if the bytes before the position are not those of a former run. Skips the
    lines of a pipe that were read before, see `recognise`.
    """

    def __init__(self, input: Input, options: Options, position: Any) -> None:
        self.label = input.label
        start = {"offset": 0, "line": 0} if position is None else position
        good = isinstance(start, dict) and all(
            isinstance(start.get(key), int) and 0 <= start[key] < 2**63
            for key in ("offset", "line")
        )
        check_position(good, position, input.label)
        self.offset, self.line = start["offset"], start["line"]
        self.is_file = input.is_file  # whether lines can be read again
        self._lines: list[bytes] = []  # whole lines in memory
        self._rest = b""  # the beginning of the line behind them
        self.patience = input.patience
        self._taken = bytearray()  # since the last position
        self._tail = b""  # the last bytes before that
        self._seen = Seen()  # the lines of a pipe
        encoding = codec(options.encoding)
        if not self.is_file and "seen" in start:
            self._file = self._unseen(input.open(0, encoding), start, input, options)
            return
        before = min(self.offset, TAIL) if self.is_file and "tail" in start else 0
        self._file = input.open(self.offset - before, encoding)
        if before:
            self._tail = self._file.read(before)
            if len(self._tail) < before or digest(self._tail).hex() != start["tail"]:
                self._file.close()
                raise ChangedError(
                    f"{self.label} is not the file that was read up to line {self.line:,}; "
                    "restore that file, or start without a position."
                )

    def _unseen(self, file: Any, start: Any, input: Input, options: Options) -> Any:
        """Return the unread part of a pipe."""
        self.offset = 0

        def lines() -> Iterator[bytes]:
            while line := file.readline(LONGEST_LINE):
                self.offset += len(line)
                is_first = self.offset == len(line)
                yield line.removeprefix(codecs.BOM_UTF8) if is_first else line

        numbered = bool(options.text_columns) and all(map(str.isdecimal, options.text_columns))
        header = "table" in start and not numbered
        found = recognise(lines(), ended, Former.of(start["seen"]), "lines", header)
        self._seen, self.line = found.seen, found.seen.n
        self.offset -= sum(map(len, found.held))
        input.report(found.how)

        def rest() -> Iterator[bytes]:
            while (data := file.read1(CHUNK)) or self.patience.paused:
                yield data or b""

        return io.BufferedReader(ByteStream(chain(found.held, rest())), CHUNK)

    @property
    def position(self) -> dict[str, Any]:
        """The point where the next line begins."""
        taken, self._taken = bytes(self._taken), bytearray()
        where: dict[str, Any] = {"offset": self.offset, "line": self.line}
        if not self.is_file:
            self._seen.add(taken)
            return where | {"seen": self._seen.as_json()}
        self._tail = (self._tail + taken[-TAIL:])[-TAIL:]
        return where | {"tail": digest(self._tail).hex()}

    def take(self, n_lines: int, n_bytes: int) -> bytes:
        """Return the next lines with their ends, fewer after `n_bytes` and at the end.

        Fewer, or no lines, also if patience with a pipe runs out.
        """
        taken: list[bytes] = []
        while len(taken) < n_lines and n_bytes > 0 and (self._lines or self._fill()):
            some = self._lines[: n_lines - len(taken)]
            sizes = [*accumulate(map(len, some))]
            some = some[: bisect_left(sizes, n_bytes) + 1]  # one line may pass the limit
            del self._lines[: len(some)]
            n_bytes -= sizes[len(some) - 1]
            self.offset += sizes[len(some) - 1]
            self.line += len(some)
            taken += some
            self.patience.came()
        lines = b"".join(taken)
        self._taken += lines
        return lines

    def take_all(self, n_lines: int) -> bytes:
        """Return the next lines, which complete a document, however long that takes."""
        self.patience.given()
        return self.take(n_lines, LARGEST_BLOCK)

    def put_back(self, data: bytes) -> None:
        """Take back the last lines."""
        if data:
            lines = io.BytesIO(data).readlines()
            self.offset -= len(data)
            self.line -= len(lines)
            del self._taken[-len(data) :]
            self._lines = lines + self._lines

    def _fill(self) -> bool:
        """Read some more lines; False at the end."""
        pieces, size = [self._rest], len(self._rest)
        while data := self._file.read1(CHUNK):
            pieces.append(data)
            size += len(data)
            if b"\n" in data:
                break
            if size > LONGEST_LINE:
                raise InputError(
                    f"{self.label}, line {self.line + 1} is longer than {LONGEST_LINE >> 20} MB; "
                    "check the format of the file."
                )
        if not data and self.patience.paused:
            self._rest = b"".join(pieces)
            return False
        lines = io.BytesIO(b"".join(pieces)).readlines()
        # a line without its end is incomplete, unless the file ends here
        self._rest = lines.pop() if data and not lines[-1].endswith(b"\n") else b""
        if not self.offset and lines and lines[0].startswith(codecs.BOM_UTF8):
            self.offset, self._tail = len(codecs.BOM_UTF8), codecs.BOM_UTF8
            lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
        self._lines = [line for line in lines[:1] if line] + lines[1:]
        return bool(self._lines)

    def __enter__(self) -> "LineReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def text_blocks(input: Input, options: Options, position: Any, parse: Parse) -> Iterator[Block]:
    """Yield full blocks of the documents that `parse` makes of lines.

    Lines with invalid bytes are reported and left out.
    """

    def parse_bytes(data: bytes, first: int) -> tuple[list[str], Values | None, bool]:
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        numbers: list[int] | range
        try:
            lines = data.decode().split("\n")
            if not lines[-1]:
                del lines[-1]
            numbers = range(first, first + len(lines))
        except UnicodeDecodeError:
            lines, numbers = [], []
            for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), first):
                try:
                    lines.append(line.decode())
                    numbers.append(number)
                except UnicodeDecodeError:
                    report_encoding(f"{input.label}, line {number}", line, options)
        return *parse(lines, numbers), False

    with LineReader(input, options, position) as reader:
        yield from blocks_of(reader, options, parse_bytes)


def blocks_of(reader: LineReader, options: Options, parse: ParseBytes) -> Iterator[Block]:
    """Yield full blocks of the documents that `parse` makes of bytes.

    A block ends early, even empty, if patience with a pipe runs out, and before a bad line of a
    pipe, which cannot give the lines before it again.
    """
    while True:
        texts: list[str] = []
        beside: Values = {}
        start, most = reader.offset, options.block_size
        while (missing := options.block_size - len(texts)) > 0:
            left = LARGEST_BLOCK - (reader.offset - start)
            first = reader.line + 1
            data = reader.take(min(missing, most), max(left, 1)) if left > 0 or not texts else b""
            if not data:
                break
            try:
                some, columns, is_cut = parse(data, first)
            except InputError:
                if reader.is_file or (most == 1 and not texts):
                    raise
                reader.put_back(data)
                if most == 1:
                    break
                most = 1
                continue
            most = 64 if is_cut else 2 * most  # lines that were put back are parsed again
            for name, values in (columns or {}).items():
                padded(beside.setdefault(name, []), len(texts)).extend(values)
            texts.extend(some)
        if not texts and not reader.patience.paused:
            return
        kept = {name: cells(padded(values, len(texts))) for name, values in beside.items()}
        yield Block(as_series(texts), reader.position, kept)


def padded(values: list[Any], n: int) -> list[Any]:
    """Append missing values to a column up to a length, and return it."""
    values += [None] * (n - len(values))
    return values


def report_encoding(where: str, data: bytes, options: Options) -> None:
    """Report bytes that are invalid in the given encoding."""
    what = f"is not valid {options.encoding}"
    try:
        data.decode("utf-8" if codec(options.encoding) == "utf-8" else "latin-1")
    except UnicodeDecodeError as error:
        column = len(data[: error.start].decode()) + 1
        what += f" (byte 0x{data[error.start]:02x} at column {column})"
    wide = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    options.problems.add(
        where,
        what,
        "pass {encoding} or the encoding of the file",
        encoding="utf-16" if wide else "latin-1",
    )
