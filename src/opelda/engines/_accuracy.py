"""The accuracy that mixtures are asked to have: those with less are replaced by exact mixtures."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opelda.engines._solutions import put, with_rows
from opelda.engines.seam import Accuracy, Picks, Rows, Solution, Task, Wanted, is_concave

Infer: TypeAlias = Callable[[Rows, Task, Wanted], Solution]


def kept(infer: Infer, rows: Rows, task: Task, wanted: Wanted) -> Solution:
    """Infer, and replace mixtures that are not proved to have the accuracy by exact ones.

    Where bounds are to be close, the exact mixture is found of all others, too, for
    L(q) - L(theta) = (L(q) - L(best)) + (L(best) - L(theta)), and the first is at most the bound
    of the best. (Not where the prior counts: exact mixtures take long then.)
    """
    close, alpha = wanted.close and wanted.certificate, task.alpha
    if task.accuracy is None and not close:
        return infer(rows, task, wanted)
    found = _bounded(infer, rows, task, wanted)
    close = close and task.exact is not None and not is_concave(alpha)
    n_tokens = rows.tokens()
    loss = _losses(found, n_tokens, alpha).copy()
    asked = task.accuracy or Accuracy()
    limits, near = asked.limits(n_tokens), 0.01  # nats, where the optimum is only compared with
    some = np.flatnonzero((loss > (np.minimum(limits, near) if close else limits)) & ~rows.empty)
    exact = task.exact and task.exact(min(asked.max_loss, near), asked.max_loss_per_token)
    if len(some) and exact != task.method:
        assert exact is not None
        best = _bounded(infer, rows.take(some), replace(task, method=exact), wanted)
        best_loss = _losses(best, n_tokens[some], alpha)
        missed = np.flatnonzero((loss[some] > limits[some]) & (best_loss < loss[some]))
        if close:
            assert found.certificate is not None
            assert best.certificate is not None
            behind = best.certificate.log_likelihood - found.certificate.log_likelihood[some]
            # (room for the sums of OPE's certificates: the start's words are in single precision)
            behind = np.maximum(behind + 3e-7 * n_tokens[some], 0.0)
            # where a word is impossible, the stated likelihood is not the true one
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
    """Bound any mixture's lead: in log-likelihood, or in f where f is concave."""
    if found.loss is not None:
        return found.loss
    certificate = found.certificate
    assert certificate is not None
    if not is_concave(alpha):
        return certificate.likelihood_loss
    weight = n_tokens + (alpha - 1).sum()  # of the logarithms whose sum f is
    loss: NDArray[np.float64] = weight * (np.log1p(certificate.gap / weight) + 1e-11)
    if found.theta is not None:  # a share of 0 that the prior asks for is the logarithm of 0
        loss[(found.theta[:, alpha > 1] == 0).any(axis=1)] = np.inf
    return loss


def _bounded(infer: Infer, rows: Rows, task: Task, wanted: Wanted) -> Solution:
    """Infer, with the method's own bounds where it has them, else with certificates."""
    if task.method.knows_loss:
        found = infer(rows, task, wanted)
        if found.loss is not None or found.certificate is not None:
            return found
    return infer(rows, task, replace(wanted, certificate=True))


def replaced(
    found: Solution, rows: NDArray[np.intp], best: Solution, of: NDArray[np.intp]
) -> Solution:
    """Return the solution with the mixtures `of` another for some rows."""
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
