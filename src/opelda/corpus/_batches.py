"""Mini-batches from any stream, each with the position to go on from after it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from os import PathLike
from typing import Any

from scipy import sparse

from opelda._validation import whole
from opelda.corpus._change import VocabularyChange
from opelda.corpus._corpus import Corpus
from opelda.corpus._counting import Counted
from opelda.corpus._kinds import (
    are_documents,
    is_column,
    is_document,
    is_matrix,
    is_record,
    is_table,
)
from opelda.corpus._matrix import as_counts
from opelda.corpus._vocabulary import Vocabulary
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


def mini_batches(
    source: Iterable[Any],
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
    source : iterable, Corpus, column or data frame
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
        first.
    n_words : int or None
        How many columns to yield of matrices. Those beyond are left out and counted as unknown;
        missing ones are empty. None: as many as the first matrix has, so give it when going on in
        the middle. With a vocabulary it is not looked at: the vocabulary's words are the columns.
    position : as in `MiniBatch`, or None
        Where to go on. A source with an attribute ``position`` and a method ``seek(position)`` is
        asked to go there; any other is read again and that many items are passed over.

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
    if isinstance(source, str | bytes | PathLike | Mapping) or is_matrix(source):
        raise InputError(
            f"must be an iterable of documents or matrices, got one {type(source).__name__}; give "
            "[it], or the documents of a file by opelda.corpus.stream(path).",
            "source",
        )
    if not isinstance(source, Iterable):
        raise InputError(f"must be an iterable, got {type(source).__name__}.", "source")
    if n_words is not None and vocabulary is None:
        n_words = whole("n_words", n_words)
    stream: Any = source
    if hasattr(stream, "counted"):  # a Stream, which knows how to count, and its own batch size
        if vocabulary is None and n_words is None:
            vocabulary = stream.vocabulary
        if position is not None:
            stream.seek(position)
        return _Maker(vocabulary, n_words).run_counted(stream.counted(vocabulary), stream.label)
    return _Maker(vocabulary, n_words).run(_positioned(source, position), batch_size)


class _Maker:
    """Makes batches; knows what documents are counted with and how wide matrices come out."""

    def __init__(self, vocabulary: Vocabulary | None, n_words: int | None) -> None:
        self.vocabulary = vocabulary
        self.n_words = n_words
        self._records: Any = None  # of dictionaries with a text; False: the first was counts

    def run(self, items: Iterator[tuple[int, Any, Any]], batch_size: int) -> Iterator[MiniBatch]:
        pending: list[Any] = []
        first = 0
        after: Any = None
        for number, item, position in items:
            if is_document(item) or not _is_batch(item):  # bytes are refused where they are counted
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
            batch = self.given(item, number, position)
            if batch.X.shape[0]:
                yield batch
        if pending:
            yield self.documents(pending, first, after)

    def run_counted(self, blocks: Iterator[tuple[Any, Any]], label: str) -> Iterator[MiniBatch]:
        """Yield a batch for each block that comes with its counts."""
        for block, counts in blocks:
            if not isinstance(counts, Counted):
                yield self.counts(counts, block.position, label)
                continue
            words = self.words(f"The documents of {label} are")
            X, change = words.learn_counted(counts)
            yield MiniBatch(X, block.position, change, change.n_unknown_tokens, words)

    def words(self, what: str) -> Vocabulary:
        """Return what words are counted with; one that grows where nothing was counted yet."""
        if self.vocabulary is None and self.n_words is not None:
            raise InputError(
                f"{what} made of words, but the columns so far have none; give the vocabulary that "
                "they were counted with."
            )
        if self.vocabulary is None:
            self.vocabulary = Vocabulary(growing=True)
        return self.vocabulary

    def documents(
        self, documents: list[Any], first: int, position: Any, item: int | None = None
    ) -> MiniBatch:
        """Make a batch of items that are documents, or of the documents of one item."""
        words = self.words(f"Item {first} is")

        def where(i: int) -> str:
            return f"Item {first + i}" if item is None else f"Document {i} of item {item}"

        documents = [self.document(one, where, i) for i, one in enumerate(documents)]
        X, change = words.learn(documents, where)
        return MiniBatch(X, position, change, change.n_unknown_tokens, words)

    def document(self, item: Any, where: Callable[[int], str], number: int) -> Any:
        """Return the text of a dictionary with one; any other document as it is."""
        if not isinstance(item, Mapping) or not item or self._records is False:
            return item
        if self._records is None:  # the first one decides for all
            from opelda.corpus.sources._records import Records

            self._records = is_record(item) and Records(item, (), None, where(number))
        return self._records.text(item, where(number)) if self._records else item

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
        return self.counts(item, position, f"Item {number}")

    def counts(self, item: Any, position: Any, where: str) -> MiniBatch:
        """Make a batch of counts over columns."""
        width = self.n_words if self.vocabulary is None else len(self.vocabulary)
        X, n_unknown = as_counts(item, width, where)
        if self.vocabulary is None:
            self.n_words = X.shape[1]
        return MiniBatch(X, position, None, n_unknown, self.vocabulary)


def _is_batch(item: Any) -> bool:
    return isinstance(item, list | tuple) or is_matrix(item) or not isinstance(item, Iterable)


def _positioned(source: Iterable[Any], position: Any) -> Iterator[tuple[int, Any, Any]]:
    """Yield from the position on each item's number, the item, and the position after it."""
    if hasattr(source, "position") and hasattr(source, "seek"):
        if position is not None:
            source.seek(position)
        for number, item in enumerate(source):
            yield number, item, deepcopy(source.position)  # a snapshot, should it be changed
        return
    n_taken = 0 if position is None else whole("position", position, 0)
    items = iter(source)
    end = object()
    for number in range(n_taken):
        if next(items, end) is end:
            raise InputError(
                f"The source ends after {number} items, before position {n_taken}; "
                "it is not the source that the position was taken from."
            )
    for number, item in enumerate(items, start=n_taken):
        yield number, item, number + 1
