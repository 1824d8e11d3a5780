"""Sources of documents: files, objects in memory, files that are followed."""

import codecs
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from opelda.corpus._problems import Problems
from opelda.corpus._vocabulary import Vocabulary
from opelda.corpus.formats import (
    FORMATS,
    Format,
    Input,
    Options,
    detect,
    expand,
    read_vocabulary,
)
from opelda.corpus.sources._file_source import Files
from opelda.corpus.sources._folder_source import Folder
from opelda.corpus.sources._followed import GrowingFile
from opelda.corpus.sources._frames import in_memory
from opelda.corpus.sources._source import Source
from opelda.errors import InputError, warn

__all__ = ["Source", "open_source"]


def open_source(
    source: Any,
    *,
    format: str = "auto",
    text_column: str | tuple[str, ...] | list[str] | None = None,
    name_column: str | Literal[False] | None = None,
    metadata: str | tuple[str, ...] | list[str] | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    encoding: str = "utf-8",
    column_words: Any = None,
    first_id: Literal[0, 1] | None = None,
    follow: bool = False,
    in_pieces: bool = False,  # whether no more than a few blocks will be held at a time
) -> Source:
    """Return the documents that a user's source stands for, with everything checked."""
    if first_id is not None and (first_id not in (0, 1) or isinstance(first_id, bool)):
        raise InputError(f"must be 0, 1 or None, got {first_id!r}.", "first_id")
    is_path = isinstance(column_words, str | os.PathLike)
    options = Options(
        text_columns=_columns("text_column", text_column),
        name_column=_name(name_column),
        metadata=_columns("metadata", metadata),
        encoding=_encoding(encoding),
        column_words=os.fsdecode(column_words) if is_path else None,
        first_id=first_id,
        problems=Problems(on_error),
    )
    if format != "auto" and format not in FORMATS:
        raise InputError(f"must be auto or one of {', '.join(FORMATS)}, got {format!r}.", "format")
    paths = as_paths(source)
    if paths is None:
        if format != "auto":
            raise InputError(
                f"{format!r} is for files, but the source is {type(source).__name__}; give paths, "
                "or leave it out.",
                "format",
            )
        beside = options.column_words
        words = read_vocabulary(Input.of(beside)) if beside else as_words(column_words)
        return in_memory(source, options, words, by_content=in_pieces)
    if options.column_words is None and column_words is not None:
        raise InputError("must for files be the path of one with a word a line.", "column_words")
    if follow:
        if len(paths) > 1:
            raise InputError("Only one file or one folder can be followed; give one.")
        input = Input.of(paths[0])
        if input.path is not None and input.is_folder:
            if format != "auto":
                FORMATS[format].check(options, input.label)
            beside = options.column_words
            words = read_vocabulary(Input.of(beside)) if beside else None
            formats = partial(_arriving, format=format)
            return Folder(input.path, options, formats, follow=True, words=words)
        if input.path is not None:
            found = _format(input, format)
            found.check(options, input.label)
            return GrowingFile(input, found, options)
    inputs = [input for path in paths for input in expand(path, format)]
    if not inputs:
        raise InputError("The list of files is empty; give at least one.")
    kinds = {one.name: one for one in (_format(input, format) for input in inputs)}
    if len(kinds) > 1:
        raise InputError(
            f"The files are of different formats ({', '.join(sorted(kinds))}); read them apart."
        )
    (found,) = kinds.values()
    found.check(options, inputs[0].label)
    files = Files(inputs, found, options)
    folder = inputs[0].path
    if in_pieces and len(inputs) == 1 and folder is not None and inputs[0].is_folder:
        return Folder(folder, options, lambda _: None, follow=False, words=files.words)
    return files


def as_paths(source: Any) -> list[Any] | None:
    """Return the paths or open files that a source consists of; None where it is no such thing."""
    if isinstance(source, str | os.PathLike | Input) or hasattr(source, "readable"):
        return [source]
    if not isinstance(source, list | tuple) or not source:
        return None
    if all(isinstance(item, os.PathLike | Input) for item in source):
        return list(source)
    # strings in a list are texts, whatever files lie about: what is read must not depend on it
    if all(isinstance(item, str) and _names_a_file(item) for item in source):
        warn(
            f"The strings in the list are taken as texts, though files are named so ({source[0]!r}"
            "); give pathlib.Path objects to read the files.",
            UserWarning,
        )
    return None


def as_words(column_words: Any) -> list[str] | None:
    """Return the words of a list of them, a mapping from number to word, or gensim's Dictionary."""
    if column_words is None:
        return None
    if isinstance(column_words, Vocabulary):
        return list(column_words.words)
    numbers = getattr(column_words, "token2id", None)  # gensim's, from word to number
    if isinstance(numbers, Mapping):
        column_words = {number: word for word, number in numbers.items()}
    if isinstance(column_words, Mapping):
        if not all(isinstance(number, int) and number >= 0 for number in column_words):
            raise InputError("must map the columns' numbers, from 0 on, to words.", "column_words")
        # a number that was filtered away has no word; it must not become another's
        return [
            str(column_words.get(i, f"word {i}")) for i in range(max(column_words, default=-1) + 1)
        ]
    return [str(word) for word in column_words]


def _names_a_file(text: str) -> bool:
    """Whether a text looks like a path, with a suffix or a folder, and a file lies there."""
    if len(text) > 4096 or len(text.split()) != 1 or not ("." in text.strip(".") or "/" in text):
        return False
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def _format(input: Input, format: str) -> Format:
    return detect(input) if format == "auto" else FORMATS[format]


def _arriving(input: Input, format: str) -> Format | None:
    """Return the format of a file in a folder; None where it is one document of plain text."""
    if format not in ("auto", "files"):
        return FORMATS[format]
    found = None if format == "files" else detect(input)
    if found is not None and found.kind == "counts":
        raise InputError(
            f"{input.label} holds counts ({found.name}), which a followed folder cannot; put texts "
            "into it."
        )
    return None if found is None or found.name == "lines" else found


def _columns(parameter: str, given: Any) -> tuple[str, ...]:
    if given is None or isinstance(given, str):
        return () if given is None else (given,)
    if not isinstance(given, list | tuple) or not all(isinstance(name, str) for name in given):
        raise InputError(
            f"must be the name of a column, or a list of names, got {given!r}; a column's number "
            "goes as a string, as '2'.",
            parameter,
        )
    return tuple(given)


def _name(given: Any) -> str | Literal[False] | None:
    if given is False or given is None or isinstance(given, str):
        return given
    raise InputError(f"must be the name of a column, None or False, got {given!r}.", "name_column")


def _encoding(encoding: Any) -> str:
    try:
        return codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        raise InputError(
            f"must be the name of one, as 'utf-8', 'latin-1' or 'cp1252', got {encoding!r}.",
            "encoding",
        ) from None
