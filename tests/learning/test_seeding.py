"""Topics initialised from distant documents."""

import numpy as np
import pytest
from scipy import sparse

from opelda import TopicModel
from opelda.corpus import generate
from opelda.engines import CPUEngine
from opelda.learning import Online
from opelda.learning._seeding import far_apart, seed_topics


def groups(n_groups, n_docs=40, n_words=12, seed=0):
    """Documents of groups that share no word, shuffled, and the groups they are of."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(n_groups), n_docs))
    counts = rng.poisson(1.0, (len(group), n_words)) + np.eye(n_words)[0]
    X = np.zeros((len(group), n_groups * n_words))
    for row, (g, part) in enumerate(zip(group, counts, strict=True)):
        X[row, g * n_words : (g + 1) * n_words] = part
    return sparse.csr_array(X), group


@pytest.mark.parametrize("seed", range(5))
def test_chosen_documents_are_distinct_and_nonempty(seed):
    X = generate(300, n_words=100, n_topics=5, random_state=seed).X
    X = sparse.vstack([sparse.csr_array((100, 100)), X[100:]], format="csr")
    chosen = far_apart(CPUEngine(1), X, 20, np.random.default_rng(seed))
    assert len(set(chosen.tolist())) == 20
    assert chosen.min() >= 100


@pytest.mark.parametrize("seed", range(5))
def test_duplicate_documents_are_not_chosen(seed):
    X = sparse.csr_array(np.repeat(np.eye(6) + 0.1, 30, axis=0))
    chosen = far_apart(CPUEngine(1), X, 6, np.random.default_rng(seed))
    assert sorted(chosen // 30) == list(range(6))
    assert far_apart(CPUEngine(1), X, 7, np.random.default_rng(seed)) is None


@pytest.mark.parametrize("seed", range(1))
def test_chosen_documents_are_farther_apart_than_random_ones(seed):
    X, group = groups(30, seed=seed)
    met, rng = {"far": [], "random": []}, np.random.default_rng(seed + 1)
    for _ in range(20):
        met["far"].append(len(set(group[far_apart(CPUEngine(1), X, 30, rng)])))
        met["random"].append(len(set(group[rng.choice(len(group), 30, replace=False)])))
    assert np.mean(met["far"]) > np.mean(met["random"]) + 2  # of 30; expected 19 at random


@pytest.mark.parametrize("n_topics", [50, 2000])
def test_too_few_documents_keep_the_random_start(n_topics):
    documents = CPUEngine(1).documents(sparse.csr_array(np.eye(40)))
    store = CPUEngine(1).random_weights(40, n_topics, 0.1, 0)
    before = store.rows.copy()
    seed_topics(CPUEngine(1), store, documents, 0)
    assert np.array_equal(store.rows, before)


def test_document_weighs_as_much_as_the_random_start():
    X, _ = groups(4)
    store = CPUEngine(1).random_weights(X.shape[1], 4, 0.1, 0)
    before = store.rows.sum(axis=0)[:4].copy()
    seed_topics(CPUEngine(1), store, CPUEngine(1).documents(X), 0)
    np.testing.assert_allclose(store.sums - before, X.shape[1], rtol=1e-4)
    np.testing.assert_allclose(store.rows[:, :4].sum(axis=0), store.sums, rtol=1e-5)
    assert not store.rows[:, 4:].any()


@pytest.mark.parametrize("seed", range(5))
def test_explicit_zeros_are_ignored(seed):
    X, _ = groups(3, seed=seed)
    no_words = X.copy()
    no_words.data[:] = 0
    stores = []
    for some in (sparse.vstack([X, no_words]), sparse.vstack([X, 0 * np.eye(*X.shape)])):
        stores.append(CPUEngine(1).random_weights(X.shape[1], 3, 0.1, 0))
        seed_topics(CPUEngine(1), stores[-1], CPUEngine(1).documents(sparse.csr_array(some)), seed)
    assert np.isfinite(stores[0].sums).all()
    assert np.array_equal(stores[0].rows, stores[1].rows)


@pytest.mark.parametrize("seed", range(1))
def test_init_documents_starts_topics_from_documents(seed):
    X, group = groups(4, seed=seed)
    runs = [
        TopicModel(
            4, learning=Online(init="documents"), n_sweeps=0, n_passes=2, random_state=chance
        ).fit(X)
        for chance in range(20 * seed, 20 * seed + 20)
    ]
    found = [run.transform(X).argmax(axis=1) for run in runs]
    pairs = [{(int(a), int(b)) for a, b in zip(group, each, strict=True)} for each in found]
    # every group has a topic, unless two documents of one group were chosen: one in six
    assert sum(len(each) == 4 for each in pairs) >= 10
    assert (
        TopicModel(4, learning=Online(init="documents"), random_state=0)
        .fit(np.zeros((5, 3)))
        .n_batch_iter_
        == 0
    )
