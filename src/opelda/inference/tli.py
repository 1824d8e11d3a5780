"""TLI: thresholded linear inverse (Arora et al. 2016) for the mixture of a document."""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from opelda.engines.seam import Batch, Solution
from opelda.errors import warn
from opelda.inference._method import Document, Method, Vector, between, count, documents


class TLIWarning(UserWarning):
    """TLI kept all topics of some documents, because its conditions failed."""


class LinearInverse(NamedTuple):
    """B with max abs(B A - I) <= delta, whose rows have the least largest entry there is."""

    matrix: Vector  # (K, V); rows of NaN where no inverse exists
    bound: float  # lambda_delta, the largest abs(B_ij); infinite when a row has no inverse


@dataclass
class TLI(Method):
    """Thresholded linear inverse (Arora, Ge, Koehler, Ma & Moitra, ICML 2016).

    A linear inverse B of the topics gives the estimate x^ = B y / N of the mixture, y the counts,
    biased by at most delta. Topics with x^_i >= tau = threshold * lambda_delta * sqrt(ln K / N) +
    delta are kept, and EM finds their most likely mixture. The prior plays no part. B costs K
    linear programs per set of topics (20 topics, 2,000 words: a second; 100, 5,000: minutes).

    Where a topic has no inverse, no topic reaches tau, or the kept topics lack a word of the
    document, all topics are kept, and a `TLIWarning` counts the documents.

    Parameters
    ----------
    delta : float
        Bias allowed in the inverse. Larger makes lambda_delta and tau smaller.
    threshold : float
        The paper's 2: a topic's noise stays below tau with probability 1 - 2/K^2.
    n_iter : int
        EM steps at most.
    tol : float
        EM stops when the log-likelihood is within tol per token of its maximum.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> topics = [[0.5, 0.4, 0.1, 0.0], [0.0, 0.1, 0.4, 0.5]]
    >>> infer([[520, 390, 90, 0]], topics, method=TLI()).theta
    array([[1., 0.]], dtype=float32)
    """

    name: ClassVar[str] = "tli"
    needs_every_word: ClassVar[bool] = True

    delta: float = between(0.01, 0.0, 0.499)
    threshold: float = between(2.0, 0.0, 1e6)
    n_iter: int = count(1000)
    tol: float = between(1e-4, 0.0, 1.0)

    def solve(self, batch: Batch, seed: int) -> Solution:
        topics = batch.rows[:, : batch.n_topics].astype(np.float64)
        inverse = cached_inverse(topics.tobytes(), batch.n_topics, self.delta)
        theta = np.zeros((batch.n_docs, batch.n_topics))
        n_iter = np.zeros(batch.n_docs, np.int32)
        n_failed = 0
        for i, document in enumerate(documents(batch, seed)):
            words = batch.words[batch.indptr[i] : batch.indptr[i + 1]]
            if len(words):
                own = inverse._replace(matrix=inverse.matrix[:, words])
                theta[i], n_iter[i], failed = self._infer(document, own)
                n_failed += failed
        _warn(n_failed, batch.n_docs, inverse, self.delta)
        return Solution(theta, n_iter)

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        """Return the mixture of a document with every word of the vocabulary."""
        inverse = linear_inverse(document.beta, self.delta)
        theta, n_done, failed = self._infer(document, inverse)
        _warn(int(failed), 1, inverse, self.delta)
        return theta, n_done

    def _infer(self, document: Document, inverse: LinearInverse) -> tuple[Vector, int, bool]:
        """Return the mixture, the number of EM steps, and whether the conditions fail."""
        n_tokens, n_topics = document.n_tokens, len(document.alpha)
        kept, failed = np.ones(n_topics, np.bool_), True
        if np.isfinite(inverse.bound):
            estimate = inverse.matrix @ document.counts / n_tokens
            spread = self.threshold * inverse.bound * np.sqrt(np.log(n_topics) / n_tokens)
            # the programs are solved to 1e-7: a share of exactly tau must not fall through
            passed = estimate >= spread + self.delta - 1e-6
            failed = not (passed @ document.beta > 0).all()
            kept = kept if failed else passed
        part = Document(document.counts, document.beta[kept], document.alpha[kept])
        share = np.full(len(part.alpha), 1 / len(part.alpha))
        n_done = 0
        while n_done < self.n_iter:
            n_done += 1
            # EM multiplies each share by g1'_k / N, and the largest ratio is 1 + gap / N
            ratio = part.likelihood_slope(share) / n_tokens
            if ratio.max() - 1 <= self.tol:
                break
            share *= ratio
            share /= share.sum()
        theta = np.zeros(n_topics)
        theta[kept] = share
        return theta, n_done, failed


def linear_inverse(topics: NDArray[np.floating], delta: float) -> LinearInverse:
    """Return the B of least largest entry with abs(sum_j B_ij beta_kj - 1[i = k]) <= delta.

    One linear program per topic: its row is v / r, -1 <= v_j <= 1, so r is maximised under
    -delta r <= sum_j v_j beta_kj - r 1[i = k] <= delta r. At r = 0 the inverse is missing.
    """
    n_topics, n_words = topics.shape
    # the solver's tolerances are absolute: bring the probabilities to a mean of 1
    scaled = n_words * topics.astype(np.float64)
    objective = np.zeros(n_words + 1)
    objective[-1] = -1.0
    bounds = [(-1.0, 1.0)] * n_words + [(0.0, np.inf)]
    rows = np.full((n_topics, n_words), np.nan)
    for i, unit in enumerate(np.eye(n_topics)):
        above = np.column_stack((scaled, -delta - unit))
        below = np.column_stack((-scaled, unit - delta))
        found = linprog(objective, np.vstack((above, below)), np.zeros(2 * n_topics), bounds=bounds)
        best = found.x if found.status == 0 else None
        # an inverse with entries beyond 1e6 would need more than 1e12 tokens
        if best is not None and best[-1] > 1e-6 * n_words:
            rows[i] = best[:-1] * (n_words / best[-1])
    bound = np.abs(rows).max()  # NaN where an inverse is missing
    return LinearInverse(rows, float(bound) if np.isfinite(bound) else np.inf)


@lru_cache(maxsize=4)
def cached_inverse(topics: bytes, n_topics: int, delta: float) -> LinearInverse:
    """Return the linear inverse of word-major topics (V, K), cached by their content."""
    rows = np.frombuffer(topics, np.float64).reshape(-1, n_topics)
    return linear_inverse(rows.T, delta)


def _warn(n_failed: int, n_docs: int, inverse: LinearInverse, delta: float) -> None:
    if not n_failed:
        return
    if np.isfinite(inverse.bound):
        why = "no set of topics passed the threshold (documents too short, or topics too similar)"
    else:
        missing = int(np.isnan(inverse.matrix).any(axis=1).sum())
        why = f"{missing} topics have no linear inverse at delta={delta:g} (topics too similar)"
    warn(
        f"TLI fell back to the most likely mixture of all topics for {n_failed} of {n_docs} "
        f"documents: {why}.",
        TLIWarning,
    )
