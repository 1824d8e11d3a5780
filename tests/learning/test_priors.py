"""Priors of every shape, and bad parameters."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda import (
    MLOPE,
    OnlineCGS,
    OnlineCVB0,
    OnlineOPE,
    OnlineVB,
    StreamingOPE,
    StreamingVB,
    TopicModel,
)
from opelda.corpus import generate
from opelda.engines import CPUEngine, ReferenceEngine
from opelda.errors import InputError
from opelda.inference import CVB0, EM, FW, OPE, VB, infer
from opelda.learning import ML, SCVB0, SGRLD, Online, Streaming
from tests import equations as reference
from tests.cases import cases

K, V = 5, 30
X = generate(40, n_words=V, n_topics=K, n_tokens=25).X.toarray()
RNG = np.random.default_rng(1)
ETAS = {
    "number": 0.2,
    "vector": RNG.uniform(0.01, 0.9, V),
    "matrix": RNG.uniform(0.01, 0.9, (K, V)),
}
PAPER = [MLOPE, OnlineOPE, StreamingOPE, OnlineVB, StreamingVB, OnlineCVB0, OnlineCGS]
every_learner = pytest.mark.parametrize("cls", [*PAPER, TopicModel])


@pytest.mark.parametrize("seed", range(1))
def test_ml_continues_topics_that_sweeps_emptied(seed):
    few = np.zeros((1, V))
    few[0, :2] = 1  # two tokens, five topics
    model = TopicModel(K, learning="ml", n_sweeps=1, random_state=seed).fit(few)
    assert model._state.weights.sums.min() == 0
    before = model.components_
    model.set_params(n_sweeps=0).partial_fit(few)
    rho = (model.n_batch_iter_ + model._schedule().offset) ** -model._schedule().decay
    # beta <- (1 - rho) beta + rho beta^: a topic that the document uses, or not
    ratio = model.components_[:, 2:] / before[:, 2:]
    used = ratio[:, 0] < 1 - rho / 2
    assert used.any()
    np.testing.assert_allclose(ratio, np.where(used, 1 - rho, 1)[:, None] * np.ones(V - 2), 1e-4)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, 1e-5)


@cases("shape", ETAS)
@cases("learning", ["online", "streaming"])
def test_topic_word_prior_in_updates(monkeypatch, learning, shape):
    """Two updates with CVB0, whose mixtures are dense and whose topics are their means."""
    found, solve = [], CPUEngine._solve

    def record(*given, **options):
        found.append(solve(*given, **options))
        return found[-1]

    monkeypatch.setattr(CPUEngine, "_solve", record)
    eta = ETAS[shape]
    model = TopicModel(
        K,
        preset="paper",
        inference=CVB0(),
        learning=learning,
        topic_word_prior=eta,
        random_state=3,
        batch_size=20,
    ).fit(X)
    order = ReferenceEngine().documents(sparse.csr_array(X)).order(3, 1)
    lam = CPUEngine(1).random_weights(V, K, 0.1, 3).rows[:, :K].T.astype(np.float64)
    for t in (1, 2):
        part = X[order[20 * (t - 1) : 20 * t]].astype(np.float64)
        theta, beta = found[t - 1].theta.astype(np.float64), lam / lam.sum(axis=1, keepdims=True)
        if learning == "online":
            lam = reference.online(lam, beta, part, theta, eta, (t + 1) ** -0.9, len(X))
        else:
            before = np.zeros_like(lam) + eta if t == 1 else lam
            lam = reference.streaming(before, beta, part, theta)
    expected = lam / lam.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.components_, expected, rtol=1e-6)


def test_equal_priors_of_every_shape_give_equal_models():
    for cls in PAPER:
        topics = [
            cls(K, topic_word_prior=eta, batch_size=20, random_state=0).fit(X).components_
            for eta in (None, 1 / K, np.full(V, 1 / K), np.full((K, V), 1 / K))
        ]
        assert np.array_equal(topics[0], topics[1])
        np.testing.assert_allclose(topics[2], topics[0], rtol=1e-5)
        np.testing.assert_allclose(topics[3], topics[0], rtol=1e-5)


def test_matrix_prior_selects_a_topics_words():
    eta = np.full((K, V), 0.01)
    eta[2, 7] = 5000.0
    for cls in (OnlineVB, StreamingVB, StreamingOPE):
        model = cls(K, topic_word_prior=eta, batch_size=20, random_state=0).fit(X)
        assert model.components_[:, 7].argmax() == 2
        assert model.components_[2].argmax() == 7


@given(st.lists(st.floats(0.05, 3.0), min_size=K, max_size=K))
def test_doc_topic_prior_reaches_inference(alpha):
    """Mixtures equal those that `infer` finds with the model's topics and the same alpha."""
    for cls, method in ((OnlineOPE, EM()), (OnlineVB, VB(n_iter=50))):
        model = cls(K, doc_topic_prior=alpha, random_state=4).fit(X)
        alone = infer(X, model.components_, doc_topic_prior=alpha, method=method, random_state=4)
        assert np.array_equal(model.transform(X), alone.theta)
        assert np.array_equal(model.infer(X).gap, alone.gap)
        nothing = model.transform(np.zeros((1, V)))
        np.testing.assert_allclose(nothing[0], np.array(alpha) / np.sum(alpha), rtol=1e-6)


def test_asymmetric_doc_topic_prior_shapes_the_topics(monkeypatch):
    given, update = [], CPUEngine.update

    def record(self, weights, documents, task, *rest, **options):
        given.append(task)
        return update(self, weights, documents, task, *rest, **options)

    monkeypatch.setattr(CPUEngine, "update", record)
    alpha = [5.0, 0.1, 0.1, 0.1, 0.1]
    for cls in PAPER:
        cls(K, doc_topic_prior=alpha, random_state=4).fit(X)
        np.testing.assert_allclose(given[-1].alpha, alpha, rtol=1e-7)
        cls(K, random_state=4).fit(X)
        np.testing.assert_allclose(given[-1].alpha, 1 / K, rtol=1e-7)


BAD = [
    ("n_components", [0, -1, 2.5, "x", None, True]),
    (
        "doc_topic_prior",
        [0.0, -1.0, np.nan, "x", [1.0] * (K - 1), np.ones((K, K)), [1, 1, 1, 1, 0]],
    ),
    (
        "topic_word_prior",
        [0.0, -1.0, np.nan, np.inf, "x", np.ones(V - 1), np.ones((V, K)), np.zeros((K, V))],
    ),
    ("batch_size", [0, -5, 2.5, "x", None]),
    ("learning_decay", [2, -0.1, "x", None, np.nan, True]),
    ("learning_offset", [-1, "x", None, np.nan, np.inf]),
    ("n_passes", [0, 1.5, "x", None]),
    ("n_sweeps", [-1, 1.5, "x"]),
    ("n_iter", [0, -1, 1.5, "x", None]),
    ("n_jobs", [0, 1.5, "x"]),
    ("random_state", [-1, 1.5, "x"]),
    ("verbose", [-1, "x"]),
    ("callbacks", [3, "x"]),
    ("population", [0, -1, "x", np.nan, np.inf]),
    (
        "learning",
        [
            "other",
            None,
            3,
            *(Online(decay=value) for value in (2, -0.1, "x", np.nan, True)),
            *(ML(offset=value) for value in (-1, "x", np.nan, np.inf)),
            *(SCVB0(population=value) for value in (0, -1, "x", np.nan, np.inf)),
            *(Streaming(init=value) for value in ("x", 3, ["random"])),
            *(Streaming(keep_start=value) for value in ("x", 1, None)),
            Streaming(keep_prior=1),
            *(SGRLD(n_draws=value) for value in (0, 1.5)),
        ],
    ),
    ("inference", ["nope", None, 3, OPE, OPE(n_iter=1), VB(n_iter=0), FW(step="x")]),
]


@every_learner
def test_bad_parameters_are_rejected(cls):
    n_tried = 0
    for name, values in BAD:
        if name not in cls().get_params():
            continue
        for value in values:
            if cls is TopicModel and value is None and name != "n_components":
                continue  # the preset's
            model = cls(**({"n_components": K} | {name: value}))
            with pytest.raises(InputError) as caught:
                model.fit(X)
            check_sentence(str(caught.value), name)
            if name != "n_passes":
                with pytest.raises(InputError):
                    cls(**({"n_components": K} | {name: value})).partial_fit(X)
            n_tried += 1
    assert n_tried > 40


def check_sentence(message, name):
    assert message.endswith(".")
    assert "\n" not in message
    assert not re.search(r"[a-z]\. [A-Z]", message), "one sentence is enough"
    if name not in ("inference", "callbacks", "learning"):
        assert name in message


@every_learner
@cases("value", [0, -1, 1.5, "x", None])
def test_bad_validate_every_is_rejected(cls, value):
    with pytest.raises(InputError, match="validate_every must be a whole number, at least 1"):
        cls(K).fit(X, validation=X, validate_every=value)


@every_learner
def test_bad_parameter_leaves_the_model_unchanged(cls):
    """The topics learned before are there when the parameter is set right again."""
    model = cls(K, batch_size=20, n_passes=1, random_state=0)
    if cls is TopicModel:
        model.set_params(n_sweeps=0)
    model.fit(X)
    before, n_updates = model.components_, model.n_batch_iter_
    step = ("learning", "x") if cls is TopicModel else ("learning_decay", 2)
    for name, value in (("batch_size", 0), ("n_passes", 0), step, ("n_jobs", 0)):
        right = model.get_params()[name]
        with pytest.raises(InputError, match=name):
            model.set_params(**{name: value}).fit(X)
        model.set_params(**{name: right})
        assert model.n_batch_iter_ == n_updates
        assert np.array_equal(model.components_, before)
    if "population" in model.get_params():
        with pytest.raises(InputError, match="population"):
            model.set_params(population=0).partial_fit(X)
        model.set_params(population=None)
        assert (model.n_batch_iter_, model.n_docs_seen_) == (n_updates, len(X))


@every_learner
@cases("n_components", [K - 1, K + 1])
def test_changed_n_components_is_rejected_until_fit(cls, n_components):
    model = cls(K, random_state=0).fit(X)
    before = model.transform(X)
    model.set_params(n_components=n_components)
    said = f"n_components is {n_components}, but the model has {K} topics; set it to {K}"
    stream = [X]
    for ask in (model.transform, model.infer, model.score, model.perplexity, model.partial_fit):
        with pytest.raises(InputError, match=said):
            ask(X)
    with pytest.raises(InputError, match=said):
        model.fit_stream(stream)
    assert model.components_.shape == (K, V)  # learned topics can still be read
    assert np.array_equal(model.set_params(n_components=K).transform(X), before)
    model.set_params(n_components=n_components)
    assert model.fit(X).components_.shape == (n_components, V)
    assert model.transform(X).shape == (len(X), n_components)


def test_failed_update_is_not_counted():
    """CGS refuses documents of more than 1e8 tokens, once it sees them."""
    model = OnlineCGS(K, batch_size=10, random_state=0)
    long = X[:20].astype(np.float64)
    long[12, 3] = 1e12
    with pytest.raises(InputError, match="more than 100,000,000 tokens"):
        model.partial_fit(long)
    assert (model.n_batch_iter_, model.n_docs_seen_) == (1, 10)
    model.partial_fit(X[10:20])
    never_failed = OnlineCGS(K, batch_size=10, random_state=0).partial_fit(X[:20])
    assert np.array_equal(model.components_, never_failed.components_)
    assert (model.n_batch_iter_, model.n_docs_seen_) == (2, 20)
