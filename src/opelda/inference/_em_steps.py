"""Steps of EM that CCCP, SMM, TLI, PMD and HAMCMC share: expected counts and maximisation."""

import numpy as np

from opelda.inference._method import Document, Vector

# A word that the mixture gives no probability at all still has a logarithm and a ratio.
SMALLEST = 1e-100


def word_probabilities(document: Document, theta: Vector) -> Vector:
    """x_j = sum_k theta_k beta_kj, for one mixture or for each row of many."""
    return np.maximum(theta @ document.beta, SMALLEST)


def likelihood_slope(document: Document, theta: Vector) -> Vector:
    """g1'_k = sum_j d_j beta_kj / x_j, for one mixture or for each row of many."""
    slope: Vector = (document.counts / word_probabilities(document, theta)) @ document.beta.T
    return slope


def expected_counts(document: Document, theta: Vector) -> Vector:
    """r_k = theta_k g1'_k: how many tokens topic k explains. They sum to N."""
    return theta * likelihood_slope(document, theta)


def best_mixture(a: Vector, b: Vector, floor: float = 0.0) -> Vector:
    """Maximise sum_k a_k log theta_k - b_k theta_k over the mixtures with theta_k >= floor.

    The answer is theta_k = max(a_k / (b_k + mu), floor) with the mu that makes it sum to 1. With H
    that sum, 1/H is concave and rises with mu, so Newton's method on 1/H = 1 comes from the left
    and never overshoots; where one topic dominates 1/H is a line and the first step is exact.
    """
    slack = b - b.min()
    # no topic alone may exceed 1: the least b + mu there can be
    least = np.finfo(np.float64).tiny
    shift = max(float((a - slack).max()), least)
    for _ in range(100):
        theta: Vector = np.maximum(a / (slack + shift), floor)
        total = theta.sum()
        free = theta > floor
        slope = (theta[free] / (slack[free] + shift)).sum()
        if total <= 1 + 1e-15 or slope == 0:
            break
        shift += total * (total - 1) / slope
    if shift == least and total < 1:
        # The cheapest topics have no a, mu is -min b, and they share what the others leave.
        cheapest = slack == 0
        theta[cheapest] += (1 - total) / cheapest.sum()
    theta /= theta.sum()
    return theta


def interior_mode(document: Document, n_iter: int) -> Vector:
    """Climb to the posterior's mode in softmax coordinates, where no topic is ever empty.

    There the Jacobian turns the prior's exponents alpha - 1 into alpha, so that EM's step is
    theta_k = (r_k + alpha_k) / (N + sum alpha).
    """
    n_topics = len(document.alpha)
    theta = np.full(n_topics, 1.0 / n_topics)
    for _ in range(n_iter):
        theta = expected_counts(document, theta) + document.alpha
        theta /= theta.sum()
    return theta
