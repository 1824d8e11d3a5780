"""What seed words weigh in counts and in statistics, by the formula."""

import numpy as np
from scipy import sparse

from opelda.engines._engine import Statistics
from opelda.engines._tokens import TokenCounts
from opelda.learning._seeds import Pull


def test_a_word_may_be_in_two_topics_and_weighs_what_the_formula_says():
    pull = Pull(np.array([1, 2, 1], np.int32), np.array([0, 0, 1], np.int32), 0.5)
    cells = np.array([[8, 0, 0], [2, 4, 6], [0, 4, 0], [0, 0, 6]])
    # an average topic has 10 tokens; words 1 and 2 have 12 and 4 of them
    more = np.zeros((4, 3))
    more[1, 0], more[2, 0], more[1, 1] = 0.5 * 10 * 12 / 16, 0.5 * 10 * 4 / 16, 0.5 * 10
    counts = TokenCounts(sparse.csr_array(cells << 16), 16)
    found = pull.on_counts(counts).cells.toarray()
    np.testing.assert_allclose(found / 2.0**16, cells + more, atol=1e-4)
    some = Statistics(np.array([0, 1, 3], np.int32), cells[[0, 1, 3]] * 1.0, np.full(3, 26 / 3), 7)
    # (word 2, which the batch does not have, gets nothing; word 1 all)
    more = np.zeros((4, 3))
    more[1, 0] = more[1, 1] = 0.5 * 26 / 3
    got = pull.on_statistics(some)
    cells[2] = 0
    np.testing.assert_allclose(got.values[np.searchsorted(got.words, range(4))], cells + more)
    assert got.n_docs == 7
    np.testing.assert_allclose(got.mass, 26 / 3 + more.sum(axis=0))


def test_words_that_are_gone_weigh_as_an_average_topic_in_streams():
    cells = np.zeros((4, 3), np.int64)
    cells[0], cells[1] = 100_000, 300
    counts = TokenCounts(sparse.csr_array(cells << 16), 16)
    here, mean = np.array([1, 2], np.int32), cells.sum() / 3
    for strength, firm, weight in ((0.1, False, 0.1), (0.1, True, 1 - 900 / (0.01 * mean))):
        pull = Pull(here, np.zeros(2, np.int32), strength, firm)
        more = (pull.on_counts(counts) - counts).cells.toarray() / 2.0**16
        np.testing.assert_allclose(more[1, 0], weight * mean, rtol=1e-6)
        assert more.sum() == more[1, 0]  # nobody has seen the other one
        least = pull.at_least(counts).cells.toarray() / 2.0**16
        np.testing.assert_allclose(least[1, 0], max(300, weight * mean), rtol=1e-6)
