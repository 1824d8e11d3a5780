"""The rules "scvb0" and "sgrld": defaults, streams, files and errors."""

import numpy as np
import pytest

import opelda
from opelda import TopicModel
from opelda.corpus import generate, generate_stream
from opelda.engines import ReferenceEngine
from opelda.errors import InputError
from opelda.inference import CVB0, EM, OPE
from opelda.learning._rules import SCVB0, SGRLD
from tests import equations
from tests.cases import cases

K, V = 4, 40


def made(seed):
    return generate(120, n_words=V, n_topics=K, n_tokens=30, separated=True, random_state=seed).X


X = made(3)
STREAM = list(generate_stream(200, batch_size=20, n_words=40, n_topics=3, new_words_per_batch=15))
every_rule = pytest.mark.parametrize("rule", ["scvb0", "sgrld"])


def make(rule, **options):
    options = {"preset": "paper", "batch_size": 30, "random_state": 0} | options
    return TopicModel(K, learning=rule, **options)


def everything(model):
    weights = model._state.weights
    return weights.host().rows.tobytes(), weights.scale, weights.prior_weight, model.n_batch_iter_


@cases("preset", ["best", "fast", "paper"])
def test_rules_have_a_default_method(preset):
    scvb0 = TopicModel(preset=preset, learning="scvb0")
    assert scvb0._settings()["inference"] == CVB0(burn_in=1, n_samples=1)
    assert isinstance(scvb0._settings()["learning"], SCVB0)
    assert TopicModel(learning="scvb0", inference="ope")._settings()["inference"] == OPE()
    assert isinstance(TopicModel(preset=preset, learning="sgrld")._settings()["learning"], SGRLD)
    for rule in ("scvb0", "sgrld"):
        assert isinstance(TopicModel(preset=preset, learning=rule)._transform_method(), EM)


@pytest.mark.parametrize("inference", ["cgs", OPE()])
def test_sgrld_rejects_a_method(inference):
    with pytest.raises(InputError, match=r"inference has no effect with the rule"):
        make("sgrld", inference=inference).fit(X)
    with pytest.raises(InputError, match="n_components must be a whole number, from 1 to 65,535"):
        TopicModel(65536, preset="paper", learning="sgrld").fit(X)


def test_steps_of_sgrld_shrink(monkeypatch):
    steps, update = [], SGRLD.update

    def watched(self, engine, weights, documents, task, step, **chosen):
        steps.append(step.rho)
        return update(self, engine, weights, documents, task, step, **chosen)

    monkeypatch.setattr(SGRLD, "update", watched)
    make(SGRLD(offset=3.0, decay=0.7)).fit(X)
    assert steps == pytest.approx([4**-0.7, 5**-0.7, 6**-0.7, 7**-0.7])


@every_rule
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_resumed_stream_ends_with_identical_bytes(tmp_path, rule, n_jobs):
    whole = make(rule).fit_stream(STREAM)

    def kill(report):
        if model.n_batch_iter_ == 5:
            raise KeyboardInterrupt

    options = {"checkpoint": tmp_path / "live", "every": 2}
    model = make(rule, n_jobs=n_jobs, callbacks=kill)
    with pytest.raises(KeyboardInterrupt):
        model.fit_stream(STREAM, **options)
    again = make(rule, n_jobs=n_jobs).fit_stream(STREAM, **options)
    assert everything(again) == everything(whole)
    assert again.n_features_in_ == whole.n_features_in_ > 40
    saved = tmp_path / "model.opelda"
    opelda.save(again, saved)
    loaded = opelda.load(saved)
    assert loaded.learning == rule
    for model in (loaded, whole):
        model.fit_stream(STREAM[:3])
    assert everything(loaded) == everything(whole)


@every_rule
def test_sum_over_parts_equals_the_whole(rule):
    whole = make(rule).partial_fit(X)
    parts = make(rule).partial_fit(X[:60]).partial_fit(X[60:])
    assert everything(whole) == everything(parts)
    assert everything(make(rule, random_state=1).partial_fit(X)) != everything(whole)


def test_engines_agree_on_scvb0():
    found = [make("scvb0", engine=e).fit(X).components_ for e in ("cpu", "reference")]
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("seed", range(1))
def test_engines_agree_on_sgrld(seed):
    """Tokens are drawn alike but where rounding decides; so the topics are, up to a few tokens."""
    found = [
        make("sgrld", engine=engine, random_state=seed).partial_fit(made(seed)[:30]).components_
        for engine in ("cpu", "reference")
    ]
    assert np.abs(found[0] - found[1]).sum(axis=1).max() < 0.02


@pytest.mark.parametrize("seed", range(5))
def test_scvb0_converges_to_a_fixed_point(seed):
    """A fixed point of CVB0: N_kj = sum_d d_j phi_djk, with phi from N + eta and its mixtures."""
    some = made(seed)[:40]
    dense = some.toarray().astype(np.float64)
    method = CVB0(burn_in=20, n_samples=5)
    rule = SCVB0(decay=0.3)
    model = make(rule, inference=method, batch_size=len(dense), n_passes=150, random_state=seed)
    model.fit(some)
    weights, engine = model._state.weights, ReferenceEngine()
    n = weights.scale * weights.rows[:, :K].T.astype(np.float64)
    eta = 1 / K
    beta = (n + eta) / (n + eta).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.components_, beta, rtol=1e-5)
    np.testing.assert_allclose(n.sum(), dense.sum(), rtol=1e-5)
    theta = opelda.inference.infer(some, beta, method=method, engine=engine).theta
    explained = equations.statistics(beta, dense, theta)
    assert np.abs(explained - n).sum() < 0.03 * dense.sum()
    start = make("scvb0", inference=method, batch_size=len(dense), random_state=seed).fit(some)
    before = start._state.weights
    assert np.abs(n - before.scale * before.rows[:, :K].T).sum() > 0.1 * dense.sum()
