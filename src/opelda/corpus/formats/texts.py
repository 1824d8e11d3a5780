"""Plain text: a document a line, a document a file, or MALLET's name, label and text on a line."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from opelda.corpus._block import Block
from opelda.corpus.formats import Options
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
from opelda.corpus.formats._text_columns import as_series
from opelda.errors import InputError


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

    Hidden files and folders, whose names begin with a dot, and binary files are skipped. Documents
    are named by their paths within the folder. A position holds the last path that was read.
    """
    if not input.is_folder:
        raise InputError(f"{input.label} is not a folder; pass a folder or another format.")
    after: Any = "" if position is None else isinstance(position, dict) and position.get("after")
    check_position(isinstance(after, str), position, input.label)
    texts: list[str] = []
    names: list[str] = []
    size = 0
    # documents are in the order of their names, so that a position is a name
    for name, path in sorted(named_files(os.fspath(input.path or ""))):
        text = file_text(path, options) if name > after else None
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


def file_text(path: str, options: Options) -> str | None:
    """Return a file's text; None for a binary or unreadable file, which is reported."""
    label = printable(path)
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
    if max(len(data), size) > LONGEST_LINE:
        raise InputError(f"{label} is longer than {LONGEST_LINE >> 20} MB; check the file.")
    try:
        text = data.decode(codec(options.encoding)).removeprefix("\ufeff")
        is_text = "\0" not in text[:PEEK_BYTES]
    except UnicodeError:
        text, is_text = None, b"\0" not in data[:PEEK_BYTES] or data.startswith(UTF_16)
    if not is_text or data.startswith(PDF):
        options.problems.skip_binary(label)
        return None
    if text is None:
        report_encoding(label, data, options)
    return text
