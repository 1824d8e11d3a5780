"""OFW: online Frank-Wolfe (Hazan & Kale 2012) over the tokens of a document."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opelda.engines.seam import uniforms
from opelda.inference._method import SMALLEST, Document, Method, Vector, between, count


@dataclass
class OFW(Method):
    """Online Frank-Wolfe: the document's tokens arrive at random, one per iteration.

    f is the mean over tokens i of N log x_(w_i) + log prior. Iteration t draws a token (word j with
    probability d_j / N, with replacement) and moves, by t^-a, towards the topic that maximises the
    gradient, at the current mixture, of the mean over the t terms seen so far::

        (N / t) sum_j c_j beta_kj / x_j + (alpha_k - 1) / theta_k     c_j: times word j was drawn

    The first draw moves nothing: a step of 1^-a would land on a vertex. (Drawing from {likelihood,
    prior} in place of tokens would be OPE.) The paper's guarantee is for concave f, here
    alpha >= 1; on documents longer than n_iter it sees no more than n_iter of the tokens.

    Parameters
    ----------
    n_iter : int
        T, the tokens drawn; T - 1 moves.
    step_decay : float
        a, above 0.5 and at most 1. At 1 the mixture is the mean of all vertices so far; below 1 it
        forgets early ones, which were chosen after few tokens.

    References
    ----------
    Hazan & Kale, "Projection-free online learning", ICML (2012).

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
