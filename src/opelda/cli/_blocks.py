"""Documents of any size of collection, counted with a model's own words, some at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opelda.cli._models import vocabulary_of
from opelda.cli._options import Reading, Show
from opelda.cli._progress import reading_bar
from opelda.cli._reading import reading_options, source_of
from opelda.errors import InputError

if TYPE_CHECKING:
    from scipy import sparse

BLOCK = 4096


@dataclass(frozen=True)
class Part:
    """Some consecutive documents.

    Attributes
    ----------
    X : CSR array
        Counts over the model's words.
    first : int
        The number of the first one in the collection, from 0.
    names : list of str or None
    unknown : array
        Tokens of each document whose words the model does not have.
    """

    X: "sparse.csr_array"
    first: int
    names: list[str] | None
    unknown: NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """What documents are counted over: a model's words, or as many columns without names."""

    words: Any
    number: int

    @classmethod
    def of(cls, model: Any) -> "Columns":
        """Return a model's."""
        return cls(vocabulary_of(model), int(model.n_features_in_))


def read_over(
    columns: Columns, sources: list[str], reading: Reading, show: Show, jobs: int | None
) -> Any:
    """Read a collection whose columns are known beforehand into memory."""
    from opelda.corpus import Corpus
    from opelda.corpus.sources._joining import stacked

    parts = Parts(columns, sources, reading, show, jobs, "reading")
    found = list(parts)
    names = [name for part in found for name in part.names or ()]
    X = stacked([part.X for part in found], columns.number)
    return Corpus(
        X,
        columns.words,
        names if len(names) == X.shape[0] else None,
        n_skipped=parts.problems.n_skipped,
        problems=tuple(parts.problems.first),
        n_unknown_tokens=float(sum(part.unknown.sum() for part in found)),
    )


class Parts:
    """A collection read once, in constant memory."""

    def __init__(
        self,
        columns: Columns,
        sources: list[str],
        reading: Reading,
        show: Show,
        jobs: int | None,
        doing: str = "inferring",
    ) -> None:
        from opelda.corpus import stream

        self._words = columns.words
        self._n_words = columns.number
        self._show = show
        self._doing = doing
        self._stream = stream(
            source_of(sources),
            batch_size=BLOCK,
            **reading_options(reading),
            vocabulary=self._words,
            limit=reading.limit,
            n_jobs=jobs,
        )

    @property
    def problems(self) -> Any:
        """What could not be read so far."""
        return self._stream.problems

    def __iter__(self) -> Iterator[Part]:
        n_docs = 0
        with reading_bar(self._show, self._doing) as progress:
            for block, counts in self._stream.counted(self._words):
                X, unknown = self._placed(counts)
                yield Part(X, n_docs, block.names, unknown)
                n_docs += X.shape[0]
                if progress is not None:
                    progress(n_docs, *(self._stream.progress() or (None, None)))
        if not n_docs:
            raise InputError(f"{self._stream.label} holds no documents; look at what is in there.")

    def _placed(self, counts: Any) -> "tuple[sparse.csr_array, NDArray[np.float64]]":
        """Return counts over the model's columns, and what has none, for each document."""
        from opelda.corpus._counting import Counted, place
        from opelda.corpus._matrix import as_counts

        if not isinstance(counts, Counted):
            self._check_width(counts.shape[1])
            X, _ = as_counts(counts, self._n_words, self._stream.label)
            return X, _sums(counts) - _sums(X)
        if self._words is None:
            raise InputError(
                "The model learned from numbered columns and has no words, so it cannot read "
                "texts; give documents in the format it learned from."
            )
        columns = self._words.columns(counts.words)
        X, _ = place(counts.counts, columns, self._n_words)
        return X, _sums(counts.counts) - _sums(X)

    def _check_width(self, n_columns: int) -> None:
        """Refuse numbered columns that cannot be the model's."""
        # LDA-C's files do not say how many words there are: the last ones may not occur
        kind = getattr(getattr(self._stream, "_source", None), "format", None)
        fewer = kind is not None and kind.name == "ldac" and n_columns < self._n_words
        if n_columns != self._n_words and not fewer:
            raise InputError(
                f"{self._stream.label} has {n_columns:,} columns without words, but they are to be "
                f"counted over {self._n_words:,} words; give documents with those columns, or "
                "their words with {column_words}.",
                column_words=...,
            )


def _sums(counts: Any) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = np.asarray(counts.sum(axis=1, dtype=np.float64)).ravel()
    return sums
