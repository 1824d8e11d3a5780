"""Exact: the most likely mixture, to within a given loss."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from opelda._validation import number
from opelda.engines.seam import Accuracy, ExactSettings, is_concave
from opelda.inference._method import Document, Method, Vector, checked


@dataclass(frozen=True)
class PerToken:
    """An accuracy in nats per token; a plain number is in nats per document.

    Parameters
    ----------
    nats : float
        The largest loss per token; from 1e-9.
    at_most : float or None
        The largest loss of a document; None is no limit.

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

    if max_loss is None:
        return None

    def limit(nats: Any) -> float:  # sums in double precision are good to about 1e-9
        return number("max_loss", nats, 1e-9, 1e300)

    if not isinstance(max_loss, PerToken):
        return Accuracy(limit(max_loss))
    nats, at_most = limit(max_loss.nats), max_loss.at_most
    return Accuracy(np.inf if at_most is None else limit(at_most), nats)


@dataclass
class Exact(Method):
    """The most likely mixture: no other is ahead by more than `max_loss`.

    At a mixture theta no other is ahead by more than N log(max_k G_k / N), G_k = sum_j d_j beta_kj
    / x_j. The kernel climbs to the maximum of a few topics by Newton's method, and adds topics
    whose G_k is too steep until the bound is small enough; all others have exactly no share. Where
    all alpha_k are at least 1 and some are more, the posterior's maximum is found instead, and
    every topic has a share. Lindsay (1995); Kim et al. (2020); docs/inference.md has the theorem.
    For known topics and under conditions, the most likely mixture can be exactly sparse without
    regularisation, and attains the minimax rate of the L1 error (Bing, Bunea, Strimas-Mackey &
    Wegkamp, Annals of Statistics 50(6), 2022).

    Parameters
    ----------
    max_loss : float, PerToken or None
        The largest loss, in nats per document; from 1e-9. None: the accuracy that `infer` or the
        model asks for, else 0.01.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> topics = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    >>> infer([[4, 0, 2]], topics, method=Exact(max_loss=1e-6)).theta.round(3)
    array([[0.714, 0.   , 0.286]], dtype=float32)
    """

    name: ClassVar[str] = "exact"
    knows_loss: ClassVar[bool] = True

    max_loss: float | PerToken | None = checked(None, lambda _, value: accuracy_of(value))

    def kernel(self, n_topics: int, seed: int) -> ExactSettings:
        return ExactSettings(**vars(self.accuracy()))

    def accuracy(self, asked: Accuracy | None = None) -> Accuracy:
        """Return the stricter of the own and the requested accuracy."""
        own = accuracy_of(self.max_loss)
        if own is None or asked is None:
            return own or asked or Accuracy(0.01)
        return Accuracy(
            min(own.max_loss, asked.max_loss),
            min(own.max_loss_per_token, asked.max_loss_per_token),
        )

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        """Return one document's mixture and the number of Newton steps.

        An interior-point path to the maximum of F(w) = sum_j d_j log x_j + sum_k (a_k + barrier)
        log w_k - M sum_k w_k, as far as double precision goes; M makes w sum to 1.
        """
        d, beta, n_tokens = document.counts, document.beta, document.n_tokens
        weight = document.alpha - 1 if is_concave(document.alpha) else np.zeros(len(beta))
        w = np.full(len(beta), 1.0 / len(beta))
        barrier, n_steps = n_tokens / len(beta), 0
        most = min(1000, 1 + 2**38 // (beta.size * min(beta.shape)))  # multiply-adds
        while barrier > 1e-13 * n_tokens and n_steps < most:
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
        # the last barrier holds a topic without a share at about its own size
        keep = (w >= 1e-8) | (weight > 0)
        rare = ~(beta[keep] > 0).any(axis=0)  # no word may become impossible
        keep[(beta[:, rare] * w[:, None]).argmax(axis=0)] = True
        w[~keep] = 0.0
        return w / w.sum(), n_steps


def _objective(d: Vector, beta: Vector, a: Vector, w: Vector) -> float:
    total = d.sum() + a.sum()
    return float(d @ np.log(w @ beta) + a @ np.log(w) - total * w.sum())


def _newton(d: Vector, beta: Vector, a: Vector, w: Vector) -> tuple[Vector, Vector]:
    """Return the objective's slope and Newton's step.

    The curvature is diag(a / w^2) + B diag(d / x^2) B^T; Woodbury's formula makes the system as
    small as the fewer of topics and words.
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
    """Return the method with these limits; infinity is no limit."""
    whole = None if np.isinf(max_loss) else max_loss
    return Exact(whole if np.isinf(max_loss_per_token) else PerToken(max_loss_per_token, whole))
