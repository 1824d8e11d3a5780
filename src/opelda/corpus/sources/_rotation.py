"""Files known again by their content, wherever they have gone: renamed, copied, rotated."""

import os
import re
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from opelda.corpus._replay import report
from opelda.corpus.formats import Input, Options
from opelda.corpus.formats._compression import without_suffix
from opelda.corpus.formats._line_reader import LineReader
from opelda.errors import InputError

# Bytes at either end of a file that stand for all of it; files beside one that are looked at.
END = 1 << 12
N_BESIDE = 100


def key_of(input: Input, size: int) -> bytes:
    """Return a digest of the first so many bytes of a file as it is stored: of both their ends."""
    digest = blake2b(str(size).encode(), digest_size=8)
    try:
        with open(input.path or "", "rb") as file:
            digest.update(file.read(min(END, size)))
            file.seek(max(size - END, 0))
            digest.update(file.read(min(END, size)))
    except OSError:  # it is gone
        pass
    return digest.digest()


def is_where(input: Input, options: Options, at: Any) -> bool:
    """Whether a position was reached in this file, by what is before it."""
    try:
        with LineReader(input, options, at):
            return True
    except InputError:  # it is another, or damaged
        return False


def goes_on(
    input: Input, options: Options, at: Any, ends: Sequence[Any] = ()
) -> list[tuple[Input, Any]]:
    """Return the files to read after a position, oldest first, and the position in each.

    The file itself if the position was reached in it. Else the one beside it where it was, those
    that were put aside after that, but for those that were read to one of the `ends`, and the whole
    of the file.
    """
    if not (isinstance(at, dict) and "tail" in at and input.is_file):
        if input.is_file:
            input.report("goes on where reading stopped")
        return [(input, at)]
    if is_where(input, options, at):
        input.report(f"goes on after line {at['line']:,}")
        return [(input, at)]
    beside = _beside(input.path or Path())
    for found in beside:
        former = Input.of(found)
        if is_where(former, options, at):
            between = [
                (aside, None)
                for path in put_aside(input, found.stat().st_mtime_ns)
                if path != found and not was_read(aside := Input.of(path), options, ends)
            ]
            report(
                f"{input.label} is a new file, and {former.label} the one that was read up to line "
                f"{at['line']:,}: that is read to its end before."
            )
            return [(former, at), *between, (input, None)]
    report(
        f"{input.label} is another file than the one that was read up to line {at['line']:,}, "
        "which is not beside it: all of it is new."
    )
    return [(input, None)]


def was_read(input: Input, options: Options, ends: Sequence[Any]) -> bool:
    """Whether a file was read up to one of some positions, each with a name."""
    return any(is_where(input, options, at) for _, at in ends)


def put_aside(input: Input, since: int) -> list[Path]:
    """Return the files that logs were rotated into after a time (ns), oldest first."""
    path = input.path or Path()
    stem, suffix = re.escape(path.stem), re.escape(path.suffix)
    number = r"[._-]\d[\d._T-]*"
    rotated = re.compile(f"{stem}{suffix}{number}|{stem}{number}{suffix}")
    found = [
        (other.stat().st_mtime_ns, other)
        for other in _beside(path)
        if rotated.fullmatch(without_suffix(other.name)[0])
    ]
    return [other for time, other in sorted(found) if time >= since]


def _beside(path: Path) -> list[Path]:
    """Return the other files in the folder whose names begin as this one's, newest first."""
    with os.scandir(path.parent) as entries:
        found = [
            (entry.stat().st_mtime_ns, path.parent / entry.name)
            for entry in entries
            if entry.name.startswith(path.stem) and entry.name != path.name and entry.is_file()
        ]
    return [other for _, other in sorted(found, reverse=True)[:N_BESIDE]]
