"""Documents with the topics of their tokens."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines import Engine
from opelda.engines.seam import FRACTION_SHIFT, Documents, Rows, Weights, tokens_of


@dataclass(frozen=True)
class Kept:
    """Some documents, and the topics of their tokens, document by document."""

    rows: Rows
    topics: NDArray[np.uint16]

    @classmethod
    def none(cls) -> "Kept":
        """No documents."""
        rows = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
        return cls(rows, np.zeros(0, np.uint16))

    @classmethod
    def joined(cls, parts: "list[Kept]") -> "Kept":
        """Return one after the other."""
        if len(parts) == 1:
            return parts[0]
        ends = np.cumsum([0, *(part.rows.indptr[-1] for part in parts)])
        indptr = [part.rows.indptr[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
        rows = Rows(
            np.concatenate(([0], *indptr)),
            np.concatenate([part.rows.words for part in parts]),
            np.concatenate([part.rows.counts for part in parts]),
        )
        return cls(rows, np.concatenate([part.topics for part in parts]))

    def divided(self, first: int) -> "tuple[Kept, Kept]":
        """Return the documents before a number, and from it on."""
        at, token = int(self.rows.indptr[first]), int(self.ends[first])
        rows, halves = self.rows, []
        for indptr, here, tokens in (
            (rows.indptr[: first + 1], slice(at), slice(token)),
            (rows.indptr[first:] - at, slice(at, None), slice(token, None)),
        ):
            part = Rows(indptr, rows.words[here], rows.counts[here])
            halves.append(Kept(part, self.topics[tokens]))
        return halves[0], halves[1]

    def without(self, entries: NDArray[np.bool_]) -> "Kept":
        """Return the documents without some of their first entries."""
        if not entries.any():
            return self
        kept = np.ones(len(self.rows.words), bool)
        kept[: len(entries)] = ~entries
        tokens = np.repeat(kept, tokens_of(self.rows.counts))
        return Kept(self.rows.where(kept), self.topics[tokens])

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """The offsets of the documents' tokens, and their end."""
        ends = np.concatenate(([0], np.cumsum(tokens_of(self.rows.counts))))
        return ends[self.rows.indptr].astype(np.int64)

    @property
    def token_words(self) -> NDArray[np.int32]:
        """The words of the tokens."""
        return np.repeat(self.rows.words, tokens_of(self.rows.counts))

    def documents(self, engine: Engine, n_words: int) -> Documents:
        """Hand the documents to an engine."""
        rows = self.rows
        parts = rows.counts, rows.words, rows.indptr
        return engine.documents(sparse.csr_array(parts, shape=(rows.n_docs, n_words)))

    def tokens(self, engine: Engine, weights: Weights) -> Any:
        """Hand the tokens to an engine."""
        return engine.tokens(
            self.documents(engine, weights.n_words),
            weights.n_topics,
            copies=np.arange(self.rows.n_docs),  # no need to look for equal ones
            shift=FRACTION_SHIFT,
            topics=self.topics,
        )
