"""SMM: stochastic majorisation-minimisation (Mairal 2013) for the mixture of a document."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opelda.engines.seam import uniforms
from opelda.inference._method import Document, Method, Vector, between, count
from opelda.inference.cccp import best_mixture


@dataclass
class SMM(Method):
    """Stochastic majorisation-minimisation: an average of surrogates of randomly picked terms.

    Each iteration picks the likelihood or the prior by a fair coin and bounds it from below at the
    current mixture, the likelihood by EM's bound, the prior of topics with alpha_k < 1 by its
    tangent. A bound counts double, since its term is picked every other time, and enters a running
    average with weight w = 1/(n + 1); theta maximises the average,
    sum_k A_k log theta_k - B_k theta_k::

        likelihood:  A <- (1 - w) A + 2w r                    B <- (1 - w) B
        prior:       A <- (1 - w) A + 2w max(alpha - 1, 0)    B <- (1 - w) B
                                                                   + 2w max(1 - alpha, 0) / theta
        then         theta_k = A_k / (B_k + mu), mu so that theta sums to 1

    The prior of a topic with alpha_k > 1 is of the form A log theta itself and needs no bound. The
    average begins with both terms' bounds at the uniform mixture, so that A is never zero.

    Parameters
    ----------
    n_iter : int
        Picks. The average forgets the start like 1/n, and theta follows it at the pace of EM in
        log n: many iterations refine it slowly.
    epsilon : float
        The least share of a topic.

    References
    ----------
    Mairal, "Stochastic majorization-minimization algorithms for large-scale optimization",
    NIPS (2013).

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
