"""Topics, certificates and draws of tokens in double precision, as the equations stand."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from opelda.engines._solutions import certify_empty
from opelda.engines.seam import Certificate, Rows, Weights, uniforms

# As in the kernels: smaller probabilities count as zero, a word that no topic knows is alike in all
# of them, and a mixture's logarithm and ratios exist.
SMALLEST_PROBABILITY, SMALLEST = 1e-15, 1e-30
IMPOSSIBLE = 1e-280  # less than any product of a share and a probability
LOWEST_PEAK = np.log(1e-6)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fixed:
    """Topics word-major (V, K), of every word or of the words `ids`."""

    rows: Array
    ids: NDArray[np.int32] | None = None

    @property
    def n_topics(self) -> int:
        """K."""
        return int(self.rows.shape[1])

    @property
    def mean(self) -> Array:
        """Each word's mean over the topics."""
        mean: Array = self.rows.mean(axis=1)
        return mean

    def known_part(self, rows: Rows) -> Rows:
        """Leave out words that no topic has: no mixture can explain them."""
        known = self.rows.max(axis=1, initial=0.0) > 0
        return rows if known.all() else rows.where(known[rows.words])


def probabilities(weights: Weights, logs: bool = False) -> Array:
    """beta_kj = lambda_kj / sum_j lambda_kj, or exp(E[log beta_kj]), word-major (V, K)."""
    prior: Any = weights.prior
    if isinstance(prior, np.ndarray) and prior.ndim == 1:
        prior = prior[:, None]
    lam = weights.scale * weights.rows + weights.prior_weight * prior
    totals = weights.totals
    beta: Array = lam / totals
    if logs:
        log_beta = np.minimum(psi(np.maximum(lam, SMALLEST)) - psi(totals), 0.0)
        # a word that is rare in every topic is lifted as a whole: only its ratios count
        peak = log_beta.max(axis=1, keepdims=True)
        beta = np.exp(log_beta + np.maximum(LOWEST_PEAK - peak, 0.0))
    beta[beta < SMALLEST_PROBABILITY] = 0.0
    beta[~beta.any(axis=1)] = SMALLEST_PROBABILITY
    return beta


def certificate_of(beta: Array, rows: Rows, theta: NDArray[Any], alpha: Array) -> Certificate:
    """Return gaps and terms of f of given mixtures."""
    found = Certificate.room(rows.n_docs)
    for d in np.flatnonzero(~rows.empty):
        here = slice(rows.indptr[d], rows.indptr[d + 1])
        counts, mixture = rows.counts[here].astype(np.float64), theta[d].astype(np.float64)
        mixture /= mixture.sum()  # floats hardly ever make 1
        columns = beta[rows.words[here]]
        x = np.maximum(columns @ mixture, IMPOSSIBLE)
        floored = np.maximum(mixture, SMALLEST)
        likelihood = (counts / x) @ columns
        prior = (alpha - 1) / floored
        # on the simplex <f'(theta), theta> = N + sum_k (alpha_k - 1)
        found.likelihood_gap[d] = max(likelihood.max() - counts.sum(), 0.0)
        # N log(max_k g1'_k / N) by Jensen's inequality, and room for the sums' rounding
        rounding = 2.0**-52 * (len(counts) + len(alpha) + 16)
        slope = likelihood.max() / counts.sum() * (1 + rounding)
        found.likelihood_loss[d] = counts.sum() * np.log(max(slope, 1.0))
        if x.min() <= IMPOSSIBLE:
            found.likelihood_loss[d] = np.inf
        constant = counts.sum() + (alpha - 1).sum()
        found.gap[d] = max((likelihood + prior).max() - constant, 0.0)
        found.log_likelihood[d] = counts @ np.log(x)
        found.log_prior[d] = (alpha - 1) @ np.log(floored)
    certify_empty(found, rows, alpha)
    return found


class TokenDraws:
    """The topics of a document's tokens, drawn anew: P(k) ~ (N_k + alpha_k) (beta_k - own_k).

    N_k weighs the document's other tokens in topic k. The part with N_k comes first, over the slots
    of the document's topics; the part with alpha_k after it, in the order of the topics: every
    engine must map the same uniform number to the same topic. A sweep begins with the slots of the
    largest topics first, which is a function of the tokens' topics alone; a topic that comes in
    takes the first slot that is empty, or a new one. A token of weight 1 is `own` of the
    probability of its word in its topic.
    """

    def __init__(self, slots: list[tuple[int, float]], alpha: Array, own: Array, key: int) -> None:
        slots[:] = sorted(
            ((k, size) for k, size in slots if size > 0), key=lambda slot: (-slot[1], slot[0])
        )
        self.slots, self.alpha, self.own, self.key = slots, alpha, own, key
        self.n_drawn = 0

    def draw(
        self,
        beta: Array,
        sizes: NDArray[np.float32],
        weights: Array,
        topics: NDArray[np.uint16] | None,
    ) -> NDArray[np.uint16]:
        """Draw every token once: by the probabilities of its word (n, K), taken out of its topic.

        It has a size in the document, and a weight in the counts. Tokens without `topics` are
        placed one after another.
        """
        found = np.zeros(len(beta), np.uint16)
        u = uniforms(self.key, self.n_drawn, len(beta))
        self.n_drawn += len(beta)
        for i, size in enumerate(sizes.astype(np.float64)):
            p = beta[i].copy()
            if topics is not None:
                now = int(topics[i])
                add_to(self.slots, now, -size)
                p[now] -= min(weights[i] * self.own[now], p[now])
            in_use = [k for k, _ in self.slots]
            shares = np.array([size for _, size in self.slots])
            ends = np.cumsum(np.concatenate((shares * p[in_use], self.alpha * p)))
            at = int(np.searchsorted(ends, u[i] * ends[-1], side="right"))
            found[i] = in_use[at] if at < len(in_use) else at - len(in_use)
            add_to(self.slots, int(found[i]), size)
        return found


def add_to(slots: list[tuple[int, float]], topic: int, weight: float) -> None:
    """Give a document more of a topic, which gets the first empty slot if it has none."""
    for at, (k, size) in enumerate(slots):
        if k == topic:
            slots[at] = topic, size + weight
            return
    empty = [at for at, (_, size) in enumerate(slots) if size == 0]
    if empty:
        slots[empty[0]] = topic, weight
    else:
        slots.append((topic, weight))
