"""Documents as mini-batches, in constant memory, with a position to go on from."""

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any, Literal

import polars as pl

from opelda._validation import threads, whole
from opelda.corpus._batches import DocumentStream, MiniBatch
from opelda.corpus._corpus import Corpus
from opelda.corpus._counting import BlockCounter, limited
from opelda.corpus._gathering import MAX_FEATURES, counting_words
from opelda.corpus._matrix import Counted, as_counts, remap_columns, row_sums
from opelda.corpus._problems import Problems
from opelda.corpus._timeout import Patience
from opelda.corpus._vocabulary import Vocabulary
from opelda.corpus.sources import Source, open_source
from opelda.corpus.text import Tokenizer
from opelda.errors import InputError


class Stream(DocumentStream):
    """Mini-batches of a source; `stream` makes one.

    Iterating yields `MiniBatch` after `MiniBatch`, counted with `vocabulary`, from `position` on.
    ``learner.fit_stream(stream)`` counts with the learner's own vocabulary, which begins as a copy
    of this one.

    Attributes
    ----------
    vocabulary : Vocabulary or None
        None where the source has numbered columns without names.
    batch_size : int
    position : fit for JSON
        Where the source goes on after the last mini-batch that was taken; None at the beginning.
    problems : Problems
        What could not be read so far: ``n_skipped`` and the ``first`` few.

    Notes
    -----
    After `seek` the log ``opelda.corpus`` (INFO) says in a sentence what was known again.

    Examples
    --------
    >>> batches = stream(["tea", "cup", "more tea"], batch_size=2)
    >>> [batch.X.shape for batch in batches]
    [(2, 2), (1, 3)]
    >>> batches.seek(2)
    >>> [batch.X.toarray().tolist() for batch in batches]
    [[[1.0, 0.0, 1.0]]]
    """

    def __init__(
        self,
        source: Source,
        *,
        batch_size: int,
        vocabulary: Vocabulary | None,
        limit: int | None = None,
        n_threads: int = 1,
    ) -> None:
        self.batch_size = batch_size
        self.vocabulary = vocabulary
        self.position: Any = None
        self.problems: Problems = source.problems
        self._source = source
        self._limit = limit
        self._n_threads = n_threads

    @property
    def label(self) -> str:
        """The name of the source in messages."""
        return self._source.label

    @property
    def once(self) -> bool:
        """Whether what was read is gone: the source is a pipe, or an iterator."""
        return not self._source.reopens

    def end_when(self, is_ended: Callable[[], bool]) -> None:
        """Let a pipe end, with what was read of it, as soon as a condition is met.

        Parameters
        ----------
        is_ended : callable
            Asked before every read, and ten times a second while there is nothing to read.
        """
        self._source.end_when(is_ended)

    def wait_at_most(self, seconds: float, meanwhile: Callable[[], None] | None = None) -> None:
        """Let no document wait longer for a mini-batch to be full, where the source waits for more.

        That is a pipe of lines, a file or folder that is followed, or an iterable without a length.
        A source that always has more to give is never waited for: its mini-batches are full.

        Parameters
        ----------
        seconds : float
            From a mini-batch's first document on. Pipes that are compressed or hold counts are
            waited for. An iterable is looked at whenever it gives something: one that may give
            nothing for long should give `NOTHING` now and then.
        meanwhile : callable, optional
            Called now and then while documents are waited for.
        """
        self._source.wait_at_most(Patience(seconds, meanwhile))

    def seek(self, position: Any) -> None:
        """Go on from a position that a mini-batch of the same source gave."""
        self.position = position

    def __iter__(self) -> Iterator[MiniBatch]:
        return self.batches()

    def progress(self) -> tuple[int, int] | None:
        """Return how many bytes of how many are read, where that is known."""
        return self._source.progress()

    def batches(
        self,
        vocabulary: Vocabulary | None = None,
        n_words: int | None = None,
        learn: bool = True,
    ) -> Iterator[MiniBatch]:
        """Yield the mini-batches from `position` on.

        While one is being used the next ones are read and counted, unless the source waits for
        documents that are still to come, or what was read of it and not used would be gone.

        Parameters
        ----------
        vocabulary : Vocabulary, optional
            What words are counted with instead of the stream's own vocabulary.
        n_words : int, optional
            How many columns there are where these have no words.
        learn : bool
            Whether the vocabulary learns from each mini-batch just before it is yielded. False:
            everything is as the columns are, and columns without words must be as many.

        Yields
        ------
        MiniBatch
        """
        if vocabulary is None and n_words is None:
            vocabulary = self.vocabulary
        counter = BlockCounter(
            self._source, Tokenizer() if vocabulary is None else vocabulary.tokenizer
        )
        blocks = limited(self._source, self.batch_size, self._limit, position=self.position)
        # what waits is not read ahead: nor is what an iterator gives, which would be gone
        n_threads = 0 if self._source.waits or self.once else self._n_threads
        for block, counts in counter.run(blocks, n_threads):
            if not isinstance(counts, Counted) and self._source.words is not None:
                counts = Counted.of(counts, self._source.words)
            change = None
            if not isinstance(counts, Counted):
                width = n_words if vocabulary is None else len(vocabulary)
                if width is not None and not learn:
                    self._check_width(counts.shape[1], width)
                n_tokens = row_sums(counts)
                X, n_unknown = as_counts(counts, width, self.label)
                n_words = X.shape[1]
            else:
                n_tokens = row_sums(counts.counts)
                what = f"The documents of {self.label} are"
                vocabulary = counting_words(vocabulary, n_words, what, texts=True)
                if learn:
                    X, change = vocabulary.learn_counted(counts, counter.resolved)
                    n_unknown = change.n_unknown_tokens
                else:
                    columns = vocabulary.columns(counts.words)
                    X, n_unknown = remap_columns(counts.counts, columns, len(vocabulary))
            self.position = block.position
            texts = block.documents if isinstance(block.documents, pl.Series) else None
            yield MiniBatch(
                X, block.position, change, n_unknown, vocabulary, block.names, n_tokens,
                block.metadata, texts,
            )  # fmt: skip

    def _check_width(self, n_columns: int, n_words: int) -> None:
        """Refuse numbered columns that cannot be those that are counted over."""
        fewer = self._source.may_lack_columns and n_columns < n_words
        if n_columns != n_words and not fewer:
            raise InputError(
                f"{self.label} has {n_columns:,} columns without words, but they are to be "
                f"counted over {n_words:,} words; give documents with those columns, or their "
                "words with {column_words}.",
                column_words=...,
            )


def stream(
    source: Any,
    *,
    batch_size: int = 5000,
    format: str = "auto",
    text_column: str | tuple[str, ...] | list[str] | None = None,
    name_column: str | Literal[False] | None = None,
    metadata: str | tuple[str, ...] | list[str] | None = None,
    tokenizer: Tokenizer | None = None,
    vocabulary: Vocabulary | None = None,
    min_df: int | None = None,
    max_features: int | None = MAX_FEATURES,
    on_error: Literal["stop", "skip"] = "stop",
    encoding: str = "utf-8",
    column_words: str | PathLike[str] | Any = None,
    first_id: Literal[0, 1] | None = None,
    limit: int | None = None,
    n_jobs: int | None = None,
    follow: bool = False,
) -> Stream:
    """Read documents as mini-batches of counts, in constant memory.

    Parameters
    ----------
    source, format, text_column, name_column, metadata, on_error, encoding, column_words
        As for `read`.
    first_id, limit
        As for `read`.
    batch_size : int
        Documents per mini-batch; fewer at the end, and after `Stream.wait_at_most`.
    tokenizer : Tokenizer, optional
        How texts are made into words, for a vocabulary that begins empty; by default as in `read`.
    vocabulary : Vocabulary, optional
        What words are counted with. By default a corpus's own, the words that the source comes
        with, or else an empty one that grows.
    min_df : int, optional
        Documents that must have had a word before it gets a column, for a vocabulary that begins
        empty; by default as many as `read` wants of the documents so far (see `Vocabulary`).
    max_features : int or None
        Columns at most, for a vocabulary that begins empty: rare old words give way to new ones.
        None: as many as there are words, for ever, and memory with them.
    n_jobs : int, optional
        Threads; None is every core, but one inside a worker of joblib or the like. Results do not
        depend on it.
    follow : bool
        Wait for more at the end: for what is written to the file, or for new files in the folder.
        Only full mini-batches are given then, unless `Stream.wait_at_most` says otherwise.

    Returns
    -------
    Stream

    Examples
    --------
    >>> from opelda import OnlineOPE
    >>> texts = ["stars and galaxies", "cells and proteins", "galaxies of stars"] * 40
    >>> model = OnlineOPE(2, random_state=0).fit_stream(stream(texts, batch_size=20))
    >>> model.n_docs_seen_
    120
    """
    batch_size = whole("batch_size", batch_size)
    opened = open_source(
        source,
        format=format,
        text_column=text_column,
        name_column=name_column,
        metadata=metadata,
        on_error=on_error,
        encoding=encoding,
        column_words=column_words,
        first_id=first_id,
        follow=follow,
        in_pieces=True,
    )
    if vocabulary is not None and (tokenizer, min_df, max_features) != (None, None, MAX_FEATURES):
        raise InputError(
            "A vocabulary has its own tokenizer, {min_df} and {max_features}; leave those out.",
            min_df=...,
            max_features=...,
        )
    if vocabulary is None and isinstance(source, Corpus):
        vocabulary = source.vocabulary
    elif vocabulary is None and opened.words is not None:
        vocabulary = Vocabulary(opened.words, tokenizer=tokenizer)
    elif vocabulary is None and opened.has_words:
        vocabulary = Vocabulary(
            growing=True, max_features=max_features, min_df=min_df, tokenizer=tokenizer
        )
    return Stream(
        opened,
        batch_size=batch_size,
        vocabulary=vocabulary,
        limit=limit,
        n_threads=threads(n_jobs),
    )
