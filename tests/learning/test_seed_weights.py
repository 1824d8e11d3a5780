"""Weights of seed words in counts and statistics equal the formula."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda import TopicModel, load, save
from opelda.corpus import generate
from opelda.engines import CPUEngine
from opelda.engines.seam import Statistics, TokenCounts
from opelda.learning import Seeds, SeedWarning
from opelda.learning._seeds import Anchors, Pull
from opelda.report import topic_table


def test_seed_word_of_two_topics_weighs_as_the_formula():
    pull = Pull(np.array([1, 2, 1], np.int32), np.array([0, 0, 1], np.int32), 0.5)
    cells = np.array([[8, 0, 0], [2, 4, 6], [0, 4, 0], [0, 0, 6]])
    # an average topic has 10 tokens; words 1 and 2 have 12 and 4 of them
    more = np.zeros((4, 3))
    more[1, 0], more[2, 0], more[1, 1] = 0.5 * 10 * 12 / 16, 0.5 * 10 * 4 / 16, 0.5 * 10
    counts = TokenCounts(sparse.csr_array(cells << 16), 16)
    found = pull.on_counts(counts).cells.toarray()
    np.testing.assert_allclose(found / 2.0**16, cells + more, atol=1e-4)
    some = Statistics(np.array([0, 1, 3], np.int32), cells[[0, 1, 3]] * 1.0, np.full(3, 26 / 3), 7)
    # (word 2 is absent from the batch and gets no weight; word 1 gets all)
    more = np.zeros((4, 3))
    more[1, 0] = more[1, 1] = 0.5 * 26 / 3
    got = pull.on_statistics(some)
    cells[2] = 0
    np.testing.assert_allclose(got.values[np.searchsorted(got.words, range(4))], cells + more)
    assert got.n_docs == 7
    np.testing.assert_allclose(got.mass, 26 / 3 + more.sum(axis=0))


def test_absent_seed_words_weigh_as_an_average_topic_in_streams():
    cells = np.zeros((4, 3), np.int64)
    cells[0], cells[1] = 100_000, 300
    counts = TokenCounts(sparse.csr_array(cells << 16), 16)
    here, mean = np.array([1, 2], np.int32), cells.sum() / 3
    for strength, firm, weight in ((0.1, False, 0.1), (0.1, True, 1 - 900 / (0.01 * mean))):
        pull = Pull(here, np.zeros(2, np.int32), strength, firm)
        more = (pull.on_counts(counts) - counts).cells.toarray() / 2.0**16
        np.testing.assert_allclose(more[1, 0], weight * mean, rtol=1e-6)
        assert more.sum() == more[1, 0]  # the other seed word does not occur
        least = pull.on_counts(counts, at_least=True).cells.toarray() / 2.0**16
        np.testing.assert_allclose(least[1, 0], max(300, weight * mean), rtol=1e-6)


def rare(seed, n=4000, n_rare=40):
    """Short documents of 20 themes, 1% about the first, and four words of the first."""
    shape = {"n_words": 600, "n_topics": 20, "n_tokens": 10, "doc_topic_prior": 0.05}
    made = generate(n, **shape, separated=True, random_state=seed)
    about = np.flatnonzero(made.mixtures.argmax(axis=1) == 0)
    X = made.X[np.setdiff1d(np.arange(n), about[n_rare:])]
    return X, made.topics, np.argsort(-made.topics[0])[[1, 3, 4, 6]].tolist()


def streamed(model, X):
    return model.fit_stream(X[first : first + 500] for first in range(0, X.shape[0], 500))


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("learn", [TopicModel.fit, streamed])
@pytest.mark.parametrize("preset", ["best", "fast"])
def test_seeded_rare_theme_keeps_its_topic(preset, learn, seed):
    X, topics, words = rare(seed)
    model = TopicModel(10, preset=preset, seeds={"rare": words}, random_state=seed, n_jobs=1)
    learn(model, X)
    assert (model.components_[0] @ topics.T).argmax() == 0
    assert model.seed_coverage_["rare"] == (4, 4)
    assert model.topic_labels_[0] == "rare"


@pytest.mark.parametrize("learn", [TopicModel.fit, streamed])
def test_seed_label_is_doubtful_when_other_words_dominate(learn, tmp_path):
    X, topics, _ = rare(0)
    words = topics[1:17].argmax(axis=1).tolist()  # of 16 themes, which have topics of their own
    seeds, doubtful = Seeds({"mixed": words}, strength=0), []
    for chance in range(3):
        model = TopicModel(25, seeds=seeds, random_state=chance, n_jobs=1)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", SeedWarning)
            learn(model, X)
        n_found, n_words = model.seed_coverage_["mixed"]
        assert n_found == np.isin(words, np.argsort(-model.components_[0])[:20]).sum()
        said = f"20 top words of 'mixed' ({n_found} of 16)"
        assert any(said in str(each.message) for each in warned) == (n_found < n_words / 2)
        doubtful += [model] * (n_found < n_words / 2)
    model = doubtful[0]
    save(model, tmp_path / "m")
    for each in (model, load(tmp_path / "m")):
        assert each.topic_labels_[0] == topic_table(each)[0].label == "mixed?"
        assert each.get_feature_names_out()[0] == "mixed?"
    assert model.set_topic_labels({0: "mine"}).topic_labels_[0] == "mine"  # a person's own word


@given(st.integers(0, 2**32 - 1))
def test_documents_without_seed_words_weigh_at_most_half_of_the_others(seed):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.poisson(0.7, (12, 6)).astype(np.float32))
    pull = Pull(np.array([1, 2, 3], np.int32), np.array([0, 0, 1], np.int32), 0.1)
    engine = CPUEngine(1)
    n_tokens = int(X.sum())
    topics = rng.integers(0, 3, n_tokens).astype(np.uint16)
    tokens = engine.tokens(engine.documents(X), 3, topics=topics)
    dense = X.toarray().astype(int)
    expected = np.zeros((2, 6, 3))  # of documents with and without a seed word of the topic
    for (doc, word), topic in zip(
        np.argwhere(dense).repeat(dense[dense > 0], 0), topics, strict=True
    ):
        holds = topic < 2 and dense[doc, pull.columns[pull.topics == topic]].any()
        expected[int(not holds), word, topic] += 1
    counts = TokenCounts(
        sparse.csr_array((expected.sum(axis=0) * 2**tokens.shift).astype(np.int64)), tokens.shift
    )
    own, others = expected
    share = np.minimum(0.5 * own.sum(axis=0) / np.maximum(others.sum(axis=0), 1e-9), 1.0)
    share[2] = 1.0  # has no seed words
    found = Anchors(pull, tokens).limit(counts).cells.toarray() / 2.0**tokens.shift
    np.testing.assert_allclose(found, own + share * others, atol=2.0**-tokens.shift)
