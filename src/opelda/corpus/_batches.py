"""Mini-batches from any stream, each with the position to go on from after it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from math import inf
from os import PathLike
from typing import Any, Protocol, runtime_checkable

from opelda._validation import whole
from opelda.corpus._corpus import Corpus
from opelda.corpus._gathering import BatchMaker, Seeking
from opelda.corpus._kinds import are_documents, is_column, is_matrix, is_table
from opelda.corpus._mini_batch import MiniBatch as MiniBatch
from opelda.corpus._new_items import NewItems
from opelda.corpus._problems import Problems
from opelda.corpus._timeout import Patience
from opelda.corpus._vocabulary import Vocabulary
from opelda.errors import InputError


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
    max_wait: float | None = None,
    meanwhile: Callable[[], None] | None = None,
    by_content: bool = True,
) -> Iterator[MiniBatch]:
    """Yield mini-batches of counts from a source of documents or matrices.

    The source is read no further than the batch being made, and no more than one batch is held.

    Parameters
    ----------
    source : iterable, DocumentStream, Corpus, column or data frame
        Its items are documents (a text, a sequence of words, a mapping from word to count, a
        dictionary with a text), which are gathered into batches; or whole mini-batches: matrices of
        counts (arrays, sparse, data frames) or lists of documents other than texts. An empty list
        is an empty document; a matrix without rows is passed over, and so is `NOTHING`, which says
        that nothing came. A corpus, and a column or a data frame of texts, goes through `stream`.
    batch_size : int
        Documents per batch. Fewer come before a mini-batch of the source's own, at the end, and
        after `max_wait`.
    vocabulary : Vocabulary or None
        What documents are counted with; it learns from each batch just before the batch is yielded.
        None: a stream's or a corpus's own, else one that is empty and grows to 100,000 columns,
        where documents come first; with ``min_df=None`` if these are texts.
    n_words : int or None
        How many columns to yield of matrices. Those beyond are left out and counted as unknown;
        missing ones are empty. None: as many as the first matrix has, so give it when going on in
        the middle. With a vocabulary it is not looked at: the vocabulary's words are the columns.
    position : as in `MiniBatch`, or None
        Where to go on. A `DocumentStream`, and any other source with an attribute ``position`` and
        a method ``seek(position)``, is asked to go there. The rest are read again, and the items
        that were read before are known by their content: where the source begins as it did they
        are passed over, and anything else is new. A number passes over that many items.
    max_wait : float or None
        Seconds after which documents that wait for the next ones are given all the same, as a
        smaller batch; None: they wait until it is full. See `Stream.wait_at_most`.
    meanwhile : callable or None
        Called now and then while documents are waited for.
    by_content : bool
        Whether positions identify items by their content. False: by their number, without hashing.

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
        if max_wait is not None and hasattr(source, "wait_at_most"):
            source.wait_at_most(max_wait, meanwhile)
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
    seconds = inf if max_wait is None or isinstance(source, Sized) else max_wait
    maker = BatchMaker(vocabulary, n_words, Patience(seconds, meanwhile))
    return maker.run(_new_items(source, position, by_content), batch_size)


def _new_items(source: Iterable[Any], position: Any, by_content: bool) -> "Seeking | NewItems":
    if isinstance(source, Seekable):
        return Seeking(source, position)
    if position is not None and not isinstance(position, dict):
        position = whole("position", position, 0)
    return NewItems(source, position, "The source", by_content=by_content)
