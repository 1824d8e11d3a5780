"""JSON Lines: a line is an object with the text under a key, or the text itself."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from opelda.corpus._block import Block
from opelda.corpus._column_names import usual_columns
from opelda.corpus.formats import ALL, Options
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._line_reader import Values, padded, text_blocks
from opelda.corpus.formats._text_columns import (
    choose_keys,
    columns_beside,
    listed,
    text_of,
    text_under,
    wanted_columns,
)
from opelda.errors import InputError


def blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    """Yield the documents of a file; blank lines are skipped.

    The first object's keys decide which keys hold the text, see `choose_keys`, and which are kept
    beside it, see `columns_beside`. A value is a string, a list of strings (words), a number, or
    null for no text. Objects may lack some of the text's keys. A line may also be a string or a
    list of strings.
    """
    records = _Records(input.label, options, position)
    for block in text_blocks(input, options, position, records.parse):
        position = {**block.position, "text": records.keys, "usual": records.usual}
        yield replace(block, position=position)


class _Records:
    """Makes texts of lines; knows under which keys they are."""

    def __init__(self, label: str, options: Options, position: Any) -> None:
        self.label = label
        self.options = options
        self.keys = list(options.text_columns) or _strings(position, "text") or []
        self.is_first = position is None
        # keys of the first object with usual names; keys that are kept beside texts
        self.usual = _strings(position, "usual")
        self.kept = None if self.usual is None else self._kept([], self.label)

    def parse(self, lines: list[str], numbers: Sequence[int]) -> tuple[list[str], Values]:
        """Return the texts of lines and the values beside them; report malformed lines."""
        texts: list[str] = []
        beside: Values = {}
        decoder = json.JSONDecoder()
        read = decoder.raw_decode  # faster, for lines without white space around the value
        for number, line in zip(numbers, lines, strict=True):
            try:
                record, end = read(line) if line[:1] in ("{", "[", '"') else (None, 0)
                if not end or end < len(line):
                    record = decoder.decode(line)
            except (ValueError, RecursionError) as error:
                if line.strip():
                    self._report(number, f"is not JSON ({_reason(error)})", "correct the line")
                continue
            text = self._text(record, number)
            if text is None:
                continue
            if isinstance(record, dict):
                if self.kept is None:
                    plain = [key for key in record if type(record[key]) is not dict]
                    self.usual = plain if ALL in self.options.metadata else usual_columns(plain)
                    self.kept = self._kept(list(record), f"{self.label}, line {number}")
                for kept, key in self.kept.items():
                    padded(beside.setdefault(kept, []), len(texts)).append(record.get(key))
            texts.append(text)
        return texts, {kept: padded(beside.get(kept, []), len(texts)) for kept in self.kept or ()}

    def _kept(self, keys: list[str], where: str) -> dict[str | None, str]:
        """Return the keys that are kept beside texts; the first object decides."""
        others = [] if self.is_first else wanted_columns(self.options)
        known = [*keys, *(n for n in others if n.casefold() not in {*map(str.casefold, keys)})]
        return columns_beside(known, self.keys, self.options, where, "key", self.usual)

    def _text(self, record: Any, number: int) -> str | None:
        """Return the text of a value; report a value without text and return None."""
        try:
            if not isinstance(record, dict):
                return text_of(record)
            keys = self.keys or choose_keys(record, f"{self.label}, line {number}")
            text = text_under(record, keys)
        except TypeError as error:
            what = f"has {error} instead of a text"
            remedy = "name another key with {text_column}"
        except InputError:
            what = "has no key with a usual name for texts"
            remedy = f"{listed(list(record))}; select one with {{text_column}}"
        else:
            if text is not None:
                self.keys = keys  # the first object with a text decides
                return text
            what = f"has no key {' or '.join(map(repr, keys))}"
            remedy = f"{listed(list(record))}; pass {{text_column}}"
        self._report(number, what, remedy)
        return None

    def _report(self, number: int, what: str, remedy: str) -> None:
        where = f"{self.label}, line {number}"
        self.options.problems.add(where, what, remedy, text_column=...)


def _strings(position: Any, key: str) -> list[str] | None:
    found = position.get(key) if isinstance(position, dict) else None
    good = isinstance(found, list) and all(isinstance(one, str) for one in found)
    return found if good else None


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.lower()} at column {error.colno}"
    return (
        "the nesting is too deep" if isinstance(error, RecursionError) else "a number is too long"
    )
