"""Inputs: a file, compressed or not and in any encoding, a folder, or standard input."""

import codecs
import io
import os
import select
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from math import inf
from pathlib import Path
from typing import Any, BinaryIO

from opelda.corpus._block import Patience
from opelda.corpus._replay import report
from opelda.corpus.formats._compression import (
    CHUNK,
    N_MAGIC,
    ByteStream,
    compression_of,
    decompressed,
    without_suffix,
)
from opelda.errors import InputError

PEEK_LINES, PEEK_BYTES = 8, 1 << 16  # the most that `peek` returns


class ChangedError(InputError):
    """A file is not the one in which a position was reached."""


class NotTextError(InputError):
    """A file is neither text nor of a known format."""


class Input:
    """One file, one folder, or standard input.

    `path` is None for standard input and open files, `plain_name` is in lower case and without the
    suffix of a compression, `n_read` counts the bytes read so far.
    """

    def __init__(self, label: str, path: Path | None, file: Any = None) -> None:
        self.label = label
        self.path = path
        self.n_read = 0
        self._file = file
        name = path.name if path is not None else label
        plain, self._suffix = without_suffix(os.path.basename(name))
        self.plain_name = "" if label == "standard input" else printable(plain).lower()
        try:
            self._start = int(file.tell()) if file.seekable() else None
        except (AttributeError, OSError, ValueError):
            self._start = None
        self._once: ByteStream | None = None  # the content of a pipe
        self._is_compressed = False
        self._reported = False
        # of a pipe, asked between reads: whether to end there, and how long to wait for more
        self.is_ended: Callable[[], bool] | None = None
        self.patience = Patience()

    @classmethod
    def of(cls, source: "str | os.PathLike[str] | BinaryIO | Input") -> "Input":
        """Return the input of a path, "-" or a binary file, without opening it."""
        if isinstance(source, Input):
            return source
        if isinstance(source, str) and source == "-":
            if sys.stdin is None:
                raise InputError("Standard input is closed; pass the path of a file.")
            return cls("standard input", None, getattr(sys.stdin, "buffer", sys.stdin))
        if isinstance(source, io.TextIOBase):
            raise InputError("The file is open in text mode; open the file with mode 'rb'.")
        if hasattr(source, "read"):
            name = getattr(source, "name", None)
            return cls(printable(name) if isinstance(name, str) else "the file", None, source)
        try:
            text = os.fsdecode(source)
        except TypeError:
            kind = type(source).__name__
            raise InputError(f"A source must be a path or an open file, got {kind}.") from None
        return cls(printable(checked_path(text)), Path(text))

    @property
    def is_folder(self) -> bool:
        """Whether this is a folder."""
        return self.path is not None and os.path.isdir(self.path)

    @property
    def is_file(self) -> bool:
        """Whether this is a file with a name that can be read again."""
        return self.path is not None and self.reopens

    @property
    def seekable(self) -> bool:
        """Whether this is an uncompressed file, which can be read from any byte."""
        if self.path is None or not os.path.isfile(self.path):
            return False
        with self._stored() as stored:
            return self._compression(stored) is None

    @property
    def size(self) -> int | None:
        """Bytes on disk; None if unknown."""
        if self.path is None or not os.path.isfile(self.path):
            return None
        return os.path.getsize(self.path)

    @property
    def reopens(self) -> bool:
        """Whether it can be read again from its beginning."""
        if self.path is None:
            return self._start is not None
        return self.size is not None or self.is_folder or not os.path.exists(self.path)

    def report(self, how: str | None) -> None:
        """Report how reading resumes, once; None: it starts, without a report."""
        if not self._reported and how is not None:
            report(f"{self.label} {how}.")
        self._reported = True

    def open(self, offset: int = 0, encoding: str = "utf-8") -> io.BufferedReader:
        """Return the content from a byte on, decompressed and as UTF-8.

        A pipe, or standard input, can be opened until it is read; `peek` does not count. Damaged
        data raise an `InputError` while they are read.
        """
        skip = offset  # bytes to read past, where the file cannot seek
        if not self.reopens:
            stream = ByteStream(self._only().pieces())
        elif encoding == "utf-8" and 0 < offset <= (self.size or 0) and self.seekable:
            stream, skip = self._stored(offset), 0
        else:
            stream = self._content()
        if encoding != "utf-8":
            # offsets count bytes of UTF-8, so that skipping follows recoding
            stream = ByteStream(_as_utf8(stream.pieces(), encoding, self.label))
        file: io.BufferedReader = io.BufferedReader(stream, CHUNK)
        while skip and (passed := len(file.read1(min(skip, CHUNK)))):
            skip -= passed
        if skip:
            file.close()
            raise ChangedError(
                f"{self.label} was truncated: it ends before byte {offset}, where reading "
                "resumes; restore the file, or start without a position."
            )
        return file

    def peek(self, least: int = PEEK_LINES) -> bytes:
        """Return the first eight lines of the content, or 64 KiB if they are longer."""
        content = self._content() if self.reopens else self._only()
        head = content.peek(PEEK_BYTES, least)
        if self.reopens:
            content.close()
        return b"".join(io.BytesIO(head).readlines()[:PEEK_LINES])

    def _only(self) -> ByteStream:
        """Return the only stream of a pipe."""
        if self._once is None:
            self._once = self._content()
        elif self._once.used:
            raise InputError(f"{self.label} can be read only once; pass the path of a file.")
        return self._once

    def _content(self) -> ByteStream:
        """Return the content from its beginning, decompressed if it has a signature."""
        stored = self._stored()
        compression = self._compression(stored)
        if compression is None:
            return stored
        self._is_compressed = True
        return ByteStream(self._guarded(decompressed(stored.read, compression, self.label)))

    def _compression(self, stored: ByteStream) -> str | None:
        """Return the suffix of a file's compression; None if it is not compressed."""
        try:
            # a pipe is not waited for beyond its first line: no signature contains a line end
            return compression_of(stored.peek(N_MAGIC, 1), self._suffix)
        except EOFError as error:
            raise self._failure(error) from None

    def _stored(self, offset: int = 0) -> ByteStream:
        """Return the stored bytes from an offset on."""
        self.n_read = offset
        return ByteStream(self._guarded(self._pieces(offset)))

    def _pieces(self, offset: int) -> Iterator[bytes]:
        """Yield the stored bytes as soon as they can be read."""
        with ExitStack() as stack:
            file = self._file
            if file is None:
                file = stack.enter_context(open(self.path or "", "rb", buffering=0))
            if offset or self._start is not None:  # a pipe cannot seek
                file.seek(offset or self._start)
            read = getattr(file, "read1", file.read)
            size = PEEK_BYTES  # enough for `peek`
            while True:
                # bytes of a compressed pipe may not suffice for a line
                patience = Patience() if self._is_compressed else self.patience
                if not _has_more(file, self.is_ended, patience):
                    if not patience.paused:
                        return
                    yield b""
                    continue
                data = read(size)
                if data is None:
                    raise BlockingIOError("reading would block; open the file in blocking mode")
                if not isinstance(data, bytes | bytearray | memoryview):
                    kind = type(data).__name__
                    raise InputError(f"The file gives {kind}, not bytes; open it with 'rb'.")
                if not data:
                    return
                self.n_read += len(data)
                yield bytes(data)
                size = CHUNK

    def _guarded(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the pieces; turn errors of the data or the system into an `InputError`."""
        try:
            yield from pieces
        except (InputError, MemoryError):
            raise
        except Exception as error:
            raise self._failure(error) from None

    def _failure(self, error: Exception) -> InputError:
        if isinstance(error, FileNotFoundError):
            return InputError(f"There is no file {self.label}; check the path.")
        what = f"is corrupted or truncated ({reason(error)}); restore the file or copy it again."
        if isinstance(error, IsADirectoryError):
            what = "is a folder; pass a file in the folder."
        elif isinstance(error, OSError) and error.errno is not None:
            what = f"cannot be read: {reason(error)}; check the file and its permissions."
        return InputError(f"{self.label} {what}")


def _has_more(file: Any, is_ended: Callable[[], bool] | None, patience: Patience) -> bool:
    """Wait for data or the end; False if reading should pause or end before."""
    patience.paused = False
    if is_ended is None and patience.seconds == inf:
        return True  # the read waits
    while is_ended is None or not is_ended():
        try:
            if select.select([file], [], [], 0.1)[0]:
                return True
        except (OSError, ValueError):  # not a file of the system
            return True
        patience.meanwhile()
        if patience.is_over:
            patience.paused = True
            return False
    return False


def codec(encoding: str) -> str:
    """Return an encoding's usual name, "utf-8" for UTF8; raise InputError for an unknown one."""
    try:
        found = codecs.lookup(encoding)
    except (LookupError, TypeError, ValueError):
        found = None
    if found is None or not found._is_text_encoding or found.incrementaldecoder is None:
        raise InputError(
            f"must be a text encoding such as 'utf-8', 'latin-1' or 'utf-16', got {encoding!r}.",
            "encoding",
        )
    return "utf-8" if found.name == "utf-8-sig" else found.name


def _as_utf8(pieces: Iterable[bytes], encoding: str, label: str) -> Iterator[bytes]:
    """Yield a text as UTF-8; invalid bytes become bytes that are invalid in UTF-8, too."""
    decoder = codecs.getincrementaldecoder(encoding)("opelda.mark")
    for data in chain(pieces, [None]):
        try:
            text = decoder.decode(data or b"", final=data is None)
        except UnicodeError as error:
            why = f"{label} cannot be decoded ({error})"
            raise InputError(f"{why}; pass the encoding of the file.") from None
        if text or data == b"":  # an empty piece says "no data yet"
            yield text.encode("utf-8", "surrogatepass")


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\udcff", error.end


codecs.register_error("opelda.mark", _mark)


def reason(error: BaseException) -> str:
    """Return an error's message as a part of a sentence."""
    text = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
    return text.rstrip(".").replace("\n", " ")


def check_position(good: bool, position: Any, label: str) -> None:
    """Raise InputError for a position that is not good."""
    if not good:
        what = f"{position!r} is not a valid position in {label}"
        raise InputError(f"{what}; pass a position from the same source.")


def row_position(position: Any, n_rows: int, label: str) -> int:
    """Return a checked number of rows before a position; None is 0."""
    good = type(position) is int and 0 <= position <= n_rows
    check_position(position is None or good, position, label)
    return position or 0


def checked_path(text: str) -> str:
    """Return a path; raise InputError if no file can have that name."""
    if not text or "\0" in text:
        raise InputError(f"A path cannot be {text!r}; pass the name of a file.")
    return text


def printable(path: str) -> str:
    """Return a path as valid text, its other bytes escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
