"""Topics that start from clusters of documents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda import TopicModel
from opelda.engines import CPUEngine
from opelda.learning._seeding import seed_topics
from opelda.learning._space import clusters, embedded


def clustered(X, n_clusters, seed=0):
    """The cluster of each document by its words; None if too few differ."""
    rng = np.random.default_rng(seed)
    found = clusters(embedded(X, rng), n_clusters, rng)
    return None if found is None else found[0]


def groups(n_groups, n_docs=40, n_words=12, seed=0):
    """Documents of groups that share no word, shuffled, and the groups they are of."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(n_groups), n_docs))
    counts = rng.poisson(1.0, (len(group), n_words)) + np.eye(n_words)[0]
    X = np.zeros((len(group), n_groups * n_words))
    for row, (g, part) in enumerate(zip(group, counts, strict=True)):
        X[row, g * n_words : (g + 1) * n_words] = part
    return sparse.csr_array(X), group


@given(seed=st.integers(0, 10**6), n_groups=st.integers(2, 12))
def test_clusters_are_groups_without_common_words(seed, n_groups):
    X, group = groups(n_groups, seed=seed)
    X = sparse.csr_array(sparse.vstack([X, sparse.csr_array((3, X.shape[1]))]))
    found = clustered(X, n_groups, seed)
    assert len(set(zip(group.tolist(), found[:-3].tolist(), strict=True))) == n_groups
    assert found[-3:].tolist() == [-1, -1, -1]  # empty documents


@given(seed=st.integers(0, 10**6), n_docs=st.integers(3, 40), n_words=st.integers(1, 40))
def test_documents_of_a_cluster_are_nearest_to_its_mean(seed, n_docs, n_words):
    """The clusters of arbitrary documents are a fixed point of k-means, up to rounding."""
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.poisson(0.4, (n_docs, n_words)).astype(float))
    found = clustered(X, 2, seed)
    place = embedded(X, np.random.default_rng(seed))
    length = np.linalg.norm(place, axis=1)
    assert np.allclose(length[length > 0], 1)
    if found is None:  # fewer than two directions
        assert np.allclose(place[length > 0][:1], place[length > 0], atol=1e-3)
        return
    means = np.array([place[found == each].sum(axis=0) for each in (0, 1)])
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    own = np.einsum("dr,dr->d", place, means[found])
    assert ((found >= 0) == (length > 0)).all()
    assert (own >= (place @ means.T).max(axis=1) - 1e-6)[length > 0].all()


def test_words_of_a_single_document_have_no_place():
    """A document of such words is in no cluster, and does not move others."""
    X, _ = groups(4)
    alone = sparse.csr_array(([3.0, 1.0], [0, 1], [0, 2]), shape=(1, 2))
    both = sparse.block_diag([X, alone], format="csr")
    found = clustered(sparse.csr_array(both), 4)
    assert found[-1] == -1
    assert (found[:-1] >= 0).all()


@given(n_distinct=st.integers(1, 6))
def test_too_few_distinct_documents_have_no_clusters(n_distinct):
    X = sparse.csr_array(np.repeat(np.eye(n_distinct), 5, axis=0))
    assert sorted(set(clustered(X, n_distinct).tolist())) == list(range(n_distinct))
    assert clustered(X, n_distinct + 1) is None


@pytest.mark.parametrize("n_topics", [50, 2000])
def test_too_few_documents_keep_the_random_start(n_topics):
    documents = CPUEngine(1).documents(sparse.csr_array(np.eye(40)))
    store = CPUEngine(1).random_weights(40, n_topics, 0.1, 0)
    before = store.rows.copy()
    seed_topics(store, documents, 0)
    assert np.array_equal(store.rows, before)


def test_document_weighs_as_much_as_the_random_start():
    X, _ = groups(4)
    store = CPUEngine(1).random_weights(X.shape[1], 4, 0.1, 0)
    before = store.rows.sum(axis=0)[:4].copy()
    seed_topics(store, CPUEngine(1).documents(X), 0)
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
        seed_topics(stores[-1], CPUEngine(1).documents(sparse.csr_array(some)), seed)
    assert np.isfinite(stores[0].sums).all()
    assert np.array_equal(stores[0].rows, stores[1].rows)


@given(seed=st.integers(0, 10**6), preset=st.sampled_from(["best", "fast"]))
def test_themes_without_common_words_have_a_topic_each(seed, preset):
    X, group = groups(6, seed=seed)
    model = TopicModel(6, preset=preset, n_sweeps=0, n_passes=1, random_state=seed).fit(X)
    largest = model.transform(X).argmax(axis=1)
    assert len(set(zip(group.tolist(), largest.tolist(), strict=True))) == 6
    nothing = TopicModel(6, preset=preset, random_state=seed).fit(np.zeros((5, 3)))
    assert nothing.n_batch_iter_ == 0
