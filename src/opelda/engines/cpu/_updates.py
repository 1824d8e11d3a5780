"""The CPU's private parts of an update: a batch transposed, and its statistics added."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opelda import _native
from opelda.engines.cpu._tables import TopicTable, padded
from opelda.engines.seam import Chosen, Documents, Rows, Solution, Weights, check_words


class Transposed(NamedTuple):
    """A batch of documents seen from its words."""

    words: NDArray[np.int32]  # of the batch, ascending
    slots: NDArray[np.int32]  # of each entry's word among `words`, in the documents' order
    starts: NDArray[np.int64]  # of each word's entries, and their end
    # by word, its documents in their order: the document (int32) and the count (float32) in one
    entries: NDArray[np.uint64]
    tokens: NDArray[np.float64]  # the documents' lengths


def gathered(documents: Documents, chosen: Chosen, n_threads: int) -> Rows:
    """Return some documents of a collection; copy and convert these alone."""
    if chosen is None:
        return documents.part()
    X = documents.matrix
    counts = X.data
    if counts.dtype not in map(np.dtype, "fdqihbQIHB?"):  # long doubles
        counts = counts.astype(np.float32)
    return Rows.positive(*_native.gather(X.indptr, X.indices, counts, chosen, n_threads))


def transposed(rows: Rows, n_words: int, n_threads: int) -> Transposed:
    """Transpose a batch."""
    check_words(rows.words, n_words)
    return Transposed(*_native.transpose(rows.indptr, rows.words, rows.counts, n_words, n_threads))


@dataclass
class Explained:
    """A batch with mixtures and the topics of words."""

    batch: Transposed
    table: TopicTable
    solution: Solution
    divide: bool
    n_threads: int = 1
    e_seconds: float = 0.0
    mean_gap: float = np.nan

    def add(
        self, kept: NDArray[np.float32], words: NDArray[np.int32], gain: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Add the statistics to rows: kept_jk += gain_k sum_d w_djk for each of `words`.

        w_djk = d_j theta_dk, or with ``divide`` d_j phi_djk where phi_djk, proportional to
        theta_dk beta_kj, is the probability that a token of word j is of topic k. Documents are
        added in their order: the sums do not depend on the number of threads. Return the growth of
        sum_j kept_jk for each topic.
        """
        table, batch, solution = self.table, self.batch, self.solution
        stride = table.rows.shape[1]
        grown, picks = np.empty(stride), solution.picks
        mixtures: dict[str, Any]
        if picks is None:
            factors = solution.factors if self.divide else None
            dense = solution.theta if factors is None else factors
            mixtures = {"theta": np.ascontiguousarray(dense, np.float32)}
        else:
            mixtures = vars(picks) | {
                "start": padded(picks.start, stride),
                "start_words": table.under(picks.start, None),
            }
        _native.add(
            kept,
            n_topics=table.n_topics,
            words=words,
            starts=batch.starts,
            entries=batch.entries,
            rows=table.rows,
            **mixtures,
            divide=self.divide,
            gain=padded(gain, stride),
            grown=grown,
            n_threads=self.n_threads,
        )
        return grown[: table.n_topics]

    def mass(self) -> NDArray[np.float64]:
        """sum_d |d| theta_dk, in the documents' order for any number of threads."""
        picks, tokens = self.solution.picks, self.batch.tokens
        if picks is not None:
            weights = picks.shares * np.repeat(tokens, np.diff(picks.indptr))
            total = np.bincount(picks.topics, weights, self.table.n_topics)
            return total + picks.start.astype(np.float64) * float((picks.rest * tokens).sum())
        full = tokens > 0  # kernels skip empty documents
        theta = np.asarray(self.solution.theta)[full].astype(np.float64)
        found: NDArray[np.float64] = (theta * tokens[full, None]).sum(axis=0)
        return found

    def add_to(self, weights: Weights, gain: NDArray[np.float64]) -> None:
        """Add the statistics, times a number per topic, to weights."""
        weights.sums = weights.sums + self.add(weights.rows, self.batch.words, gain)

    def statistics(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the words and their statistics."""
        words, values = self.batch.words, np.zeros(self.table.rows.shape, np.float32)
        self.add(values, np.arange(len(words), dtype=np.int32), np.ones(self.table.n_topics))
        return words, values[:, : self.table.n_topics].astype(np.float64)
