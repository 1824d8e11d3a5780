"""Which format a file is in: by its name, then by how it begins."""

import codecs
import glob
import json
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from opelda.corpus.formats import FORMATS, Format
from opelda.corpus.formats._compression import without_suffix
from opelda.corpus.formats._input import PEEK_BYTES, Input, NotTextError
from opelda.errors import InputError

# Ends of names that say too little.
VAGUE = (".txt", ".text", ".dat", ".json")
LDAC = re.compile(rb"(\d+)((?:\s+\d+:\d+(?:\.\d+)?)*)\s*")
NUMBER = re.compile(rb"\d+\s*")
JAVA = b"\xac\xed\x00\x05"
PDF = b"%PDF-"  # a binary format whose files may have no zero byte
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
TRIPLE = re.compile(rb"\d+ +\d+ +\d+\s*")


def detect(input: Input) -> Format:
    """Return the format of a file, a folder of texts or standard input."""
    if input.is_folder:
        return FORMATS["files"]
    named = by_name(input.plain_name)
    if named is not None and not (named.name == "mallet" and input.peek(1).startswith(JAVA)):
        return named
    return FORMATS[_by_content(input)]


def by_name(plain_name: str) -> Format | None:
    """Return the format that a file's name says; None if it says none."""
    if plain_name.startswith("docword."):
        return FORMATS["uci"]
    every = ((end, one) for one in FORMATS.values() for end in one.suffixes if end not in VAGUE)
    ends = {end: one for end, one in every if plain_name.endswith(end)}
    return ends[max(ends, key=len)] if ends else None


def expand(path: Any, format: str = "auto") -> list[Input]:
    """Return the files that a path stands for, in their order.

    A pattern stands for the files that match it. A folder whose files are all of one format by
    their names, or all JSON Lines, or any folder if a format other than "files" is asked for,
    stands for the files in it; vocabularies are not counted among them. Any other folder is one
    input.
    """
    input = Input.of(path)
    if input.path is None or os.path.exists(input.path):
        return _in_folder(input, format) if input.is_folder else [input]
    text = os.fspath(input.path)
    if not glob.has_magic(text):
        return [input]
    found = sorted(path for path in glob.glob(text, recursive=True) if os.path.isfile(path))
    if not found:
        raise InputError(f"No file matches {input.label}; check the pattern.")
    return [Input.of(path) for path in found]


def _in_folder(input: Input, format: str) -> list[Input]:
    if format == "files":
        return [input]
    every = sorted(visible_files(os.fspath(input.path or "")))
    paths = [path for path in every if not is_vocabulary(path)]
    if format != "auto":
        if not paths:
            raise InputError(f"{input.label} has no files in it; give another folder.")
        return [Input.of(path) for path in paths]
    kinds = {by_name(Input.of(path).plain_name) for path in paths}
    known = {kind.name for kind in kinds if kind is not None}
    if not known:
        return [Input.of(path) for path in paths] if _all_json(paths) else [input]
    if len(known) < len(kinds):
        return [input]
    if len(known) > 1:
        raise InputError(
            f"{input.label} has files of several formats ({', '.join(sorted(known))}); "
            "give those of one, as with a pattern."
        )
    return [Input.of(path) for path in paths]


def _all_json(paths: list[str]) -> bool:
    """Whether files whose names say nothing are all JSON Lines, as dumps of wikis are."""
    if paths and all(Input.of(path).plain_name.endswith(".json") for path in paths):
        return True
    try:
        return bool(paths) and all(_by_content(Input.of(path)) == "jsonl" for path in paths)
    except InputError:
        return False


def visible_files(folder: str, onerror: Callable[[OSError], None] | None = None) -> Iterator[str]:
    """Yield the paths of all files in a folder and the folders in it, but hidden ones."""
    for path, inner, names in os.walk(folder, onerror=onerror):
        inner[:] = [name for name in inner if not name.startswith(".")]
        yield from (os.path.join(path, name) for name in names if not name.startswith("."))


def is_vocabulary(path: str) -> bool:
    """Whether a file's name says that it is a vocabulary."""
    name = without_suffix(os.path.basename(path).lower())[0]
    return name.endswith(".vocab") or name.startswith(("vocab.", "vocabulary."))


def _by_content(input: Input) -> str:
    """Return the format's name that the first lines of a file speak for."""
    # of a pipe no more lines are waited for than are needed
    head = b"" if input.reopens else input.peek(1)
    if not _is_settled(head):
        head = input.peek()
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04"):
        if b".npy" in head[:200]:
            return "npz"
        raise NotTextError(f"{input.label} is a zip archive; unpack it first.")
    if head.startswith(JAVA):
        raise NotTextError(
            f"{input.label} is in a binary form of Java's, as mallet import-file writes it, which "
            "only MALLET reads; give the texts that it was made of."
        )
    if head[257:262] == b"ustar":
        raise NotTextError(f"{input.label} is a tar archive; unpack it first, as with tar -xf.")
    if head.startswith(UTF_16):
        return "lines"
    if b"\0" in head or head.startswith(PDF):
        raise NotTextError(
            f"{input.label} is not text and of no known format; if it is text all the same, "
            "say {format}.",
            format="lines",
        )
    head = head.removeprefix(codecs.BOM_UTF8)
    if head.startswith(b"%%MatrixMarket"):
        return "mm"
    lines = head.split(b"\n")
    if len(head) >= PEEK_BYTES and len(lines) > 1:
        lines.pop()  # it may go on
    lines = [line for line in lines if line.strip()]
    if not lines:
        return "lines"
    if _is_json(lines[0].strip(), input, cut=len(head) >= PEEK_BYTES):
        return "jsonl"
    is_uci = all(map(NUMBER.fullmatch, lines[:3])) and all(map(TRIPLE.fullmatch, lines[3:]))
    if len(lines) >= 3 and is_uci:
        return "uci"
    if any(b":" in line for line in lines) and all(map(_is_ldac, lines)):
        return "ldac"
    return "lines"


def _is_settled(head: bytes) -> bool:
    """Whether the first line says that a file is plain text or JSON, whatever the others are."""
    head = head.removeprefix(codecs.BOM_UTF8).partition(b"\n")[0]
    may_be_counts = any(one.match(head) for one in (NUMBER, LDAC))
    return bool(head.strip()) and b"\0" not in head and not may_be_counts


def _is_json(line: bytes, input: Input, cut: bool) -> bool:
    """Whether a first line is a JSON value a line; what is JSON in another form is refused."""
    if line[:1] not in (b"{", b"["):
        return False
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        if cut and re.match(rb'\{\s*"', line):
            return True
        value = None
    if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], str)):
        return True
    if input.plain_name.endswith(".json") or isinstance(value, list):
        raise InputError(
            f"{input.label} is not JSON Lines, a value a line; make it so, as with jq -c '.[]'."
        )
    return False


def _is_ldac(line: bytes) -> bool:
    found = LDAC.fullmatch(line)
    return found is not None and int(found[1][:9]) == len(found[2].split())
