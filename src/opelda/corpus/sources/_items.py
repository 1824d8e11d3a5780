"""Items of an iterable as a source: texts, records, word lists, mappings, (id, count) lists."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from opelda.corpus._block import Beside, Block
from opelda.corpus._document_counts import count_words
from opelda.corpus._kinds import is_bag, is_empty, is_missing, is_record
from opelda.corpus._matrix import Counted, as_counts
from opelda.corpus._new_items import NOTHING, NewItems
from opelda.corpus.formats import Options
from opelda.corpus.formats._cells import as_series, cells
from opelda.corpus.formats._text_columns import (
    choose_keys,
    columns_beside,
    listed,
    require,
    wanted_columns,
)
from opelda.corpus.sources._source import Source, row_number
from opelda.corpus.text import Tokenizer
from opelda.errors import InputError

# Of each kind of documents the name, and the test of an item; whatever is no document at all passes
# as words, and is refused where these are counted.
KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "texts": ("texts", lambda item: isinstance(item, str)),
    "records": ("dictionaries with a text", lambda item: isinstance(item, Mapping)),
    "bags": ("lists of (id, count)", is_bag),
    "words": (
        "lists of words or mappings from word to count",
        lambda item: not isinstance(item, str) and not is_bag(item),
    ),
}


class Items(Source):
    """Documents from an iterable, all of the kind of the first one that is not empty.

    A position identifies the items before it by their content, see `corpus._seen`, or their number.
    """

    label = "The iterable"

    def __init__(
        self,
        items: Iterable[Any],
        options: Options,
        words: list[str] | None = None,
        *,
        by_content: bool = True,
    ) -> None:
        self.options = options
        self._by_content = by_content
        self.problems = options.problems
        self.words = words
        self.items, number, first = _peeked(items)
        self.reopens = self.items is items  # what can be gone through again
        self.waits = not isinstance(items, Sized)
        where = f"Item {number}"
        self.kind = "words"
        self.kept: dict[str | None, str] = {}
        if isinstance(first, str):
            self.kind = "texts"
        elif not is_empty(first) and (options.text_columns or is_record(first)):
            self.kind = "records"
            self.keys = text_keys(first, options.text_columns, where)
            plain = [key for key in _keys(first) if not isinstance(first[key], Mapping)]
            self.kept = columns_beside(_keys(first), self.keys, options, where, "key", plain)
        elif not is_empty(first) and is_bag(first):
            self.kind = "bags"
        else:  # so that what is no document is not taken for one of a kind
            count_words([first], lambda _: where, Tokenizer())
        if self.kind != "records":
            require((), wanted_columns(options), self.label, "key")
        self.has_words = words is not None or self.kind != "bags"

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the documents from a position on."""
        if not isinstance(position, dict):
            position = row_number(position) or None
        new = NewItems(self.items, position, self.label, by_content=self._by_content)
        items = iter(new)
        failure = None
        while failure is None:
            taken, failure = self._next(items, block_size)
            if not taken or (failure and self.reopens):
                break
            first, documents = taken[0][0], [item for _, item in taken]
            after = new.position(first + len(taken))
            yield Block(self._documents(documents, first), after, self._beside(documents))
        if failure:  # what came before will not come again
            raise failure

    def _next(
        self, items: Iterator[tuple[int, Any]], most: int
    ) -> tuple[list[tuple[int, Any]], Exception | None]:
        """Return so many items, or those that have waited for long enough, or came before the end.

        And why it failed to give more, if it did.
        """
        taken: list[tuple[int, Any]] = []
        patience, failure = self.patience, None
        try:
            for numbered in items:
                if numbered[1] is NOTHING:
                    patience.meanwhile()
                else:
                    taken.append(numbered)
                    patience.came()
                if len(taken) == most or patience.is_over:
                    break
        except Exception as error:
            failure = error
        patience.given()
        return taken, failure

    def _documents(self, items: list[Any], first: int) -> pl.Series | Counted | sparse.csr_array:
        name, is_usual = KINDS[self.kind]
        for i, item in enumerate(items, first):
            if not is_usual(item) and not is_empty(item):  # empty documents are of any kind
                kind = "a list of (id, count)" if is_bag(item) else f"of type {type(item).__name__}"
                raise InputError(
                    f"Item {i} is {kind}, but the documents before it are {name}; give documents "
                    "of one kind."
                )
        if self.kind == "texts":
            return as_series([item if isinstance(item, str) else "" for item in items])
        if self.kind == "records":
            numbered = enumerate(items, first)
            return as_series([record_text(item, self.keys, f"Item {i}") for i, item in numbered])
        if self.kind == "bags":
            return self._bags(items, first)
        return count_words(items, lambda i: f"Item {first + i}", Tokenizer())

    def _bags(self, bags: list[Any], first: int) -> sparse.csr_array:
        """Count what gensim calls a corpus: lists of (id, count)."""
        width = None if self.words is None else len(self.words)
        lengths = [len(bag) for bag in bags]
        try:
            pairs = np.array([pair for bag in bags for pair in bag], np.float64).reshape(-1, 2)
        except OverflowError:
            raise InputError(
                f"The items from {first} on hold a number too large for a word or its count."
            ) from None
        ids = pairs[:, 0].astype(np.int64)
        most = 2**31 - 1 if width is None else width
        bad = (ids < 0) | (ids >= most) | (ids != pairs[:, 0])
        if bad.any():
            at = int(np.argmax(bad))
            item = first + int(np.searchsorted(np.cumsum(lengths), at, side="right"))
            raise InputError(
                f"Item {item} has the word number {pairs[at, 0]:g}, but numbers go from 0 to "
                f"{most - 1}; give the vocabulary that the documents were counted with."
            )
        width = int(ids.max(initial=-1)) + 1 if width is None else width
        ends = np.concatenate(([0], np.cumsum(lengths)))
        counts = sparse.csr_array((pairs[:, 1], ids, ends), shape=(len(bags), width))
        return as_counts(counts, None, f"Items from {first} on")[0]

    def _beside(self, items: list[Any]) -> Beside:
        records = [item if isinstance(item, Mapping) else {} for item in items]
        kept = self.kept.items()
        return {name: cells([record.get(key) for record in records]) for name, key in kept}


def _peeked(items: Iterable[Any]) -> tuple[Iterable[Any], int, Any]:
    """Return the items, the number of the first that is not empty, and that one, or []."""
    iterator = iter(items)
    taken: list[Any] = []
    for item in iterator:
        if item is NOTHING:
            continue
        taken.append(item)
        if not is_empty(item):
            break
    # a generator: what was taken must be put back
    items = chain(taken, iterator) if iterator is items else items
    if not taken or is_empty(taken[-1]):
        return items, len(taken), []
    return items, len(taken) - 1, taken[-1]


def text_keys(first: Any, wanted: Sequence[str], where: str) -> list[str]:
    """Return the keys under which records have their text: those asked for, or found by name."""
    if not isinstance(first, Mapping):
        raise InputError(
            f"{where} is not a dictionary but {type(first).__name__}; give dictionaries only, "
            "or leave {text_column} out.",
            text_column=...,
        )
    return list(wanted) or choose_keys(first, where)


def record_text(item: Any, keys: list[str], where: str) -> str:
    """Return the text under the keys, joined by a space; a key that is missing has none."""
    if not isinstance(item, Mapping):  # an empty list
        return ""
    found = [key for key in keys if key in item]
    if not found:
        raise InputError(
            f"{where} has no key {' or '.join(map(repr, keys))}; {listed(_keys(item))}: give "
            "{text_column}.",
            text_column=...,
        )
    return " ".join(_text(item[key], f"{where}, {key!r},") for key in found)


def _keys(item: Mapping[Any, Any]) -> list[str]:
    return [key for key in item if isinstance(key, str)]


def _text(value: Any, where: str) -> str:
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
        return " ".join(value)
    raise InputError(
        f"{where} is not a text but {type(value).__name__}; name another with {{text_column}}.",
        text_column=...,
    )
