"""Mini-batches from any stream, each with the position to go on from after it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import whole
from opelda.corpus._corpus import Corpus
from opelda.corpus._kinds import (
    are_documents,
    is_column,
    is_document,
    is_matrix,
    is_record,
    is_table,
)
from opelda.corpus._matrix import as_counts
from opelda.corpus._problems import Problems
from opelda.corpus._vocabulary import Vocabulary, counting_words
from opelda.corpus._word_columns import VocabularyChange
from opelda.errors import InputError


@dataclass(frozen=True)
class MiniBatch:
    """Counts of some documents and where the stream goes on after them.

    Attributes
    ----------
    X : CSR array (documents, words)
        float32 counts, int32 column numbers, sorted, without zeros.
    position : fit for JSON
        What to give `mini_batches` to go on after this batch.
    change : VocabularyChange or None
        What the batch did to the vocabulary; None for a matrix, which does nothing to it.
    n_unknown_tokens : float
        Token mass that has no column.
    vocabulary : Vocabulary or None
        The words of the columns; None where documents are counted without.
    names : list of str or None
        What the source calls the documents.
    n_tokens : float64 array or None
        Tokens of each document, those without a column among them; None where items of an iterable
        were gathered.

    Examples
    --------
    >>> batch = next(mini_batches(["tea", "tea cup"], batch_size=2, vocabulary=Vocabulary(["tea"])))
    >>> batch.X.toarray().tolist(), batch.position, batch.n_unknown_tokens
    ([[1.0], [1.0]], 2, 1.0)
    """

    X: sparse.csr_array
    position: Any
    change: VocabularyChange | None
    n_unknown_tokens: float
    vocabulary: Vocabulary | None = None
    names: list[str] | None = None
    n_tokens: NDArray[np.float64] | None = None


@runtime_checkable
class Seekable(Protocol):
    """A source that says where it is and goes on from there; others are read up to a place."""

    position: Any

    def seek(self, position: Any) -> None:
        """Go on from a position that the same source gave."""


@runtime_checkable
class DocumentStream(Seekable, Protocol):
    """Documents that come as mini-batches and know where they go on.

    What `stream` returns, and what `mini_batches` and ``fit_stream`` accept: any object with these
    attributes and methods.

    Attributes
    ----------
    vocabulary : Vocabulary or None
        The words that documents are counted with unless `batches` is given others.
    position : fit for JSON
        Where to go on after the last mini-batch that was taken; None at the beginning. A checkpoint
        keeps it, and nobody but the stream looks into it.
    problems : Problems
        What could not be read so far: ``n_skipped`` and the ``first`` few.

    Examples
    --------
    >>> from opelda.corpus import stream
    >>> documents = stream(["tea", "cup", "more tea"], batch_size=2)
    >>> isinstance(documents, DocumentStream)
    True
    >>> first = next(documents.batches())
    >>> documents.seek(first.position)
    >>> [batch.X.toarray().tolist() for batch in documents.batches()]
    [[[1.0, 0.0, 1.0]]]
    """

    vocabulary: Vocabulary | None
    problems: Problems

    def batches(
        self, vocabulary: Vocabulary | None = None, n_words: int | None = None
    ) -> Iterator[MiniBatch]:
        """Yield the mini-batches from `position` on.

        Words are counted with a vocabulary, which learns from each mini-batch just before it is
        yielded; None: the stream's own. `n_words` is the number of columns where these have no
        words.
        """
        ...


def mini_batches(
    source: Iterable[Any] | DocumentStream,
    *,
    batch_size: int,
    vocabulary: Vocabulary | None = None,
    n_words: int | None = None,
    position: Any = None,
) -> Iterator[MiniBatch]:
    """Yield mini-batches of counts from a source of documents or matrices.

    The source is read no further than the batch being made, and no more than one batch is held.

    Parameters
    ----------
    source : iterable, DocumentStream, Corpus, column or data frame
        Its items are documents (a text, a sequence of words, a mapping from word to count, a
        dictionary with a text), which are gathered into batches; or whole mini-batches: matrices of
        counts (arrays, sparse, data frames) or lists of documents other than texts. An empty list
        is an empty document; a matrix without rows is passed over. A corpus, and a column or a
        data frame of texts, goes through `stream`.
    batch_size : int
        Documents per batch. Fewer come before a mini-batch of the source's own, and at the end.
    vocabulary : Vocabulary or None
        What documents are counted with; it learns from each batch just before the batch is yielded.
        None: a stream's or a corpus's own, else one that is empty and grows, where documents come
        first; with ``min_df=None`` if these are texts.
    n_words : int or None
        How many columns to yield of matrices. Those beyond are left out and counted as unknown;
        missing ones are empty. None: as many as the first matrix has, so give it when going on in
        the middle. With a vocabulary it is not looked at: the vocabulary's words are the columns.
    position : as in `MiniBatch`, or None
        Where to go on. A `DocumentStream`, and any other source with an attribute ``position`` and
        a method ``seek(position)``, is asked to go there; the rest are read again and that many
        items are passed over.

    Yields
    ------
    MiniBatch

    Examples
    --------
    >>> import numpy as np
    >>> source = [{"tea": 2}, {"cup": 1}, {"pot": 1, "tea": 1}]
    >>> vocabulary = Vocabulary(growing=True)
    >>> first = next(mini_batches(source, batch_size=2, vocabulary=vocabulary))
    >>> rest = mini_batches(source, batch_size=2, vocabulary=vocabulary, position=first.position)
    >>> [batch.X.toarray().tolist() for batch in rest]
    [[[1.0, 0.0, 1.0]]]
    >>> [batch.X.shape for batch in mini_batches([np.eye(3), np.eye(2)], batch_size=10)]
    [(3, 3), (2, 3)]
    """
    batch_size = whole("batch_size", batch_size)
    if isinstance(source, Corpus) or (
        (is_table(source) or is_column(source)) and are_documents(source)
    ):
        from opelda.corpus._stream import stream as stream_of  # and polars, only now

        source = stream_of(source, batch_size=batch_size, vocabulary=vocabulary)
    if n_words is not None and vocabulary is None:
        n_words = whole("n_words", n_words)
    if isinstance(source, DocumentStream):  # which counts, and has a batch size of its own
        if position is not None:
            source.seek(position)
        return source.batches(vocabulary, n_words)
    if isinstance(source, str | bytes | PathLike | Mapping) or is_matrix(source):
        raise InputError(
            f"must be an iterable of documents or matrices, got one {type(source).__name__}; give "
            "[it], or the documents of a file by opelda.corpus.stream(path).",
            "source",
        )
    if not isinstance(source, Iterable):
        raise InputError(f"must be an iterable, got {type(source).__name__}.", "source")
    return _Maker(vocabulary, n_words).run(_positioned(source, position), batch_size)


class _Maker:
    """Makes batches; knows what documents are counted with and how wide matrices come out."""

    def __init__(self, vocabulary: Vocabulary | None, n_words: int | None) -> None:
        self.vocabulary = vocabulary
        self.n_words = n_words
        # keys under which dictionaries have a text; []: the first was counts
        self._keys: list[str] | None = None

    def run(self, items: Iterator[tuple[int, Any, Any]], batch_size: int) -> Iterator[MiniBatch]:
        pending: list[Any] = []
        first = 0
        after: Any = None
        for number, item, position in items:
            batch = isinstance(item, list | tuple) or is_matrix(item)
            # bytes, and other iterables that are no documents, are refused where they are counted
            if is_document(item) or (not batch and isinstance(item, Iterable)):
                if not pending:
                    first = number
                pending.append(item)
                after = position
                if len(pending) == batch_size:
                    yield self.documents(pending, first, after)
                    pending = []
                continue
            if pending:
                yield self.documents(pending, first, after)
                pending = []
            made = self.given(item, number, position)
            if made.X.shape[0]:
                yield made
        if pending:
            yield self.documents(pending, first, after)

    def documents(
        self, documents: list[Any], first: int, position: Any, item: int | None = None
    ) -> MiniBatch:
        """Make a batch of items that are documents, or of the documents of one `item`."""

        def where(i: int) -> str:
            return f"Item {first + i}" if item is None else f"Document {i} of item {item}"

        documents = [self.document(one, where, i) for i, one in enumerate(documents)]
        texts = any(isinstance(one, str) for one in documents)
        what = f"Item {first} is"
        words = self.vocabulary = counting_words(self.vocabulary, self.n_words, what, texts=texts)
        X, change = words.learn(documents, where)
        return MiniBatch(X, position, change, change.n_unknown_tokens, words)

    def document(self, item: Any, where: Callable[[int], str], number: int) -> Any:
        """Return the text of a dictionary with one; any other document as it is."""
        if not isinstance(item, Mapping) or not item or self._keys == []:
            return item
        if self._keys is None and not is_record(item):  # the first one decides for all
            self._keys = []
            return item
        from opelda.corpus.sources._items import record_text, text_keys  # and polars, only now

        self._keys = self._keys or text_keys(item, (), where(number))
        return record_text(item, self._keys, where(number))

    def given(self, item: Any, number: int, position: Any) -> MiniBatch:
        """Make a batch of an item that is a mini-batch already."""
        if isinstance(item, list | tuple):
            if any(isinstance(document, str) for document in item):
                raise InputError(
                    f"Item {number} mixes words and documents; "
                    "give a list of words, or a list of word lists or mappings."
                )
            return self.documents(list(item), number, position, item=number)
        if not is_matrix(item):
            raise InputError(
                f"Item {number} is neither a document nor a matrix but {type(item).__name__}; "
                "give a text, a sequence of words, a mapping from word to count, or counts."
            )
        width = self.n_words if self.vocabulary is None else len(self.vocabulary)
        X, n_unknown = as_counts(item, width, f"Item {number}")
        if self.vocabulary is None:
            self.n_words = X.shape[1]
        return MiniBatch(X, position, None, n_unknown, self.vocabulary)


def _positioned(source: Iterable[Any], position: Any) -> Iterator[tuple[int, Any, Any]]:
    """Yield from the position on each item's number, the item, and the position after it."""
    if isinstance(source, Seekable):
        if position is not None:
            source.seek(position)
        for number, item in enumerate(source):
            yield number, item, deepcopy(source.position)  # a snapshot, should it be changed
        return
    n_taken = 0 if position is None else whole("position", position, 0)
    items = iter(source)
    if (n_skipped := sum(1 for _ in islice(items, n_taken))) < n_taken:
        raise InputError(
            f"The source ends after {n_skipped} items, before position {n_taken}; "
            "it is not the source that the position was taken from."
        )
    for number, item in enumerate(items, start=n_taken):
        yield number, item, number + 1
