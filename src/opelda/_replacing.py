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

STEM = 20  # letters of a file's name in its temporary one, which must not be too long


@contextmanager
def replacing(*paths: str | os.PathLike[str]) -> Iterator[list[BinaryIO]]:
    """Give a file to write for each path; rename all when they are written and synced.

    Links are followed. Until then, and after any failure, former files are untouched.
    """
    targets = [Path(os.path.realpath(path)) for path in paths]
    names = [f".{target.name[:STEM]}.{os.urandom(8).hex()}.tmp" for target in targets]
    pairs = [(target.with_name(name), target) for name, target in zip(names, targets, strict=True)]
    with ExitStack() as stack:
        files: list[BinaryIO] = []
        for temporary, target in pairs:
            check_name(target)  # an error before anything is written
            stack.callback(temporary.unlink, missing_ok=True)
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
        # The process may be killed between any two of these lines: then the first file is whole,
        # and never has others that do not belong to it.
        is_new = not targets[0].is_file()
        if not is_new:
            for other in targets[1:]:
                other.unlink(missing_ok=True)
        for temporary, target in reversed(pairs) if is_new else pairs:
            os.replace(temporary, target)
    for folder in {target.parent for target in targets}:
        with suppress(OSError):  # some systems cannot sync a folder
            opened = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)


def check_name(path: str | os.PathLike[str]) -> None:
    """Let the system refuse a name that no file can have."""
    with suppress(FileNotFoundError):
        os.lstat(path)


def remove_leftovers(folder: str | os.PathLike[str], name: str) -> int:
    """Remove files that killed writers of `name` left in the folder; return their number."""
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


def lock(file: BinaryIO) -> None:
    """Lock a file for this process; `BlockingIOError` where another holds it."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
