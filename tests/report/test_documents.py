"""Typical documents of topics."""

import textwrap
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation

import opelda
from opelda.corpus import read
from opelda.errors import InputError
from opelda.report import top_documents
from opelda.report._document_blocks import (
    BLOCK,
    DocumentBlock,
    beginning,
    mended,
    with_details,
)
from opelda.report._retrieval import SHORT, TypicalDocuments
from tests.cases import cases

THEMES = (
    ["star", "galaxy", "orbit"], ["bread", "flour", "oven"], ["court", "judge", "jury"],
    ["goal", "team", "match"], ["bond", "price", "market"],
)  # fmt: skip
K = len(THEMES)


def drawn(seed):
    """Return 90 documents of two themes each, then one document per theme."""
    chance = np.random.default_rng(seed)
    mixed = []
    for first, second in [*combinations(range(K), 2)] * 9:  # words of most documents are left out
        words = [*chance.choice(THEMES[first], 30), *chance.choice(THEMES[second], 30)]
        mixed.append(" ".join(words))
    return mixed + [" ".join(theme * 20) for theme in THEMES]


@pytest.fixture(scope="module")
def texts():
    return drawn(0)


@pytest.fixture(scope="module")
def model(texts):
    return opelda.TopicModel(K, random_state=0).fit(texts)


@pytest.mark.parametrize("seed", range(1))
def test_top_document_of_a_topic_is_about_it(seed):
    texts = drawn(seed)
    seeds = {
        theme[0]: theme for theme in THEMES
    }  # without seeds, 2% of runs give one theme two topics
    model = opelda.TopicModel(K, seeds=seeds, random_state=seed).fit(texts)
    for corpus in (texts, read(texts), model.vocabulary_.count(texts)):
        rows = [row for row in top_documents(model, corpus) if row.rank == 1]
        assert [row.topic for row in rows] == list(range(K))
        for row in rows:
            assert row.document == 90 + row_of(model, row.topic)
            assert row.weight > 0.95


def row_of(model, topic):
    """Return the theme that a topic is about."""
    word = model.top_words(1)[topic][0]
    return next(i for i, theme in enumerate(THEMES) if word in theme)


@given(
    st.integers(1, 4), st.integers(1, 60), st.integers(1, 7), st.integers(1, 30), st.integers(0, 99)
)
def test_ranking_is_independent_of_block_size(n_topics, n_docs, n, size, seed):
    chance = np.random.default_rng(seed)
    theta = chance.choice([0.0, 0.25, 0.5, 1.0], (n_docs, n_topics)).astype(np.float32)
    tokens = chance.choice([0.0, 5.0, 30.0, 200.0], n_docs)
    names = [f"d{i}" for i in range(n_docs)]
    found = TypicalDocuments(n)
    for first in range(0, n_docs, size):
        rows = slice(first, first + size)
        X = sparse.csr_array(tokens[rows, np.newaxis])
        found.add(DocumentBlock(first, X, names[rows]), theta[rows])
    table = found.table([""] * n_topics)
    for topic in range(n_topics):
        scores = theta[:, topic] * tokens / (tokens + SHORT)
        best = [i for i in np.argsort(-scores, kind="stable") if scores[i] > 0][:n]
        rows = [row for row in table if row.topic == topic]
        assert [row.document for row in rows] == best
        assert [row.rank for row in rows] == list(range(1, len(best) + 1))
        assert [row.name for row in rows] == [names[i] for i in best]
        assert [row.weight for row in rows] == theta[best, topic].tolist()
        assert [row.tokens for row in rows] == tokens[best].tolist()


@given(st.integers(0, 999), st.integers(1, 4), st.integers(1, 9))
def test_near_duplicates_rank_below_distinct_documents(seed, n, size):
    """Copies with a word more or less rank best; each original appears once."""
    chance = np.random.default_rng(seed)
    originals = np.kron(np.eye(n, dtype=int), np.ones((1, 12), int))
    copied = np.repeat(originals, 3, axis=0)
    copied[np.arange(len(copied)), 12 * np.repeat(np.arange(n), 3) + chance.integers(0, 12)] = 0
    X = sparse.csr_array(np.vstack((originals, copied))[chance.permutation(4 * n)])
    found = TypicalDocuments(n)
    for first in range(0, 4 * n, size):
        part = X[first : first + size]
        theta = chance.uniform(0.8, 1.0, (part.shape[0], 1)).astype(np.float32)
        found.add(DocumentBlock(first, part), theta)
    rows = found.table([""])
    themes = [int(X[[row.document]].indices[0]) // 12 for row in rows]
    assert len(rows) == n
    assert len(set(themes)) == n  # six candidates per row are more than the copies


def test_documents_of_one_name_rank_below_others(model):
    story = "star galaxy orbit "
    records = [
        {"title": title, "text": text, "date": "2020-02-01T10:00:00Z", "newspaper": "The Day"}
        for title, text in [("A", story * 9), ("A", "star " * 4), ("B", story * 8), ("C", "orbit")]
    ]
    of_stars = next(topic for topic in range(K) if row_of(model, topic) == 0)
    corpus = read(records, metadata="auto", vocabulary=model.vocabulary_)
    for source in (records, corpus):
        rows = top_documents(model, source, 4, topics=[of_stars])
        assert [row.document for row in rows] == [0, 2, 3, 1]  # the second "A" is last
        assert {(row.date, row.source) for row in rows} == {(records[0]["date"], "The Day")}
    assert with_details(rows[0]) == "A (2020-02-01, The Day)"


words_of_text = st.lists(st.text("abcdefgh", min_size=1, max_size=9), min_size=1, max_size=60)


@given(st.lists(words_of_text, min_size=4, max_size=6), st.integers(50, 90), st.booleans())
def test_wrapped_lines_are_joined_and_paragraphs_kept(paragraphs, width, indented):
    """`textwrap` wraps what `mended` joins."""
    texts = ["word " * 60 + " ".join(words) for words in paragraphs]
    indent, gap = ("    ", "\n") if indented else ("", "\n\n")
    wrapped = gap.join(textwrap.fill(text, width, initial_indent=indent) for text in texts)
    assert mended(wrapped) == gap.join(indent + text for text in texts)


@given(st.lists(st.text("abc ", max_size=30)))
def test_short_and_unwrapped_lines_are_kept(lines):
    for text in ("\n".join(lines), "\n".join("long " * 40 + line for line in lines)):
        assert mended(text) == text


def test_short_documents_rank_lower_and_empty_ones_never(model):
    texts = ["star", "", "star galaxy orbit " * 30, "unknown words"]
    assert {row.document for row in top_documents(model, texts, 9)} == {0, 2}
    of_stars = next(topic for topic in range(K) if row_of(model, topic) == 0)
    assert [row.document for row in top_documents(model, texts, 9, topics=[of_stars])] == [2, 0]


def test_documents_are_numbered_across_blocks(model):
    mixed = model.vocabulary_.count(["star bread court goal bond"]).toarray()
    X = sparse.csr_array(np.tile(mixed, (BLOCK, 1)))
    last = model.vocabulary_.count([" ".join(theme * 20) for theme in THEMES])
    rows = top_documents(model, sparse.vstack([X, X, last]), 1)
    assert sorted(row.document for row in rows) == [2 * BLOCK + i for i in range(K)]


def test_names_come_from_the_corpus(model, texts):
    records = [{"id": f"=n{i}", "text": text} for i, text in enumerate(texts)]
    corpus = read(records, text_column="text", name_column="id")
    for row in top_documents(model, corpus, 2):
        assert row.name == f"=n{row.document}"


def test_rows_hold_the_start_of_the_text(model, texts):
    for row in top_documents(model, [text + " =end" for text in texts], 2):
        assert row.text.endswith("…")
        assert texts[row.document].startswith(row.text[:-1])
        assert row.name is None
    records = [{"title": f"n{i}" if i % 2 else "", "text": text} for i, text in enumerate(texts)]
    for row in top_documents(model, records):
        assert row.name == (f"n{row.document}" if row.document % 2 else None)
    assert {row.text for row in top_documents(model, read(texts))} == {None}


def test_topics_in_the_requested_order(model, texts):
    rows = top_documents(model, texts, 2, topics=[2, 0])
    assert [(row.topic, row.rank) for row in rows] == [(2, 1), (2, 2), (0, 1), (0, 2)]


def test_other_models_with_transform_work(texts):
    X = read(texts).X
    other = LatentDirichletAllocation(3, random_state=0).fit(X)
    rows = top_documents(other, X, 1)
    weights = other.transform(X)
    for row in rows:
        assert row.weight == pytest.approx(weights[row.document, row.topic])


def test_counts_for_a_data_frame_model_give_no_warning(texts):
    import pandas as pd

    corpus = read(texts)
    frame = pd.DataFrame(corpus.X.toarray(), columns=list(corpus.words))
    fitted = opelda.OnlineOPE(3, random_state=0).fit(frame)
    assert len(top_documents(fitted, frame, 1)) == 3


@cases(
    ("options", "message"),
    [
        ({"n": 0}, "n must be"),
        ({"topics": [5]}, "topics must be a whole number, from 0 to 4"),
        ({"corpus": "a text"}, "one text, not a collection"),
        ({"model": [[0.5, 0.5]]}, "model must be a fitted model"),
    ],
)
def test_invalid_options_are_rejected(model, texts, options, message):
    with pytest.raises(InputError, match=message):
        top_documents(**{"model": model, "corpus": texts} | options)


def test_model_without_words_rejects_texts():
    fitted = opelda.OnlineOPE(2, random_state=0).fit(np.eye(4) * 9)
    with pytest.raises(InputError, match="fitted to counts without a vocabulary"):
        top_documents(fitted, ["a text"])


def test_start_of_a_text_is_one_line():
    assert beginning(" tea \n\n cup\t") == "tea cup"
    long = beginning("tea " * 100_000)
    assert len(long) <= 200
    assert long.endswith("…")
    assert beginning(None) is None
