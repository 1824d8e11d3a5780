"""Counting the blocks of a source, in parallel and in order, and merging their counts."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import compress
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from opelda import _text
from opelda._validation import whole
from opelda.corpus._block import Block, Source
from opelda.corpus._document_counts import count_words
from opelda.corpus._matrix import Counted, keep_columns, remap_columns, stacked
from opelda.corpus._vocabulary import Vocabulary
from opelda.corpus._word_columns import FEW, encodable, usual_min_df
from opelda.corpus.text import Tokenizer
from opelda.corpus.text._word_counting import count_run
from opelda.errors import InputError

Counts = Counted | sparse.csr_array
Progress = Callable[[int, int | None, int | None], Any]


def count_blocks(
    blocks: Iterator[Block], tokenizer: Tokenizer, n_threads: int
) -> Iterator[tuple[Block, Counts, Tokenizer]]:
    """Yield each block with its counts and the tokenizer that the first texts decided, in order.

    The next blocks are counted meanwhile. With 0 threads, no block is read before the one before
    it was used.
    """

    def count(block: Block, tokenizer: Tokenizer) -> tuple[Block, Counts, Tokenizer]:
        counts = block.documents
        if isinstance(counts, pl.Series):
            counts = count_run(counts, tokenizer)
        elif isinstance(counts, list):
            counts = count_words(counts, "Document {}".format, tokenizer)
        return block, counts, tokenizer

    waiting: deque[Future[tuple[Block, Counts, Tokenizer]]] = deque()
    with ThreadPoolExecutor(max(n_threads, 1)) as pool:
        try:
            while True:
                try:
                    block = next(blocks)
                except StopIteration:
                    break
                except Exception as error:  # raised after the counts of earlier blocks
                    waiting.append(Future())
                    waiting[-1].set_exception(error)
                    break
                if isinstance(block.documents, pl.Series):
                    tokenizer = tokenizer.resolved(block.documents)
                elif isinstance(block.documents, list):
                    texts = [text for text in block.documents if isinstance(text, str)]
                    tokenizer = tokenizer.resolved(texts)
                waiting.append(pool.submit(count, block, tokenizer))
                del block  # free its memory while its counts are used
                if len(waiting) > 2 * n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def limited(
    source: Source,
    block_size: int,
    limit: int | None = None,
    progress: Progress | None = None,
    position: Any = None,
) -> Iterator[Block]:
    """Yield a source's blocks up to a number of documents; report progress and skipped files."""
    most = whole("limit", limit) if limit is not None else 2**63
    n_docs, reopens = 0, True
    while reopens and n_docs < most:
        size, reopens = min(block_size, most - n_docs), False
        for block in source.blocks(size, position):
            position = block.position
            if n_docs + len(block) > most:  # of a source that cannot be asked for fewer
                block = block.first(most - n_docs)
            n_docs += len(block)
            yield block
            if progress is not None:
                progress(n_docs, *(source.progress() or (None, None)))
            # the last block is smaller: ask for it
            reopens = most - n_docs < size and source.reopens
            if reopens or n_docs == most:
                break
    source.problems.warn()


class Merger:
    """Collects counts, over columns known beforehand or over the words that turn up."""

    def __init__(
        self,
        source_words: list[str] | None,
        tokenizer: Tokenizer,
        vocabulary: Vocabulary | None,
        n_threads: int,
    ) -> None:
        self.tokenizer = tokenizer
        self.n_docs = 0
        self.n_unknown = 0.0
        self.words_found = False
        # stop words that the user names are left out of counted documents, too
        found = tokenizer.stop_words == "auto"
        self._left_out = tokenizer._removed[1:] if found else tokenizer._removed
        self._given = vocabulary
        self._n_threads = n_threads
        self._columns, self._remap = vocabulary, None
        if source_words is not None:  # the source numbers its columns differently
            self._columns = Vocabulary(source_words) if vocabulary is None else vocabulary
            self._remap = self._columns.columns(source_words)
        self._parts: list[sparse.csr_array] = []
        self._table = _text.WordTable()
        # per word: documents that hold it, and how often it occurs
        self._df = np.zeros(1024, np.int64)
        self._total = np.zeros(1024, np.float64)

    def add(self, counts: Counts) -> None:
        """Add the counts of the next block."""
        words = counts.words if isinstance(counts, Counted) else None
        part = counts.counts if isinstance(counts, Counted) else counts
        if self._columns is not None:
            columns = np.arange(part.shape[1], dtype=np.int32)
            columns[len(self._columns) :] = -1
            if words is not None:
                columns = self._columns.columns(words)
            elif self._remap is not None:
                columns = self._remap[: part.shape[1]]
            part, n_unknown = remap_columns(part, columns, len(self._columns))
            self.n_unknown += n_unknown
        elif words is not None:  # over the words found so far, in the order of first appearance
            self.words_found = True
            try:
                columns = self._table.add(words)
            except UnicodeEncodeError:  # no vocabulary can hold such words
                keep = np.array([encodable(word) for word in words])
                part = keep_columns(part, keep)
                columns = self._table.add(list(compress(words, keep)))
            n_words, n_held = len(self._table), len(self._df)
            if n_words > n_held:
                more = max(n_words, 2 * n_held) - n_held
                self._df = np.append(self._df, np.zeros(more, np.int64))
                self._total = np.append(self._total, np.zeros(more))
            moved = _text.merge(part.indices, part.data, columns, self._df, self._total)
            part = sparse.csr_array((part.data, moved, part.indptr), (part.shape[0], n_words))
        self._parts.append(part)
        self.n_docs += part.shape[0]

    def found(self) -> tuple[list[str], NDArray[np.int64], NDArray[np.float64]]:
        """Return the words found so far, how many documents hold each, and how often it occurs."""
        words = self._table.words()
        return words, self._df[: len(words)], self._total[: len(words)]

    def finish(
        self, min_df: Any, max_df: Any, max_features: int | None
    ) -> tuple[sparse.csr_array, Vocabulary | None]:
        """Return all counts and the words of their columns."""
        tokenizer = self.tokenizer.decided
        if self.words_found:
            found, df, total = self.found()
            order = np.array(sorted(range(len(found)), key=found.__getitem__), np.int64)
            order = order[
                found_words(df[order], total[order], self.n_docs, min_df, max_df, max_features)
            ]
            columns = np.full(len(found), -1, np.int32)
            columns[order] = np.arange(len(order), dtype=np.int32)
            with ThreadPoolExecutor(self._n_threads) as pool:
                moved = pool.map(lambda part: remap_columns(part, columns, len(order)), self._parts)
                for number, (part, _) in enumerate(moved):  # replaces its original, to save memory
                    self._parts[number] = part
            kept = [found[code] for code in order]
            words = Vocabulary.known(kept, df[order], tokenizer=tokenizer)
            return stacked(self._parts, len(order)), words
        width = max((part.shape[1] for part in self._parts), default=0)
        X = stacked(self._parts, width if self._columns is None else len(self._columns))
        self._parts.clear()
        if self._given is not None:
            return X, self._given
        bounded = (min_df, max_df, max_features) != (None, None, None)
        if self._columns is None and not bounded:
            return X, None  # there may be many more columns than entries
        df = np.bincount(X.indices, minlength=X.shape[1])
        keep = np.ones(X.shape[1], bool)
        if bounded:
            total = np.asarray(X.sum(axis=0), np.float64)
            keep = kept_words(df, total, X.shape[0], min_df, max_df, max_features)
        if self._columns is not None:
            left_out = self._columns.columns(self._left_out)
            keep[left_out[left_out >= 0]] = False
        if not keep.all():
            X = keep_columns(X, keep)
        if self._columns is None:
            return X, None
        kept = list(compress(self._columns.words, keep))
        return X, Vocabulary.known(kept, df[keep], tokenizer=tokenizer)


def found_words(
    df: NDArray[np.int64],
    total: NDArray[np.float64],
    n_docs: int,
    min_df: Any,
    max_df: Any,
    max_features: int | None,
) -> NDArray[np.bool_]:
    """Return which of the words that were found in documents stay; see `kept_words`."""
    if min_df is None:
        min_df = usual_min_df(n_docs)
    if max_df is None:
        max_df = 1.0 if n_docs < FEW else 0.5
    keep = kept_words(df, total, n_docs, min_df, max_df, max_features)
    if len(df) and not keep.any():
        raise InputError(
            f"None of the {len(df):,} words of {n_docs:,} documents is within {{min_df}}, "
            "{max_df} and {max_features}; widen these limits.",
            min_df=...,
            max_df=...,
            max_features=...,
        )
    return keep


def kept_words(
    df: NDArray[np.int64],  # documents with each word, in alphabetical order
    total: NDArray[np.float64],  # how often each occurs
    n_docs: int,
    min_df: Any,
    max_df: Any,
    max_features: int | None,
) -> NDArray[np.bool_]:
    """Return which words stay, as scikit-learn's CountVectorizer decides it."""
    if max_features is not None:
        max_features = whole("max_features", max_features)
    min_df, max_df = 1 if min_df is None else min_df, 1.0 if max_df is None else max_df
    low, high = _bound("min_df", min_df, n_docs), _bound("max_df", max_df, n_docs)
    if high < low:
        raise InputError(
            f"({max_df!r}) is below {{min_df}} ({min_df!r}) in a collection of {n_docs} "
            "documents; all words would be removed.",
            "max_df",
            min_df=...,
        )
    keep: NDArray[np.bool_] = (df >= low) & (df <= high)
    if max_features is not None and keep.sum() > max_features:
        most = np.flatnonzero(keep)[(-total[keep]).argsort()[:max_features]]
        keep = np.zeros(len(keep), bool)
        keep[most] = True
    return keep


def _bound(name: str, value: Any, n_docs: int) -> float:
    """Return a bound in documents; a float is a share of all documents."""
    if not isinstance(value, float | np.floating):
        return whole(name, value)
    if not 0.0 <= value <= 1.0:
        raise InputError(
            f"must be a whole number of documents or a share from 0.0 to 1.0, got {value!r}.", name
        )
    return float(value) * n_docs
