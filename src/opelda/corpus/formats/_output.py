"""Files that are there as a whole or not at all."""

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from opelda.corpus.formats._compression import compressing, without_suffix
from opelda.corpus.formats._streams import printable, reason
from opelda.errors import InputError


@contextmanager
def write_in_one_step(
    path: str | os.PathLike[str], beside: tuple[str, bytes] | None = None
) -> Iterator[BinaryIO]:
    """Give a binary file whose content is at `path` once all went well, and only then.

    It is compressed if the name ends in .gz, .xz, .bz2 or .zst. "-" is standard output, which is
    written as it comes. What is not a regular file (a pipe, a device) is, too.

    `beside` is the path and the content of a file that belongs to it: both appear, or neither.

    Raises
    ------
    InputError
        When it cannot be written. What was at `path` is untouched then.

    Examples
    --------
    >>> import gzip, tempfile
    >>> path = Path(tempfile.mkdtemp(), "notes.txt.gz")
    >>> with write_in_one_step(path) as file:
    ...     _ = file.write(b"tea")
    >>> gzip.decompress(path.read_bytes())
    b'tea'
    """
    with ExitStack() as stack:
        main = stack.enter_context(pending(path))
        other = None if beside is None else stack.enter_context(pending(beside[0]))
        with main.written() as file:
            yield file
        if other is not None and beside is not None:
            with other.written() as file:
                file.write(beside[1])
        # all that takes long, or room, is done: what is left are two changes of names
        if other is None:
            main.appear()
        else:
            main.appear_with(other)
        main.sync()


@contextmanager
def pending(path: str | os.PathLike[str]) -> "Iterator[Pending]":
    """Give a file that is to be written, of which nothing is left should anything go wrong."""
    file = Pending(path)
    try:
        yield file
    finally:
        file.clear()


class Pending:
    """A file that is written under another name, and gets its own when told to.

    Raises
    ------
    InputError
        When the path cannot be that of a file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        text = os.fsdecode(path)
        self._label, self._suffix = printable(text), without_suffix(text)[1]
        self._temporary: Path | None = None
        self._standard = path == "-"
        if self._standard:
            self._label = "standard output"
            return
        if not text or "\0" in text:
            raise InputError(f"A path cannot be {text!r}; give the name of a file.")
        self._target = Path(os.path.realpath(text))
        if os.path.isdir(self._target):
            raise InputError(f"{self._label} is a folder; give the name of a file.")
        if os.path.exists(self._target) and not os.path.isfile(self._target):
            return
        if not os.path.isdir(self._target.parent):
            raise InputError(
                f"{self._label} cannot be written: its folder does not exist; make the folder."
            )
        name = f".{self._target.name[:200]}.{os.urandom(8).hex()}.tmp"
        self._temporary = self._target.parent / name

    @contextmanager
    def written(self) -> Iterator[BinaryIO]:
        """Give the file to write to; at the end it is complete and on the disk."""
        with _told(self._label):
            if self._standard:
                yield sys.stdout.buffer
                sys.stdout.buffer.flush()
            elif self._temporary is None:
                with open(self._target, "wb") as file, _packed(file, self._suffix) as packed:
                    yield packed
            else:
                with open(self._temporary, "xb") as file:
                    with _packed(file, self._suffix) as packed:
                        yield packed
                    file.flush()
                    os.fsync(file.fileno())

    def appear(self) -> None:
        """Give it its name."""
        if self._temporary is not None:
            with _told(self._label):
                os.replace(self._temporary, self._target)

    def appear_with(self, other: "Pending") -> None:
        """Give both their names, or neither."""
        if self._temporary is None:
            other.appear()
            return
        there = os.path.exists(self._target)
        former = self._temporary.with_suffix(".old")
        with ExitStack() as stack:
            stack.callback(former.unlink, missing_ok=True)
            if there:
                with suppress(OSError):  # some systems give a file one name only
                    os.link(self._target, former)
            self.appear()
            try:
                other.appear()
            except BaseException:
                if os.path.exists(former):
                    os.replace(former, self._target)
                elif not there:
                    self._target.unlink()
                raise

    def sync(self) -> None:
        """Make sure that the name outlives a loss of power."""
        if self._temporary is not None:
            sync_folder(self._target.parent)

    def clear(self) -> None:
        """Remove what has not got its name."""
        if self._temporary is not None:
            with suppress(OSError):
                self._temporary.unlink()


def sync_folder(folder: Path) -> None:
    """Make sure that a new name in the folder outlives a loss of power."""
    with suppress(OSError):  # some systems cannot sync a folder
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


@contextmanager
def writing_by_polars() -> Iterator[None]:
    """Make of what polars says when it cannot write what the system says."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        found = re.search(r"\(os error (\d+)\)", str(error))
        number = int(found[1]) if found else errno.EIO
        raise OSError(number, os.strerror(number) if found else reason(error)) from error


@contextmanager
def _packed(file: BinaryIO, suffix: str) -> Iterator[Any]:
    if not suffix:
        yield file
        return
    with compressing(file, suffix) as packed:
        yield packed


@contextmanager
def _told(label: str) -> Iterator[None]:
    """Say in one sentence what the system refuses; a reader that has gone is no mistake."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"{label} cannot be written: {reason(error)}; write to another place."
        raise InputError(message) from error
