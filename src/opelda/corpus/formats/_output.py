"""Files that are there as a whole or not at all."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from opelda.corpus.formats._compression import compressing, without_suffix
from opelda.corpus.formats._streams import printable, reason
from opelda.errors import InputError


@contextmanager
def write_in_one_step(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Give a binary file whose content is at `path` once all went well, and only then.

    It is compressed if the name ends in .gz, .xz, .bz2 or .zst. "-" is standard output, which is
    written as it comes. What is not a regular file (a pipe, a device) is, too.

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
    if path == "-":
        with _told("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    text = os.fsdecode(path)
    label, suffix = printable(text), without_suffix(text)[1]
    if not text or "\0" in text:
        raise InputError(f"A path cannot be {text!r}; give the name of a file.")
    target = Path(os.path.realpath(text))
    if os.path.isdir(target):
        raise InputError(f"{label} is a folder; give the name of a file.")
    if os.path.exists(target) and not os.path.isfile(target):
        with _told(label), open(target, "wb") as file, _packed(file, suffix) as packed:
            yield packed
        return
    if not os.path.isdir(target.parent):
        raise InputError(f"{label} cannot be written: its folder does not exist; make the folder.")
    temporary = target.parent / f".{target.name[:200]}.{os.urandom(8).hex()}.tmp"
    try:
        with _told(label):
            with open(temporary, "xb") as file:
                with _packed(file, suffix) as packed:
                    yield packed
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make sure that a new name in the folder outlives a loss of power."""
    with suppress(OSError):  # some systems cannot sync a folder
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


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
