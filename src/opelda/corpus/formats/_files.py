"""Where documents come from: a file, compressed or not, a folder, or standard input."""

import io
import os
import stat
import sys
from pathlib import Path
from typing import Any, BinaryIO

from opelda.corpus.formats._compression import SUFFIXES, without_suffix
from opelda.corpus.formats._output import write_in_one_step
from opelda.corpus.formats._streams import Ahead, Content, Passage, buffered, printable, reason
from opelda.errors import InputError

__all__ = ["Input", "write_in_one_step"]

# What `peek` looks at.
PEEK_LINES = 8
PEEK_BYTES = 1 << 16


class Input:
    """One file, one folder, or standard input.

    Attributes
    ----------
    label : str
        What messages call it: the path as given, or "standard input".
    path : Path or None
        None for what has no place: standard input, and binary files given open.
    plain_name : str
        The file's name in lower case, without the suffix of a compression; "" if it has none.
    n_read : int
        Bytes on disk that were read so far, where they are read one after the other.

    Examples
    --------
    >>> import gzip, tempfile
    >>> path = Path(tempfile.mkdtemp(), "Notes.txt.gz")
    >>> _ = path.write_bytes(gzip.compress(b"tea"))
    >>> source = Input.of(path)
    >>> with source.open() as file:
    ...     source.plain_name, source.seekable, file.read()
    ('notes.txt', False, b'tea')
    """

    def __init__(self, label: str, path: Path | None, file: Any = None) -> None:
        self.label = label
        self.path = path
        self._file = file
        name = path.name if path is not None else label
        plain, self._suffix = without_suffix(os.path.basename(name))
        self.plain_name = "" if label == "standard input" else printable(plain).lower()
        self._start = None if file is None else _place(file)
        self._stream: Ahead | None = None
        self._bytes: Ahead | None = None
        self._n_read = 0

    @classmethod
    def of(cls, source: "str | os.PathLike[str] | BinaryIO | Input") -> "Input":
        """Return the input that a path, "-" or a binary file open for reading stands for.

        Nothing is opened yet.
        """
        if isinstance(source, Input):
            return source
        if isinstance(source, str) and source == "-":
            if sys.stdin is None:
                raise InputError("There is no standard input; give the path of a file.")
            return cls("standard input", None, getattr(sys.stdin, "buffer", sys.stdin))
        if isinstance(source, io.TextIOBase):
            raise InputError("The file is open for text; open it with mode 'rb'.")
        if hasattr(source, "read"):
            name = getattr(source, "name", None)
            return cls(printable(name) if isinstance(name, str) else "the file", None, source)
        try:
            text = os.fsdecode(source)
        except TypeError:
            kind = type(source).__name__
            raise InputError(f"A source must be a path or an open file, got {kind}.") from None
        if not text or "\0" in text:
            raise InputError(f"A path cannot be {text!r}; give the name of a file.")
        return cls(printable(text), Path(text))

    @property
    def is_folder(self) -> bool:
        """Whether this is a folder."""
        return self.path is not None and os.path.isdir(self.path)

    @property
    def seekable(self) -> bool:
        """Whether one can go to a byte without reading all before it: an uncompressed file."""
        if self.path is None or not os.path.isfile(self.path):
            return False
        with self._content() as content:
            return content.compression is None

    @property
    def size(self) -> int | None:
        """Bytes on disk; None where that is not known."""
        try:
            found = None if self.path is None else self.path.stat()
        except OSError:
            return None
        return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else None

    @property
    def n_read(self) -> int:
        """Bytes on disk that were read so far."""
        return self._n_read if self._bytes is None else self._bytes.n_read

    @n_read.setter
    def n_read(self, n: int) -> None:
        self._n_read, self._bytes = n, None

    def open(self) -> io.BufferedReader:
        """Return the content, decompressed, from the beginning.

        What cannot be opened twice (standard input, a pipe) can be opened again as long as nothing
        was read but by `peek`.

        Raises
        ------
        InputError
            When it cannot be opened; also while reading, when the data are damaged.
        """
        if not self.reopens:
            return buffered(Passage(self._only()))
        content = self._content()
        self._bytes = content.source
        return buffered(content)

    def peek(self) -> bytes:
        """Return the first eight lines of the content, or 64 KiB if they are longer."""
        if not self.reopens:
            head = self._only().peek(PEEK_BYTES, PEEK_LINES)
        else:
            with self._content() as content:
                head = Ahead(content, owned=False).peek(PEEK_BYTES, PEEK_LINES)
        lines = head.split(b"\n", PEEK_LINES)
        return b"\n".join([*lines[:PEEK_LINES], b""]) if len(lines) > PEEK_LINES else head

    def beside(self, name: str) -> "Input | None":
        """Return the file of that name in the same folder, compressed or not; None without one."""
        if self.path is None:
            return None
        for suffix in ("", *SUFFIXES):
            path = self.path.parent / (name + suffix)
            if os.path.isfile(path):
                return Input.of(path)
        return None

    @property
    def reopens(self) -> bool:
        """Whether it can be read again from its beginning."""
        if self._file is not None:
            return self._start is not None
        there = self.path is not None and os.path.exists(self.path)
        return not there or self.is_folder or self.size is not None

    def _only(self) -> Ahead:
        """Return the one stream that there is."""
        if self._stream is None:
            content = self._content()
            self._bytes = content.source
            self._stream = Ahead(content, owned=False)
        elif self._stream.used:
            raise InputError(f"{self.label} can be read only once; give a file.")
        return self._stream

    def _content(self) -> Content:
        opened = Ahead(self._opened(), owned=self._file is None)
        return Content(opened, self.label, self._suffix)

    def _opened(self) -> Any:
        try:
            if self.path is not None:
                return open(self.path, "rb")
            if self._start is not None:
                self._file.seek(self._start)
            return self._file
        except IsADirectoryError:
            raise InputError(f"{self.label} is a folder; give a file in it.") from None
        except FileNotFoundError:
            raise InputError(f"There is no file {self.label}; check the path.") from None
        except (OSError, ValueError) as error:  # ValueError: a file that was closed
            message = f"{self.label} cannot be read: {reason(error)}; check the file."
            raise InputError(message) from None

    def __repr__(self) -> str:
        return f"Input({self.label!r})"


def _place(file: Any) -> int | None:
    """Return where an open file stands; None if it cannot go back there."""
    try:
        return int(file.tell()) if file.seekable() else None
    except (AttributeError, OSError, ValueError):
        return None
