"""Topics as the CPU's kernels read them, against plain NumPy in double precision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import polygamma, psi

from opelda.engines import CPUEngine
from opelda.engines.cpu import _tables as _cpu_tables
from opelda.engines.cpu._tables import TopicTable, padded_rows, topic_rows
from tests.cases import cases

from .made import (
    EPS,
    N_TOPICS,
    PRIORS,
    SEEDS,
    SMALLEST,
    as_lambda,
    as_topics,
    make_topics,
    make_weights,
)

ENGINE = CPUEngine(2)
SOME_PRIOR = st.sampled_from(PRIORS)


@given(SEEDS, N_TOPICS, SOME_PRIOR, st.sampled_from([0.0, 1e-3, 1.0]), st.booleans())
def test_topics_fill_padded_rows(every_instruction_set, seed, n_topics, prior, weight, every_word):
    rng = np.random.default_rng(seed)
    host = make_weights(rng, 60, n_topics, prior, weight)
    words = None if every_word else np.sort(rng.permutation(60)[:25]).astype(np.int32)
    table = topic_rows(ENGINE.weights(host), words, n_threads=2)
    expected = as_topics(as_lambda(host)).T
    expected = expected if every_word else expected[words]
    np.testing.assert_allclose(table.rows[:, :n_topics], expected, rtol=8 * EPS, atol=0)
    np.testing.assert_allclose(table.mean, expected.mean(axis=1), rtol=8 * EPS, atol=0)
    assert not table.rows[:, n_topics:].any()
    assert table.ids is words
    assert table.known is None
    if every_word and weight > 0:
        sums = table.rows.sum(axis=0, dtype=np.float64)[:n_topics]
        np.testing.assert_allclose(sums, 1, rtol=1e-6)


@given(SEEDS, N_TOPICS, SOME_PRIOR, st.sampled_from([1e-3, 0.2, 1.0]))
def test_logs_fill_padded_rows(every_instruction_set, seed, n_topics, prior, weight):
    host = make_weights(np.random.default_rng(seed), 60, n_topics, prior, weight)
    table = topic_rows(ENGINE.weights(host), None, logs=True, n_threads=2)
    found = table.rows[:, :n_topics].astype(np.float64)
    lam = as_lambda(host).T
    logs = psi(lam) - psi(lam.sum(axis=0))
    peak = logs.max(axis=1, keepdims=True)
    # psi magnifies what rounding did to lambda, the more so the smaller lambda is
    error = 4 * EPS + 4 * EPS * lam * polygamma(1, lam)
    share = found / found.max(axis=1, keepdims=True)
    lost = SMALLEST / np.maximum(np.exp(peak), 1e-6)  # below the smallest probability
    assert (np.abs(share - np.exp(logs - peak)) <= 2 * error * share + 1.01 * lost).all()
    # rows above the underflow limit are exact
    plain = peak[:, 0] > np.log(2e-6)
    assert (np.abs(found - np.exp(logs)) <= 2 * error * found + 1.01 * SMALLEST)[plain].all()
    np.testing.assert_allclose(table.mean, found.mean(axis=1), rtol=4 * EPS)
    assert (table.mean > 0).all()
    assert not table.rows[:, n_topics:].any()


@pytest.mark.parametrize("logs", [False, True])
def test_unknown_words_have_equal_probability_in_every_topic(logs):
    host = make_weights(np.random.default_rng(0), 5, 3, prior_weight=0.0)
    table = topic_rows(ENGINE.weights(host), None, logs=logs, n_threads=1)
    assert table.rows[0, 0] > 0
    assert (table.rows[0, :3] == table.rows[0, 0]).all()
    assert table.mean[0] == table.rows[0, 0]


@given(SEEDS, N_TOPICS)
def test_given_topics_fill_padded_rows(seed, n_topics):
    rng = np.random.default_rng(seed)
    topics = make_topics(rng, n_topics, 30)
    topics[:, 4] = 0
    topics[0, 7] = 1e-16  # below the smallest probability
    table = TopicTable.of(topics, None)
    expected = np.where(topics < SMALLEST, 0, topics).T
    np.testing.assert_allclose(table.rows[:, :n_topics], expected, rtol=EPS)
    np.testing.assert_allclose(table.mean, expected.mean(axis=1), rtol=2 * EPS)
    assert not table.rows[:, n_topics:].any()
    assert np.array_equal(table.known, expected.any(axis=1))
    assert table.rows.ctypes.data % 64 == 0
    assert table.rows.shape[1] % 16 == 0


@given(SEEDS, N_TOPICS, st.integers(1, 60))
def test_words_under_a_mixture(seed, n_topics, n_used):
    """For all words or for selected words; a uniform mixture gives the mean."""
    rng = np.random.default_rng(seed)
    table = TopicTable.of(make_topics(rng, n_topics, 60), None)
    used = rng.integers(0, 60, n_used).astype(np.int32)
    start = rng.dirichlet(np.ones(n_topics)).astype(np.float32)
    found = table.under(start, used)
    expected = table.rows[:, :n_topics].astype(float) @ start
    np.testing.assert_allclose(found[used], expected[used], rtol=1e-5)
    even = np.full(n_topics, 1 / n_topics, np.float32)
    np.testing.assert_allclose(table.under(even, used), table.mean, rtol=1e-6)


@cases("n_topics", [3, 21, 36, 130])
def test_word_probability_under_a_start_does_not_depend_on_other_words(n_topics):
    """Bit for bit, for any selection of words: mixtures start from this probability."""
    rng = np.random.default_rng(n_topics)
    start = rng.dirichlet(np.ones(n_topics)).astype(np.float32)
    beta = rng.dirichlet(np.full(300, 0.1), n_topics)
    whole = TopicTable.of(beta, None).under(start, None)
    for n_used in (1, 2, 3, 7, 40, 290):
        used = np.sort(rng.choice(300, n_used, replace=False)).astype(np.int32)
        some = TopicTable.of(beta[:, used], used).under(start, None)
        assert np.array_equal(some, whole[used])
        assert np.array_equal(TopicTable.of(beta, None).under(start, used)[used], whole[used])


def coarsened(rows, n_threads=1):
    """Return rows in one byte a weight, however few they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cpu_tables, "MANY_TOPICS", 0)
        return TopicTable(rows, rows.mean(axis=1), rows.shape[1]).coarse(n_threads)


def unpacked(coarse, scale, n_topics):
    """Take bytes apart as the layout says: byte g of integer i of a block is topic 16 g + i."""
    n_rows = len(coarse)
    quads = coarse.astype("<i4").view(np.uint8).reshape(n_rows, -1, 16, 4)
    code = quads.swapaxes(2, 3).reshape(n_rows, -1)[:, :n_topics].astype(np.uint32)
    tiny = (code << 20).view(np.float32).astype(np.float64)  # 2**-96 of the scaled weight
    return tiny * 2.0**48 * scale[:, None].astype(np.float64)


@given(SEEDS, st.sampled_from([16, 48, 64, 272, 320]), st.integers(1, 40))
def test_coarse_bytes_are_tight_upper_bounds(seed, stride, n_rows):
    """Never below the weight, at most an eighth above it."""
    rng = np.random.default_rng(seed)
    rows = np.exp(rng.uniform(-34, 0, (n_rows, stride))).astype(np.float32)
    rows[rng.random(rows.shape) < 0.3] = 0
    rows[0] = 0
    bound = unpacked(*coarsened(rows), stride)
    top = rows.max(axis=1, keepdims=True)
    assert (bound >= rows).all()
    assert (bound[rows == 0] == 0).all()
    near = rows > top * 2.0**-28  # further down the exponent has no bits left
    assert (bound[near] <= rows[near] * 1.1251).all()
    assert (bound <= np.maximum(rows * 1.1251, top * 2.0**-27)).all()


def test_coarse_bytes_do_not_depend_on_threads_and_are_cached():
    rows = np.random.default_rng(0).random((500, 272), np.float32)
    one, many = coarsened(rows), coarsened(rows, n_threads=3)
    assert all(np.array_equal(a, b) for a, b in zip(one, many, strict=True))
    table = TopicTable(rows, rows.mean(axis=1), 272)
    assert table.coarse(1) is table.coarse(2)
    few = padded_rows(rows[:, :255], 255)
    assert TopicTable(few, few.mean(axis=1), 255).coarse(1) == (None, None)
