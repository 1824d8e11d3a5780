"""A folder of plain text, a document a file."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opelda._replacing import check_name, replacing, sync_folder
from opelda.corpus._block import Block
from opelda.corpus.formats._cells import as_series
from opelda.corpus.formats._compression import N_MAGIC, compression_of, read_most, without_suffix
from opelda.corpus.formats._detect import visible_files
from opelda.corpus.formats._encodings import codec, report_encoding
from opelda.corpus.formats._input import Input, check_position, printable, reason
from opelda.corpus.formats._line_reader import LARGEST_BLOCK, LONGEST_LINE
from opelda.corpus.formats._registry import Options
from opelda.corpus.formats._writing import sidecar_of, system_errors, texts_of, with_mark
from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda.corpus._corpus import Corpus


def blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    """Yield the files of a folder and the folders in it, in the order of their paths.

    Hidden files and folders, whose names begin with a dot, are passed over. Documents are named by
    their paths within the folder. A position holds the last path that was read.
    """
    if not input.is_folder:
        raise InputError(f"{input.label} is not a folder; give one, or another format.")
    encoding = codec(options.encoding)
    after: Any = "" if position is None else isinstance(position, dict) and position.get("after")
    check_position(isinstance(after, str), position, input.label)
    texts: list[str] = []
    names: list[str] = []
    size = 0
    # names order the documents, so that a position is a name: files that come later are found
    for name, path in _named_paths(input):
        text = _text(path, encoding, options) if name > after else None
        if text is None:
            continue
        texts.append(text)
        names.append(name)
        size += len(text)
        if len(texts) == options.block_size or size >= LARGEST_BLOCK:
            yield Block(as_series(texts), {"after": name}, {None: as_series(names)})
            texts, names, size = [], [], 0
    if texts:
        yield Block(as_series(texts), {"after": names[-1]}, {None: as_series(names)})


def text_of(input: Input, options: Options) -> str | None:
    """Return the text of one file; None if it was reported."""
    return _text(os.fspath(input.path or ""), codec(options.encoding), options)


def _named_paths(input: Input) -> list[tuple[str, str]]:
    """Return the names of all files in the folder, in their order, and their paths."""
    root = os.fspath(input.path or "")

    def refuse(error: OSError) -> None:
        where = printable(os.fsdecode(error.filename or root))
        raise InputError(f"{where} cannot be read: {reason(error)}; check the folder.") from None

    paths = ((path[len(root) :], path) for path in visible_files(root, refuse))
    return sorted((printable(name.replace(os.sep, "/").lstrip("/")), path) for name, path in paths)


def _text(path: str, encoding: str, options: Options) -> str | None:
    """Return a file's text; None if it was reported."""
    label = printable(path)
    try:
        if not os.path.isfile(path):  # a pipe would wait, a broken link has nothing
            return None
        # asking for fewer bytes than all would set aside that many
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            data = file.readall() if size <= LONGEST_LINE else file.read(N_MAGIC)
        if compression_of(data[:N_MAGIC]) is not None or without_suffix(path)[1]:
            with Input.of(path).open() as content:
                data = read_most(content, LONGEST_LINE + 1)
    except (OSError, InputError) as error:
        what = f"cannot be read ({reason(error)})"
        options.problems.add(label, what, "correct or remove the file")
        return None
    if max(len(data), size) > LONGEST_LINE:
        raise InputError(f"{label} is longer than {LONGEST_LINE >> 20} MB; check the file.")
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeError:
        report_encoding(label, data, options)
        return None


def write(corpus: "Corpus", path: str) -> None:
    """Write a new folder with a file a document, every word as often as it is counted.

    Files are named after the documents if that keeps their order, or else numbered.
    """
    if path == "-":
        raise InputError("A folder of files cannot be written to standard output; give a path.")
    target = Path(os.path.realpath(path))
    check_new_folder(path)
    sidecar = sidecar_of(corpus, path)
    with system_errors(printable(path)):
        folder = Path(tempfile.mkdtemp(suffix=".tmp", prefix=".opelda-", dir=target.parent))
        try:
            folder.chmod(0o755)
            for name, text in zip(_file_names(corpus), texts_of(corpus), strict=True):
                file = folder / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(with_mark(text).encode())
            if hasattr(os, "sync"):  # one wait for all files: each apart would take minutes
                os.sync()
            beside = [] if sidecar is None else [sidecar[0]]
            with replacing(*beside, folder=(folder, target)) as files:
                if sidecar is not None:
                    files[0].write(sidecar[1])
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    sync_folder(target.parent)


def check_new_folder(path: str) -> None:
    """Refuse a folder that has something in it, or cannot be made."""
    with system_errors(printable(path)):
        check_name(os.path.realpath(path))
        if os.path.exists(path) and not (os.path.isdir(path) and not os.listdir(path)):
            raise InputError(f"{printable(path)} exists already; give the name of a new folder.")
        if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
            raise InputError(
                f"{printable(path)} cannot be written: its folder does not exist; make the folder."
            )


def _file_names(corpus: "Corpus") -> list[str]:
    names = corpus.names
    if names is not None and _are_paths(names):
        return names
    width = len(str(len(corpus)))
    return [f"{number:0{width}d}.txt" for number in range(1, len(corpus) + 1)]


def _are_paths(names: list[str]) -> bool:
    """Whether files of these names would be read in this order, and as what they are."""
    folded = {name.casefold() for name in names}
    folders = {str(parent) for name in folded for parent in Path(name).parents}
    return (
        all(a < b for a, b in zip(names, islice(names, 1, None), strict=False))
        and len(folded) == len(names)
        and not folded & folders
        and all(map(_is_path, names))
    )


def _is_path(name: str) -> bool:
    parts = name.split("/")
    return (
        all(part and not part.startswith(".") and len(part.encode()) <= 255 for part in parts)
        and name.isprintable()
        and not any(mark in name for mark in '\\:*?"<>|')
        and not without_suffix(name)[1]
        and len(name.encode()) <= 1000
    )
