"""Topics and certificates in double precision, as the equations stand."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from opelda.engines._documents import Rows
from opelda.engines._solutions import Certificate, certify_empty
from opelda.engines._weights import Prior, Weights

# As in the kernels: smaller probabilities count as zero, a word that no topic knows is alike in all
# of them, and a mixture's logarithm and ratios exist.
SMALLEST_PROBABILITY, SMALLEST = 1e-15, 1e-30
LOWEST_PEAK = np.log(1e-6)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fixed:
    """Topics word-major (V, K), of every word or of the words `ids`."""

    rows: Array
    ids: NDArray[np.int32] | None = None


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
        columns = beta[rows.words[here]]
        x = np.maximum(columns @ mixture, SMALLEST)
        floored = np.maximum(mixture, SMALLEST)
        likelihood = (counts / x) @ columns
        prior = (alpha - 1) / floored
        # on the simplex <f'(theta), theta> = N + sum_k (alpha_k - 1)
        found.likelihood_gap[d] = max(likelihood.max() - counts.sum(), 0.0)
        constant = counts.sum() + (alpha - 1).sum()
        found.gap[d] = max((likelihood + prior).max() - constant, 0.0)
        found.log_likelihood[d] = counts @ np.log(x)
        found.log_prior[d] = (alpha - 1) @ np.log(floored)
    certify_empty(found, rows, alpha)
    return found


def known(rows: Rows, fixed: Fixed) -> Rows:
    """Leave out words that no topic has: no mixture can explain them."""
    known = fixed.rows.max(axis=1, initial=0.0) > 0
    return rows if known.all() else rows.where(known[rows.words])


def double(prior: Prior) -> Any:
    """Return eta in double precision."""
    return prior.astype(np.float64) if isinstance(prior, np.ndarray) else prior
