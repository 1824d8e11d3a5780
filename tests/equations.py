"""The updates in plain NumPy, as the equations stand: the oracle of the fast ones.

lam, beta: K x V; X: D x V counts; theta: D x K mixtures, or for VB exp(E[log theta]).
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def ml(beta: Array, X: Array, theta: Array, rho: float) -> Array:
    """beta^_kj proportional to sum_d d_j theta_dk; beta <- (1 - rho) beta + rho beta^."""
    ours = theta.T @ X
    updated: Array = (1 - rho) * beta + rho * ours / ours.sum(axis=1, keepdims=True)
    return updated


def statistics(beta: Array, X: Array, theta: Array) -> Array:
    """sum_d d_j phi_djk with phi_djk proportional to theta_dk beta_kj."""
    total = np.zeros_like(beta)
    for counts, mixture in zip(X, theta, strict=True):
        phi = mixture[:, None] * beta
        total += counts * phi / phi.sum(axis=0)
    return total


def online(
    lam: Array,
    beta: Array,
    X: Array,
    theta: Array,
    eta: float | Array,
    rho: float,
    population: float,
) -> Array:
    """lambda <- (1 - rho) lambda + rho (eta + (D / S) statistics)."""
    target = eta + population / len(X) * statistics(beta, X, theta)
    updated: Array = (1 - rho) * lam + rho * target
    return updated


def scvb0(n: Array, beta: Array, X: Array, theta: Array, rho: float, population: float) -> Array:
    """N <- (1 - rho) N + rho (D / S) statistics; lambda is N + eta."""
    updated: Array = (1 - rho) * n + rho * population / len(X) * statistics(beta, X, theta)
    return updated


def sgrld(lam: Array, counts: Array, eta: Array, rho: float, times: float, xi: Array) -> Array:
    """theta <- |theta + eps/2 (eta - theta + (D / S) (n_kj - beta_kj n_k)) + sqrt(eps theta) xi|.

    Term by term; eps is each topic's 2 rho / (1 + (D / S) n_k / min(sum eta_k, sum theta_k)).
    """
    updated = np.empty_like(lam)
    for k, theta in enumerate(lam):
        n, total = counts[k], theta.sum()
        eps = 2 * rho / (1 + times * n.sum() / min(eta[k].sum(), total))
        drift = eta[k] - theta + times * (n - theta / total * n.sum())
        updated[k] = abs(theta + eps / 2 * drift + np.sqrt(theta) * np.sqrt(eps) * xi[k])
    return updated


def streaming(lam: Array, beta: Array, X: Array, theta: Array) -> Array:
    """lambda <- lambda + statistics; lam is eta for the first batch unless its start is kept."""
    return lam + statistics(beta, X, theta)
