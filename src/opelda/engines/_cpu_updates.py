"""The CPU's private parts of an update: a batch transposed, and its statistics added."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda import _native
from opelda.engines._cpu_tables import Table, padded
from opelda.engines._documents import Chosen, Documents, Rows
from opelda.engines._solutions import Picks, Solution
from opelda.errors import InputError

# types of counts that documents are gathered from as they are
GATHERED = frozenset(map(np.dtype, "fdqihbQIHB?"))


@dataclass(frozen=True)
class Transposed:
    """A batch of documents seen from its words.

    Attributes
    ----------
    words : int32 array (n,)
        The words it holds, ascending.
    slots : int32 array (entries,)
        Each entry's word as an index into `words`, in the documents' order.
    starts, entries : int64 array (n + 1,), uint64 array (entries,)
        For each word its documents, in their order: the document as an int32 and the count there
        as a float32, in one number.
    tokens : float64 array (n_docs,)
        The documents' lengths.
    """

    words: NDArray[np.int32]
    slots: NDArray[np.int32]
    starts: NDArray[np.int64]
    entries: NDArray[np.uint64]
    tokens: NDArray[np.float64]


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
    return Transposed(*_native.by_word(rows.indptr, rows.words, rows.counts, n_words, n_threads))


def add(
    kept: NDArray[np.float32],
    words: NDArray[np.int32],
    batch: Transposed,
    table: Table,
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


def _mixtures(solution: Solution, table: Table, divide: bool) -> dict[str, Any]:
    """Return mixtures as native code takes them: OPE's picks, or a dense array."""
    names = ("theta", "indptr", "topics", "shares", "rest", "start", "start_words")
    parts: dict[str, Any] = dict.fromkeys(names)
    picks = solution.picks
    if picks is None:
        dense = solution.factors if divide and solution.factors is not None else solution.theta
        parts["theta"] = np.ascontiguousarray(dense, np.float32)
        return parts
    parts.update(indptr=picks.indptr, topics=picks.topics, shares=picks.shares, rest=picks.rest)
    parts["start"] = padded(picks.start, table.rows.shape[1])
    even = (picks.start == picks.start[0]).all()
    parts["start_words"] = table.mean if even else table.rows[:, : table.n_topics] @ picks.start
    return parts


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
