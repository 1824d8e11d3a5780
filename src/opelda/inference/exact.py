"""Exact: the likeliest mixture, to within the loss that is asked."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from opelda._validation import number
from opelda.engines.seam import Accuracy, ExactSettings, is_concave
from opelda.inference._method import Document, Method, Vector, checked

LEAST_LOSS = 1e-9  # nats: sums in double precision are good for little more
DEFAULT_LOSS = 0.01
MOST_STEPS, MOST_WORK = 1000, 2**38  # of a document; multiply-adds
# Where the barrier ends, in parts of the tokens, and what is no share any more then: the barrier
# holds a topic without one at about its own size.
LAST_BARRIER, NO_SHARE = 1e-13, 1e-8


@dataclass(frozen=True)
class PerToken:
    """An accuracy in nats per token, where a plain number is in nats per document.

    Parameters
    ----------
    nats : float
        The most that a document may lose for each of its tokens; from 1e-9.
    at_most : float or None
        The most that a document may lose in total; None is no limit.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> result = infer([[4, 0, 2]], [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], max_loss=PerToken(1e-3))
    >>> bool(result.loss[0] <= 6e-3)
    True
    """

    nats: float
    at_most: float | None = None


def accuracy_of(max_loss: Any) -> Accuracy | None:
    """Validate a requested accuracy; None if not given."""

    def limit(value: Any) -> float:
        return np.inf if value is None else number("max_loss", value, LEAST_LOSS, 1e300)

    if max_loss is None:
        return None
    if isinstance(max_loss, PerToken):
        nats = number("max_loss", max_loss.nats, LEAST_LOSS, 1e300)
        return Accuracy(limit(max_loss.at_most), nats)
    return Accuracy(limit(max_loss))


@dataclass
class Exact(Method):
    """The most likely mixture: no other is ahead by more than `max_loss`.

    The log-likelihood sum_j d_j log x_j is concave in the mixture, so its maximum can be found and
    proved: at any mixture theta no other is ahead by more than N log(max_k G_k / N), G_k = sum_j
    d_j beta_kj / x_j. The kernel keeps a few topics, climbs to their maximum by Newton's method,
    looks at all topics' G_k once, and takes in those that are too steep, until the number is small
    enough. About ten topics of a hundred have a share in the end, all others exactly none.

    The prior plays no part where some alpha_k < 1, since the posterior then has no maximum. Where
    all are at least 1 and some are more, the posterior's maximum is found, and `max_loss` is meant
    in its logarithm; every topic has a share then, and a document takes milliseconds.

    Parameters
    ----------
    max_loss : float, PerToken or None
        The most that any mixture may be ahead, in nats per document; from 1e-9. None: what `infer`
        or the model is asked for, and 0.01 if that is nothing.

    References
    ----------
    Kim et al., "A fast algorithm for maximum likelihood estimation of mixture proportions using
    sequential quadratic programming" (2020), and Lindsay, "Mixture models: theory, geometry and
    applications" (1995), on the problem; the bound is Jensen's inequality. docs/inference.md has
    the theorem.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> topics = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    >>> result = infer([[4, 0, 2]], topics, method=Exact(max_loss=1e-6))
    >>> result.theta.round(3)
    array([[0.714, 0.   , 0.286]], dtype=float32)
    >>> bool(result.loss[0] <= 1e-6)
    True
    """

    name: ClassVar[str] = "exact"
    knows_loss: ClassVar[bool] = True

    max_loss: float | PerToken | None = checked(None, lambda _, value: accuracy_of(value))

    def kernel(self, n_topics: int, seed: int) -> ExactSettings:
        return ExactSettings(**vars(self.accuracy()))

    def accuracy(self, asked: Accuracy | None = None) -> Accuracy:
        """Return what mixtures may lose: as its parameters say, and no more than is asked."""
        own = accuracy_of(self.max_loss)
        if own is None or asked is None:
            return own or asked or Accuracy(DEFAULT_LOSS)
        return Accuracy(
            min(own.max_loss, asked.max_loss),
            min(own.max_loss_per_token, asked.max_loss_per_token),
        )

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        """Return one document's mixture and the number of Newton's steps.

        A path to the maximum of F(w) = sum_j d_j log x_j + sum_k (a_k + barrier) log w_k - M sum_k
        w_k from inside, with ever lower barriers; M is such that w sums to 1 in the end. It has
        nothing in common with the kernels but the problem, and no use for a limit: it goes as far
        as double precision does.
        """
        d, beta, n_tokens = document.counts, document.beta, document.n_tokens
        weight = document.alpha - 1 if is_concave(document.alpha) else np.zeros(len(beta))
        w = np.full(len(beta), 1.0 / len(beta))
        barrier, n_steps = n_tokens / len(beta), 0
        most = min(MOST_STEPS, 1 + MOST_WORK // (beta.size * min(beta.shape)))
        while barrier > LAST_BARRIER * n_tokens and n_steps < most:
            a = weight + barrier
            slope, step = _newton(d, beta, a, w)
            rise = float(slope @ step)
            with np.errstate(divide="ignore"):
                length = min(1.0, 0.99 * float(np.min(np.where(step < 0, -w / step, np.inf))))
            before = _objective(d, beta, a, w)
            while length > 1e-12 and not (
                _objective(d, beta, a, w + length * step) >= before + 1e-4 * length * rise
            ):
                length /= 2
            w = w + length * step
            n_steps += 1
            if rise < 1e-3 * max(barrier, 1e-12 * n_tokens) or length <= 1e-12:
                barrier *= 0.1
        keep = (w >= NO_SHARE) | (weight > 0)
        rare = ~(beta[keep] > 0).any(axis=0)  # no word may become impossible
        keep[(beta[:, rare] * w[:, None]).argmax(axis=0)] = True
        w[~keep] = 0.0
        return w / w.sum(), n_steps


def _objective(d: Vector, beta: Vector, a: Vector, w: Vector) -> float:
    total = d.sum() + a.sum()
    return float(d @ np.log(w @ beta) + a @ np.log(w) - total * w.sum())


def _newton(d: Vector, beta: Vector, a: Vector, w: Vector) -> tuple[Vector, Vector]:
    """Return the slope of the objective and Newton's step, by a system of words or of topics.

    The curvature is C = diag(a / w^2) + B diag(d / x^2) B^T: with fewer words than topics the
    formula of Woodbury has the smaller system.
    """
    x = w @ beta
    slope = beta @ (d / x) + a / w - (d.sum() + a.sum())
    scaled = beta * (np.sqrt(d) / x)  # (K, n)
    diagonal = a / w**2
    n_topics, n_words = beta.shape
    if n_topics <= n_words:
        curvature = scaled @ scaled.T
        curvature[np.diag_indices(n_topics)] += diagonal
        return slope, np.linalg.solve(curvature, slope)
    within = scaled.T @ (scaled / diagonal[:, None])
    within[np.diag_indices(n_words)] += 1.0
    first = slope / diagonal
    return slope, first - (scaled @ np.linalg.solve(within, scaled.T @ first)) / diagonal


def as_exact(max_loss: float, max_loss_per_token: float) -> Exact:
    """Return the method with these limits, of which infinity is none."""
    whole = None if np.isinf(max_loss) else max_loss
    return Exact(whole if np.isinf(max_loss_per_token) else PerToken(max_loss_per_token, whole))
