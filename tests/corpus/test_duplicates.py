"""Near-duplicate documents are found and removed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.corpus import near_duplicates, read
from opelda.corpus._read import LEAST_WORDS
from opelda.errors import InputError


def jaccard(one, other):
    return len(one & other) / len(one | other)


def as_matrix(sets, n_words=400):
    X = np.zeros((len(sets), n_words))
    for row, words in enumerate(sets):
        X[row, list(words)] = 1 + row % 3  # counts do not matter
    return X


def mixed(seed, n_copies=60):
    """Return sets of words: distinct sets, and copies with up to two words removed."""
    rng = np.random.default_rng(seed)
    sets = [set(rng.choice(400, rng.integers(8, 40), replace=False).tolist()) for _ in range(150)]
    for original in rng.integers(0, 150, n_copies):
        copy = set(sets[original])
        for word in rng.choice(sorted(copy), rng.integers(0, 3), replace=False).tolist():
            copy.remove(word)
        sets.append(copy)
    return sets


@pytest.mark.parametrize("seed", range(4))
def test_duplicates_are_the_pairs_above_the_threshold(seed):
    sets = mixed(seed)
    found = near_duplicates(as_matrix(sets))
    for number, words in enumerate(sets):
        near = [k for k in range(number) if jaccard(words, sets[k]) >= 0.8]
        assert (found[number] >= 0) == bool(near)
        if near:
            root = found[number]
            assert root in near or any(found[k] == root for k in near)
            assert found[root] == -1


@given(st.permutations(range(12)))
def test_first_of_each_duplicate_is_kept_in_any_order(order):
    sets = [set(range(10 * k, 10 * k + 9)) for k in range(4)] * 3
    found = near_duplicates(as_matrix([sets[k] for k in order], 60))
    seen = {}
    for number, original in enumerate(k % 4 for k in order):
        assert found[number] == seen.get(original, -1)
        seen.setdefault(original, number)


def test_short_documents_are_never_duplicates():
    few, enough = set(range(LEAST_WORDS - 1)), set(range(10, 10 + LEAST_WORDS))
    assert near_duplicates(as_matrix([few, few, enough, enough, set(), set()])).tolist() == [
        -1, -1, -1, 2, -1, -1,
    ]  # fmt: skip


def test_duplicates_are_transitive():
    chain = [set(range(k, k + 20)) for k in range(4)]  # each shares 19 of 21 with the next
    assert near_duplicates(as_matrix(chain)).tolist() == [-1, 0, 0, 0]
    assert near_duplicates(as_matrix(chain), 0.95).tolist() == [-1, -1, -1, -1]
    with pytest.raises(InputError, match="threshold must be"):
        near_duplicates(as_matrix(chain), 0.0)


def test_read_removes_duplicates_with_their_names_and_words():
    stub = "{} is a village of the gmina and county warsaw, poland: people, church, fields, forest"
    texts = [stub.format(name) for name in ("aleksandrow", "borki", "czarna")]
    texts += ["green tea and black tea from china with milk sugar", "court and judge"]
    records = [{"text": text, "title": str(n), "date": f"200{n}"} for n, text in enumerate(texts)]
    corpus = read(records, dedupe=True, metadata="date", min_df=1, max_df=1.0)
    assert (corpus.names, corpus.n_duplicates) == (["0", "3", "4"], 2)
    assert corpus.metadata["date"].to_list() == ["2000", "2003", "2004"]
    assert "aleksandrow" in corpus.words
    assert "borki" not in corpus.words  # its document was removed
    assert corpus.X.shape == (3, len(corpus.words))
    assert (corpus.X.sum(axis=0) > 0).all()
    assert read(records, min_df=1).n_duplicates == 0
    numbered = read([[(j, 1.0) for j in range(6)]] * 3, dedupe=True)
    assert numbered.X.shape == (1, 6)
    with pytest.raises(InputError, match="dedupe must be"):
        read(records, dedupe="yes")


def test_near_duplicates_accepts_texts_and_corpora():
    texts = ["tea cup pot leaf water hot", "court judge law trial jury", "pot leaf tea water cup"]
    assert near_duplicates(texts).tolist() == [-1, -1, 0]
    assert near_duplicates(read(texts)).tolist() == [-1, -1, 0]
