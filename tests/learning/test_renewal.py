"""New themes in a stream, and the topics assigned to them."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import poisson

from opelda import TopicModel
from opelda.corpus import Vocabulary
from opelda.engines import CPUEngine
from opelda.engines.seam import FRACTION_SHIFT, HostWeights, Rows, TokenCounts
from opelda.learning.streaming import _window
from opelda.learning.streaming import _window_sweeps as _stream_sweeps
from opelda.learning.streaming._window import Assignments, Window
from opelda.learning.streaming._window_sweeps import give, new_theme

THEMES = [[f"{name}{n}" for n in range(10)] for name in ("tea", "sea", "law", "sun", "art", "ice")]
N_OLD, N_NEW = 2000, 400


def documents(rng, n_docs, shares):
    """Single-theme documents with one common word."""
    which = rng.choice(len(THEMES), n_docs, p=shares)
    return [[*rng.choice(THEMES[theme], 6), "all"] for theme in which]


def streamed(seed, stretches, n_components=6, **settings):
    """A model of a stream whose themes have other shares in each stretch."""
    rng = np.random.default_rng(seed)
    source = [text for n, shares in stretches for text in documents(rng, n, shares)]
    model = TopicModel(
        n_components, batch_size=150, n_sweeps=20, n_jobs=1, random_state=seed, **settings
    )
    return model.fit_stream(source, vocabulary=Vocabulary(growing=True))


def new_topics(model):
    return [event for event in model.events_ if event.kind == "new topic"]


def top_theme(model, topic):
    """The theme of a topic's first words, but for the one that all have."""
    words = model.vocabulary_.words
    order = [words[j] for j in np.argsort(-model.components_[topic])[:6] if words[j] != "all"]
    assert len({word[:3] for word in order}) == 1, order
    return order[0][:3]


one_seed = pytest.mark.parametrize("seed", range(1))


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


@pytest.fixture
def small_window(monkeypatch):
    monkeypatch.setattr(_window, "MOST_DOCS", 3000)


BEFORE = [0.25, 0.25, 0.25, 0.25, 0.0, 0.0]
WITH_ART = [0.2, 0.2, 0.2, 0.2, 0.2, 0.0]


@pytest.mark.usefixtures("small_window")
@pytest.mark.parametrize("seed", range(3))
def test_new_theme_gets_a_topic_and_other_topics_stay(seed):
    before = streamed(seed, [(3600, BEFORE)])
    model = streamed(seed, [(3600, BEFORE), (900, WITH_ART)])
    assert not new_topics(before)
    event, *more = new_topics(model)
    assert 3600 < event.document <= 3600 + 600
    assert {word[:3] for word in event.words} == {"art"}
    assert top_theme(model, event.topic) == "art"
    # of 300 documents, up to half of them old
    assert 0 < event.numbers["share"] < 0.2 + 6 * np.sqrt(0.2 * 0.8 / 300)
    assert not [event for event in more if event.words[0][:3] != "art"]
    sizes = before.components_.sum(axis=1)
    for topic in np.flatnonzero(sizes > 0.1 * sizes.sum()):
        if topic != event.topic:
            assert top_theme(model, topic) == top_theme(before, topic)


@pytest.mark.usefixtures("small_window")
@pytest.mark.parametrize("seed", range(3))
def test_topic_that_changes_theme_loses_its_label(seed):
    labels = {topic: f"label {topic}" for topic in range(6)}

    def name(report):
        if report.n_docs == 3600:
            assert not new_topics(report.model)
            report.model.set_topic_labels(labels)

    model = streamed(seed, [(3600, BEFORE), (900, WITH_ART)], callbacks=name)
    became = {event.topic for event in new_topics(model)}
    assert became
    assert model._state.labels == {k: label for k, label in labels.items() if k not in became}


@pytest.mark.usefixtures("small_window")
@pytest.mark.parametrize("seed", range(3))
def test_no_new_topic_without_a_new_theme(seed):
    grown = [0.55, 0.15, 0.15, 0.15, 0.0, 0.0]
    assert not new_topics(streamed(seed, [(5000, BEFORE)]))
    assert not new_topics(streamed(seed, [(3600, BEFORE), (900, grown)]))


@pytest.mark.usefixtures("small_window")
@pytest.mark.parametrize("seed", range(3))
def test_returning_theme_gets_its_topic(seed):
    model = streamed(seed, [(3600, BEFORE), (900, WITH_ART), (3600, BEFORE), (900, WITH_ART)])
    first, *more = new_topics(model)
    assert top_theme(model, first.topic) == "art"
    assert not [event for event in more if event.document > 5000]


@pytest.mark.usefixtures("small_window")
@one_seed
def test_topics_with_seed_words_are_not_reassigned(rng, seed):
    stretches = [(3600, BEFORE), (900, WITH_ART)]
    assert new_topics(streamed(seed, stretches))
    source = [text for n, shares in stretches for text in documents(rng, n, shares)]
    prior = np.full((6, 61), 0.01)
    prior[0, 3] = 5.0
    names = [word for theme in THEMES for word in theme] + ["all"]
    model = TopicModel(6, batch_size=150, n_sweeps=20, random_state=seed, topic_word_prior=prior)
    model.fit_stream(source, vocabulary=Vocabulary(names))
    assert not new_topics(model)


def kept_of(rng, n_topics, shares_old, shares_new):
    """A window whose tokens have their theme's topic; the last two themes have no topic."""
    names = [word for theme in THEMES for word in theme] + ["all"]
    texts = documents(rng, N_OLD, shares_old) + documents(rng, N_NEW, shares_new)
    X = sparse.csr_array(Vocabulary(names).count(texts)).astype(np.float32)
    engine = CPUEngine(1)
    tokens = engine.tokens(engine.documents(X), n_topics, shift=FRACTION_SHIFT)
    ids = np.repeat(tokens.rows.words, tokens.rows.counts.astype(int))
    topics = np.where(ids < 40, ids // 10, rng.integers(0, 4, len(ids))).astype(np.uint16)
    kept = Assignments(tokens.rows, topics)
    rows = np.zeros((61, n_topics), np.float32)
    np.add.at(rows, (ids, topics), 1.0)
    return kept, engine.weights(HostWeights(rows, 0.1, prior_weight=1.0)), ids


@one_seed
def test_words_that_never_cooccur_are_two_themes(rng):
    both = [0.1, 0.1, 0.1, 0.1, 0.4, 0.2]
    kept, weights, ids = kept_of(rng, 6, BEFORE, both)
    theme = new_theme(kept, N_NEW, weights)
    assert {int(word) // 10 for word in theme.words} == {4}  # the larger one
    assert theme.topic in (4, 5)  # that have no tokens
    assert theme.share == pytest.approx(theme.n_docs / N_NEW)
    # exactly the tokens of documents with two of its words
    found = np.zeros(len(ids), bool)
    found[theme.tokens] = True
    assert found.sum() == 7 * theme.n_docs
    for a, b in itertools.pairwise(kept.ends):
        assert found[a:b].all() == found[a:b].any()
        assert not found[a] or set((ids[a:b] // 10).tolist()) == {4, 6}


@one_seed
def test_significantly_more_frequent_words_are_bursts(rng):
    n_old, n_new = 2000, 400
    times = np.array([(o, n) for o in (0, 20, 50, 100, 400) for n in (19, 20, 30, 50, 100, 200)])
    rows = np.zeros((n_old + n_new, len(times)), np.float32)
    for word, (old, new) in enumerate(times):
        rows[rng.choice(n_old, old, replace=False), word] = 1
        rows[n_old + rng.choice(n_new, new, replace=False), word] = 1
    X = sparse.csr_array(rows)
    made = Rows(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    old, new = times.T

    def log_likelihood(rate_old, rate_new):
        return poisson.logpmf(old, n_old * rate_old) + poisson.logpmf(new, n_new * rate_new)

    same = (old + new) / (n_old + n_new)
    ratio = log_likelihood(old / n_old, new / n_new) - log_likelihood(same, same)
    clearly = (new >= 20) & (new / n_new > 2 * old / n_old) & (ratio > 20)
    words, usual = _stream_sweeps._bursting(made, n_old)
    assert words.tolist() == np.flatnonzero(clearly).tolist()
    assert 3 < len(words) < np.count_nonzero(new / n_new > 2 * old / n_old) - 3
    assert usual == pytest.approx(old[words] / old.sum())


@one_seed
def test_new_documents_need_enough_older_ones(rng):
    kept, weights, _ = kept_of(rng, 6, BEFORE, WITH_ART)
    assert new_theme(kept, N_NEW, weights) is not None
    few = kept.divided(N_OLD - N_NEW // 2)[1]
    assert new_theme(few, N_NEW, weights) is None


@one_seed
def test_seeded_topics_are_not_replaced(rng):
    kept, weights, _ = kept_of(rng, 6, BEFORE, WITH_ART)  # of topics 4 and 5 nobody needs any
    assert new_theme(kept, N_NEW, weights).topic == 4
    assert new_theme(kept, N_NEW, weights, 5).topic == 5
    assert new_theme(kept, N_NEW, weights, 6) is None


@one_seed
def test_theme_does_not_replace_a_needed_topic(rng):
    few = [0.21, 0.21, 0.21, 0.21, 0.16, 0.0]
    kept, weights, _ = kept_of(rng, 6, BEFORE, few)
    assert new_theme(kept, N_NEW, weights) is not None
    kept, weights, _ = kept_of(rng, 4, BEFORE, few)  # each has more documents than it
    assert new_theme(kept, N_NEW, weights) is None


@one_seed
def test_words_of_a_replaced_topic_move_to_others(rng):
    kept, weights, ids = kept_of(rng, 6, [0.25, 0.25, 0.25, 0.245, 0.005, 0.0], WITH_ART)
    theme = new_theme(kept, N_NEW, weights)
    former = weights.host().rows.copy()
    cells = sparse.csr_array(rng.integers(0, 5, (61, 6)))
    window = Window(np.full(6, 0.1), TokenCounts(cells, FRACTION_SHIFT), [kept])
    theme = _stream_sweeps.Theme(
        theme.words, theme.tokens, theme.n_docs, theme.share, 3, _stream_sweeps._heirs(former, 3)
    )
    after, made = give(theme, window, weights.host())
    assert (after.kept.topics[theme.tokens] == 3).all()
    assert np.count_nonzero(after.kept.topics == 3) == len(theme.tokens)
    elsewhere = np.setdiff1d(np.arange(len(ids)), theme.tokens)
    moved = elsewhere[kept.topics[elsewhere] == 3]
    stays = elsewhere[kept.topics[elsewhere] != 3]
    others = np.delete(former, 3, axis=1)
    assert (after.kept.topics[stays] == kept.topics[stays]).all()
    assert (
        former[ids[moved], after.kept.topics[moved].astype(int)] == others[ids[moved]].max(axis=1)
    ).all()
    # counts outside the window are conserved per word
    assert (after.outside.cells.sum(axis=1) == cells.sum(axis=1)).all()
    assert after.outside.cells[:, [3]].sum() == 0
    seen = np.bincount(ids[theme.tokens], minlength=61)
    assert (made.rows[:, 3] == seen).all()
    assert np.allclose(made.rows.sum(axis=1) - seen, former.sum(axis=1))


@one_seed
def test_new_topic_has_average_weight(rng, seed):
    kept, weights, _ = kept_of(rng, 6, BEFORE, WITH_ART)
    model = TopicModel(6, n_sweeps=2, random_state=seed).partial_fit(np.ones((1, 61)))
    state, none = model._state, TokenCounts(sparse.csr_array((61, 6), dtype=np.int64), 16)
    state.weights.become(weights)
    window = Window(np.array([0.1] * 4 + [1e-6] * 2), none, [kept], n_docs=2400, n_new=N_NEW)
    after = _stream_sweeps._renew(model._plan(state), state, window)
    (event,) = new_topics(model)
    assert event.topic in (4, 5)
    assert after.alpha[event.topic] == 0.1
    assert np.delete(after.alpha, event.topic).tolist() == [0.1] * 4 + [1e-6]
    assert window.alpha[event.topic] == 1e-6  # a copy


@one_seed
def test_heirs_are_the_largest_other_topics(rng):
    rows = rng.random((50, 7)).astype(np.float32)
    for topic in range(7):
        without = rows.copy()
        without[:, topic] = -1
        assert (_stream_sweeps._heirs(rows, topic) == without.argmax(axis=1)).all()
