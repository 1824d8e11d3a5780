"""FW: Frank-Wolfe on the likelihood alone, sparse mixtures."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from opelda.engines.seam import FWSettings
from opelda.inference._method import Document, Method, Vector, count, one_of

# probabilities below this count as this, so that a vertex that lacks a word has a finite slope
SMALLEST = 1e-30


@dataclass
class FW(Method):
    """Frank-Wolfe: maximise the log-likelihood sum_j d_j log x_j, one topic at a time.

    The walk starts at the topic that explains the document best on its own and goes, step by step,
    towards the topic with the steepest slope (the lowest index among equals). The prior plays no
    part. After n_iter steps at most n_iter + 1 topics have a share; all others have exactly none.

    Parameters
    ----------
    n_iter : int
        Number of steps.
    step : {"than-ho", "textbook"}
        2/(t + 3) or 2/(t + 2) for t = 0, 1, ...; the textbook's first step is 1 and forgets where
        it started.

    References
    ----------
    Than & Ho, "Fully sparse topic models" (ECML PKDD 2012); Than & Ho, "Inference in topic models:
    sparsity and trade-off" (2015); Clarkson, "Coresets, sparse greedy approximation, and the
    Frank-Wolfe algorithm" (2010).

    Examples
    --------
    >>> from opelda.inference import infer
    >>> topics = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    >>> result = infer([[4, 0, 2]], topics, method=FW(n_iter=100))
    >>> result.theta.round(1)
    array([[0.7, 0. , 0.3]], dtype=float32)
    >>> bool(result.likelihood_gap[0] < 0.1)
    True
    """

    name: ClassVar[str] = "fw"
    can_be_cut: ClassVar[bool] = True

    n_iter: int = count(50)
    step: Literal["than-ho", "textbook"] = one_of("than-ho", "textbook")

    def kernel(self, n_topics: int, seed: int) -> FWSettings:
        return FWSettings(self._steps())

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        d, beta = document.counts, document.beta
        vertices = np.eye(len(beta))
        theta: Vector = vertices[np.argmax(np.log(np.maximum(beta, SMALLEST)) @ d)]
        for step in self._steps():
            x = np.maximum(theta @ beta, SMALLEST)
            theta = (1 - step) * theta + step * vertices[np.argmax(beta @ (d / x))]
        return theta, int(self.n_iter)

    def _steps(self) -> Vector:
        first = 3.0 if self.step == "than-ho" else 2.0
        return 2.0 / np.arange(first, first + self.n_iter)
