"""Documents found by similar texts, by words and by topic."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import opelda.report._retrieval as searching
from opelda import TopicModel
from opelda.corpus import read
from opelda.errors import InputError
from opelda.report import nearest, search, top_documents
from opelda.report._document_blocks import DocumentBlock
from opelda.report._retrieval import BestDocuments
from tests.cases import cases

THEMES = (["star", "galaxy", "orbit"], ["bread", "flour", "oven"], ["court", "judge", "jury"])


@pytest.fixture(scope="module")
def texts():
    chance = np.random.default_rng(0)
    found = [" ".join(chance.choice(THEMES[i % 3], 8)) for i in range(60)]
    return [*found, "star bread", "", "unknown words"]


@pytest.fixture(scope="module")
def model(texts):
    return TopicModel(3, random_state=0).fit(read(texts, max_df=1.0))


@given(st.integers(1, 5), st.integers(1, 40), st.integers(1, 7), st.integers(1, 12), st.integers())
def test_ranking_is_independent_of_block_size(n_queries, n_docs, n, size, seed):
    chance = np.random.default_rng(abs(seed))
    scores = chance.choice([0.0, 0.25, 0.5, 1.0], (n_queries, n_docs))
    best = BestDocuments(n)
    for first in range(0, n_docs, size):
        part = scores[:, first : first + size]
        names = [f"d{first + i}" for i in range(part.shape[1])]
        block = DocumentBlock(first, sparse.csr_array(np.ones((part.shape[1], 2))), names)
        for query in range(n_queries):
            best.add(part[[query]], block, query)
    for query in range(n_queries):
        order = sorted(range(n_docs), key=lambda i: (-scores[query, i], i))
        expected = [i for i in order if scores[query, i] > 0][:n]
        found = best.ranked[query]
        assert [-number for _, number, *_ in found] == expected
        assert [score for score, *_ in found] == scores[query, expected].tolist()
        assert [c.described for c in found] == [(2.0, i, f"d{i}", None) for i in expected]


def test_nearest_finds_the_text_and_its_theme(model, texts, monkeypatch):
    monkeypatch.setattr(searching, "QUERIES", 2)  # several blocks
    rows = nearest(model, texts, texts[:5], n=8)
    assert [(row.query, row.rank) for row in rows] == [
        (q, r) for q in range(5) for r in range(1, 9)
    ]
    for row in rows:
        assert texts[row.document].split()[0] in THEMES[row.query % 3]
        assert row.text == texts[row.document]
        if row.rank == 1:
            assert row.score == pytest.approx(1.0)
    same = nearest(model, texts, texts[2], n=8)
    assert [row.document for row in same] == [row.document for row in rows if row.query == 2]
    counts = nearest(model, read(texts, vocabulary=model.vocabulary_), texts[2], n=8)
    assert [row.document for row in counts] == [row.document for row in same]


def test_search_finds_documents_with_the_words(model, texts):
    for query in ("oven", ["oven", "jury"], "Oven; the JURY!"):
        wanted = {"oven", "jury"} if "u" in str(query).lower() else {"oven"}
        found = [row.document for row in search(model, texts, query, n=100)]
        has = [i for i, text in enumerate(texts) if wanted & set(text.split())]
        assert sorted(found) == has
    assert search(model, texts, "star bread", n=1)[0].document == 60


def test_words_unknown_to_the_model_are_found_in_texts(model, texts):
    texts = [*texts, "the mine of a town", "the Mine, the mine!", "oven mine", "a mine"]
    for query in ("mine", "xyzzy", "mine oven", "the"):
        wanted = set(query.split())
        found = [row.document for row in search(model, texts, query, n=200)]
        words = [set(re.findall(r"\w+", text.lower())) for text in texts]
        assert sorted(found) == [i for i, has in enumerate(words) if has & wanted]
    n = len(texts)
    assert [row.document for row in search(model, texts, "mine oven", n=1)] == [n - 2]
    best = search(model, texts, "mine", n=1)[0]
    assert (best.document, best.score) == (n - 1, pytest.approx(1.0))


def test_search_by_topic_matches_top_documents(model, texts):
    for topic in range(3):
        found = search(model, texts, topic=topic, n=5)
        typical = top_documents(model, texts, n=5, topics=[topic])
        assert [row.document for row in found] == [row.document for row in typical]
    oven = next(k for k, words in enumerate(model.top_words(3)) if "oven" in words)
    both = search(model, texts, "star bread", topic=oven, n=20)
    by_words = {row.document: row.score for row in search(model, texts, "star bread", n=100)}
    by_topic = {row.document: row.score for row in search(model, texts, topic=oven, n=100)}
    for row in both:
        product = by_words[row.document] * by_topic[row.document]
        assert row.score == pytest.approx(product, rel=1e-6)


def test_copies_come_after_documents_that_differ():
    letters = "abcdefghijklmnopqrst"
    own = [" ".join(f"{letter}{i}" for letter in letters) for i in range(4)]
    texts = [f"oil oil {own[0]}", f"oil {own[1]}", f"oil oil {own[0]}", f"oil {own[2]}", own[3]]
    model = TopicModel(2, random_state=0).fit(texts * 2)
    assert {row.document for row in search(model, texts, "oil", n=3)} == {0, 1, 3}
    found = search(model, texts, "oil")
    assert [row.document for row in found][::3] == [0, 2]
    assert [row.rank for row in found] == [1, 2, 3, 4]


@cases(
    ("call", "message"),
    [
        (lambda m, t: search(m, t), "query is empty"),
        (lambda m, t: search(m, t, "!"), "No word of the query is in the model's vocabulary"),
        (
            lambda m, t: search(m, np.ones((2, 9)), "xyzzy"),
            "No word of the query is in the model's vocabulary",
        ),
        (lambda m, t: nearest(m, t, ["star", "xyzzy"]), "No word of text 1 is in"),
        (lambda m, t: nearest(m, t, []), "No word of the query is in the model's vocabulary"),
        (lambda m, t: search(m, t, topic=3), "topic must be"),
        (lambda m, t: search(m, t, "star", n=0), "n must be"),
        (lambda m, t: search(m.components_, t, "star"), "must be a fitted model"),
    ],
)
def test_invalid_arguments_are_rejected(model, texts, call, message):
    with pytest.raises(InputError, match=message):
        call(model, texts)
