"""JSON Lines: a JSON value a line, an object with the text under a key, or the text itself."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from opelda.corpus._block import Block
from opelda.corpus.formats._columns import choose, choose_keys, listed
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._line_reader import LineReader, one_block
from opelda.corpus.formats._registry import Options
from opelda.corpus.formats._writing import texts_of, write_lines
from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda.corpus._corpus import Corpus


def blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    r"""Yield the documents of a file; blank lines are passed over.

    Without ``options.text_columns`` the first object's keys decide where the text is, see
    `_columns.choose_keys`; ``options.name_column`` must be among them, and may be missing later.
    Under a key may be a string, a list of strings (words), a number or null (nothing); a key that
    is missing is as null, unless all are. A line may also be a string or a list of strings.

    >>> import io
    >>> source = Input.of(io.BytesIO(b'{"id": 1, "text": "no tea"}\n{"id": 2, "text": null}\n'))
    >>> block, = blocks(source, Options(name_column="id"))
    >>> block.documents.to_list(), block.names
    (['no tea', ''], ['1', '2'])
    """
    records = _Records(input.label, options, position)
    with LineReader(input, options, position) as reader:
        while (block := one_block(reader, options, records.parse)) is not None:
            position = {**block.position, "text": records.keys}
            yield Block(block.documents, position, block.names)


START = tuple('{["')


class _Records:
    """Makes texts of lines; knows under which keys they are."""

    def __init__(self, label: str, options: Options, position: Any) -> None:
        self.label = label
        self.options = options
        self.keys = list(options.text_columns)
        known = position.get("text") if isinstance(position, dict) else None
        if not self.keys and isinstance(known, list) and all(isinstance(k, str) for k in known):
            self.keys = known
        self.knows_names = position is not None  # the first record was seen before

    def parse(self, lines: list[str], numbers: Sequence[int]) -> tuple[list[str], list[str] | None]:
        """Return the texts and names of lines; bad ones are reported and left out."""
        texts: list[str] = []
        names: list[str] = []
        name = self.options.name_column
        decoder = json.JSONDecoder()
        read = decoder.raw_decode  # which is faster, and leaves out what is around the value
        for number, line in zip(numbers, lines, strict=True):
            try:
                record, end = read(line) if line[:1] in START else (None, 0)
                if not end or end < len(line):
                    record = decoder.decode(line)
            except (ValueError, RecursionError) as error:
                if line.strip():
                    self._report(number, f"is not JSON ({_reason(error)})", "correct the line")
                continue
            text = self._text(record, number)
            if text is None:
                continue
            texts.append(text)
            if name is not None:
                if not self.knows_names and isinstance(record, dict):
                    choose(list(record), (), (name,), f"{self.label}, line {number}", "key")
                    self.knows_names = True
                value = record.get(name) if isinstance(record, dict) else None
                names.append("" if value is None else str(value))
        return texts, None if name is None else names

    def _text(self, record: Any, number: int) -> str | None:
        if not isinstance(record, dict):
            return self._joined([record], number)
        keys = self.keys or self._found(record, number)
        values = [record[key] for key in keys if key in record]
        if keys and not values:
            missing = " or ".join(map(repr, keys))
            remedy = f"{listed(list(record))}: give {{text_column}}"
            self._report(number, f"has no key {missing}", remedy)
        text = self._joined(values, number) if values else None
        if text is not None:
            self.keys = keys  # only what can be used decides for the rest
        return text

    def _found(self, record: dict[str, Any], number: int) -> list[str]:
        try:
            return choose_keys(record, f"{self.label}, line {number}")
        except InputError:
            remedy = f"{listed(list(record))}, so name it with {{text_column}}"
            self._report(number, "does not say which key is the text", remedy)
            return []

    def _joined(self, values: list[Any], number: int) -> str | None:
        try:
            return " ".join([value if type(value) is str else _as_text(value) for value in values])
        except TypeError as error:
            what = f"holds {error} where the text should be"
            self._report(number, what, "name another with {text_column}")
            return None

    def _report(self, number: int, what: str, remedy: str) -> None:
        where = f"{self.label}, line {number}"
        self.options.problems.add(where, what, remedy, text_column=...)


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return " ".join(value)
    names = {dict: "an object", list: "a list of other than strings", bool: "true or false"}
    raise TypeError(names.get(type(value), "something else"))


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deep"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.lower()} at column {error.colno}"
    return "a number is too long"


def write(corpus: "Corpus", path: str) -> None:
    """Write every word as often as it is counted, an object with a "text" for each document."""
    records: Iterator[dict[str, str]] = ({"text": text} for text in texts_of(corpus))
    if corpus.names is not None:
        named = zip(corpus.names, records, strict=True)
        records = ({"name": name, **record} for name, record in named)
    write_lines(corpus, path, (json.dumps(record, ensure_ascii=False) for record in records))
