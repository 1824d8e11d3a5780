"""Sources of documents: files, objects in memory, files that are followed."""

import os
from collections.abc import Mapping
from typing import Any, Literal

from opelda.corpus._block import Problems, Source
from opelda.corpus._vocabulary import Vocabulary
from opelda.corpus.formats import FORMATS, Options
from opelda.corpus.formats._detect import detect, expand
from opelda.corpus.formats._input import Input, codec
from opelda.corpus.formats._vocab import read_vocabulary
from opelda.corpus.sources._files import Files
from opelda.corpus.sources._followed import Folder, GrowingFile
from opelda.corpus.sources._in_memory import in_memory
from opelda.errors import InputError, warn

__all__ = ["checked_options", "open_source"]


def checked_options(
    format: str = "auto",
    text_column: Any = None,
    name_column: Any = None,
    metadata: Any = None,
    on_error: Literal["stop", "skip"] = "stop",
    encoding: str = "utf-8",
    column_words: Any = None,
    first_id: Literal[0, 1] | None = None,
) -> Options:
    """Return the checked parameters of `corpus.read` for its source."""
    if first_id is not None and (first_id not in (0, 1) or isinstance(first_id, bool)):
        raise InputError(f"must be 0, 1 or None, got {first_id!r}.", "first_id")
    if not isinstance(name_column, str | None) and name_column is not False:
        raise InputError(
            f"must be the name of a column, None or False, got {name_column!r}.", "name_column"
        )
    if format != "auto" and format not in FORMATS:
        raise InputError(f"must be auto or one of {', '.join(FORMATS)}, got {format!r}.", "format")
    is_path = isinstance(column_words, str | os.PathLike)
    return Options(
        format=format,
        text_columns=_columns("text_column", text_column),
        name_column=name_column,
        metadata=_columns("metadata", metadata),
        encoding=codec(encoding),
        column_words=os.fsdecode(column_words) if is_path else None,
        words=None if is_path else _as_words(column_words),
        first_id=first_id,
        problems=Problems(on_error),
    )


def _columns(parameter: str, given: Any) -> tuple[str, ...]:
    if given is None or isinstance(given, str):
        return () if given is None else (given,)
    if not isinstance(given, list | tuple) or not all(isinstance(name, str) for name in given):
        raise InputError(
            f"must be the name of a column or a list of names, got {given!r}; pass a column "
            "number as a string such as '2'.",
            parameter,
        )
    return tuple(given)


def _as_words(column_words: Any) -> list[str] | None:
    """Return the words of a list of them, a mapping from number to word, or gensim's Dictionary."""
    if column_words is None:
        return None
    if isinstance(column_words, Vocabulary):
        return list(column_words.words)
    numbers = getattr(column_words, "token2id", None)  # gensim's, from word to number
    if isinstance(numbers, Mapping):
        column_words = {number: word for word, number in numbers.items()}
    if not isinstance(column_words, Mapping):
        return [str(word) for word in column_words]
    if not all(isinstance(number, int) and number >= 0 for number in column_words):
        raise InputError("must map column numbers, starting from 0, to words.", "column_words")
    # a number without a word keeps its column
    width = max(column_words, default=-1) + 1
    return [str(column_words.get(i, f"word {i}")) for i in range(width)]


def open_source(
    source: Any,
    options: Options,
    *,
    follow: bool = False,
    in_pieces: bool = False,  # as a stream, which holds few blocks at a time
) -> Source:
    """Return a source of documents for anything that `corpus.read` takes."""
    paths = _as_paths(source)
    if paths is None:
        if options.format != "auto":
            raise InputError(
                f"{options.format!r} requires files, but the source is "
                f"{type(source).__name__}; pass paths, or remove the format.",
                "format",
            )
        return in_memory(source, options, _words(options), by_content=in_pieces)
    if options.words is not None:
        raise InputError(
            "must be the path of a file with one word per line if the source is a file.",
            "column_words",
        )
    if follow and len(paths) > 1:
        raise InputError("Only one file or one folder can be followed; pass a single path.")
    input, format = Input.of(paths[0]), options.format
    if follow and input.is_folder:
        if format != "auto":
            FORMATS[format].check(options, input.label)
        return Folder(input, options, _words(options), follow=True)
    follow = follow and input.path is not None
    inputs = [input] if follow else [one for path in paths for one in expand(path, format)]
    if not inputs:
        raise InputError("The list of files is empty; pass at least one file.")
    formats = [detect(one) if format == "auto" else FORMATS[format] for one in inputs]
    if len(kinds := {one.name for one in formats}) > 1:
        raise InputError(
            f"The files are of different formats ({', '.join(sorted(kinds))}); read each "
            "format separately."
        )
    formats[0].check(options, inputs[0].label)
    if follow:
        return GrowingFile(input, formats[0], options)
    if in_pieces and len(inputs) == 1 and inputs[0].is_folder:
        return Folder(inputs[0], options, _words(options), follow=False)
    return Files(inputs, formats[0], options)


def _as_paths(source: Any) -> list[Any] | None:
    """Return the paths or open files of a source; None for documents in memory."""
    if isinstance(source, str | os.PathLike | Input) or hasattr(source, "readable"):
        return [source]
    if not isinstance(source, list | tuple) or not source:
        return None
    if all(isinstance(item, os.PathLike | Input) for item in source):
        return list(source)
    # strings in a list are texts, even if files with these names exist
    if all(isinstance(item, str) and os.path.isfile(item) for item in source):
        warn(
            "The strings in the list are read as texts, but they are also names of files "
            f"({source[0]!r}); pass pathlib.Path objects to read the files.",
            UserWarning,
        )
    return None


def _words(options: Options) -> list[str] | None:
    """Return the given words of the columns, or the words of the given file."""
    named = options.column_words
    return options.words if named is None else read_vocabulary(Input.of(named))
