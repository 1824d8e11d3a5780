"""f, gap and loss after each iteration."""

import numpy as np
import pytest

from opelda.corpus import generate
from opelda.engines.seam import content_keys, seeded
from opelda.errors import InputError
from opelda.inference import EM, FW, OPE, infer
from opelda.report.plots import plot_history
from tests.cases import cases

MADE = generate(6, n_words=40, n_topics=5, n_tokens=30, random_state=3)
X, TOPICS = MADE.X, MADE.topics


@pytest.mark.parametrize("method", [EM(n_iter=5), FW(n_iter=5)], ids=["em", "fw"])
def test_history_equals_runs_of_fewer_iterations(method):
    found = infer(X, TOPICS, method=method, history=True, n_jobs=1)
    assert found.history.n_iter.tolist() == [1, 2, 3, 4, 5]
    for t in (1, 3, 5):
        fewer = infer(X, TOPICS, method=type(method)(n_iter=t), n_jobs=1)
        for name in ("objective", "gap", "loss"):
            assert np.allclose(getattr(found.history, name)[t - 1], getattr(fewer, name))


@cases("variant", ["ope", "ope2", "ope3", "ope4"])
@cases("schedule", ["practical", "literal"])
def test_last_entry_of_opes_history_is_its_result(variant, schedule):
    method = OPE(n_iter=12, variant=variant, schedule=schedule)
    how = {"method": method, "random_state": 4, "n_jobs": 1}
    found = infer(X, TOPICS, history=True, **how)
    assert found.history.n_iter[-1] == 12
    assert found.history.n_iter[0] == (2 if schedule == "practical" else 1)
    for name in ("objective", "gap", "loss"):
        assert np.array_equal(getattr(found.history, name)[-1], getattr(found, name))
    assert np.array_equal(infer(X, TOPICS, **how).theta, found.theta)  # which stays the same


def test_ope_uses_the_given_coins():
    """Algorithm 1, recomputed: after each step f equals that of the walk."""
    method, alpha, seed = OPE(n_iter=9), 0.3, 4
    how = {"doc_topic_prior": alpha, "engine": "reference", "random_state": seed}
    found = infer(X, TOPICS, method=method, history=True, **how)
    walk = method._settings(5, seed)
    rows = X.indptr.astype(np.int64), X.indices, X.data
    keys = seeded(content_keys(*rows, None), seed)
    for i in range(X.shape[0]):
        part = slice(X.indptr[i], X.indptr[i + 1])
        d, beta = X.data[part].astype(float), TOPICS[:, X.indices[part]]
        picks, own = np.full(5, 0.2), int(keys[i]) % len(walk.a)
        for s in range(8):
            theta = picks / picks.sum()
            slope = walk.a[own, s] * (beta @ (d / (theta @ beta)))
            slope += walk.b[own, s] * (alpha - 1) / theta
            picks[np.argmax(slope)] += 1
            theta = picks / picks.sum()
            f = d @ np.log(theta @ beta) + (alpha - 1) * np.log(theta).sum()
            assert found.history.objective[s, i] == pytest.approx(f, rel=1e-5)


def test_no_other_mixture_beats_the_stated_loss():
    found = infer(X, TOPICS, history=True, random_state=0, n_jobs=1)
    best = infer(X, TOPICS, method="exact", n_jobs=1).log_likelihood
    prior = found.objective - found.log_likelihood
    assert found.history.loss.min() >= 0
    assert (found.history.loss[-1] + 1e-6 >= best - (found.objective - prior)).all()
    lines = plot_history(found).lines
    assert np.allclose(lines[1].get_ydata(), found.history.loss.mean(axis=1))


def test_methods_without_history_raise():
    with pytest.raises(InputError, match="history is supported by ope, em and fw only"):
        infer(X, TOPICS, method="vb", history=True)
    with pytest.raises(InputError, match="found has no history"):
        plot_history(infer(X, TOPICS))
