"""Bytes on their way in: looked at before they are read, decompressed, errors in one sentence."""

import io
import os
from typing import Any

from opelda.corpus.formats._compression import (
    BEGINNINGS,
    CHUNK,
    N_MAGIC,
    Decompressed,
    compression_of,
    damages,
)
from opelda.errors import InputError


class Ahead:
    """A file some of which was looked at already.

    Parameters
    ----------
    file : anything with `read1` or `read`
    owned : bool
        Whether closing this closes the file.

    Attributes
    ----------
    used : bool
        Whether anything was read, not only looked at.
    n_read : int
        Bytes taken from the file so far.
    """

    def __init__(self, file: Any, *, owned: bool) -> None:
        self._file = file
        self._read = getattr(file, "read1", file.read)
        self._owned = owned
        self._ahead = b""
        self.used = False
        self.n_read = 0

    def read1(self, size: int, /) -> bytes:
        """Return some bytes, at most `size`; none at the end."""
        self.used = True
        if self._ahead:
            out, self._ahead = self._ahead[:size], self._ahead[size:]
            return out
        return self._more(size)

    def peek(self, size: int, n_lines: int | None = None) -> bytes:
        """Return the first `size` bytes, or fewer once they hold `n_lines` lines."""
        while len(self._ahead) < size:
            if n_lines is not None and self._ahead.count(b"\n") >= n_lines:
                break
            more = self._more(size - len(self._ahead))
            if not more:
                break
            self._ahead += more
        return self._ahead[:size]

    def _more(self, size: int) -> bytes:
        data = self._read(size)
        if data is None:  # what never waits has nothing at the moment
            raise BlockingIOError("it has nothing to read yet")
        if not isinstance(data, bytes | bytearray | memoryview):
            raise InputError(f"The file gives {type(data).__name__}, not bytes; open it with 'rb'.")
        self.n_read += len(data)
        return bytes(data)

    def seek(self, place: int) -> int:
        """Go to a byte."""
        self._ahead = b""
        self.n_read = int(self._file.seek(place))
        return self.n_read

    def seekable(self) -> bool:
        """Whether one can go to a byte: only where nobody else uses the file."""
        return self._owned and bool(self._file.seekable())

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self.n_read - len(self._ahead)

    def close(self) -> None:
        """Close the file if it is owned."""
        if self._owned:
            self._file.close()


class Content(io.RawIOBase):
    """What a file holds, decompressed if its first bytes say so.

    Parameters
    ----------
    file : Ahead
    label : str
        What messages call it.
    suffix : str
        The compression its name promises: less than its first bytes is damage, not a short text.

    Attributes
    ----------
    source : Ahead
        The file as given.
    compression : str or None
        What it is compressed with, as `compression_of` names it.
    """

    def __init__(self, file: Ahead, label: str, suffix: str = "") -> None:
        self.source = file
        self._file: Ahead | Decompressed = file
        self._label = label
        self.compression: str | None = None
        try:
            head = file.peek(N_MAGIC)
            self.compression = compression_of(head)
            if self.compression is None and suffix:
                begin = BEGINNINGS[suffix]
                if begin.startswith(head) or (head.startswith(begin) and len(head) < N_MAGIC):
                    raise EOFError("it ends too early")
        except BaseException as error:
            file.close()
            raise self._told(error) from None
        if self.compression is not None:
            self._file = Decompressed(file, self.compression)

    def readable(self) -> bool:
        """Return True."""
        return True

    def read1(self, size: int, /) -> bytes:
        """Return some bytes, at most `size`; none at the end.

        Raises
        ------
        InputError
            When the data are damaged or cannot be read.
        """
        try:
            return self._file.read1(size)
        except Exception as error:
            raise self._told(error) from None

    def readinto(self, buffer: Any, /) -> int:
        """Fill some of the buffer; 0 at the end."""
        data = self.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seekable(self) -> bool:
        """Whether one can go to a byte without reading all before it."""
        return isinstance(self._file, Ahead) and self._file.seekable()

    def seek(self, place: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a byte, counted from the beginning."""
        if whence != io.SEEK_SET or not isinstance(self._file, Ahead) or not self.seekable():
            raise io.UnsupportedOperation("this can only be read onwards")
        return self._file.seek(place)

    def tell(self) -> int:
        """Return the place of the next byte."""
        if not isinstance(self._file, Ahead):
            raise io.UnsupportedOperation("this can only be read onwards")
        return self._file.tell()

    def close(self) -> None:
        """Close the file as well."""
        if not self.closed:
            self._file.close()
        super().close()

    def _told(self, error: BaseException) -> BaseException:
        """Return the error as an `InputError`, if it comes from the data or the system."""
        if isinstance(error, InputError):
            return error
        if isinstance(error, OSError) and error.errno is not None:
            return InputError(f"{self._label} cannot be read: {reason(error)}; check the file.")
        if isinstance(error, damages()):
            return InputError(
                f"{self._label} is damaged or cut short ({reason(error)}); copy or make it again."
            )
        return error


class Passage(io.RawIOBase):
    """Hands on what another reads, and closes nothing."""

    def __init__(self, file: Ahead) -> None:
        self._file = file

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill some of the buffer; 0 at the end."""
        data = self._file.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def buffered(raw: io.RawIOBase) -> io.BufferedReader:
    """Return a file with all of the usual methods."""
    return io.BufferedReader(raw, CHUNK)


def reason(error: BaseException) -> str:
    """Return what an error says, fit to stand within a sentence."""
    text = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
    return text.rstrip(".").replace("\n", " ")


def printable(path: str) -> str:
    """Return a path that can be written anywhere, whatever bytes the file system has in it.

    Examples
    --------
    >>> printable("caf\\udce9")
    'caf\\\\xe9'
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")
