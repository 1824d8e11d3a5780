"""Coherence equals gensim's, over documents and windows."""

import numpy as np
import pytest
from gensim.corpora import Dictionary
from gensim.models import CoherenceModel
from hypothesis import given, settings
from hypothesis import strategies as st

from opelda.corpus import Vocabulary
from opelda.metrics import coherence, windows
from tests.cases import cases

WORDS = [f"w{number}" for number in range(160)]
THEIRS = {"npmi": "c_npmi", "c_v": "c_v", "c_uci": "c_uci", "u_mass": "u_mass"}
seeds = st.integers(0, 2**32 - 1)


def theirs(measure, topics, texts, window_size=None):
    """Return gensim's coherence of topics given as word ids."""
    dictionary = Dictionary([WORDS])
    options = {"texts": texts, "window_size": window_size}
    if measure == "u_mass":
        options = {"corpus": [dictionary.doc2bow(text) for text in texts]}
    model = CoherenceModel(
        topics=[[WORDS[j] for j in topic] for topic in topics],
        dictionary=dictionary,
        coherence=THEIRS[measure],
        processes=1,
        **options,
    )
    return model.get_coherence_per_topic()


def texts_of(rng, n_docs, longest):
    """Return documents that hold no word twice, some empty, some with words unknown to both."""
    words = np.array([*WORDS, *(f"x{number}" for number in range(20))])
    weights = 1 / np.arange(1, len(words) + 1) ** 0.5
    return [
        rng.choice(
            words, min(int(n), len(words)), replace=False, p=weights / weights.sum()
        ).tolist()
        for n in rng.integers(0, longest + 1, n_docs)
    ]


@pytest.mark.parametrize("measure", ["c_v", "c_uci", "u_mass"])
@settings(max_examples=8)
@given(seeds)
def test_documents(measure, seed):
    """Also for pairs that never co-occur, provided that every word occurs."""
    rng = np.random.default_rng(seed)
    texts = [*texts_of(rng, 40, 30), WORDS[:12], [*WORDS[12:24], *WORDS[:2]]]
    topics = np.array([rng.choice(24, 6, replace=False) for _ in range(4)])
    found = coherence(topics, Vocabulary(WORDS).count(texts), measure=measure)
    np.testing.assert_allclose(found, theirs(measure, topics, texts, 1000), rtol=0, atol=1e-6)


@settings(max_examples=8)
@given(seeds)
def test_npmi_where_all_pairs_cooccur(seed):
    rng = np.random.default_rng(seed)
    texts = [*texts_of(rng, 40, 30), WORDS[:24], []]
    topics = np.array([rng.choice(24, 6, replace=False) for _ in range(4)])
    found = coherence(topics, Vocabulary(WORDS).count(texts))
    np.testing.assert_allclose(found, theirs("npmi", topics, texts, 1000), rtol=0, atol=1e-6)


@cases("measure", ["npmi", "c_v", "c_uci", "u_mass"])
def test_words_in_every_document(measure):
    texts = [[*WORDS[:2], word] for word in WORDS[2:9]]
    topics = np.array([[0, 2, 3], [2, 0, 1]])
    found = coherence(topics, Vocabulary(WORDS).count(texts), measure=measure)
    if measure == "npmi":  # words 0 and 1: gensim says -1, and -0.9 for never together
        assert found == pytest.approx([-1 / 3, 1 / 3])
    else:
        np.testing.assert_allclose(found, theirs(measure, topics, texts, 1000), rtol=0, atol=1e-6)


@pytest.mark.parametrize("measure", ["c_v", "c_uci", "npmi"])
@settings(max_examples=4)
@given(seeds)
def test_windows_of_other_sizes_equal_gensim(measure, seed):
    """Documents shorter and longer than a window, with unknown words."""
    rng = np.random.default_rng(seed)
    texts = [*texts_of(rng, 25, 170), WORDS]
    size = 110 if measure == "c_v" else 10
    if measure == "npmi":  # all pairs must occur together
        topics = np.array([rng.permutation(range(first, first + 5)) for first in (0, 40, 90)])
    else:
        topics = np.array([rng.choice(len(WORDS), 6, replace=False) for _ in range(4)])
    found = coherence(topics, windows(texts, Vocabulary(WORDS), size=size), measure=measure)
    np.testing.assert_allclose(found, theirs(measure, topics, texts), rtol=0, atol=1e-6)
