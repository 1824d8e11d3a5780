"""CCCP: the concave-convex procedure (Yuille & Rangarajan 2003) for the mixture of a document."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opelda.inference._method import Document, Method, Vector, between, count


@dataclass
class CCCP(Method):
    """Concave-convex procedure: f rises at every iteration, whatever the prior.

    f is split into a concave part (the likelihood, and the prior of topics with alpha_k > 1) and a
    convex part (the prior of topics with alpha_k < 1). Each iteration replaces the convex part by
    its tangent and climbs what is left, which is concave, by EM steps. All mixtures stay in the
    shrunken simplex theta_k >= epsilon, where f is bounded.

    With alpha < 1 a topic that has sunk to epsilon stays there: the tangent's slope is then about
    -1/epsilon. Each such topic adds 1 - alpha_k to the gap for ever, because f would still rise if
    the topic sank further.

    Parameters
    ----------
    n_iter : int
        Iterations at most.
    n_inner : int
        EM steps for the concave problem of one iteration. f rises with every one of them; more
        only solve it more closely.
    tol : float
        Stop when an iteration raises f by at most tol * abs(f); 0: when f does not rise.
    epsilon : float
        The least share of a topic.

    References
    ----------
    Yuille & Rangarajan, "The concave-convex procedure", Neural Computation 15 (2003).

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
