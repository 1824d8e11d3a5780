"""Documents that come one by one: texts, records, word lists, mappings or (id, count) lists."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy import sparse

from opelda.corpus._block import Block
from opelda.corpus._counting import Counted, count_words
from opelda.corpus._kinds import is_bag, is_empty, is_record
from opelda.corpus._matrix import as_counts
from opelda.corpus.formats import Options
from opelda.corpus.formats._lines import as_series
from opelda.corpus.sources._records import Records
from opelda.corpus.text import Tokenizer
from opelda.errors import InputError

Kind = Literal["texts", "records", "bags", "words"]
NAMES = {
    "texts": "texts",
    "records": "dictionaries with a text",
    "bags": "lists of (id, count)",
    "words": "lists of words or mappings from word to count",
}


class Items:
    """Documents from an iterable, all of the kind of the first one that is not empty.

    A position is the number of items before it; they are passed over.
    """

    label = "The iterable"
    written = False

    def __init__(
        self, items: Iterable[Any], options: Options, words: list[str] | None = None
    ) -> None:
        self.options = options
        self.problems = options.problems
        self.words = words
        self.items, number, first = _peeked(items)
        self.reopens = self.items is items  # what can be gone through again
        self.kind: Kind = "words" if is_empty(first) else self._kind(first)
        if self.kind == "words":  # so that what is no document is not taken for one of a kind
            count_words([first], lambda _: f"Item {number}", Tokenizer())
        self.has_words = words is not None or self.kind != "bags"
        self.records = None
        if self.kind == "records":
            self.records = Records(
                first, options.text_columns, options.name_column, f"Item {number}"
            )

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the documents from a position on."""
        items, number = iter(self.items), row(position)
        for _ in islice(items, number):
            pass
        while taken := list(islice(items, block_size)):
            number += len(taken)
            yield Block(self._documents(taken, number - len(taken)), number, self._names(taken))

    def _documents(self, items: list[Any], first: int) -> pl.Series | Counted | sparse.csr_array:
        self._check(items, first)
        if self.kind == "texts":
            return as_series([item if isinstance(item, str) else "" for item in items])
        if self.records is not None:
            text_of = self.records.text
            return as_series([text_of(item, f"Item {first + i}") for i, item in enumerate(items)])
        if self.kind == "bags":
            return self._bags(items, first)
        return count_words(items, lambda i: f"Item {first + i}", Tokenizer())

    def _kind(self, item: Any) -> Kind:
        if isinstance(item, str):
            return "texts"
        if self.options.text_columns or is_record(item):
            return "records"
        return "bags" if is_bag(item) else "words"

    def _check(self, items: list[Any], first: int) -> None:
        """Refuse documents of another kind; empty ones are of any."""
        for i, item in enumerate(items):
            if self._is_usual(item) or is_empty(item):
                continue
            raise InputError(
                f"Item {first + i} is {_described(item)}, but the documents before it are "
                f"{NAMES[self.kind]}; give documents of one kind."
            )

    def _is_usual(self, item: Any) -> bool:
        if self.kind == "texts":
            return isinstance(item, str)
        if self.kind == "records":
            return isinstance(item, Mapping)
        if self.kind == "bags":
            return is_bag(item)
        # what is no document at all is told by whoever counts the words
        return not isinstance(item, str) and not is_bag(item)

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

    def _names(self, items: list[Any]) -> list[str] | None:
        if self.records is None or self.options.name_column is None:
            return None
        return [self.records.name(item) for item in items]

    def progress(self) -> None:
        """Return None: items are no bytes."""


def _peeked(items: Iterable[Any]) -> tuple[Iterable[Any], int, Any]:
    """Return what iterates over the same items, and the first that is not empty, or [].

    Between them its number.
    """
    iterator = iter(items)
    once = iterator is items  # a generator: what was taken must be put back
    empty: list[Any] = []
    n_empty = 0
    for item in iterator:
        if not is_empty(item):
            return (chain(empty, [item], iterator) if once else items), n_empty, item
        n_empty += 1
        if once:
            empty.append(item)
    return (empty if once else items), n_empty, []


def _described(item: Any) -> str:
    return "a list of (id, count)" if is_bag(item) else f"of type {type(item).__name__}"


def row(position: Any) -> int:
    """Return a position among rows or items, 0 for the beginning."""
    if position is None:
        return 0
    if not isinstance(position, int) or isinstance(position, bool) or position < 0:
        raise InputError(f"{position!r} is not a number of documents to pass over.")
    return position
