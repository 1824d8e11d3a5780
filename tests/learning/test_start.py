"""The random start distinguishes topics and weighs at most as much as the documents."""

import numpy as np
import pytest

from opelda import OnlineOPE, OnlineVB, TopicModel
from opelda.corpus import generate
from opelda.engines import CPUEngine

K, V = 4, 500
X = generate(40, n_words=V, n_topics=K, n_tokens=10, random_state=0).X


def weights(model):
    store = model._state.weights
    return store.scale * store.rows[:, :K].T.astype(float) + store.prior_weight * store.prior


@pytest.mark.parametrize("n_docs", [10, 40])
def test_start_of_a_stream_weighs_at_most_its_documents(n_docs):
    docs = X[:n_docs]
    model = OnlineOPE(K, random_state=3).partial_fit(docs)
    rho = 2.0**-0.9
    start = CPUEngine(1).random_weights(V, K, 0.25, 3).rows[:, :K].T.astype(float)
    start *= docs.sum() / start.sum()
    unseen = np.asarray(docs.sum(axis=0)).ravel() == 0
    expected = (1 - rho) * start + rho * 0.25
    np.testing.assert_allclose(weights(model)[:, unseen], expected[:, unseen], rtol=1e-5)


def test_light_start_is_unchanged():
    many = generate(300, n_words=V, n_topics=K, n_tokens=30, random_state=0).X
    model = OnlineOPE(K, batch_size=300, random_state=3).fit(many)
    start = CPUEngine(1).random_weights(V, K, 0.25, 3).rows[:, :K].T.astype(float)
    unseen = np.asarray(many.sum(axis=0)).ravel() == 0
    assert unseen.any()
    rho = 2.0**-0.9
    expected = (1 - rho) * start + rho * 0.25
    np.testing.assert_allclose(weights(model)[:, unseen], expected[:, unseen], rtol=1e-5)


def test_log_methods_keep_the_whole_start():
    rho = 2.0**-0.9
    start = CPUEngine(1).random_weights(V, K, 0.25, 3).rows[:, :K].T.astype(float)
    unseen = np.asarray(X.sum(axis=0)).ravel() == 0
    expected = (1 - rho) * start + rho * 0.25
    other = TopicModel(K, preset="paper", inference="cgs", random_state=3)
    for model in (OnlineVB(K, random_state=3), other):
        model.partial_fit(X)
        np.testing.assert_allclose(weights(model)[:, unseen], expected[:, unseen], rtol=1e-5)
