"""Merged, removed and split topics: weights add up and learning continues."""

import copy
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opelda
from opelda import TopicModel
from opelda.corpus import generate
from opelda.engines.seam import Rows
from opelda.errors import InputError
from opelda.learning import LEARNERS
from opelda.learning.editing._editor import Edit, expected_counts, likeliest_topics
from opelda.learning.streaming._events import Event
from opelda.learning.streaming._window import Assignments
from tests.cases import cases

X = generate(500, n_words=90, n_topics=5, separated=True, random_state=3).X
HALVES = np.full((90, 2), 0.5)


def fitted(name="OnlineOPE", documents=X, **options):
    options = {"n_components": 5, "batch_size": 100, "random_state": 0, "n_jobs": 1} | options
    return LEARNERS[name](**options).fit(documents)


def of_themes(seed):
    """Return documents of five themes, and the best of three models: one in twenty merges two."""
    X = generate(500, n_words=90, n_topics=5, separated=True, random_state=seed).X
    models = (fitted("TopicModel", X, n_sweeps=20, random_state=3 * seed + n) for n in range(3))
    return X, max(models, key=lambda model: model.score(X))


def swept(n_docs=400, **options):
    """Return a model whose window has documents, and whose stream has a history."""
    model = TopicModel(5, random_state=0, n_sweeps=6, batch_size=100, n_jobs=1, **options)
    return model.partial_fit(X[:n_docs])


def mass(model):
    """Return lambda without the prior's share, per word and topic."""
    host = model._state.weights.host()
    return host.scale * host.rows.astype(np.float64)


def same(one, other):
    return np.array_equal(one.components_, other.components_)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_continues_from_edited_topics(name, tmp_path):
    model = fitted(name)
    before, scale = mass(model), model._state.weights.scale
    assert model.merge_topics([[1, 3]]) == {0: 0, 1: 1, 2: 2, 3: 1, 4: 3}
    expected = np.column_stack((before[:, 0], before[:, 1] + before[:, 3], before[:, [2, 4]]))
    np.testing.assert_allclose(mass(model), expected, rtol=1e-6)
    assert model.remove_topics([0]) == {1: 0, 2: 1, 3: 2}
    np.testing.assert_allclose(mass(model), expected[:, 1:], rtol=1e-6)
    assert (model._state.weights.scale, model.n_components) == (scale, 3)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-5)
    opelda.save(model, tmp_path / "m.opelda")
    again = opelda.load(tmp_path / "m.opelda").set_params(n_jobs=1)
    assert model.transform(X[:20]).shape == (20, 3)
    assert same(model.partial_fit(X[:150]), again.partial_fit(X[:150]))
    assert model.fit(X[:100]).components_.shape == (3, 90)


@pytest.mark.parametrize("name", ["TopicModel", "MLOPE"])
def test_merging_the_parts_of_a_topic_restores_it(name):
    options = {"n_sweeps": 4} if name == "TopicModel" else {}
    model = fitted(name, **options)
    before = mass(model)
    assert model.split_topic(2, X, into=3) == [2, 5, 6]
    parts = mass(model)
    np.testing.assert_array_equal(parts[:, [0, 1, 3, 4]], before[:, [0, 1, 3, 4]])
    assert (np.diff(parts[:, [2, 5, 6]].sum(axis=0)) <= 0).all()  # the heaviest first
    assert model.merge_topics([6, 2, 5])[6] == 2
    np.testing.assert_allclose(mass(model), before, rtol=1e-5)


@pytest.mark.parametrize("seed", range(1))
def test_splitting_separates_two_merged_themes(seed):
    X, model = of_themes(seed)
    before, score = model.components_, model.score(X)
    model.merge_topics([1, 4])
    assert model.score(X) < score - 0.05
    first, second = model.split_topic(1, X)
    assert model.score(X) > score - 0.02
    overlap = np.minimum(model.components_[[first, second], None], before[[1, 4]]).sum(axis=2)
    assert max(overlap.trace(), overlap[::-1].trace()) > 1.8


@pytest.mark.parametrize("seed", range(1))
def test_merging_two_halves_of_a_theme_keeps_the_score(seed):
    """Near-duplicates: a topic whose tokens fell to two columns at random."""
    X, model = of_themes(seed)
    score = model.score(X)
    model._apply(Edit.splitting(3, 5, HALVES, np.array([0.5, 0.5])))
    assert model.score(X) == pytest.approx(score, abs=0.02)
    model.merge_topics([3, 5])
    assert model.score(X) == pytest.approx(score, abs=1e-5)


def test_the_window_and_the_history_follow(tmp_path):
    model = swept()
    state = model._state
    shares, words = np.arange(1, 6) / 15, np.arange(50, dtype=np.int32).reshape(5, 10)
    points = state.watch.points.added(300, shares, np.linspace(0.5, 0.9, 5), words)
    state.watch = replace(state.watch, points=points, is_settled=True)
    events = tuple(Event("topic rising", 10 * k, k, {"share": 0.1}) for k in range(5))
    state.watch = state.watch._noting(events)
    former, sizes = copy.deepcopy(state), np.bincount(state.window.kept.topics, minlength=5)
    model.merge_topics([[0, 2]])
    window = model._state.window
    expected = [sizes[0] + sizes[2], sizes[1], sizes[3], sizes[4]]
    assert np.bincount(window.kept.topics).tolist() == expected
    assert window.alpha.sum() == pytest.approx(former.window.alpha.sum())
    assert window.is_settled
    assert window.outside.cells.sum() == former.window.outside.cells.sum()
    assert [event.topic for event in model.events_] == [0, 1, 0, 2, 3]
    np.testing.assert_allclose(model._state.watch.sums.sum(axis=2), former.watch.sums.sum(axis=2))
    points = model._state.watch.points
    np.testing.assert_allclose(points.shares[0], np.array([4, 2, 4, 5]) / 15, rtol=1e-6)
    np.testing.assert_allclose(points.rho[0], [0.5, 0.6, 0.8, 0.9], rtol=1e-6)
    heavier = 0 if former.weights.sums[0] >= former.weights.sums[2] else 2
    assert points.words[0, :, 0].tolist() == [10 * heavier, 10, 30, 40]
    model.remove_topics([1])
    assert [event.topic for event in model.events_] == [0, None, 0, 1, 2]
    assert len(model._state.window.kept.topics) == sizes.sum()
    first, new = model.split_topic(0)
    assert (first, new) == (0, 3)
    assert np.bincount(model._state.window.kept.topics, minlength=4).min() > 20
    opelda.save(model, tmp_path / "m.opelda")
    again = opelda.load(tmp_path / "m.opelda").set_params(n_jobs=1)
    for each in (model, again):
        each.partial_fit(X[400:])
    assert same(model, again)
    assert [event.topic for event in again.events_] == [0, None, 0, 1, 2]


def test_checkpoint_of_edited_topics_resumes(tmp_path):
    texts = [" ".join(f"w{j}" for j in row.nonzero()[0]) for row in X[:150].toarray()]
    model = TopicModel(4, random_state=0, n_sweeps=2, batch_size=50, n_jobs=1)
    model.fit_stream(texts[:100], checkpoint=tmp_path)
    opelda.model_file.change(tmp_path, lambda kept: kept.merge_topics([0, 3]))
    again = opelda.load(tmp_path).set_params(n_jobs=1)
    assert again.n_components == 3
    with pytest.raises(opelda.errors.ModelFileError, match="n_components=3"):
        model.fit_stream(texts, checkpoint=tmp_path)
    again.fit_stream(texts, checkpoint=tmp_path)
    assert again.n_docs_seen_ == 150
    assert again.components_.shape[0] == 3


@given(st.data())
def test_edits_conserve_tokens(data):
    n = data.draw(st.integers(2, 9))
    order = data.draw(st.permutations(range(n)))
    cut = data.draw(st.integers(2, n))
    weights = np.arange(1.0, n + 1)
    edit = Edit.merging([order[:cut]], weights)
    table = np.random.default_rng(0).random((3, n))
    np.testing.assert_allclose(edit.added(table).sum(axis=1), table.sum(axis=1))
    oracle = np.zeros((3, edit.n_topics))
    for former, number in edit.mapping.items():
        oracle[:, number] += table[:, former]
    np.testing.assert_allclose(edit.added(table), oracle)
    assert sorted(set(edit.mapping.values())) == list(range(n - cut + 1))
    kept = [edit.mapping[k] for k in sorted(order[cut:])]
    assert kept == sorted(kept)  # other topics keep their order
    gone = Edit.removing(order[: cut - 1], weights)
    np.testing.assert_array_equal(gone.added(table), table[:, sorted(order[cut - 1 :])])


def test_labels_and_given_priors_follow():
    alpha, eta = np.arange(1, 6) / 10, np.full((5, 90), 0.1)
    eta[3, 7], eta[1, 8] = 9.0, 8.0
    model = fitted(doc_topic_prior=alpha, topic_word_prior=eta)
    model.set_topic_labels({1: "light", 3: "heavy", 4: "last"})
    heavy = int(np.argmax(model._state.weights.sums[[1, 3]]))
    model.merge_topics([1, 3])
    assert model._state.labels == {1: ("light", "heavy")[heavy], 3: "last"}
    np.testing.assert_allclose(model.doc_topic_prior, [0.1, 0.6, 0.3, 0.5])
    for prior in (model.topic_word_prior, model._state.weights.host().prior.T):
        assert prior[1, 6:9].tolist() == pytest.approx([0.1, 9.0, 8.0])
    model.split_topic(3, X)
    assert model._state.labels == {1: ("light", "heavy")[heavy]}
    assert model.doc_topic_prior[[3, 4]].sum() == pytest.approx(0.5)
    assert model.topic_word_prior.shape == (5, 90)
    model.partial_fit(X[:100]).fit(X[:100])


def test_expected_counts_equal_the_posteriors():
    rng = np.random.default_rng(1)
    theta, topics = rng.dirichlet([1] * 3, 500), rng.dirichlet([0.3] * 90, 3)
    found = expected_counts(X, theta, topics, 1).toarray()
    joint = theta[:, :, None] * topics
    oracle = X.toarray() * joint[:, 1] / joint.sum(axis=1)
    np.testing.assert_allclose(found, np.where(oracle < 0.05, 0.0, oracle), atol=1e-9)


def test_tokens_of_a_removed_topic_follow_their_document():
    rows = Rows(np.array([0, 3, 5]), np.array([0, 1, 2, 0, 2], np.int32), np.ones(5, np.float32))
    kept = Assignments(rows, np.array([0, 0, 2, 1, 2], np.uint16))
    topics = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.0, 0.0, 1.0]])
    found = likeliest_topics(kept, [2], topics, np.full(3, 0.1))
    assert found.tolist() == [0, 0, 0, 1, 1]


MISTAKES = {
    "no such topic": (lambda m: m.merge_topics([[1, 5]]), "No topic 5 to merge; .* 0 to 4"),
    "no numbers": (lambda m: m.merge_topics(None), "None"),
    "one alone": (lambda m: m.merge_topics([[1]]), "Topic 1 is alone"),
    "twice": (lambda m: m.merge_topics([[1, 2], [2, 3]]), "Duplicate topic 2"),
    "none": (lambda m: m.merge_topics([]), "No topics to merge"),
    "text": (lambda m: m.remove_topics("1"), "No topic '1' to remove"),
    "all": (lambda m: m.remove_topics(range(5)), "No topic would be left"),
    "negative": (lambda m: m.split_topic(-1, X), "No topic -1 to split"),
    "one part": (lambda m: m.split_topic(1, X, into=1), "into must be a whole number"),
    "no documents": (lambda m: m.split_topic(1), "^This OnlineOPE stores no documents"),
    "empty documents": (lambda m: m.split_topic(1, 0 * X[:5].toarray()), "too few to split it"),
}


@cases("name", MISTAKES)
def test_bad_edits_raise_one_sentence_and_change_nothing(name):
    model = fitted()
    before = mass(model)
    edit, said = MISTAKES[name]
    with pytest.raises(InputError, match=said):
        edit(model)
    assert np.array_equal(mass(model), before)
    assert model.n_components == 5


def test_editing_while_learning_is_rejected():
    def merge(report):
        with pytest.raises(InputError, match="is still learning"):
            report.model.merge_topics([0, 1])

    assert fitted(callbacks=merge).components_.shape == (5, 90)


def test_concurrent_readers_see_a_whole_model():
    model, errors = fitted(), []
    stop = threading.Event()

    def read():
        while not stop.is_set():
            try:
                assert model.transform(X[:5]).shape[1] in (4, 5)
            except Exception as error:
                errors.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(20):
        model.merge_topics([0, 1])
        model._apply(Edit.splitting(0, 4, HALVES, np.array([0.5, 0.5])))
    stop.set()
    reader.join()
    assert errors == []


def test_knowledge_of_replaced_topics_is_dropped():
    model = TopicModel(5, preset="fast", n_runs=2, random_state=0, n_jobs=1).fit(X)
    assert model.coherence_ is not None
    assert model.topic_stability_ is not None
    model.merge_topics([0, 1])
    assert model.coherence_ is None
    assert model.topic_stability_ is None
