"""Files replaced in one step: written under a temporary name, synced, then renamed."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

# Letters of a file's name in its temporary one, which then is short enough for any name there is.
STEM = 20


@contextmanager
def replacing(*paths: str | os.PathLike[str]) -> Iterator[list[BinaryIO]]:
    """Give a file to write for each path; when all are written and synced they get their names.

    Links are followed. Until then, and after any failure, what is at the paths is untouched.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "notes")
    >>> with replacing(path) as [file]:
    ...     _ = file.write(b"tea")
    >>> path.read_bytes()
    b'tea'
    """
    targets = [Path(os.path.realpath(path)) for path in paths]
    names = [f".{target.name[:STEM]}.{os.urandom(8).hex()}.tmp" for target in targets]
    pairs = [(target.with_name(name), target) for name, target in zip(names, targets, strict=True)]
    with ExitStack() as stack:
        files: list[BinaryIO] = []
        for temporary, target in pairs:
            check_name(target)  # an error before anything is written
            stack.callback(_remove, temporary)
            files.append(stack.enter_context(open(temporary, "xb")))
            with suppress(OSError):  # a new file, or a file system without modes
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            with suppress(OSError):  # not every file system can lock
                lock(files[-1])
        yield files
        for file in files:
            file.flush()
            os.fsync(file.fileno())
            file.close()
        # All that takes long, or room, is done. The process may be killed between any two of these
        # lines: then the first file is whole, and never has others that do not belong to it.
        is_new = not targets[0].is_file()
        if not is_new:
            for other in targets[1:]:
                _remove(other)
        for temporary, target in reversed(pairs) if is_new else pairs:
            os.replace(temporary, target)
    for place in {target.parent for target in targets}:
        sync_folder(place)


def check_name(path: str | os.PathLike[str]) -> None:
    """Let the system refuse a name that no file can have, as one that is too long."""
    with suppress(FileNotFoundError):
        os.lstat(path)


def remove_leftovers(folder: str | os.PathLike[str], name: str) -> int:
    """Remove what killed writers of the file `name` left in the folder; return how many files.

    A file that is being written at this moment is left alone.
    """
    pattern = re.compile(rf"\.{re.escape(name[:STEM])}\.[0-9a-f]{{16}}\.tmp")
    removed = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    with open(entry.path, "r+b") as file:
                        lock(file)  # fails while its writer lives
                    os.unlink(entry.path)
                    removed += 1
    return removed


def sync_folder(folder: Path) -> None:
    """Make sure that new names in the folder outlive a loss of power."""
    with suppress(OSError):  # some systems cannot sync a folder
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def lock(file: BinaryIO) -> None:
    """Lock a file for this process; `BlockingIOError` where another holds it."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
