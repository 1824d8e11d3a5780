"""CCCP and SMM: concave surrogates of f, maximised in turn or averaged at random."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opelda.engines.seam import uniforms
from opelda.inference._method import Document, Method, Vector, between, count


@dataclass
class CCCP(Method):
    """Concave-convex procedure (Yuille & Rangarajan, Neural Computation 2003): f never falls.

    f is a concave part (the likelihood, the prior where alpha_k > 1) plus a convex part (the prior
    where alpha_k < 1). Each iteration replaces the convex part by its tangent and climbs the
    concave remainder by EM steps, over mixtures with theta_k >= epsilon. A topic that has sunk to
    epsilon stays there, and adds 1 - alpha_k to the gap.

    Parameters
    ----------
    n_iter, n_inner : int
        Iterations at most, and EM steps in each.
    tol : float
        Stop when an iteration raises f by at most tol * abs(f); 0: when f does not rise.
    epsilon : float
        The least share of a topic.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> topics = [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]
    >>> infer([[4, 0, 2]], topics, method=CCCP(), doc_topic_prior=1.5).theta.round(3)
    array([[0.666, 0.334]], dtype=float32)
    """

    name: ClassVar[str] = "cccp"

    n_iter: int = count(100)
    n_inner: int = count(5)
    tol: float = between(1e-6, 0.0, 1.0)
    epsilon: float = between(1e-10, 0.0, 1e-6, above=True)

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        stages = list(self._climb(document))
        return stages[-1][1], len(stages) - 1

    def _climb(self, document: Document) -> Iterator[tuple[float, Vector]]:
        """Yield f and the mixture at the start and after each iteration."""
        d, excess = document.counts, document.alpha - 1
        concave, convex = np.maximum(excess, 0), np.maximum(-excess, 0)

        def f(theta: Vector) -> float:
            return float(d @ np.log(document.word_probabilities(theta)) + excess @ np.log(theta))

        theta = np.full(len(excess), 1 / len(excess))
        value = f(theta)
        yield value, theta
        for _ in range(self.n_iter):
            # The convex part is at or above its tangent, so that f rises by at least as much.
            tangent = convex / theta
            for _ in range(self.n_inner):
                gains = document.expected_counts(theta) + concave
                theta = best_mixture(gains, tangent, self.epsilon)
            rise, value = f(theta) - value, f(theta)
            yield value, theta
            if rise <= self.tol * abs(value):
                return


@dataclass
class SMM(Method):
    """Stochastic majorisation-minimisation (Mairal, NIPS 2013): an average of random surrogates.

    Each iteration picks the likelihood or the prior by a fair coin and bounds it from below at the
    current mixture: the likelihood by EM's bound, the prior of topics with alpha_k < 1 by its
    tangent. The bound, doubled since its term is picked every other time, enters a running average
    with weight w = 1/(n + 1); theta maximises sum_k A_k log theta_k - B_k theta_k::

        likelihood:  A <- (1 - w) A + 2w r                    B <- (1 - w) B
        prior:       A <- (1 - w) A + 2w max(alpha - 1, 0)    B <- (1 - w) B
                                                                   + 2w max(1 - alpha, 0) / theta
        then         theta_k = A_k / (B_k + mu), mu so that theta sums to 1

    The average begins with both bounds at the uniform mixture, so that A is never zero.

    Parameters
    ----------
    n_iter : int
        Picks. theta follows the average at the pace of EM in log n.
    epsilon : float
        The least share of a topic.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> topics = [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]
    >>> result = infer([[4, 0, 2]], topics, method=SMM(n_iter=500), doc_topic_prior=1.5,
    ...                random_state=0)
    >>> bool(result.gap[0] < 0.5)
    True
    """

    name: ClassVar[str] = "smm"

    n_iter: int = count(100)
    epsilon: float = between(1e-10, 0.0, 1e-6, above=True)

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        excess = document.alpha - 1
        concave, convex = np.maximum(excess, 0), np.maximum(-excess, 0)
        theta = np.full(len(excess), 1 / len(excess))
        A = document.expected_counts(theta) + concave
        B = convex / theta
        for n, coin in enumerate(uniforms(document.key, 0, self.n_iter), start=1):
            w = 1 / (n + 1)
            # one term's bound at the last mixture, twice, for it is picked every other time
            A, B, at = (1 - w) * A, (1 - w) * B, theta
            if coin < 0.5:
                A += 2 * w * document.expected_counts(at)
            else:
                A += 2 * w * concave
                B += 2 * w * convex / at
            theta = best_mixture(A, B, self.epsilon)
        return theta, self.n_iter


def best_mixture(a: Vector, b: Vector, floor: float = 0.0) -> Vector:
    """Maximise sum_k a_k log theta_k - b_k theta_k over the mixtures with theta_k >= floor.

    The answer is theta_k = max(a_k / (b_k + mu), floor), its sum H(mu) = 1. 1/H is concave and
    rises with mu, so Newton's method on 1/H = 1 comes from the left and never overshoots.
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
        # The cheapest topics have no a, mu is -min b, and they share the rest.
        cheapest = slack == 0
        theta[cheapest] += (1 - total) / cheapest.sum()
    theta /= theta.sum()
    return theta
