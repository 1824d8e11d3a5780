"""Bags of biterms."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.corpus import Biterms
from opelda.errors import InputError

TABLES = st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=6)


@given(TABLES, TABLES, st.integers(1, 3))
def test_pairs_are_counted(X, others, min_df):
    """The oracle looks at every pair of every document."""
    biterms = Biterms(X, min_df=min_df)
    has = [[p for p in combinations(range(4), 2) if row[p[0]] and row[p[1]]] for row in X]
    times = Counter(pair for pairs in has for pair in pairs)
    wanted = sorted(pair for pair in times if times[pair] >= min_df)
    assert [tuple(pair) for pair in biterms.pairs.tolist()] == wanted
    for rows in (X, others):
        found = biterms.count(rows).toarray()
        assert found.tolist() == [[*row, *(row[a] * row[b] for a, b in wanted)] for row in rows]


@given(TABLES, st.integers(0, 10**6))
def test_topics_keep_the_probability_of_pairs_in_their_words(X, seed):
    biterms = Biterms(X, min_df=1)
    topics = np.random.default_rng(seed).dirichlet(np.ones(4 + len(biterms.pairs)), 2)
    wanted = topics[:, :4].copy()
    for number, (a, b) in enumerate(biterms.pairs.tolist()):
        wanted[:, [a, b]] += topics[:, [4 + number]] / 2
    np.testing.assert_allclose(biterms.topics(topics), wanted, atol=1e-12)


def test_other_words_are_refused():
    biterms = Biterms([[1, 1], [1, 1]])
    with pytest.raises(InputError, match="has 3 columns, but the pairs are of 2 words"):
        biterms.count([[1, 1, 1]])
    with pytest.raises(InputError, match="must have 3 columns"):
        biterms.topics([[0.5, 0.5]])
    with pytest.raises(InputError, match="min_df must be"):
        Biterms([[1]], min_df=0)
