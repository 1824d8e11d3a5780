"""Atomic writing of files: counts with their vocabulary beside them, tables without formulas."""

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from opelda._replacing import replacing
from opelda.corpus.formats._compression import compressing, without_suffix
from opelda.corpus.formats._input import checked_path, printable, reason
from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda.corpus._corpus import Corpus

# The beginnings of formulas, our own mark, and what moves a cursor or turns text around.
_UNSAFE = re.compile("\\A['=+\\-@]|[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_CONTROL = re.compile("[\\\\\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@contextmanager
def write_in_one_step(
    path: str | os.PathLike[str], sidecar: tuple[str, bytes] | None = None
) -> Iterator[BinaryIO]:
    """Give a binary file that appears at `path` when all was written without an error.

    The file is compressed if its name ends in .gz, .xz, .bz2 or .zst. Standard output ("-"), pipes
    and devices are written directly. `sidecar` is the path and the content of a second file: both
    appear, or neither. After an error, an `InputError`, former files are unchanged.
    """
    text = checked_path(os.fsdecode(path))
    label = "standard output" if path == "-" else printable(text)
    if path != "-" and os.path.isdir(text):
        raise InputError(f"{label} is a folder; pass the name of a file.")
    if path != "-" and not os.path.isdir(os.path.dirname(os.path.realpath(text))):
        raise InputError(
            f"{label} cannot be written because its folder does not exist; create the folder."
        )
    suffix = without_suffix(text)[1]

    def packed(file: BinaryIO) -> Any:
        return compressing(file, suffix) if suffix else nullcontext(file)

    try:
        if path == "-":
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        elif os.path.exists(text) and not os.path.isfile(text):
            with open(text, "wb") as file, packed(file) as out:
                yield out
        else:
            with replacing(text, *([] if sidecar is None else [sidecar[0]])) as files:
                with packed(files[0]) as out:
                    yield out
                if sidecar is not None:
                    files[1].write(sidecar[1])
    except BrokenPipeError:  # the reader of a pipe closed it
        raise
    except OSError as error:
        message = f"{label} cannot be written: {reason(error)}; choose another path."
        raise InputError(message) from error


@contextmanager
def polars_errors() -> Iterator[None]:
    """Turn polars' errors of writing into the system's OSError."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        found = re.search(r"\(os error (\d+)\)", str(error))
        number = int(found[1]) if found else errno.EIO
        raise OSError(number, os.strerror(number) if found else reason(error)) from error


def sidecar_path(path: str, format: str = "") -> str | None:
    """Return the path of a file's vocabulary; None without one."""
    if path == "-" or format == "parquet":
        return None
    plain = without_suffix(path.rstrip("/"))[0]
    name = os.path.basename(plain)
    if format == "uci" and name.startswith("docword."):
        return str(Path(plain).with_name("vocab." + name.removeprefix("docword.")))
    return f"{plain}.vocab"


def sidecar_of(corpus: "Corpus", path: str, format: str = "") -> tuple[str, bytes] | None:
    """Return the path and the content of the vocabulary file; None without one."""
    target = sidecar_path(path, format)
    if corpus.words is None or target is None:
        return None
    for word in corpus.words:
        if "\n" in word or "\r" in word:
            raise InputError(
                f"The word {word!r} contains a line break, but {target} has one word per "
                "line; replace the line break."
            )
    text = "".join(f"{word}\n" for word in corpus.words)
    # a reader drops one byte order mark: a first word that begins with one needs two
    return target, ("\ufeff" * text.startswith("\ufeff") + text).encode()


def safe_cell(text: str) -> str:
    r"""Return a text that no spreadsheet takes for a formula, and that has no control characters.

    One that begins with ``=``, ``+``, ``-``, ``@`` or an apostrophe, or has a control character in
    it, is written after an apostrophe, its control characters and backslashes as ``\uXXXX``.
    """
    if not _UNSAFE.search(text):
        return text
    return "'" + _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
