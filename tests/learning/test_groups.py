"""Groups of similar documents, whose mean mixtures add to the prior of their members."""

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import threadpool_limits

import opelda
from opelda import OnlineOPE, TopicModel
from opelda.engines import CPUEngine
from opelda.errors import InputError
from opelda.inference import infer
from opelda.learning._seeding import seed_topics
from opelda.learning._space import _attraction as word_vectors
from opelda.learning._space import clusters, own_space
from opelda.metrics import log_predictive_probability

K = 4


def themes(n_docs=1200, n_words=60, length=4, seed=0):
    """Short documents of one theme each, and their themes; themes share half of the words."""
    rng = np.random.default_rng(seed)
    beta = rng.dirichlet(np.full(n_words, 0.1), K) / 2 + rng.dirichlet(np.ones(n_words)) / 2
    theme = rng.integers(K, size=n_docs)
    counts = np.array([rng.multinomial(length, beta[k]) for k in theme], float)
    return sparse.csr_array(counts), theme


@pytest.fixture(scope="module")
def fitted():
    X, theme = themes()
    return TopicModel(K, random_state=0, n_jobs=2).fit(X), X, theme


@pytest.fixture(scope="module")
def with_vectors():
    X, theme = themes(seed=1)
    E = np.eye(8)[theme] + 0.1 * np.random.default_rng(0).standard_normal((len(theme), 8))
    return TopicModel(K, random_state=0, n_jobs=2).fit(X, embeddings=E), X, E, theme


def agreement(topics, theme):
    """The share of documents whose theme is the most frequent one of their topic."""
    return sum(np.bincount(theme[topics == k]).max(initial=0) for k in range(K)) / len(theme)


@pytest.mark.parametrize("method", ["em", "vb", "exact", "ope", "cvb0", "cgs"])
@pytest.mark.parametrize(
    "engine", ["cpu", "reference", pytest.param("cuda", marks=pytest.mark.cuda)]
)
def test_a_mixture_has_the_prior_of_its_group(fitted, method, engine):
    """Group by group, `infer` with alpha + added gives the same mixtures and certificates."""
    model, X, _ = fitted
    empty = sparse.csr_array((1, X.shape[1]))
    groups, X = model._state.groups, sparse.csr_array(sparse.vstack([X[:60], empty, empty]))
    logs = X.copy()
    logs.data = np.log1p(logs.data)
    member = np.asarray((logs @ groups.axes).argmax(axis=1))
    member[60:] = -1
    assert len(np.unique(member)) > 1
    own = model.__sklearn_clone__().set_params(transform_method=method, engine=engine)
    own._state, own.n_features_in_ = model._state, model.n_features_in_
    found = own.infer(X)
    for row, group in enumerate(member.tolist()):
        alpha = 1.0 / K + (groups.added[group] if group >= 0 else 0.0)
        how = {"method": method, "doc_topic_prior": alpha, "engine": engine}
        alone = infer(X[[row]], model.components_, random_state=model._state.seed, **how)
        np.testing.assert_allclose(found.theta[row], alone.theta[0], atol=2e-3)
        np.testing.assert_allclose(found.log_prior[row], alone.log_prior[0], atol=0.2)
    exact = own.set_params(sparse_output=True).transform(X)
    np.testing.assert_allclose(exact.toarray().sum(axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(exact.toarray(), found.theta, atol=2e-3)


def test_a_group_is_the_mean_mixture_of_its_members_times_a_strength(fitted):
    model, X, _ = fitted
    groups = model._state.groups
    assert groups.added.sum(axis=1) == pytest.approx(groups.strength)
    member, theta = groups.members(X), model.transform(X)
    for group in range(len(groups.added)):
        mean = theta[member == group].mean(axis=0)
        np.testing.assert_allclose(groups.added[group] / groups.strength, mean, atol=0.05)


@given(rows=st.lists(st.integers(0, 1199), min_size=1, max_size=40))
def test_a_mixture_does_not_depend_on_other_documents(fitted, rows):
    model, X, _ = fitted
    assert np.array_equal(model.transform(X[rows]), model.transform(X)[rows])


def test_groups_help_to_tell_the_themes_of_short_documents(fitted):
    model, X, theme = fitted
    with_groups = agreement(model.transform(X).argmax(axis=1), theme)
    without = TopicModel(K, n_groups=0, random_state=0).fit(X)
    assert np.array_equal(without.components_, model.components_)  # topics are the same
    assert with_groups > agreement(without.transform(X).argmax(axis=1), theme)


@pytest.mark.parametrize("preset", ["best", "fast"])
@pytest.mark.parametrize("length", [4, 40])
def test_topics_do_not_depend_on_groups(length, preset):
    """Short texts start from clusters of their own vectors for any number of groups."""
    X, _ = themes(length=length)
    few = {"preset": preset, "n_sweeps": 2, "n_passes": 1, "random_state": 0}
    fits = [TopicModel(K, n_groups=n, **few).fit(X).components_ for n in (0, 3, 9)]
    assert all(np.array_equal(fits[0], topics) for topics in fits[1:])
    given = TopicModel(K, **few).fit(X, embeddings=np.random.default_rng(0).random((1200, 5)))
    assert not np.array_equal(fits[0], given.components_)


def test_short_texts_start_from_clusters_of_their_own_vectors():
    """The mean word shares of each cluster are the words that the start adds."""
    X, _ = themes()
    documents = CPUEngine(1).documents(X)
    space = own_space(documents, seed=3)
    chosen = documents.order(3, 0, 5000)
    with threadpool_limits(1):
        places = space.places(X[chosen], chosen)
        cluster, _ = clusters(places, K, np.random.default_rng([3, 5]))
    logs = np.log1p(X[chosen].toarray()) @ space.words
    length = np.linalg.norm(logs, axis=1, keepdims=True)
    np.testing.assert_allclose(places, logs / length, atol=1e-5)
    store = CPUEngine(1).random_weights(X.shape[1], K, 0.1, 3)
    before = store.rows[:, :K].copy()
    seed_topics(store, documents, 3, space=space)
    shares = X[chosen].toarray() / X[chosen].sum(axis=1)[:, None]
    wanted = np.array([shares[cluster == k].sum(axis=0) for k in range(K)])
    wanted *= X.shape[1] / wanted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(store.rows[:, :K] - before, wanted.T, rtol=1e-3, atol=1e-4)


def test_threads_and_copies_do_not_change_groups(fitted):
    model, X, _ = fitted
    again = TopicModel(K, random_state=0, n_jobs=1).fit(X)
    assert np.array_equal(again._state.groups.axes, model._state.groups.axes)
    assert np.array_equal(again.transform(X), model.transform(X))


def test_scores_are_of_the_mixtures_of_transform(fitted):
    """A given alpha replaces the prior, groups included."""
    model, X, _ = fitted
    plain = TopicModel(K, n_groups=0, random_state=0).fit(X)
    how = {"method": None, "random_state": model._state.seed}
    own = log_predictive_probability(model, X, **how).macro
    assert own == pytest.approx(model.score(X))
    assert own != pytest.approx(plain.score(X), abs=1e-4)
    given = log_predictive_probability(model, X, doc_topic_prior=1 / K, **how).macro
    assert given == pytest.approx(plain.score(X))


def test_files_keep_groups(fitted, with_vectors, tmp_path):
    for model, X, *vectors in (fitted[:2], with_vectors[:3]):
        opelda.save(model, tmp_path / "m")
        again = opelda.load(tmp_path / "m")
        how = {"embeddings": vectors[0]} if vectors else {}
        assert np.array_equal(again.transform(X, **how), model.transform(X, **how))


def test_edited_topics_keep_groups(fitted):
    model, X, _ = fitted
    merged = deepcopy(model)
    before = merged._state.groups.added
    merged.merge_topics([0, 2])
    np.testing.assert_allclose(
        merged._state.groups.added, np.c_[before[:, 0] + before[:, 2], before[:, [1, 3]]]
    )
    assert merged.transform(X).shape == (X.shape[0], K - 1)


@pytest.mark.parametrize(
    ("how", "change", "n_groups"),
    [
        ({}, {}, K),
        ({"length": 40}, {}, 0),
        ({"n_docs": 900}, {}, 0),
        ({}, {"preset": "fast"}, 0),
        ({"length": 40}, {"n_groups": 7}, 7),
    ],
)
def test_short_texts_have_groups(how, change, n_groups):
    X, _ = themes(**how)
    model = TopicModel(K, random_state=0, **change)
    model.set_params(n_sweeps=1, n_passes=1).fit(X)
    groups = model._state.groups
    assert (0 if groups is None else len(groups.added)) == n_groups


def test_too_few_distinct_documents_have_no_groups():
    X = np.repeat(np.eye(3), 400, axis=0)
    model = TopicModel(5, random_state=0, n_sweeps=1).fit(X)
    assert model._state.groups is None
    assert model.transform(X).shape == (1200, 5)


def test_vectors_tell_documents_apart_that_have_the_same_words(with_vectors):
    model, X, E, theme = with_vectors
    assert agreement(model.transform(X, embeddings=E).argmax(axis=1), theme) > 0.95
    # documents without vectors have groups by words
    assert np.array_equal(model.transform(X), model.transform(X, embeddings=0 * E))
    same = model.__sklearn_clone__().fit_transform(X, embeddings=E)
    assert np.array_equal(same, model.transform(X, embeddings=E))


def test_members_are_nearest_to_centres_of_words_and_vectors():
    """A place has the direction of the words and that of the vector, whatever their lengths."""
    X, _ = themes(n_docs=200, length=12)
    X = sparse.csr_array(sparse.diags_array(np.linspace(0.1, 20, 200)) @ X)
    rng = np.random.default_rng(0)
    E = (rng.uniform(0.1, 9, (200, 1)) * rng.standard_normal((200, 6))).astype(np.float32)
    space = own_space(CPUEngine(1).documents(X), 0, E)
    parts = np.log1p(X.toarray()) @ space.words, E
    both = np.hstack([each / np.linalg.norm(each, axis=1, keepdims=True) for each in parts])
    np.testing.assert_allclose(space.places(X, np.arange(200)), both / np.sqrt(2), atol=1e-5)
    centres = rng.standard_normal((9, both.shape[1])).astype(np.float32)
    centres[:, -6:] *= 3.0
    groups = space.groups(centres, K)
    assert groups.members(X, E).tolist() == (both @ centres.T).argmax(axis=1).tolist()
    by_words = (parts[0] @ centres[:, :-6].T).argmax(axis=1)
    assert groups.members(X).tolist() == by_words.tolist()


def test_other_learners_take_vectors():
    X, theme = themes()
    E = np.eye(K)[theme]
    for model in (OnlineOPE(K, random_state=0), TopicModel(K, preset="fast", random_state=0)):
        found = model.fit(X, embeddings=E).transform(X, embeddings=E)
        assert len(model._state.groups.added) == K
        assert found.shape == (X.shape[0], K)


def test_wrong_vectors_are_refused(fitted, with_vectors):
    model, X, E, _ = with_vectors
    for bad, said in [
        (E[:-1], "row for each of the 1200 documents"),
        (E[:, :-1], "must have 8 columns"),
        (np.where(E.max() == E, np.nan, E), "NaN or infinite values in row"),
        (E.astype(str), "must be numbers"),
    ]:
        with pytest.raises(InputError, match=said):
            model.transform(X, embeddings=bad)
        if bad.shape == E.shape or len(bad) < len(E):
            with pytest.raises(InputError, match="embeddings"):
                TopicModel(K).fit(X, embeddings=bad)
    with pytest.raises(InputError, match="fitted without"):
        fitted[0].transform(X, embeddings=E)
    with pytest.raises(InputError, match="n_groups=0"):
        TopicModel(K, n_groups=0).fit(X, embeddings=E)


def test_products_of_word_vectors_are_the_attraction_of_words():
    """Of few words, whose matrix has a small rank: the oracle is a dense eigendecomposition."""
    X, _ = themes(n_words=30, length=6)
    found = word_vectors(X, np.random.default_rng(0))
    has = (X.toarray() > 0).astype(float)
    frequency = has.sum(axis=0)
    pairs = np.where(np.outer(frequency >= 5, frequency >= 5), has.T @ has, 0.0)
    np.fill_diagonal(pairs, 0.0)
    times = np.maximum(pairs.sum(axis=1), 1e-9)
    lift = np.log(np.maximum(pairs, 1e-9) * times.sum() / np.outer(times, times))
    wanted = np.where(pairs > 0, np.maximum(lift * pairs / (pairs + 5), 0.0), 0.0)
    values, axes = np.linalg.eigh(wanted)
    wanted = (axes * np.maximum(values, 0.0)) @ axes.T
    rarity = np.log1p(len(has) / np.maximum(frequency, 1))
    np.testing.assert_allclose(found @ found.T, wanted * np.outer(rarity, rarity), atol=1e-2)
