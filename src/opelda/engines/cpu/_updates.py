"""The CPU's private parts of an update: a batch transposed, and its statistics added."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda import _native
from opelda.engines.cpu._tables import TopicTable, padded
from opelda.engines.seam import Chosen, Documents, Picks, Rows, Solution
from opelda.errors import InputError

# types of counts that documents are gathered from as they are
GATHERED = frozenset(map(np.dtype, "fdqihbQIHB?"))


@dataclass(frozen=True)
class Transposed:
    """A batch of documents seen from its words."""

    words: NDArray[np.int32]  # that it holds, ascending
    slots: NDArray[np.int32]  # of each entry's word among `words`, in the documents' order
    starts: NDArray[np.int64]  # of each word's entries, and their end
    # by word, its documents in their order: the document (int32) and the count (float32) in one
    entries: NDArray[np.uint64]
    tokens: NDArray[np.float64]  # the documents' lengths


def gathered(documents: Documents, chosen: Chosen, n_threads: int) -> Rows:
    """Return some documents of a collection; only they are copied and converted."""
    if chosen is None:
        return documents.part()
    X = documents.matrix
    counts = X.data
    if counts.dtype not in GATHERED:  # long doubles
        counts = counts.astype(np.float32)
    return Rows.positive(*_native.gather(X.indptr, X.indices, counts, chosen, n_threads))


def check_words(words: NDArray[np.int32], n_words: int) -> None:
    """Refuse words that the topics do not have: kernels trust them."""
    if len(words) and int(words.max()) >= n_words:
        raise InputError(
            f"A document holds word {int(words.max())} but the topics have {n_words} words; "
            "fit the model again, or count with its own words."
        )


def transposed(rows: Rows, n_words: int, n_threads: int) -> Transposed:
    """Transpose a batch."""
    check_words(rows.words, n_words)
    return Transposed(*_native.transpose(rows.indptr, rows.words, rows.counts, n_words, n_threads))


def add(
    kept: NDArray[np.float32],
    words: NDArray[np.int32],
    batch: Transposed,
    table: TopicTable,
    solution: Solution,
    *,
    divide: bool,
    gain: NDArray[np.float64],
    n_threads: int,
) -> NDArray[np.float64]:
    """Add a batch's statistics to rows: kept_jk += gain_k sum_d w_djk for each of `words`.

    w_djk = d_j theta_dk, or with ``divide`` d_j phi_djk where phi_djk, proportional to
    theta_dk beta_kj, is the probability that a token of word j is of topic k. Documents are added
    in their order: the sums do not depend on the number of threads. Returns how much sum_j kept_jk
    has grown for each topic.
    """
    stride = table.rows.shape[1]
    grown = np.empty(stride)
    _native.add(
        kept,
        n_topics=table.n_topics,
        words=words,
        starts=batch.starts,
        entries=batch.entries,
        rows=table.rows,
        **_mixtures(solution, table, divide),
        divide=divide,
        gain=padded(gain, stride),
        grown=grown,
        n_threads=n_threads,
    )
    return grown[: table.n_topics]


def _mixtures(solution: Solution, table: TopicTable, divide: bool) -> dict[str, Any]:
    """Return mixtures as native code takes them: OPE's picks, or a dense array."""
    picks = solution.picks
    if picks is None:
        dense = solution.factors if divide and solution.factors is not None else solution.theta
        return {"theta": np.ascontiguousarray(dense, np.float32)}
    return {
        "indptr": picks.indptr,
        "topics": picks.topics,
        "shares": picks.shares,
        "rest": picks.rest,
        "start": padded(picks.start, table.rows.shape[1]),
        "start_words": table.under(picks.start, None),
    }


def mass(solution: Solution, tokens: NDArray[np.float64], n_topics: int) -> NDArray[np.float64]:
    """sum_d |d| theta_dk, in the documents' order whatever the number of threads."""
    picks: Picks | None = solution.picks
    if picks is not None:
        weights = picks.shares * np.repeat(tokens, np.diff(picks.indptr))
        total = np.bincount(picks.topics, weights, n_topics)
        return total + picks.start.astype(np.float64) * float((picks.rest * tokens).sum())
    full = tokens > 0  # nothing was written for the others
    theta = np.asarray(solution.theta)[full].astype(np.float64)
    found: NDArray[np.float64] = (theta * tokens[full, None]).sum(axis=0)
    return found
