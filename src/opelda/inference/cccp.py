"""CCCP: the concave-convex procedure (Yuille & Rangarajan 2003) for the mixture of a document."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opelda.inference._em_steps import best_mixture, expected_counts, word_probabilities
from opelda.inference._method import Document, Limits, Method, Vector, between, count


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
    limits: ClassVar[Limits] = {
        "n_iter": count(),
        "n_inner": count(),
        "tol": between(0.0, 1.0),
        "epsilon": between(0.0, 1e-6, above=True),
    }

    n_iter: int = 100
    n_inner: int = 5
    tol: float = 1e-6
    epsilon: float = 1e-10

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        """Return the last mixture of the climb; nothing is random."""
        stages = list(self._climb(document))
        return stages[-1][1], len(stages) - 1

    def _climb(self, document: Document) -> Iterator[tuple[float, Vector]]:
        """Yield f and the mixture at the start and after each iteration."""
        d, excess = document.counts, document.alpha - 1
        concave, convex = np.maximum(excess, 0), np.maximum(-excess, 0)

        def f(theta: Vector) -> float:
            return float(d @ np.log(word_probabilities(document, theta)) + excess @ np.log(theta))

        theta = np.full(len(excess), 1 / len(excess))
        value = f(theta)
        yield value, theta
        for _ in range(self.n_iter):
            # The convex part is at or above its tangent, so that f rises by at least as much.
            tangent = convex / theta
            for _ in range(self.n_inner):
                gains = expected_counts(document, theta) + concave
                theta = best_mixture(gains, tangent, self.epsilon)
            rise, value = f(theta) - value, f(theta)
            yield value, theta
            if rise <= self.tol * abs(value):
                return
