"""Seeded topics keep their number, name and theme under every way of learning."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import opelda
from opelda import TopicModel
from opelda.corpus import Tokenizer, Vocabulary, generate
from opelda.engines import CPUEngine
from opelda.engines.seam import TokenCounts
from opelda.errors import InputError, ModelFileError
from opelda.learning import Online, SeedWarning, _closing_sweeps
from opelda.learning._closing_sweeps import HeldCollection
from opelda.learning._seeding import seed_topics
from opelda.learning._seeds import Pull, Seeds, SeedTopics
from opelda.learning.streaming import _window
from opelda.learning.streaming import _window_sweeps as _stream_sweeps
from tests.cases import cases

K, V = 9, 90  # more topics than themes: a theme without one would look for another's
THEMES = 6
TRUE = (4, 2, 5)  # the topics that the seeds are words of


def drawn(seed, n=400, n_tokens=20):
    words = {"n_words": V, "n_topics": THEMES, "n_tokens": n_tokens, "separated": True}
    return generate(n, **words, random_state=seed)


@pytest.fixture(scope="module")
def made():
    return drawn(1)


def seeds(topics, rank=(2, 3)):
    """Two words of each topic, except the most likely one."""
    order = np.argsort(-topics[list(TRUE)], axis=1)[:, rank]
    return {f"theme {k}": [int(word) for word in words] for k, words in enumerate(order)}


def found(model, topics):
    """The generated topics that the first ones are most alike."""
    return tuple((model.components_ @ topics.T).argmax(axis=1)[: len(TRUE)])


def weight(model, topic, words):
    """What words weigh in a topic, as a share of an average one."""
    rows = model._state.weights.host().rows
    return K * rows[words, topic].sum() / rows.sum()


@pytest.mark.parametrize("preset", ["best", "fast", "paper"])
@pytest.mark.parametrize("seed", range(2))
def test_seeded_topics_keep_number_name_and_theme(preset, seed):
    made = drawn(seed, 1200 if preset == "paper" else 400, n_tokens=60)
    words = seeds(made.topics)
    model = TopicModel(K, preset=preset, seeds=words, random_state=seed, n_jobs=1)
    if preset == "paper":  # whose updates are for larger collections
        model.set_params(batch_size=50)
    model.fit(made.X)
    assert found(model, made.topics) == TRUE
    assert model.topic_labels_[:3] == ["theme 0", "theme 1", "theme 2"]
    # beyond the seed words: the theme's most likely word is no seed
    assert tuple(made.topics[:, model.components_[:3].argmax(axis=1)].argmax(axis=0)) == TRUE
    assert model.set_topic_labels({1: "mine"}).topic_labels_[:3] == ["theme 0", "mine", "theme 2"]


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("options", [{"n_sweeps": 8}, {"preset": "fast"}])
def test_streams_keep_labels_across_calls(options, seed):
    made = drawn(seed, n_tokens=60)
    words = seeds(made.topics)
    model = TopicModel(K, seeds=words, batch_size=50, random_state=seed, n_jobs=1, **options)
    for first in range(0, 400, 100):
        model.partial_fit(made.X[first : first + 100])
        assert model.topic_labels_[:3] == ["theme 0", "theme 1", "theme 2"]
    assert min(weight(model, *each) for each in enumerate(words.values())) > 0.095
    if "n_sweeps" in options:  # updates alone let one topic in twenty drift to another theme
        assert found(model, made.topics) == TRUE


def texts(made, n=400):
    return [
        " ".join(f"w{j}" for j in np.repeat(row.indices, row.data.astype(int))) + " filler"
        for row in (made.X[[i]] for i in range(n))
    ]


def as_words(words):
    return {name: [f"w{j}" for j in each] for name, each in words.items()}


def growing():
    return Vocabulary(growing=True, tokenizer=Tokenizer(stop_words=None))


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize(
    "options", [{"n_sweeps": 8}, {"preset": "fast", "learning": Online(decay=0.5)}]
)
def test_later_seed_words_count_from_their_first_occurrence(options, seed):
    made = drawn(seed)
    theme = np.isin(np.arange(V), np.argsort(-made.topics[TRUE[0]])[: V // THEMES])
    has = np.asarray(made.X[:, theme].sum(axis=1)).ravel() > 0
    documents = np.array(texts(made), object)
    words = {"late": seeds(made.topics)["theme 0"]}
    options = options | {"batch_size": 40, "random_state": seed, "n_jobs": 1}
    model = TopicModel(K, seeds=as_words(words), **options)
    with pytest.warns(SeedWarning) as said:
        model.fit_stream(list(documents[~has]), vocabulary=growing())
    assert f"so far: 'w{words['late'][0]}'" in str(said[0].message)
    assert "'late' (0 of 2)" in str(said[1].message)
    assert model.topic_labels_[0] == "late?"
    for _ in range(3):
        model.fit_stream(list(documents[has]))
    assert model.topic_labels_[0] == "late"
    column = model.vocabulary_.columns(as_words(words)["late"])
    # where the theme found a free topic its seeds weigh a tenth of what an average one had then
    assert weight(model, 0, column) > 0.05


def test_resumed_checkpoint_ends_with_identical_bytes(made, tmp_path):
    documents, options = texts(made), {"batch_size": 50, "random_state": 0, "n_jobs": 1}

    words = as_words(seeds(made.topics))

    def model(**more):
        return TopicModel(K, seeds=words, n_sweeps=6, **options, **more)

    whole = model().fit_stream(iter(documents), vocabulary=growing(), checkpoint=tmp_path / "a")
    model().fit_stream(iter(documents[:200]), vocabulary=growing(), checkpoint=tmp_path / "b")
    parts = model().fit_stream(iter(documents), checkpoint=tmp_path / "b")
    assert parts.components_.tobytes() == whole.components_.tobytes()
    assert parts.topic_labels_ == whole.topic_labels_
    for other in ({"seeds": Seeds(words, 0.5)}, {"seeds": {"x": ["w1"]}}):
        with pytest.raises(ModelFileError, match=next(iter(other))):
            model().set_params(**other).fit_stream(documents, checkpoint=tmp_path / "b")


def test_saved_model_keeps_its_seeds(made, tmp_path):
    words = seeds(made.topics)
    model = TopicModel(K, preset="fast", seeds=words, random_state=0, n_jobs=1)
    model.fit(made.X[:200])
    opelda.save(model, tmp_path / "m.opelda")
    other = opelda.load(tmp_path / "m.opelda").set_params(n_jobs=1)
    assert list(other.seeds.items()) == list(words.items())
    assert other.topic_labels_ == model.topic_labels_
    after = (each.partial_fit(made.X[200:]).components_.tobytes() for each in (model, other))
    assert next(after) == next(after)
    assert clone(other).seeds == words


def test_sweeps_do_not_depend_on_threads_and_order(made):
    words, bytes_of = seeds(made.topics), []
    for rows, n_jobs in ((slice(None), 1), (slice(None, None, -1), 3)):
        X = sparse.csr_array(made.X[rows])
        model = TopicModel(K, n_sweeps=5, seeds=words, random_state=0, n_jobs=n_jobs)
        bytes_of.append(model.fit(X).components_.tobytes())
    assert bytes_of[0] == bytes_of[1]


def test_seed_words_without_occurrences_are_named(made):
    words = {"one": ["tea", "Milk", "teas of china"], "two": ["wine", "grog"]}
    documents = ["tea with milk", "wine and water"] * 20
    model = TopicModel(3, seeds=words, n_passes=1, n_sweeps=2, random_state=0)
    with pytest.warns(SeedWarning) as said:
        model.fit(documents)
    assert [str(each.message) for each in said] == [
        "seed words that do not occur: 'teas of china', 'grog'."
    ]
    with pytest.raises(InputError, match="no word of 'rum' that occurs in the documents"):
        clone(model).set_params(seeds=words | {"rum": ["grog"]}).fit(documents)


@cases(
    ("given", "sentence"),
    [
        (["tea"], "must map topic names to words"),
        ({}, "must map topic names to words"),
        ({"tea": "green"}, "list of words for 'tea'"),
        ({"tea": []}, "no words for 'tea'"),
        ({"tea": [None]}, "has the invalid word None for 'tea'"),
        ({" ": ["tea"]}, "an empty or duplicate topic name"),
        ({"a": ["x"], "a ": ["y"]}, "an empty or duplicate topic name"),
        ({"a\nb": ["x"]}, "cannot be printed on one line"),
        ({str(k): [k] for k in range(10)}, "has 10 topics, but the model has only 9"),
        ({"tea": ["green"]}, "these counts have no vocabulary"),
    ],
)
def test_bad_seed_mappings_are_rejected(made, given, sentence):
    model = TopicModel(K, seeds=given, n_passes=1, n_sweeps=1)
    with pytest.raises(InputError, match=sentence):
        model.fit(made.X)
    with pytest.raises(InputError, match=sentence):
        clone(model).fit_stream([made.X])
    assert not hasattr(model, "components_")


def test_sampler_and_bad_strength_are_rejected(made):
    words = {"a": [1]}
    with pytest.raises(InputError, match="seeds has no effect with the rule 'sgrld'"):
        TopicModel(K, seeds=words, learning="sgrld").fit(made.X)
    for strength in (-1, np.inf, "much", None):
        with pytest.raises(InputError, match="strength must be a number"):
            TopicModel(K, seeds=Seeds(words, strength)).fit(made.X)


def test_words_are_frame_columns_or_tokens():
    frame = pd.DataFrame(np.eye(3).repeat(9, axis=0), columns=["tea", "wine", "milk"])
    model = TopicModel(3, seeds={"w": ["wine"]}, n_passes=1, n_sweeps=2, random_state=0)
    assert model.fit(frame).top_words(1)[0] == ["wine"]
    words = Vocabulary(["walk", "new york"], tokenizer=Tokenizer(stem="english", ngrams=2))
    given = SeedTopics.of({"a": ["Walking", "New York", "new york city"]}, 2)
    assert given.pull(words, 2).columns.tolist() == [0, 1]


def test_seeded_topic_starts_from_documents_with_most_seed_words(made):
    X = sparse.csr_array(np.kron(np.eye(4), np.ones((30, 5))))
    engine = CPUEngine(1)
    weights = engine.random_weights(20, 4, 0.1, 0)
    before = weights.rows[:, :4].copy()
    pull = Pull(np.array([12, 13], np.int32), np.array([0, 0], np.int32), 0.1)
    seed_topics(weights, engine.documents(X), 0, pull)
    gained = (weights.rows[:, :4] - before).reshape(4, 5, 4).sum(axis=1)
    assert gained[2, 0] == pytest.approx(20, rel=1e-4)  # the weight of the start, all in its group
    assert sorted(gained.argmax(axis=0)) == [0, 1, 2, 3]  # and none to other topics


def test_only_seeded_topics_start_from_documents():
    X = sparse.csr_array(np.kron(np.eye(4), np.ones((30, 5))))
    engine = CPUEngine(1)
    weights = engine.random_weights(20, 4, 0.1, 0)
    before = weights.rows[:, :4].copy()
    pull = Pull(np.array([12], np.int32), np.array([0], np.int32), 0.1)
    seed_topics(weights, engine.documents(X), 0, pull, rest=False)
    assert (weights.rows[:, :4] != before).any(axis=0).tolist() == [True, False, False, False]


def test_firm_seeds_raise_counts_to_at_most_their_weight():
    counts = TokenCounts(sparse.csr_array(np.array([[400, 0], [0, 400], [4, 4]])), 0)
    pull = Pull(np.array([0, 2], np.int32), np.array([0, 1], np.int32), 0.1)
    added = pull.on_counts(counts).cells.toarray() - counts.cells.toarray()
    raised = pull.on_counts(counts, at_least=True).cells.toarray() - counts.cells.toarray()
    assert added[0, 0] == 40 == added[2, 1]  # a tenth of an average topic
    assert raised[0, 0] == 0
    assert raised[2, 1] == 36


def test_sweeps_sample_by_word_weight_and_leave_counts(made, monkeypatch):
    given, sweep = [], HeldCollection.sweep
    monkeypatch.setattr(
        HeldCollection,
        "sweep",
        lambda *each, **how: (given.append(how["counts"]), sweep(*each, **how))[1],
    )
    model = TopicModel(K, seeds={"one": [7]}, n_passes=1, n_sweeps=3, n_jobs=1)
    model.fit(made.X)
    assert given[0] is None  # by the weights, which have it from the passes
    once, total = made.X[:, [7]].sum(), made.X.sum()
    for counts in given[1:]:
        # some tokens of documents without the word may not count, in its topic alone
        has = counts.sums.sum() / (1 + 0.1 / K)
        assert has <= total
        assert counts.cells[[7]].sum() / 2.0**counts.shift == pytest.approx(
            once + 0.1 * has / K, rel=1e-3
        )
    weights = model._state.weights
    assert weights.scale * weights.sums.sum() <= total


def test_seeded_topics_keep_their_numbers_when_others_are_matched():
    before = np.repeat(np.arange(5), 20).astype(np.uint16)
    now = np.array([1, 0, 4, 2, 3], np.uint16)[before]
    order, others = _stream_sweeps._numbers(before, now, 5, 2)
    assert order.tolist() == [0, 1, 4, 2, 3]
    assert others == []


def test_no_seeded_topic_collects_common_words(made, monkeypatch):
    chosen = []
    given = _closing_sweeps.with_share
    monkeypatch.setattr(
        _closing_sweeps, "with_share", lambda *each: (chosen.append(each[1:]), given(*each))[1]
    )
    words = {str(k): [k] for k in range(K)}
    for n_seeded in (K - 1, K):
        chosen.clear()
        some = dict(list(words.items())[:n_seeded])
        TopicModel(K, seeds=some, n_passes=1, n_sweeps=6, n_jobs=1).fit(made.X)
        assert {topic for topic, _ in chosen} == {K - 1}
        assert all((share > 0) == (n_seeded < K) for _, share in chosen)


@pytest.mark.parametrize("seed", range(1))
def test_theme_that_returns_after_long_gets_its_topic(monkeypatch, seed):
    monkeypatch.setattr(_window, "MOST_DOCS", 400)
    rng = np.random.default_rng(seed)
    themes = [[f"{name}{n}" for n in range(8)] for name in ("tea", "sea", "law", "art")]

    def documents(n, *shares):
        return [rng.choice(themes[k], 6).tolist() for k in rng.choice(4, n, p=shares)]

    words = {"tea": ["tea1", "tea2"]}
    model = TopicModel(5, seeds=words, batch_size=50, n_sweeps=8, random_state=seed, n_jobs=1)
    model.fit_stream(documents(300, 0.2, 0.4, 0.4, 0), vocabulary=Vocabulary(growing=True))
    model.fit_stream(documents(1400, 0, 0.5, 0.5, 0) + documents(200, 0, 0.3, 0.3, 0.4))
    assert set(model.top_words(2)[0]) == {"tea1", "tea2"}
    assert all(event.topic != 0 for event in model.events_ if event.kind == "new topic")
    model.fit_stream(documents(200, 0.3, 0.2, 0.2, 0.3))
    found = model._state.weights.host().rows[model.vocabulary_.columns(themes[0])].sum(axis=0)
    assert found[0] > 0.5 * found.sum()  # a part may be another's at first
    assert model.topic_labels_[0] == "tea"


def test_edited_topics_keep_their_words(made):
    words = seeds(made.topics)
    a, b, c = words.values()
    model = TopicModel(K, preset="fast", seeds=words, random_state=0, n_jobs=1).fit(made.X)
    model.merge_topics([[0, 2], [1, 5]])
    assert model.seeds == {"theme 0": a + c, "theme 1": b}
    model.remove_topics([0, 4])
    assert model.seeds == {"theme 1": b}
    assert model.partial_fit(made.X).topic_labels_[0] == "theme 1"
    assert (model.components_[:, b].argmax(axis=0) == 0).all()
    model.remove_topics([0])
    assert model.seeds is None


def test_fits_without_seeds_are_identical(made):
    plain = TopicModel(K, n_sweeps=5, random_state=0, n_jobs=1).fit(made.X)
    other = TopicModel(K, n_sweeps=5, random_state=0, n_jobs=1).fit(made.X)
    assert other.components_.tobytes() == plain.components_.tobytes()
