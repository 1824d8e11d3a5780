"""A folder of plain text, a document a file."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opelda.corpus._block import Block
from opelda.corpus.formats import _vocab
from opelda.corpus.formats._compression import N_MAGIC, compression_of, without_suffix
from opelda.corpus.formats._encoding import codec
from opelda.corpus.formats._files import Input
from opelda.corpus.formats._format import Format, Options
from opelda.corpus.formats._lines import LARGEST_BLOCK, LONGEST_LINE, as_series, report_encoding
from opelda.corpus.formats._output import pending, sync_folder
from opelda.corpus.formats._streams import printable, reason
from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda.corpus._corpus import Corpus


def blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    """Yield the files of a folder and the folders in it, in the order of their paths.

    Hidden files and folders, whose names begin with a dot, are passed over. Documents are named by
    their paths within the folder. A position holds the last path that was read.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("b.txt", "a.txt"):
    ...     _ = (folder / name).write_text(f"tea {name}")
    >>> block, = blocks(Input.of(folder), Options())
    >>> block.documents.to_list(), block.names
    (['tea a.txt', 'tea b.txt'], ['a.txt', 'b.txt'])
    """
    if not input.is_folder:
        raise InputError(f"{input.label} is not a folder; give one, or another format.")
    encoding = codec(options.encoding)
    after = _checked(position, input.label)
    texts: list[str] = []
    names: list[str] = []
    size = 0
    for name, path in _named_paths(input):
        text = _text(path, encoding, options) if name > after else None
        if text is None:
            continue
        texts.append(text)
        names.append(name)
        size += len(text)
        if len(texts) == options.block_size or size >= LARGEST_BLOCK:
            yield Block(as_series(texts), {"after": name}, names)
            texts, names, size = [], [], 0
    if texts:
        yield Block(as_series(texts), {"after": names[-1]}, names)


def text_of(input: Input, options: Options) -> str | None:
    """Return the text of one file; None if it was reported."""
    return _text(os.fspath(input.path or ""), codec(options.encoding), options)


def _named_paths(input: Input) -> list[tuple[str, str]]:
    """Return the names of all files in the folder, in their order, and their paths."""
    found = []
    root = os.fspath(input.path or "")

    def refuse(error: OSError) -> None:
        where = printable(os.fsdecode(error.filename or root))
        raise InputError(f"{where} cannot be read: {reason(error)}; check the folder.") from None

    for folder, inner, files in os.walk(root, onerror=refuse):
        inner[:] = [name for name in inner if not name.startswith(".")]
        within = printable(os.path.relpath(folder, root).replace(os.sep, "/")) + "/"
        within = "" if within == "./" else within
        found += [
            (within + printable(name), os.path.join(folder, name))
            for name in files
            if not name.startswith(".")
        ]
    return sorted(found)


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
                data = content.read(LONGEST_LINE + 1)
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


def _checked(position: Any, label: str) -> str:
    if position is None:
        return ""
    after = position.get("after") if isinstance(position, dict) else None
    if not isinstance(after, str):
        raise InputError(f"{position!r} is no place in {label}; give one that was reached in it.")
    return after


def write(corpus: "Corpus", path: str) -> None:
    """Write a new folder with a file a document, every word as often as it is counted.

    Files are named after the documents if that keeps their order, or else numbered.
    """
    target = Path(os.path.realpath(path))
    label = printable(path)
    if path == "-":
        raise InputError("A folder of files cannot be written to standard output; give a path.")
    if os.path.exists(target) and not (os.path.isdir(target) and not os.listdir(target)):
        raise InputError(f"{label} exists already; give the name of a new folder.")
    if not os.path.isdir(target.parent):
        raise InputError(f"{label} cannot be written: its folder does not exist; make the folder.")
    names = _file_names(corpus)
    vocabulary = _vocab.as_file(corpus.words, _vocab.sidecar(path.rstrip("/")))
    try:
        folder = Path(tempfile.mkdtemp(suffix=".tmp", prefix=f".{target.name}.", dir=target.parent))
        try:
            folder.chmod(0o755)
            texts = _vocab.texts_of(corpus)
            for name, text in zip(names, texts, strict=True):
                file = folder / name
                file.parent.mkdir(parents=True, exist_ok=True)
                # what begins with a mark of the byte order needs another, which a reader drops
                file.write_bytes((("\ufeff" if text.startswith("\ufeff") else "") + text).encode())
            _appear(folder, target, vocabulary)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    except OSError as error:
        message = f"{label} cannot be written: {reason(error)}; write to another place."
        raise InputError(message) from error
    sync_folder(target.parent)


def _appear(folder: Path, target: Path, vocabulary: tuple[str, bytes] | None) -> None:
    """Give a folder its name, and put its vocabulary beside it; both or neither."""
    if vocabulary is None:
        os.replace(folder, target)
        return
    with pending(vocabulary[0]) as other:
        with other.written() as file:
            file.write(vocabulary[1])
        os.replace(folder, target)
        try:
            other.appear()
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            raise


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


FORMAT = Format(
    name="files",
    summary="a folder of plain text, a document a file",
    kind="text",
    suffixes=(),
    blocks=blocks,
    words=_vocab.find,
    write=write,
)
