"""The method of `transform`, chosen independently of the learning method."""

import numpy as np
import pytest

import opelda
from opelda import OnlineOPE, TopicModel
from opelda.corpus import generate
from opelda.errors import InputError
from opelda.inference import EM, FW, METHODS, OPE, infer
from opelda.learning import LEARNERS
from opelda.metrics import log_predictive_probability, split_tokens
from tests.cases import cases

K = 4
X = generate(60, n_words=30, n_topics=K, n_tokens=20, random_state=0).X
MODELS = [*LEARNERS.items(), ("by vb", lambda *a, **p: TopicModel(*a, inference="vb", **p))]


def expected(model, method):
    return infer(X, model.components_, method=method, random_state=0).theta


@cases(("name", "make"), MODELS, ids=[name for name, _ in MODELS])
def test_default_transform_method_is_em_for_ope(name, make):
    model = make(K, random_state=0).fit(X)
    learned_by = model._settings()["inference"]
    method = EM() if isinstance(learned_by, OPE) else learned_by
    assert np.array_equal(model.transform(X), expected(model, method))
    assert (name in ("MLOPE", "OnlineOPE", "StreamingOPE", "TopicModel")) == (method == EM())


@pytest.mark.parametrize("max_loss", [None, 1.0, 0.01])
@pytest.mark.parametrize("given", [None, "exact", "vb", EM(n_kept=2)])
def test_scores_are_of_the_mixtures_of_transform(given, max_loss):
    model = TopicModel(K, preset="fast", transform_method=given, max_loss=max_loss, random_state=0)
    X = generate(60, n_words=30, n_topics=K, n_tokens=6, random_state=1).X
    X = X[X.sum(axis=1) >= 2]  # others cannot be split
    model.fit(X)
    observed, held = split_tokens(X, random_state=np.random.default_rng(0))
    theta = model.transform(observed.astype(np.float32)).astype(float)
    logs = held.multiply(np.log(theta @ model.components_.astype(float))).sum(axis=1)
    expected = np.mean(logs / held.sum(axis=1))
    assert model.score(X, n_splits=1) == pytest.approx(expected, abs=1e-5)
    found = log_predictive_probability(model, X, method=None, n_splits=1, random_state=0)
    assert float(found) == pytest.approx(expected, abs=1e-5)
    costs = given in (None, "vb") and max_loss == 0.01  # most of these mixtures exceed max_loss
    assert (model.score(X) != model.set_params(max_loss=None).score(X)) or not costs


@pytest.mark.parametrize("cls", LEARNERS.values())
@pytest.mark.parametrize("given", ["same", "vb", "cvb0", FW(n_iter=7), EM(n_kept=2)])
def test_given_transform_method_is_used(cls, given, tmp_path):
    model = cls(K, transform_method=given, random_state=0).fit(X)
    method = model._settings()["inference"] if given == "same" else given
    found = expected(model, method)
    assert np.array_equal(model.transform(X), found)
    assert np.array_equal(model.infer(X).theta, found)
    plain = cls(K, random_state=0).fit(X)
    assert np.array_equal(model.components_, plain.components_), "it concerns learning not at all"
    opelda.save(model, tmp_path / "m")
    loaded = opelda.load(tmp_path / "m")
    assert loaded.transform_method == given
    assert np.array_equal(loaded.transform(X), found)
    assert np.array_equal(plain.set_params(transform_method=given).transform(X), found)


@pytest.mark.filterwarnings("ignore::opelda.inference.TLIWarning")
@pytest.mark.parametrize("name", METHODS)
def test_every_method_name_is_accepted(name):
    model = OnlineOPE(K, transform_method=name, random_state=0).fit(X)
    assert model._transform_method() == METHODS[name]()
    assert np.allclose(model.transform(X[:3]).sum(axis=1), 1, atol=1e-5)


@cases("given", ["nope", 3, OPE, OPE(n_iter=1), FW(step="x"), ["em"]])
def test_bad_transform_method_is_rejected_before_learning(given):
    for cls in (OnlineOPE, TopicModel):
        for learn in ("fit", "partial_fit"):
            model = cls(K, transform_method=given)
            with pytest.raises(InputError):
                getattr(model, learn)(X)
            assert not hasattr(model, "_state")
