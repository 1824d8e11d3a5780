"""Vocabularies that grow and shrink while a model learns: topics, counts, memory."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda import MLOPE, OnlineOPE, OnlineVB, StreamingOPE, TopicModel
from opelda.corpus import Vocabulary, generate_stream
from opelda.engines import CPUEngine
from tests.cases import cases

SCVB0 = partial(TopicModel, preset="paper", learning="scvb0", inference="cvb0")
SGRLD = partial(TopicModel, preset="paper", learning="sgrld")
RULES = [MLOPE, OnlineOPE, StreamingOPE, OnlineVB, SCVB0, SGRLD]
# every topic owns each third word, and 15 words of 40 change with each mini-batch
STREAM = list(generate_stream(240, batch_size=20, n_words=40, n_topics=3, new_words_per_batch=15))


def made(cls=OnlineOPE, **parameters):
    return cls(**{"n_components": 3, "batch_size": 20, "random_state": 0} | parameters)


def texts(topics, n_docs, rng):
    """Documents of ten words of a single topic."""
    return [rng.choice(topics[i % len(topics)], 10).tolist() for i in range(n_docs)]


def by_topic(model, word):
    return model.components_[:, model.vocabulary_.index(word)]


@pytest.mark.parametrize("cls", [*RULES, lambda **p: StreamingOPE(keep_start=True, **p)])
@pytest.mark.parametrize("when_full", ["refuse", "evict"])
@pytest.mark.parametrize("max_features", [None, 1, 7, 40, 60])
def test_topics_are_distributions_after_every_update(cls, when_full, max_features):
    n_checked, known = 0, set()

    def check(report):
        nonlocal n_checked
        topics, vocabulary = model.components_, model.vocabulary_
        assert topics.shape == (3, len(vocabulary)) == (3, model.n_features_in_)
        assert report.n_words == len(vocabulary) <= (max_features or np.inf)
        np.testing.assert_allclose(topics.sum(axis=1, dtype=float), 1, atol=1e-5)
        new = [j for j, word in enumerate(vocabulary.words) if word not in known]
        assert (topics[:, new] > 0).all()
        store = model._state.weights
        np.testing.assert_allclose(store.sums, store.rows[:, :3].sum(0, dtype=float), rtol=1e-9)
        known.update(vocabulary.words)
        n_checked += 1

    words = Vocabulary(growing=True, max_features=max_features, when_full=when_full)
    model = cls(n_components=3, random_state=0, callbacks=check)
    model.fit_stream(STREAM, vocabulary=words)
    assert n_checked == model.n_batch_iter_ >= 1  # of some mini-batches no word has a column
    assert n_checked == len(STREAM) or max_features is not None
    evicts = when_full == "evict" and max_features is not None
    assert (model.vocabulary_.n_evicted > 0) == evicts
    assert (model.n_words_added_ > len(model.vocabulary_)) == evicts
    theta = model.transform(model.vocabulary_.count(STREAM[-1]))
    np.testing.assert_allclose(theta.sum(axis=1), 1, atol=1e-5)


@cases("max_features", [None, 7, 60])
def test_added_and_dropped_words_are_counted(max_features):
    words = Vocabulary(["w0", "w1"], growing=True, max_features=max_features, when_full="refuse")
    model = made().fit_stream(STREAM, vocabulary=words)
    known, n_dropped, n_unknown = {"w0", "w1"}, 0, 0.0
    for batch in STREAM:
        n_docs_with, first = {}, {}
        for document in batch:
            for word in document:
                n_docs_with[word] = n_docs_with.get(word, 0) + 1
                first.setdefault(word, len(first))
        new = sorted(n_docs_with.keys() - known, key=lambda w: (-n_docs_with[w], first[w]))
        room = len(new) if max_features is None else max_features - len(known)
        known.update(new[:room])
        n_dropped += len(new[room:])
        n_unknown += sum(n for doc in batch for word, n in doc.items() if word not in known)
    assert set(model.vocabulary_.words) == known
    assert (model.n_words_added_, model.n_words_dropped_) == (len(known) - 2, n_dropped)
    assert model.n_unknown_tokens_ == n_unknown
    assert (len(words), words.n_added) == (2, 0)  # the user's own has not changed


@pytest.mark.parametrize("cls", RULES)
@pytest.mark.parametrize("seed", range(5))
def test_later_word_joins_the_topic_of_its_companions(cls, seed):
    rng = np.random.default_rng(seed)
    first, second = [f"a{j}" for j in range(8)], [f"b{j}" for j in range(8)]
    model = cls(n_components=2, batch_size=20, random_state=seed)
    model.fit_stream(texts([first, second], 400, rng), vocabulary=Vocabulary(growing=True))
    model.fit_stream(texts([[*first, "late"], second], 400, rng))
    of_first = sum(by_topic(model, word) for word in first)
    home = of_first.argmax()
    assert of_first[home] > 2 * of_first[1 - home]  # the topics are distinct
    late = by_topic(model, "late")
    # (a draw of SGRLD has noise in every weight)
    assert late[home] > {MLOPE: 2, SGRLD: 1}.get(cls, 20) * late[1 - home]
    assert late[home] > 0.02
    top = model.top_words(9)
    assert set(top[home]) == {*first, "late"}
    theta = model.transform(model.vocabulary_.count([["late", "late", "never seen"]]))
    assert theta[0].argmax() == home


@pytest.mark.parametrize("cls", RULES)
@pytest.mark.parametrize("seed", range(5))
def test_reused_column_starts_from_zero(cls, seed):
    rng = np.random.default_rng(seed)
    first, second = [f"a{j}" for j in range(8)], [f"b{j}" for j in range(8)]
    words = Vocabulary([*first, *second, "x"], growing=True, max_features=17)
    model = cls(n_components=2, batch_size=20, random_state=seed)
    model.fit_stream(texts([[*first, "x", "x", "x"], second], 400, rng), vocabulary=words)
    home = by_topic(model, "x").argmax()
    column = model.vocabulary_.index("x")
    # x no longer occurs: it fades until a word of the other topic reuses its column
    model.fit_stream(texts([first, second], 400, rng))
    for _ in range(40 if cls is SGRLD else 10):
        with_y = [[*tokens, "y"] for tokens in texts([second], 40, rng)]
        model.fit_stream([texts([first], 40, rng) + with_y])
    assert "x" not in model.vocabulary_
    assert model.vocabulary_.index("y") == column
    assert by_topic(model, "y").argmax() == 1 - home


@pytest.mark.parametrize(
    "cls", [*RULES, lambda *a, **p: TopicModel(*a, preset="paper", learning="ml", **p)]
)
def test_priors_of_every_shape_grow(cls):
    given = [f"w{j}" for j in range(10)]
    vector = np.linspace(0.1, 1.0, 10)
    models = [
        cls(3, random_state=0, topic_word_prior=prior).fit_stream(
            STREAM, vocabulary=Vocabulary(given, growing=True)
        )
        for prior in (vector, vector.tolist(), np.tile(vector, (3, 1)))
    ]
    n_words = len(models[0].vocabulary_)
    assert n_words > 100
    for model in models:
        prior = model._state.weights.prior
        columns = prior if prior.ndim == 1 else prior[:, 0]
        assert len(prior) == n_words
        np.testing.assert_allclose(columns[:10], vector, rtol=1e-6)
        np.testing.assert_allclose(columns[10:], vector.mean(), rtol=1e-5)
        np.testing.assert_allclose(model.components_, models[0].components_, rtol=1e-2, atol=1e-6)
        np.testing.assert_allclose(model.components_.sum(axis=1), 1, atol=1e-5)
    same = cls(3, random_state=0, topic_word_prior=0.3)
    same.fit_stream(STREAM, vocabulary=Vocabulary(given, growing=True))
    alike = cls(3, random_state=0, topic_word_prior=np.full(10, 0.3))
    alike.fit_stream(STREAM, vocabulary=Vocabulary(given, growing=True))
    np.testing.assert_allclose(same.components_, alike.components_, rtol=1e-3, atol=1e-7)


def test_top_words_are_words_of_the_vocabulary():
    words = Vocabulary(growing=True, max_features=30)
    model = made().fit_stream(STREAM, vocabulary=words)
    top = model.top_words(5, by="probability")
    assert [len(topic) for topic in top] == [5, 5, 5]
    assert {word for topic in top for word in topic} <= set(model.vocabulary_.words)
    for topic, row in zip(top, model.components_, strict=True):
        best = np.sort(row)[::-1][:5]
        assert [row[model.vocabulary_.index(word)] for word in topic] == best.tolist()


def test_matrix_in_a_growing_stream_needs_the_current_columns():
    words = Vocabulary(["w0", "w1"], growing=True)
    model = made().fit_stream([STREAM[0], np.ones((4, 3))], vocabulary=words)
    n_words = len(model.vocabulary_)
    model.fit_stream([np.ones((2, n_words + 3))])
    assert model.n_unknown_tokens_ == 6
    assert len(model.vocabulary_) == n_words == model.n_features_in_


def test_capacity_grows_by_a_quarter_up_to_the_limit():
    sizes = []

    def watch(report):
        store = model._state.weights
        sizes.append(len(store._room))
        assert report.n_words <= len(store._room)

    words = Vocabulary(growing=True, max_features=100)
    model = made(callbacks=watch)
    model.fit_stream(STREAM, vocabulary=words)
    assert len(model.vocabulary_) == 100
    assert max(sizes) <= 125
    # without a limit, copying stays rare: each new room is at least a quarter larger
    store = CPUEngine(1).random_weights(8, 3, 0.1, seed=0)
    rooms = []
    for n_words in range(9, 3000):
        store.grow(n_words, np.ones(3))
        rooms.append(len(store._room))
        assert n_words <= rooms[-1] <= 1.25 * n_words + 1
    assert len(set(rooms)) < 40


STEP = st.sampled_from(["grow", "reset", "shrink", "normalise", "add", "clear", "prior"])


@given(
    steps=st.lists(STEP, max_size=60),
    n_topics=st.integers(1, 20),
    seed=st.integers(0, 2**32 - 1),
    kind=st.integers(0, 2),
)
def test_lazy_rows_equal_explicit_sums(steps, n_topics, seed, kind):
    """Against lambda in double precision, updated in full at every step."""
    rng = np.random.default_rng(seed)
    shape = [(), (6,), (6, n_topics)][kind]
    prior = np.full(shape, 0.25, np.float32) if shape else 0.25
    store = CPUEngine(1).random_weights(6, n_topics, prior, seed)
    rows, weight = store.rows[:, :n_topics].astype(float), 0.0
    for step in steps:
        new = rng.uniform(0, 2, n_topics)
        words = rng.permutation(len(rows))[: rng.integers(0, len(rows) + 1)]
        factor = 10 ** rng.uniform(-4, 0)
        if step == "grow":
            n_more = int(rng.integers(0, 5))
            store.grow(len(rows) + n_more, new)
            rows = np.concatenate([rows, np.tile(new, (n_more, 1))])
        elif step == "reset":
            store.reset(words, new)
            rows[words] = new
        elif step == "shrink":
            store.shrink(factor)
            rows *= factor
        elif step == "normalise":
            if rows.sum(axis=0).min() > 0 and store.sums.min() > 0:
                before = store.scale * store.sums
                store.normalise()
                rows *= store.scale * store.sums / before
        elif step == "clear":
            store.clear()
            rows[:] = 0
        elif step == "add":
            store.rows[words, :n_topics] += (new / store.scale).astype(np.float32)
            store.sums += len(words) * new / store.scale
            rows[words] += new
        else:
            store.prior_weight = weight = float(rng.uniform())
        lam = rows + weight * 0.25
        scale = rows.max(initial=1e-3)
        got = store.scale * store.rows[:, :n_topics].astype(float) + weight * 0.25
        np.testing.assert_allclose(got, lam, rtol=1e-4, atol=1e-5 * scale)
        np.testing.assert_allclose(store.totals, lam.sum(axis=0), rtol=1e-4, atol=1e-5 * scale)
        assert not store.rows[:, n_topics:].any()
        assert len(store.rows) == store.n_words == len(rows)


def test_new_word_starts_from_the_mean_of_a_matrix_prior_on_every_engine():
    prior = np.full((3, 10), 0.3)
    texts = [[f"w{j}" for j in range(10)], ["w1", "new"], ["new", "w2", "w3"]]
    grown = []
    for engine in ("cpu", "reference"):
        model = StreamingOPE(
            3, batch_size=1, keep_start=True, topic_word_prior=prior, random_state=0, engine=engine
        )
        words = Vocabulary([f"w{j}" for j in range(10)], growing=True)
        grown.append(model.fit_stream(texts, vocabulary=words).components_)
    np.testing.assert_allclose(*grown, rtol=1e-4)
