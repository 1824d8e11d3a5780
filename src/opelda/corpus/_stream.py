"""Documents as mini-batches, in constant memory, with a position to go on from."""

from collections.abc import Iterator
from os import PathLike
from typing import Any, Literal

from opelda._validation import threads, whole
from opelda.corpus._batches import MiniBatch, mini_batches
from opelda.corpus._block import Block
from opelda.corpus._block_counting import BlockCounter
from opelda.corpus._corpus import Corpus
from opelda.corpus._pipeline import counted, limited
from opelda.corpus._problems import Problems
from opelda.corpus._vocabulary import Vocabulary
from opelda.corpus.sources import Source, open_source
from opelda.corpus.text import Tokenizer
from opelda.errors import InputError


class Stream:
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
        waits: bool = False,
    ) -> None:
        self.batch_size = batch_size
        self.vocabulary = vocabulary
        self.position: Any = None
        self._source = source
        self._limit = limit
        self._n_threads = n_threads
        self._waits = waits

    @property
    def label(self) -> str:
        """What to call the source in messages."""
        return self._source.label

    @property
    def problems(self) -> Problems:
        """What could not be read so far."""
        return self._source.problems

    def seek(self, position: Any) -> None:
        """Go on from a position that a mini-batch of the same source gave."""
        self.position = position

    def __iter__(self) -> Iterator[MiniBatch]:
        return mini_batches(self, batch_size=self.batch_size, vocabulary=self.vocabulary)

    def progress(self) -> tuple[int, int] | None:
        """Return how many bytes of how many are read, where that is known."""
        return self._source.progress()

    def counted(self, vocabulary: Vocabulary | None) -> Iterator[tuple[Block, Any]]:
        """Yield blocks with their counts: over words, or over columns that have no names.

        While one is being used the next ones are read and counted, unless the source waits for
        documents that are still to come, or what was read of it and not used would be gone.
        """
        tokenizer = Tokenizer() if vocabulary is None else vocabulary.tokenizer
        counter = BlockCounter(self._source, tokenizer)
        blocks = limited(self._source, self.batch_size, self._limit, position=self.position)
        for block, counts in counted(blocks, counter, 0 if self._waits else self._n_threads):
            if vocabulary is not None:
                vocabulary.tokenizer = counter.saved  # by now it knows the language
            self.position = block.position
            yield block, counter.over_words(counts)


def stream(
    source: Any,
    *,
    batch_size: int = 5000,
    format: str = "auto",
    text_column: str | tuple[str, ...] | list[str] | None = None,
    name_column: str | None = None,
    tokenizer: Tokenizer | None = None,
    vocabulary: Vocabulary | None = None,
    max_features: int | None = None,
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
    source, format, text_column, name_column, on_error, encoding, column_words, first_id, limit
        As for `read`.
    batch_size : int
        Documents per mini-batch; fewer at the end only.
    tokenizer : Tokenizer, optional
        How texts are made into words, for a vocabulary that begins empty; by default as in `read`.
    vocabulary : Vocabulary, optional
        What words are counted with. By default a corpus's own, the words that the source comes
        with, or else an empty one that grows.
    max_features : int, optional
        Columns at most, for a vocabulary that begins empty: rare old words give way to new ones.
    n_jobs : int, optional
        Threads; None is every core, but one inside a worker of joblib or the like. Results do not
        depend on it.
    follow : bool
        Wait for more at the end: for what is written to the file, or for new files in the folder.
        Only full mini-batches are given then.

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
        on_error=on_error,
        encoding=encoding,
        column_words=column_words,
        first_id=first_id,
        follow=follow,
    )
    if vocabulary is not None and (tokenizer is not None or max_features is not None):
        raise InputError(
            "A vocabulary has its own tokenizer and {max_features}; leave those out.",
            max_features=...,
        )
    if vocabulary is None and isinstance(source, Corpus):
        vocabulary = source.vocabulary
    elif vocabulary is None and opened.words is not None:
        vocabulary = Vocabulary(opened.words, tokenizer=tokenizer)
    elif vocabulary is None and opened.has_words:
        vocabulary = Vocabulary(growing=True, max_features=max_features, tokenizer=tokenizer)
    return Stream(
        opened,
        batch_size=batch_size,
        vocabulary=vocabulary,
        limit=limit,
        n_threads=threads(n_jobs),
        waits=follow or not opened.reopens,
    )
