"""CGS: collapsed Gibbs sampling of a document's topic assignments."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from opelda.engines.seam import CGSSettings, uniforms
from opelda.inference._method import Document, Method, Vector, count


@dataclass
class CGS(Method):
    """Collapsed Gibbs sampling: the topic z of each token, drawn in turn given all others.

    P(z = k) is proportional to (alpha_k + N_k) beta_kj; N_k counts the document's other tokens in
    topic k. The first sweep places the tokens one after another. The mixture is the mean of
    (alpha + N) / (sum(alpha) + |d|) over the counted sweeps. A count of 2.5 is three tokens, of
    weights 1, 1 and 0.5; a document has at most 10^8. Griffiths & Steyvers (PNAS 2004); Mimno,
    Hoffman & Blei (ICML 2012).

    Parameters
    ----------
    burn_in, n_samples : int
        Sweeps discarded, then sweeps counted.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> topics = [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]
    >>> result = infer([[40, 0, 20]], topics, method=CGS(), random_state=0)
    >>> bool(0.5 < result.theta[0, 0] < 0.9)
    True
    """

    name: ClassVar[str] = "cgs"
    expects_logs: ClassVar[bool] = True

    burn_in: int = count(25, 0)
    n_samples: int = count(25)

    def kernel(self, n_topics: int, seed: int) -> CGSSettings:
        return CGSSettings(int(self.burn_in), int(self.n_samples), seed)

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        beta, alpha = document.beta, document.alpha
        words, weights = tokens(document.counts)
        n_sweeps = self.burn_in + self.n_samples
        z = np.zeros(len(words), np.int64)
        sizes, mean = np.zeros_like(alpha), np.zeros_like(alpha)
        for sweep in range(n_sweeps):
            u = uniforms(document.key, sweep * len(words), len(words))
            for i, (j, w) in enumerate(zip(words, weights, strict=True)):
                if sweep > 0:
                    sizes[z[i]] -= w
                # N_k beta_kj before alpha_k beta_kj: of the former few are not zero
                ends = np.cumsum(np.concatenate((sizes * beta[:, j], alpha * beta[:, j])))
                at = np.searchsorted(ends, u[i] * ends[-1], side="right")
                z[i] = at % len(alpha)
                sizes[z[i]] += w
            if sweep >= self.burn_in:
                mean += sizes / self.n_samples
        return (mean + alpha) / (document.n_tokens + alpha.sum()), n_sweeps


def tokens(counts: Vector) -> tuple[NDArray[np.int64], Vector]:
    """Return each token's word (its position in the document) and weight.

    >>> tokens(np.array([1.0, 2.5]))
    (array([0, 1, 1, 1]), array([1. , 1. , 1. , 0.5]))
    """
    each = np.ceil(counts).astype(np.int64)
    words = np.repeat(np.arange(len(counts)), each)
    weights = np.ones(len(words))
    weights[np.cumsum(each) - 1] = counts - (each - 1)
    return words, weights
