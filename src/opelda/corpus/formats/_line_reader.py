"""Lines of a file, many at a time, from any position that was reached before."""

import codecs
import io
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from opelda.corpus._block import Beside, Block
from opelda.corpus._replay import Former, Seen, digest, ended, recognise
from opelda.corpus.formats._compression import CHUNK, ByteStream
from opelda.corpus.formats._encodings import as_series, cells, codec, decoded
from opelda.corpus.formats._input import ChangedError, Input, check_position
from opelda.corpus.formats._registry import Options
from opelda.errors import InputError

NEWLINE = ord("\n")
# Documents that are longer are no documents; blocks end early once they hold this much.
LONGEST_LINE = 1 << 28
LARGEST_BLOCK = 1 << 28
# A position in a file has a digest of so many bytes before it, by which it is known again.
TAIL = 1 << 14
POSITION = ("offset", "line")

Values = dict[str | None, list[Any]]  # beside texts, by the names of columns; None: their names
Parse = Callable[[list[str], Sequence[int]], tuple[list[str], Values | None]]


class LineReader:
    """Takes whole lines off a source, as UTF-8 whatever it is written in, from a position on.

    A file is known again by the bytes before the position; if these are others, `ChangedError` is
    raised. Of a pipe the lines that were read before are passed over, see `recognise`.
    """

    def __init__(self, input: Input, options: Options, position: Any) -> None:
        self.label = input.label
        start = {"offset": 0, "line": 0} if position is None else position
        good = isinstance(start, dict) and all(
            isinstance(start.get(key), int) and 0 <= start[key] < 2**63 for key in POSITION
        )
        check_position(good, position, input.label)
        self.offset, self.line = start["offset"], start["line"]
        # whole lines that were read already, where each ends after a 0, and which is the next one
        self._chunk = b""
        self._ends = np.zeros(1, np.intp)
        self._next = 0
        self._rest = b""  # the beginning of the line behind them
        self._patience = input.patience
        self._taken: list[bytes] = []  # since the last position
        self._tail = b""  # the last bytes before that
        self._seen = None if input.is_file else Seen()
        encoding = codec(options.encoding)
        if self._seen is not None and "seen" in start:
            self._file = self._unseen(input.open(0, encoding), start, input, options)
        elif self._seen is None and "tail" in start:
            before = min(self.offset, TAIL)
            self._file = input.open(self.offset - before, encoding)
            self._tail = self._file.read(before)
            if len(self._tail) < before or digest(self._tail).hex() != start["tail"]:
                self._file.close()
                raise ChangedError(
                    f"{self.label} is another file than the one that was read up to line "
                    f"{self.line:,}; give that one, or begin anew."
                )
        else:
            self._file = input.open(self.offset, encoding)

    def _unseen(self, file: Any, start: Any, input: Input, options: Options) -> Any:
        """Return what of a pipe was not read before."""
        former = Former.of(start["seen"])
        self.offset = 0

        def lines() -> Iterator[bytes]:
            while line := file.readline(LONGEST_LINE):
                self.offset += len(line)
                is_first = self.offset == len(line)
                yield line.removeprefix(codecs.BOM_UTF8) if is_first else line

        numbered = bool(options.text_columns) and all(map(str.isdecimal, options.text_columns))
        header = "table" in start and not numbered
        found = recognise(lines(), ended, former, "lines", header)
        self._seen, self.line = found.seen, found.seen.n
        self.offset -= sum(map(len, found.held))
        input.report(found.how)

        def rest() -> Iterator[bytes]:
            while (data := file.read1(CHUNK)) or self._patience.paused:
                yield data or b""

        return io.BufferedReader(ByteStream(chain(found.held, rest()), file.close), CHUNK)

    @property
    def is_file(self) -> bool:
        """Whether what was read can be read again."""
        return self._seen is None

    @property
    def position(self) -> dict[str, Any]:
        """The point where the next line begins."""
        taken, self._taken = b"".join(self._taken), []
        where: dict[str, Any] = {"offset": self.offset, "line": self.line}
        if self._seen is not None:
            self._seen.add(taken)
            return where | {"seen": self._seen.as_json()}
        self._tail = (self._tail + taken[-TAIL:])[-TAIL:]
        return where | {"tail": digest(self._tail).hex()}

    def take(self, n_lines: int, n_bytes: int | None = None) -> bytes:
        """Return the next lines with their ends, fewer if they hold `n_bytes`; none at the end.

        Without `n_bytes` they hold as much as a block may. Also fewer, or none, if the first lines
        of a pipe since documents were given have waited for the next for long enough.
        """
        left = LARGEST_BLOCK if n_bytes is None else n_bytes
        taken: list[bytes] = []
        while n_lines > 0 and left > 0 and (self._next < len(self._ends) - 1 or self._fill()):
            first, begin = self._next, int(self._ends[self._next])
            full = int(
                self._ends.searchsorted(begin + left)
            )  # one line may bring it over the limit
            self._next = min(first + n_lines, full, len(self._ends) - 1)
            end = int(self._ends[self._next])
            taken.append(self._chunk[begin:end])
            n_lines -= self._next - first
            left -= end - begin
            self.offset += end - begin
            self.line += self._next - first
            self._patience.came()
        lines = b"".join(taken)
        self._taken.append(lines)
        return lines

    def take_all(self, n_lines: int) -> bytes:
        """Return the next lines, for something that is no document without them."""
        self._patience.given()
        return self.take(n_lines)

    def goes_on(self) -> bool:
        """Whether there may be more, though no lines were taken; what came is no document."""
        if not self._patience.paused:
            return False
        self._patience.given()
        return True

    def put_back(self, data: bytes) -> None:
        """Take lines back that were taken last."""
        end = int(self._ends[self._next])
        before = int(np.searchsorted(self._ends, end - len(data)))
        self.offset -= len(data)
        self.line -= count_lines(data)
        left = len(data)
        while left:
            last = self._taken.pop()
            if len(last) > left:
                self._taken.append(last[: len(last) - left])
            left -= min(left, len(last))
        if self._chunk.endswith(data, 0, end) and self._ends[before] == end - len(data):
            self._next = before
        else:
            self._keep(data + self._chunk[end : self._ends[-1]])

    def _fill(self) -> bool:
        """Read some more lines; False at the end."""
        pieces, size = [self._rest], len(self._rest)
        while data := self._file.read1(CHUNK):
            pieces.append(data)
            size += len(data)
            if b"\n" in data:
                break
            if size > LONGEST_LINE:
                raise self._too_long(1)
        if not data and self._patience.paused:
            self._rest = b"".join(pieces)
            return False
        self._keep(b"".join(pieces))
        # a line without its end waits for the rest of it, unless the file ends here
        if data and not self._chunk.endswith(b"\n"):
            self._ends = self._ends[:-1]
        self._rest = self._chunk[self._ends[-1] :]
        if size > LONGEST_LINE:
            long = np.flatnonzero(np.diff(self._ends, append=size) > LONGEST_LINE)
            if len(long):
                raise self._too_long(int(long[0]) + 1)
        if not self.offset and self._chunk.startswith(codecs.BOM_UTF8):
            self.offset = len(codecs.BOM_UTF8)
            self._tail = codecs.BOM_UTF8
            self._keep(self._chunk[self.offset : self._ends[-1]])
        return len(self._ends) > 1

    def _keep(self, lines: bytes) -> None:
        """Let these be the next lines."""
        ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == NEWLINE)
        self._chunk, self._ends, self._next = lines, np.concatenate(([0], ends + 1)), 0
        if not lines.endswith(b"\n") and lines:
            self._ends = np.append(self._ends, len(lines))

    def _too_long(self, number: int) -> InputError:
        return InputError(
            f"{self.label}, line {self.line + number} is longer than {LONGEST_LINE >> 20} MB; "
            "check the format of the file."
        )

    def __enter__(self) -> "LineReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def count_lines(data: bytes) -> int:
    """Return how many lines there are, the last one with or without an end."""
    return data.count(b"\n") + bool(data and not data.endswith(b"\n"))


def text_blocks(input: Input, options: Options, position: Any, parse: Parse) -> Iterator[Block]:
    """Yield blocks of the documents that `parse` makes of lines, each full if it can be.

    It is given lines and their numbers, may leave some out, and returns texts and the values beside
    them. Lines that are not of the encoding are reported and left out before.
    """
    with LineReader(input, options, position) as reader:
        while (block := one_block(reader, options, parse)) is not None:
            yield block


def one_block(reader: LineReader, options: Options, parse: Parse) -> Block | None:
    """Return the next block; None at the end.

    A bad line of a pipe ends a block before it, for what was read will not come again.
    """
    texts: list[str] = []
    beside: Values = {}
    left, most = LARGEST_BLOCK, options.block_size
    while (missing := options.block_size - len(texts)) > 0 and (left > 0 or not texts):
        first = reader.line + 1
        data = reader.take(min(missing, most), max(left, 1))
        if not data and not texts and reader.goes_on():
            continue
        if not data:
            break
        try:
            some, columns = parse(*decoded(data, first, reader.label, options))
        except InputError:
            if reader.is_file or (most == 1 and not texts):
                raise
            reader.put_back(data)
            if most == 1:
                break
            most = 1
            continue
        for name, values in (columns or {}).items():
            padded(beside.setdefault(name, []), len(texts)).extend(values)
        texts.extend(some)
        left -= len(data)
    if not texts:
        return None
    kept: Beside = {name: cells(values) for name, values in beside.items()}
    return Block(as_series(texts), reader.position, kept)


def padded(values: list[Any], n: int) -> list[Any]:
    """Return a column to which missing values were added until there are so many."""
    values += [None] * (n - len(values))
    return values
