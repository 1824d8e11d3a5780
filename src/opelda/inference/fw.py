"""FW and OFW: Frank-Wolfe on the likelihood, and online over the tokens of a document."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from opelda.engines.seam import FWSettings, uniforms
from opelda.inference._method import (
    FLOOR,
    SMALLEST,
    Document,
    Method,
    Vector,
    between,
    count,
    one_of,
)


@dataclass
class FW(Method):
    """Frank-Wolfe: maximise the log-likelihood sum_j d_j log x_j, one topic at a time.

    The walk starts at the single topic with the highest likelihood. Each step goes towards the
    topic with the steepest slope (the lowest index among equals). The prior plays no part. At most
    n_iter + 1 topics have a share, all others exactly zero. Than & Ho (ECML PKDD 2012; 2015);
    Clarkson (2010).

    Parameters
    ----------
    n_iter : int
        Number of steps.
    step : {"than-ho", "textbook"}
        2/(t + 3) or 2/(t + 2) for t = 0, 1, ...; the textbook's first step forgets the start.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> topics = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    >>> infer([[4, 0, 2]], topics, method=FW(n_iter=100)).theta.round(1)
    array([[0.7, 0. , 0.3]], dtype=float32)
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
        theta: Vector = vertices[np.argmax(np.log(np.maximum(beta, FLOOR)) @ d)]
        for step in self._steps():
            x = np.maximum(theta @ beta, FLOOR)
            theta = (1 - step) * theta + step * vertices[np.argmax(beta @ (d / x))]
        return theta, int(self.n_iter)

    def _steps(self) -> Vector:
        first = 3.0 if self.step == "than-ho" else 2.0
        return 2.0 / np.arange(first, first + self.n_iter)


@dataclass
class OFW(Method):
    """Online Frank-Wolfe (Hazan & Kale, ICML 2012): the document's tokens arrive at random.

    f is the mean over tokens i of N log x_(w_i) + log prior. Iteration t draws a token (word j with
    probability d_j / N) and moves, by t^-a, towards the topic that maximises the gradient of the
    mean over the t terms seen so far::

        (N / t) sum_j c_j beta_kj / x_j + (alpha_k - 1) / theta_k     c_j: times word j was drawn

    The first draw moves nothing: a step of 1 would land on a vertex. The paper's guarantee is for
    concave f, here alpha >= 1.

    Parameters
    ----------
    n_iter : int
        Tokens drawn; one more than the moves.
    step_decay : float
        a, above 0.5 and at most 1. At 1 the mixture is the mean of all vertices so far.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> topics = [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]
    >>> result = infer([[4, 0, 2]], topics, method=OFW(n_iter=500), doc_topic_prior=1.5,
    ...                random_state=0)
    >>> bool(result.gap[0] < 1.0)
    True
    """

    name: ClassVar[str] = "ofw"

    n_iter: int = count(300, 2)
    step_decay: float = between(1.0, 0.5, 1.0, above=True)

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        beta, n_topics = document.beta, len(document.alpha)
        ends = np.cumsum(document.counts) / document.n_tokens
        drawn = np.searchsorted(ends[:-1], uniforms(document.key, 0, self.n_iter), side="right")
        seen = np.zeros(len(ends))
        seen[drawn[0]] = 1
        theta = np.full(n_topics, 1 / n_topics)
        for t, word in enumerate(drawn[1:], start=2):
            seen[word] += 1
            x = document.word_probabilities(theta)
            slope = document.n_tokens / t * (beta @ (seen / x))
            slope += (document.alpha - 1) / np.maximum(theta, SMALLEST)
            theta *= 1 - t**-self.step_decay
            theta[np.argmax(slope)] += t**-self.step_decay
        return theta, self.n_iter
