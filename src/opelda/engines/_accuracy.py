"""The accuracy that mixtures are asked to have, and how those that have less are made good."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from opelda.engines._solutions import put, with_rows
from opelda.engines.seam import Accuracy, Picks, Rows, Solution, Task, Wanted, is_concave

# Nats to which the optimum is known where it only serves to say how good another mixture is.
CLOSE = 0.01
# What the sums of certificates may be off, a token: those of OPE know the start's words in single
# precision only.
OFF_PER_TOKEN = 3e-7


def kept(
    infer: Callable[[Rows, Task, Wanted], Solution], rows: Rows, task: Task, wanted: Wanted
) -> Solution:
    """Infer, and keep what was promised: exact mixtures where the method's are not good enough.

    Where bounds are to be close, the exact mixture is also found of those that are good enough, for
    L(q) - L(theta) = (L(q) - L(best)) + (L(best) - L(theta)), and the first is at most the best
    one's own bound: with it in hand, how far another is behind is known closely. (Not where the
    prior counts: exact mixtures take long then.)
    """
    accuracy, alpha = task.accuracy, task.alpha
    bounded = accuracy is not None or (wanted.close and wanted.certificate)
    found = _bounded(infer, rows, task, wanted) if bounded else infer(rows, task, wanted)
    if not bounded:
        return found
    close = wanted.close and wanted.certificate and task.exact is not None and not is_concave(alpha)
    n_tokens = rows.tokens()
    loss = _losses(found, n_tokens, alpha).copy()
    asked = accuracy or Accuracy()
    limits = asked.limits(n_tokens)
    some = np.flatnonzero((loss > (np.minimum(limits, CLOSE) if close else limits)) & ~rows.empty)
    most = min(asked.max_loss, CLOSE)
    exact = None if task.exact is None else task.exact(most, asked.max_loss_per_token)
    if len(some) and exact != task.method:
        assert exact is not None
        best = _bounded(infer, rows.take(some), replace(task, method=exact), wanted)
        best_loss = _losses(best, n_tokens[some], alpha)
        missed = np.flatnonzero((loss[some] > limits[some]) & (best_loss < loss[some]))
        if close:
            assert found.certificate is not None
            assert best.certificate is not None
            behind = best.certificate.log_likelihood - found.certificate.log_likelihood[some]
            behind = np.maximum(behind + OFF_PER_TOKEN * n_tokens[some], 0.0)
            # where a word is impossible, the likelihood that is stated is not the true one
            loss[some] = np.where(
                np.isinf(loss[some]), np.inf, np.minimum(loss[some], best_loss + behind)
            )
        loss[some[missed]] = best_loss[missed]
        found = replaced(found, some[missed], best, missed)
        if close and found.certificate is not None:
            found.certificate.likelihood_loss[some] = loss[some]
    found = replace(found, loss=loss, n_tokens=n_tokens)
    return found if wanted.certificate else replace(found, certificate=None)


def _losses(
    found: Solution, n_tokens: NDArray[np.float64], alpha: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what any mixture can be ahead, at the most: in log-likelihood, or in f if concave."""
    if found.loss is not None:
        return found.loss
    certificate = found.certificate
    assert certificate is not None
    if not is_concave(alpha):
        return certificate.likelihood_loss
    weight = n_tokens + (alpha - 1).sum()  # f is a sum of logarithms that weigh so much
    loss: NDArray[np.float64] = weight * (np.log1p(certificate.gap / weight) + 1e-11)
    if found.theta is not None:  # a share of 0 that the prior asks for is the logarithm of 0
        loss[(found.theta[:, alpha > 1] == 0).any(axis=1)] = np.inf
    return loss


def _bounded(
    infer: Callable[[Rows, Task, Wanted], Solution], rows: Rows, task: Task, wanted: Wanted
) -> Solution:
    """Infer, with bounds of what is lost: the method's own where it has them, else certificates."""
    if task.method.knows_loss:
        found = infer(rows, task, wanted)
        if found.loss is not None or found.certificate is not None:
            return found
    return infer(rows, task, replace(wanted, certificate=True))


def replaced(
    found: Solution, rows: NDArray[np.intp], best: Solution, of: NDArray[np.intp]
) -> Solution:
    """Return the solution with other mixtures for some rows."""
    if not len(rows):
        return found
    found.n_iter[rows] += best.n_iter[of]
    if found.loss is not None and best.loss is not None:
        found.loss[rows] = best.loss[of]
    if found.theta is not None:
        put(found.theta, rows, best.dense()[of])
    if found.certificate is not None and best.certificate is not None:
        for name, values in vars(found.certificate).items():
            values[rows] = getattr(best.certificate, name)[of]
    if found.picks is None:
        return found
    both = with_rows(found.picked(), rows, best.as_csr()[of])
    rest = found.picks.rest.copy()
    rest[rows] = 0.0
    parts = both.indptr.astype(np.int64), both.indices.astype(np.int32), both.data
    return replace(found, picks=Picks(*parts, rest, found.picks.start))
