"""Which format a file is in: by its name, then by how it begins."""

import codecs
import glob
import json
import os
import re
from collections.abc import Iterator
from typing import Any

from opelda.corpus.formats import FORMATS, Format
from opelda.corpus.formats._compression import without_suffix
from opelda.corpus.formats._input import PEEK_BYTES, Input, NotTextError, printable, reason
from opelda.errors import InputError

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
    """Return the format of a file's name; None without a clear suffix."""
    if plain_name.startswith("docword."):
        return FORMATS["uci"]
    ends = {
        end: format
        for format in FORMATS.values()
        for end in format.suffixes
        if plain_name.endswith(end) and end not in (".txt", ".text", ".dat", ".json")
    }
    return ends[max(ends, key=len)] if ends else None


def expand(path: Any, format: str = "auto") -> list[Input]:
    """Return the files of a path or pattern, in their order.

    A folder is expanded to its files, without vocabularies, if all have the same format by their
    names, if all are JSON Lines, or if the format is given and not "files". Any other folder, and
    one with documents of office programs, is one input.
    """
    input = Input.of(path)
    if input.is_folder and format != "files":
        return _in_folder(input, format)
    if input.path is None or os.path.exists(input.path) or not glob.has_magic(str(input.path)):
        return [input]
    found = sorted(filter(os.path.isfile, glob.glob(os.fspath(input.path), recursive=True)))
    if not found:
        raise InputError(f"No file matches {input.label}; check the pattern.")
    return [Input.of(path) for path in found]


def _in_folder(input: Input, format: str) -> list[Input]:
    paths = sorted(path for _, path in named_files(os.fspath(input.path or "")))
    inputs = [Input.of(path) for path in paths if not is_vocabulary(path)]
    if format != "auto":
        if not inputs:
            raise InputError(f"{input.label} is an empty folder; pass a folder with files.")
        return inputs
    kinds = {by_name(one.plain_name) for one in inputs}
    known = {kind.name for kind in kinds if kind is not None} - {"files"}
    if not known:
        return inputs if _are_json(inputs) else [input]
    if len(known) < len(kinds):
        return [input]
    if len(known) > 1:
        raise InputError(
            f"{input.label} has files of several formats ({', '.join(sorted(known))}); "
            "select one format with a pattern."
        )
    return inputs


def _are_json(inputs: list[Input]) -> bool:
    """Whether files without clear suffixes are all JSON Lines, as extracted wikis are."""
    if inputs and all(one.plain_name.endswith(".json") for one in inputs):
        return True
    try:
        return bool(inputs) and all(_by_content(one) == "jsonl" for one in inputs)
    except InputError:
        return False


def named_files(root: str) -> Iterator[tuple[str, str]]:
    """Yield the names and paths of all files in a folder and its folders, except hidden ones."""

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError) or error.filename == root:
            where = printable(os.fsdecode(error.filename or root))
            raise InputError(f"{where} cannot be read: {reason(error)}; check the folder.")

    for folder, inner, names in os.walk(root, onerror=refuse):
        inner[:] = [name for name in inner if not name.startswith(".")]
        for path in (os.path.join(folder, name) for name in names if not name.startswith(".")):
            yield printable(path[len(root) :].replace(os.sep, "/").lstrip("/")), path


def is_vocabulary(path: str) -> bool:
    """Whether a file is a vocabulary by its name."""
    name = without_suffix(os.path.basename(path).lower())[0]
    return name.endswith(".vocab") or name.startswith(("vocab.", "vocabulary."))


def _by_content(input: Input) -> str:
    """Return the name of the format that fits the first lines of a file."""
    # text and JSON show in the first line: a pipe is not waited for longer
    head = b"" if input.reopens else input.peek(1)
    line = head.removeprefix(codecs.BOM_UTF8).partition(b"\n")[0]
    if not line.strip() or b"\0" in line or NUMBER.match(line):
        head = input.peek()
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04") and b".npy" in head[:200]:
        return "npz"
    if head.startswith(UTF_16):
        return "lines"
    _refuse_binary(head, input.label)
    head = head.removeprefix(codecs.BOM_UTF8)
    if head.startswith(b"%%MatrixMarket"):
        return "mm"
    is_cut = len(head) >= PEEK_BYTES
    lines = head.split(b"\n")
    if is_cut and len(lines) > 1:
        lines.pop()  # it may be incomplete
    lines = [line for line in lines if line.strip()]
    if not lines:
        return "lines"
    if _is_json(lines[0].strip(), input, is_cut):
        return "jsonl"
    is_uci = all(map(NUMBER.fullmatch, lines[:3])) and all(map(TRIPLE.fullmatch, lines[3:]))
    if len(lines) >= 3 and is_uci:
        return "uci"
    pairs = [LDAC.fullmatch(line) for line in lines]
    if any(b":" in line for line in lines) and all(
        found is not None and int(found[1][:9]) == len(found[2].split()) for found in pairs
    ):
        return "ldac"
    return "lines"


def _refuse_binary(head: bytes, label: str) -> None:
    """Raise NotTextError for archives and other files that are not text."""
    if head.startswith(JAVA):
        raise NotTextError(
            f"{label} is a Java binary file written by mallet import-file, an unsupported "
            "format; pass the original texts."
        )
    if head.startswith(b"PK\x03\x04") or head[257:262] == b"ustar":
        kind = "zip" if head.startswith(b"PK") else "tar"
        raise NotTextError(f"{label} is a {kind} archive; unpack it first.")
    if b"\0" in head or head.startswith(PDF):
        raise NotTextError(
            f"{label} is a binary file of an unsupported format; if the file is text, pass "
            "{format}.",
            format="lines",
        )


def _is_json(line: bytes, input: Input, is_cut: bool) -> bool:
    """Whether a first line is a whole JSON value; raise InputError for other forms of JSON."""
    if line[:1] not in (b"{", b"["):
        return False
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
        if is_cut and re.match(rb'\{\s*"', line):
            return True
    if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], str)):
        return True
    if input.plain_name.endswith(".json") or isinstance(value, list):
        raise InputError(
            f"{input.label} is not JSON Lines (one value per line); convert the file, for "
            "example with jq -c '.[]'."
        )
    return False
