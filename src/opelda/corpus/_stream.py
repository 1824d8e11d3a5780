"""Documents as mini-batches, in constant memory, with a position to resume from."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, Literal

import polars as pl

from opelda._validation import threads, whole
from opelda.corpus._block import Patience, Problems, Source
from opelda.corpus._corpus import Corpus, DocumentStream, MiniBatch, Seekable
from opelda.corpus._counting import count_blocks, limited
from opelda.corpus._kinds import are_documents, is_column, is_matrix, is_table
from opelda.corpus._matrix import Counted, remap_columns, row_sums, with_columns
from opelda.corpus._vocabulary import Vocabulary
from opelda.corpus.formats import Options
from opelda.corpus.sources import checked_options, open_source
from opelda.corpus.sources._items import Items
from opelda.corpus.text import Tokenizer
from opelda.errors import InputError

MAX_FEATURES = 100_000  # columns by default: new words never end, and memory does


class Stream(DocumentStream):
    """Mini-batches of a source, counted with `vocabulary`, from `position` on.

    ``learner.fit_stream(stream)`` counts with the learner's own copy of the vocabulary.
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
        """Whether the source is a pipe or an iterator, which cannot be read twice."""
        return not self._source.reopens

    def end_when(self, is_ended: Callable[[], bool]) -> None:
        """End a pipe once `is_ended()` is true; documents read so far are kept.

        It is called before every read, and ten times a second while the pipe is empty.
        """
        self._source.end_when(is_ended)

    def wait_at_most(self, seconds: float, meanwhile: Callable[[], None] | None = None) -> None:
        """Limit how long documents wait for a mini-batch to be full, where a source waits for more.

        The limit applies to uncompressed pipes of lines, a followed file or folder, and iterables
        without a length, which yield `NOTHING` while no document is available. `meanwhile` is
        called during the wait.
        """
        self._source.wait_at_most(Patience(seconds, meanwhile))

    def seek(self, position: Any) -> None:
        """Continue from the position of a mini-batch of the same source.

        The log ``opelda.corpus`` (INFO) then reports the recognised documents.
        """
        self.position = position

    def __iter__(self) -> Iterator[MiniBatch]:
        return self.batches()

    def progress(self) -> tuple[int, int] | None:
        """Return the bytes read and the total bytes, if known."""
        return self._source.progress()

    def batches(
        self,
        vocabulary: Vocabulary | None = None,
        n_words: int | None = None,
        learn: bool = True,
    ) -> Iterator[MiniBatch]:
        """Yield the mini-batches from `position` on, counted with a vocabulary.

        None is the stream's own vocabulary. `n_words` is the number of columns without words. The
        vocabulary learns from each mini-batch just before it is yielded, unless `learn` is False:
        then columns are fixed, and numbered columns must match in number.
        """
        if vocabulary is None and n_words is None:
            vocabulary = self.vocabulary
        tokenizer = Tokenizer() if vocabulary is None else vocabulary.tokenizer
        blocks = limited(self._source, self.batch_size, self._limit, position=self.position)
        # what waits is not read ahead: nor is what an iterator gives, which would be gone
        n_threads = 0 if self._source.waits or self.once else self._n_threads
        for block, counts, resolved in count_blocks(blocks, tokenizer, n_threads):
            if not isinstance(counts, Counted) and self._source.words is not None:
                counts = Counted.of(counts, self._source.words)
            texts, change = block.documents, None
            if not isinstance(counts, Counted):
                width = n_words if vocabulary is None else len(vocabulary)
                n_held = counts.shape[1]
                fewer = self._source.may_lack_columns and n_held < (width or 0)
                if width not in (None, n_held) and not learn and not fewer:
                    raise InputError(
                        f"{self.label} has {n_held:,} columns without words, but they are to be "
                        f"counted over {width:,} words; give documents with those columns, or "
                        "their words with {column_words}.",
                        column_words=...,
                    )
                n_words = counts.shape[1] if width is None else width
                n_tokens = row_sums(counts)
                X, n_unknown = with_columns(counts, n_words)
            else:
                n_tokens = row_sums(counts.counts)
                has_texts = isinstance(texts, pl.Series | list)
                if vocabulary is None:
                    if n_words is not None:
                        raise InputError(
                            f"{self.label} gives documents with words, but earlier documents "
                            "were counts without words; pass the vocabulary of these counts."
                        )
                    min_df = None if has_texts else 1  # of texts, rare words wait
                    vocabulary = Vocabulary(growing=True, max_features=MAX_FEATURES, min_df=min_df)
                if learn:
                    X, change = vocabulary.learn_counted(counts, resolved if has_texts else None)
                    n_unknown = change.n_unknown_tokens
                else:
                    columns = vocabulary.columns(counts.words)
                    X, n_unknown = remap_columns(counts.counts, columns, len(vocabulary))
            self.position = block.position
            yield MiniBatch(
                X, block.position, change, n_unknown, vocabulary, block.names, n_tokens,
                block.metadata, texts if isinstance(texts, pl.Series) else None,
            )  # fmt: skip


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
    first_id, limit, n_jobs
        As for `read`.
    batch_size : int
        Documents per mini-batch; fewer at the end of the source, and after `Stream.wait_at_most`.
    vocabulary : Vocabulary, optional
        The words to count. By default the vocabulary of the corpus or source, or else an empty
        vocabulary that grows.
    tokenizer, min_df, max_features
        Parameters of an empty `Vocabulary`. With ``max_features=None`` memory is unbounded.
    follow : bool
        Wait for new lines at the end of the file, or new files in the folder. Mini-batches are
        then full, unless `Stream.wait_at_most` limits the wait.

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
    options = checked_options(
        format, text_column, name_column, metadata, on_error, encoding, column_words, first_id
    )
    opened = open_source(source, options, follow=follow, in_pieces=True)
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


def mini_batches(
    source: Iterable[Any] | DocumentStream | PathLike[str],
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

    The source is a stream, a `pathlib.Path`, a corpus, a column or data frame of texts, or an
    iterable of documents, or of whole mini-batches: matrices of counts, or lists of documents other
    than texts. The source is not read beyond the current batch. `position` is a position in the
    source (by ``seek``, by the content of items) or a number of items; `max_wait` and `meanwhile`
    are as for `Stream.wait_at_most`. Without `by_content`, positions are numbers of items.

    >>> source = [{"tea": 2}, {"cup": 1}, {"pot": 1, "tea": 1}]
    >>> vocabulary = Vocabulary(growing=True)
    >>> first = next(mini_batches(source, batch_size=2, vocabulary=vocabulary))
    >>> rest = mini_batches(source, batch_size=2, vocabulary=vocabulary, position=first.position)
    >>> [batch.X.toarray().tolist() for batch in rest]
    [[[1.0, 0.0, 1.0]]]
    """
    batch_size = whole("batch_size", batch_size)
    if n_words is not None and vocabulary is None:
        n_words = whole("n_words", n_words)
    is_column_of_texts = (is_table(source) or is_column(source)) and are_documents(source)
    if isinstance(source, Corpus | PathLike) or is_column_of_texts:
        source = stream(source, batch_size=batch_size, vocabulary=vocabulary)
    elif isinstance(source, str | bytes | Mapping) or is_matrix(source):
        raise InputError(
            f"must be an iterable of documents or matrices, got one {type(source).__name__}; give "
            "[it], or pathlib.Path(it) for the documents of a file.",
            "source",
        )
    elif not isinstance(source, DocumentStream):
        if not isinstance(source, Iterable):
            raise InputError(f"must be an iterable, got {type(source).__name__}.", "source")
        if position is not None and not isinstance(source, Seekable) and type(position) is not dict:
            position = whole("position", position, 0)
        items = Items(source, Options(), by_content=by_content)
        source = Stream(items, batch_size=batch_size, vocabulary=None, n_threads=0)
    if max_wait is not None and hasattr(source, "wait_at_most"):
        source.wait_at_most(max_wait, meanwhile)
    if position is not None:
        source.seek(position)
    return source.batches(vocabulary, n_words)
