"""Plain text: a document a line, a document a file, or MALLET's name, label and text on a line."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from opelda.corpus._block import Beside, Block
from opelda.corpus.formats import ALL, AUTO, Options
from opelda.corpus.formats._compression import N_MAGIC, compression_of, read_most, without_suffix
from opelda.corpus.formats._detect import PDF, UTF_16, named_files
from opelda.corpus.formats._input import (
    PEEK_BYTES,
    Input,
    check_position,
    codec,
    printable,
    reason,
)
from opelda.corpus.formats._line_reader import (
    LARGEST_BLOCK,
    LONGEST_LINE,
    Values,
    report_encoding,
    text_blocks,
)
from opelda.corpus.formats._text_columns import as_series, require, wanted_columns
from opelda.corpus.formats.office import Document, UnreadableError, document, reader_of
from opelda.errors import InputError

METADATA = ("title", "date", "path")  # of the files of a folder


def line_blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    """Yield the lines of a file; a blank line is an empty document."""
    return text_blocks(input, options, position, lambda lines, _: (lines, None))


def mallet_blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    """Yield the documents of a file as ``mallet import-file`` takes it."""

    def parse(lines: list[str], numbers: Sequence[int]) -> tuple[list[str], Values]:
        texts, names = [], []
        for line, number in zip(lines, numbers, strict=True):
            fields = line.split(None, 2)
            if len(fields) >= 2:
                names.append(fields[0])
                texts.append(fields[2] if len(fields) > 2 else "")
            elif fields:
                options.problems.add(
                    f"{input.label}, line {number}",
                    "has only one field",
                    "write a name, a label and the text, separated by whitespace",
                )
        return texts, {None: names}

    return text_blocks(input, options, position, parse)


def file_blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    """Yield the files of a folder and the folders in it, in the order of their paths.

    Hidden files and folders, whose names begin with a dot, and files without text are skipped.
    Documents are named by their titles, else by their paths within the folder; metadata are
    "title", "date" and "path". A position holds the last path that was read.
    """
    if not input.is_folder:
        if input.path is None or reader_of(input.plain_name) is None:
            raise InputError(f"{input.label} is not a folder; pass a folder or another format.")
        input.open().close()  # raises if there is no such file
    after: Any = "" if position is None else isinstance(position, dict) and position.get("after")
    check_position(isinstance(after, str), position, input.label)
    require(METADATA, wanted_columns(options), input.label)
    found: list[Document] = []
    names: list[str] = []
    size = 0
    # documents are in the order of their names, so that a position is a name
    root = os.fspath(input.path or "")
    paths = named_files(root) if input.is_folder else [(os.path.basename(root), root)]
    for name, path in sorted(paths):
        one = file_document(name, path, options) if name > after else None
        if one is None:
            continue
        found.append(one)
        names.append(name)
        size += len(one.text)
        if len(found) == options.block_size or size >= LARGEST_BLOCK:
            yield documents_block(found, names, {"after": name}, options)
            found, names, size = [], [], 0
    if found:
        yield documents_block(found, names, {"after": names[-1]}, options)


def documents_block(
    found: list[Document], paths: list[str], position: Any, options: Options
) -> Block:
    """Return files of a folder as a block, with titles, dates and paths beside if asked to."""
    titles = [one.title or None for one in found]
    columns: dict[str, list[str | None]] = {
        "title": titles,
        "date": [one.date for one in found],
        "path": [*paths],
    }
    name = options.name_column or "title"
    named, kept = columns[name], {*options.metadata}
    if ALL in kept:
        kept = {*columns} - {name}
    if AUTO in kept:
        kept |= {name for name, of in (("date", "date"), ("path", "title")) if any(columns[of])}
    beside: Beside = {
        None: as_series([name or path for name, path in zip(named, paths, strict=True)])
    }
    beside |= {name: as_series(values) for name, values in columns.items() if name in kept}
    return Block(as_series([one.text for one in found]), position, beside)


def file_document(name: str, path: str, options: Options) -> Document | None:
    """Return a file of a folder; None for a file without text, which is reported."""
    label, reader = printable(path), reader_of(path)
    try:
        if not os.path.isfile(path):  # a pipe, or a broken link
            return None
        # `read(LONGEST_LINE)` would allocate as many bytes
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
    if max(len(data), size) > LONGEST_LINE and reader is None:
        raise InputError(f"{label} is longer than {LONGEST_LINE >> 20} MB; check the file.")
    encoding = codec(options.encoding)
    try:
        if reader is not None:
            return document(label, reader, data, encoding)
        found = Document(data.decode(encoding).removeprefix("\ufeff"))
        is_text = "\0" not in found.text[:PEEK_BYTES]
    except UnreadableError as error:
        options.problems.skip_file(name, str(error) if size <= LONGEST_LINE else "too large")
        return None
    except UnicodeError:
        found, is_text = None, b"\0" not in data[:PEEK_BYTES] or data.startswith(UTF_16)
    if not is_text or data.startswith(PDF):
        options.problems.skip_file(name)
        return None
    if found is None:
        report_encoding(label, data, options)
    return found
