"""Items of an iterable as a source: texts, records, word lists, mappings, mini-batches."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from copy import deepcopy
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from opelda.corpus._block import Beside, Block, Documents, Source, row_number
from opelda.corpus._corpus import Seekable
from opelda.corpus._document_counts import count_words
from opelda.corpus._kinds import is_bag, is_document, is_empty, is_matrix, is_record
from opelda.corpus._matrix import as_counts
from opelda.corpus._replay import NOTHING, NewItems
from opelda.corpus.formats import Options
from opelda.corpus.formats._text_columns import (
    as_series,
    cells,
    choose_keys,
    columns_beside,
    listed,
    require,
    text_under,
    wanted_columns,
)
from opelda.corpus.text import Tokenizer
from opelda.errors import InputError


class Items(Source):
    """Documents from an iterable; of a stream (`in_batches`) also mini-batches.

    A position identifies the items before it by their content, or is their number. An iterable of
    a stream may yield `NOTHING`, which says "no document yet". Without `in_batches` the first
    non-empty document decides whether all are gensim's bags, and which keys of records are kept.
    """

    label = "The iterable"

    def __init__(
        self,
        items: Iterable[Any],
        options: Options,
        words: list[str] | None = None,
        *,
        by_content: bool,
        in_batches: bool = True,
    ) -> None:
        self.items, self.options, self.words = items, options, words
        self.problems = options.problems
        self.reopens = iter(items) is not items  # not an iterator
        self.waits = not isinstance(items, Sized)
        self.keys: list[str] | None = None  # that records have their text under
        self.kept: dict[str | None, str] = {}  # keys beside them
        self._by_content, self._in_batches = by_content, in_batches
        self._are_bags = False
        if not in_batches:
            self._decide()
        self.has_words = words is not None or not self._are_bags

    def _decide(self) -> None:
        """Find the kind of documents and the keys of records in the first non-empty document."""
        iterator = iter(self.items)
        taken: list[Any] = []
        for item in iterator:
            if item is not NOTHING:
                taken.append(item)
                if not is_empty(item):
                    break
        if not self.reopens:
            self.items = chain(taken, iterator)
        first, where = (taken or [[]])[-1], f"Item {max(len(taken) - 1, 0)}"
        wanted = list(self.options.text_columns)
        is_text = isinstance(first, str) or is_empty(first)
        if is_text or not (wanted or is_record(first)):
            require((), wanted_columns(self.options), self.label, "key")
            self._are_bags = not is_text and is_bag(first)
            return
        if not isinstance(first, Mapping):
            raise InputError(
                f"{where} is not a dictionary but {type(first).__name__}; pass dictionaries "
                f"only, or remove {{text_column}}.",
                text_column=...,
            )
        self.keys = wanted or choose_keys(first, where)
        names = [key for key in first if isinstance(key, str)]
        plain = [key for key in names if not isinstance(first[key], Mapping)]
        self.kept = columns_beside(names, self.keys, self.options, where, "key", plain)

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the documents from a position on."""
        new: SoughtItems | NewItems
        if self._in_batches and isinstance(self.items, Seekable):
            new = SoughtItems(self.items, position)
        else:
            if not isinstance(position, dict):
                position = row_number(position) or None
            new = NewItems(self.items, position, by_content=self._by_content)
        for first, run in self._runs(iter(new), block_size):
            try:
                documents = self._documents(run, first)
            except InputError:
                n_good = 0 if self.reopens else self._n_good(run, first)
                if 0 < n_good < len(run):  # an iterator cannot give them again
                    good, position = run[:n_good], new.position(first + n_good)
                    yield Block(self._documents(good, first), position, self._beside(good))
                raise
            if not isinstance(documents, sparse.csr_array) or documents.shape[0]:
                yield Block(documents, new.position(first + len(run)), self._beside(run))

    def _runs(self, items: Iterator[tuple[int, Any]], most: int) -> Iterator[tuple[int, list[Any]]]:
        """Yield runs of documents, and mini-batches alone, with the number of the first item.

        A run ends early if patience runs out, and if the iterable fails or ends.
        """
        run: list[Any] = []
        first = 0
        try:
            for number, item in items:
                is_batch = item is not NOTHING and self._is_batch(item)
                if item is NOTHING:
                    self.patience.meanwhile()
                elif not is_batch:
                    first = first if run else number
                    run.append(item)
                    self.patience.came()
                if run and (is_batch or len(run) == most or self.patience.is_over):
                    self.patience.given()
                    yield first, run
                    run = []
                if is_batch:
                    yield number, [item]
        except Exception:
            if run and not self.reopens:  # an iterator cannot give them again
                yield first, run
            raise
        if run:
            yield first, run

    def _n_good(self, run: list[Any], first: int) -> int:
        """Return the number of documents before the first bad one."""
        for n, one in enumerate(run):
            try:
                self._documents([one], first + n)
            except InputError:
                return n
        return len(run)

    def _is_batch(self, item: Any) -> bool:
        """Whether an item is a mini-batch or invalid, and no document."""
        if not self._in_batches or is_document(item):
            return False
        # other invalid iterables, such as bytes, are refused when they are counted
        return is_matrix(item) or isinstance(item, list | tuple) or not isinstance(item, Iterable)

    def _documents(self, run: list[Any], first: int) -> Documents:
        """Return texts or counts of documents, or of one mini-batch."""
        if self._are_bags:
            return self._bags(run, first)
        item = run[0]
        if len(run) > 1 or not self._is_batch(item):
            return self._counted(run, lambda i: f"Item {first + i}")
        if isinstance(item, list | tuple):
            if any(isinstance(document, str) for document in item):
                raise InputError(
                    f"Item {first} mixes words and documents; pass a list of words, or a list "
                    "of word lists or mappings."
                )
            return self._counted(list(item), lambda i: f"Document {i} of item {first}")
        if not is_matrix(item):
            raise InputError(
                f"Item {first} is neither a document nor a matrix but {type(item).__name__}; "
                "give a text, a sequence of words, a mapping from word to count, or counts."
            )
        return as_counts(item, None, f"Item {first}")[0]

    def _counted(self, documents: list[Any], where: Callable[[int], str]) -> Documents:
        texts = [isinstance(one, str) for one in documents]
        if not all(texts):
            documents = [self._text_of(one, where(i)) for i, one in enumerate(documents)]
            texts = [isinstance(one, str) for one in documents]
        if any(texts) and all(isinstance(one, str) or is_empty(one) for one in documents):
            return as_series([one if isinstance(one, str) else "" for one in documents])
        if any(texts):  # counted later by the tokenizer; here only checked
            others = [[] if isinstance(one, str) else one for one in documents]
            count_words(others, where, Tokenizer())
            return documents
        return count_words(documents, where, Tokenizer())

    def _text_of(self, item: Any, where: str) -> Any:
        """Return the text of a record, and any other document unchanged."""
        if not isinstance(item, Mapping) or not item or self.keys == []:
            return item
        if self.keys is None:  # the first record decides
            self.keys = choose_keys(item, where) if is_record(item) else []
        if not self.keys:
            return item
        try:
            text = text_under(item, self.keys)
            keys, there = " or ".join(map(repr, self.keys)), listed([*map(str, item)])
            what = f"has no key {keys}; {there}; pass"
        except TypeError as error:
            text, what = None, f"has {error} instead of a text; name another key with"
        if text is None:
            raise InputError(f"{where} {what} {{text_column}}.", text_column=...)
        return text

    def _beside(self, items: list[Any]) -> Beside:
        if not self.kept:
            return {}
        records = [item if isinstance(item, Mapping) else {} for item in items]
        kept = self.kept.items()
        return {name: cells([record.get(key) for record in records]) for name, key in kept}

    def _bags(self, bags: list[Any], first: int) -> sparse.csr_array:
        """Return the counts of gensim's lists of (id, count)."""
        for i, item in enumerate(bags, first):
            if not is_bag(item) and not is_empty(item):
                raise InputError(
                    f"Item {i} is of type {type(item).__name__}, but the documents before it are "
                    "lists of (id, count); pass documents of one type."
                )
        ends = np.cumsum([0, *map(len, bags)])
        try:
            pairs = np.array([pair for bag in bags for pair in bag], np.float64).reshape(-1, 2)
        except OverflowError:
            raise InputError(
                f"The items from {first} on have a word number or count that is too large."
            ) from None
        ids = pairs[:, 0].astype(np.int64)
        most = 2**31 - 1 if self.words is None else len(self.words)
        bad = (ids < 0) | (ids >= most) | (ids != pairs[:, 0])
        if bad.any():
            at = int(np.argmax(bad))
            item = first + int(np.searchsorted(ends[1:], at, side="right"))
            raise InputError(
                f"Item {item} has the word number {pairs[at, 0]:g}, but numbers must be from "
                f"0 to {most - 1}; pass the vocabulary that the documents were counted with."
            )
        width = int(ids.max(initial=-1)) + 1 if self.words is None else most
        counts = sparse.csr_array((pairs[:, 1], ids, ends), shape=(len(bags), width))
        return as_counts(counts, None, f"Items from {first} on")[0]


class SoughtItems:
    """The items of a source with positions of its own."""

    def __init__(self, source: Any, position: Any) -> None:
        if position is not None:
            source.seek(position)
        self._source = source
        self._positions: dict[int, Any] = {}  # by the number of items before them

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        number = 0
        for item in self._source:
            # a copy, as the source may change it; the former position may still be needed
            self._positions = {number: self._positions.get(number)}
            self._positions[number + (item is not NOTHING)] = deepcopy(self._source.position)
            yield number, item
            number += item is not NOTHING

    def position(self, n_items: int) -> Any:
        """Return the position after a number of items."""
        return self._positions[n_items]
