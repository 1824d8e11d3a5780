"""What a learner asks of an engine, against plain NumPy in double precision."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import polygamma, psi

from opelda.engines import Batch, CPUEngine, Kept, Picks, Solution, Wanted
from opelda.inference import OPE, VB

ENGINE = CPUEngine()
SMALLEST = 1e-15  # what counts as a probability
EPS = 2.0**-24  # of one rounding in single precision
SEEDS = st.integers(0, 2**32 - 1)
N_TOPICS = st.integers(1, 40)
PRIORS = st.sampled_from(["number", "words", "matrix"])


def make_documents(rng, n_docs, n_words):
    """Counts with an empty document, a word nobody has, and fractions."""
    X = rng.poisson(0.4, (n_docs, n_words)) * rng.choice([1.0, 2.5], (n_docs, n_words))
    X[:, rng.integers(n_words)] = 0
    if n_docs:
        X[rng.integers(n_docs)] = 0
    X = sparse.csr_array(X.astype(np.float32))
    return X, (X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)


def make_kept(rng, n_words, n_topics, prior="number", prior_weight=0.7, scale=0.3):
    """Weights of all sizes; word 0 is in no topic, others are missing in some."""
    stride = -(-n_topics // 16) * 16
    rows = np.zeros((n_words, stride), np.float32)
    rows[:, :n_topics] = rng.gamma(0.3, 10.0, (n_words, n_topics))
    rows[:, :n_topics] *= rng.random((n_words, n_topics)) < 0.8
    rows[0] = 0
    rows[rows < 1e-8] = 0
    rows[-1, 0] += 1.0  # so that every topic has a word
    rows[-1, 1:n_topics] += 0.5
    if prior == "matrix":
        eta = np.zeros_like(rows)
        eta[:, :n_topics] = rng.uniform(0.01, 0.5, (n_words, n_topics))
    else:
        eta = rng.uniform(0.01, 0.5, n_words).astype(np.float32) if prior == "words" else 0.05
    kept = Kept(rows, n_topics, scale, prior_weight, eta, np.ones(n_topics))
    return replace(kept, totals=weights(kept).sum(axis=1))


def weights(kept):
    """lambda, K x V, in double precision."""
    eta = np.asarray(kept.prior, np.float64)
    eta = eta[:, : kept.n_topics].T if eta.ndim == 2 else eta
    rows = kept.rows[:, : kept.n_topics].T.astype(np.float64)
    return kept.scale * rows + kept.prior_weight * eta


def make_mixtures(rng, kind, n_docs, n_topics):
    """Return a solution and the mixtures it stands for, in double precision."""
    if kind == "dense":
        theta = rng.dirichlet(np.full(n_topics, 0.3), n_docs).astype(np.float32)
        return Solution(theta, np.zeros(n_docs, np.int32)), theta.astype(np.float64)
    start = np.full(n_topics, 1 / n_topics) if kind == "picks" else rng.dirichlet(np.ones(n_topics))
    start = start.astype(np.float32)
    lengths = rng.integers(0, min(n_topics, 5) + 1, n_docs)
    topics = [rng.permutation(n_topics)[:n] for n in lengths]
    shares = [rng.dirichlet(np.ones(n + 1))[:n] for n in lengths]
    picks = Picks(
        np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        np.concatenate([*topics, []]).astype(np.int32),
        np.concatenate([*shares, []]).astype(np.float32),
        np.array([1 - share.sum() for share in shares], np.float32),
        start,
    )
    return Solution(None, np.zeros(n_docs, np.int32), picks=picks), mixtures(picks)


def mixtures(picks):
    n_docs, n_topics = len(picks.rest), len(picks.start)
    picked = sparse.csr_array(
        (picks.shares.astype(np.float64), picks.topics, picks.indptr), (n_docs, n_topics)
    )
    return picked.toarray() + picks.rest[:, None].astype(np.float64) * picks.start


def check_turned(X, by_word):
    assert np.array_equal(by_word.words, np.unique(X.indices))
    assert np.array_equal(by_word.words[by_word.places], X.indices)
    entries = by_word.entries.view([("doc", np.int32), ("count", np.float32)])
    turned = X.tocsc()  # a word's documents in their order
    assert np.array_equal(entries["doc"], turned.indices)
    assert np.array_equal(entries["count"], turned.data)
    assert np.array_equal(by_word.starts, np.unique(turned.indptr))


@given(SEEDS, st.integers(0, 30), st.integers(1, 80))
def test_by_word_turns_a_batch_around(seed, n_docs, n_words):
    X, parts = make_documents(np.random.default_rng(seed), n_docs, n_words)
    check_turned(X, ENGINE.by_word(*parts, n_words))


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
@pytest.mark.parametrize("n_docs", [1, 7, 2000])
def test_by_word_with_threads(n_threads, n_docs):
    """As many entries as make threads worth their while, in few documents or in many."""
    rng = np.random.default_rng(n_docs)
    X = sparse.random_array((n_docs, 400_000 // n_docs), density=0.5, dtype=np.float32, rng=rng)
    X = X.tocsr()
    parts = (X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    check_turned(X, ENGINE.by_word(*parts, X.shape[1], n_threads))


@given(SEEDS, N_TOPICS, PRIORS, st.sampled_from([0.0, 1e-3, 1.0]), st.booleans())
def test_topics_are_laid_out(every_instruction_set, seed, n_topics, prior, weight, every_word):
    rng = np.random.default_rng(seed)
    kept = make_kept(rng, 60, n_topics, prior, weight)
    words = None if every_word else np.sort(rng.permutation(60)[:25]).astype(np.int32)
    rows, mean = ENGINE.lay_out(kept, words, n_threads=2)
    expected = (weights(kept) / kept.totals[:, None]).T
    expected[expected < SMALLEST] = 0
    expected[expected.sum(axis=1) == 0] = SMALLEST  # a word no topic knows is alike in all
    expected = expected if every_word else expected[words]
    np.testing.assert_allclose(rows[:, :n_topics], expected, rtol=8 * EPS, atol=0)
    np.testing.assert_allclose(mean, expected.mean(axis=1), rtol=8 * EPS, atol=0)
    assert not rows[:, n_topics:].any()
    if every_word and weight > 0:
        np.testing.assert_allclose(rows.sum(axis=0, dtype=np.float64)[:n_topics], 1, rtol=1e-6)


@given(SEEDS, N_TOPICS, PRIORS, st.sampled_from([1e-3, 0.2, 1.0]))
def test_logs_are_laid_out(every_instruction_set, seed, n_topics, prior, weight):
    kept = make_kept(np.random.default_rng(seed), 60, n_topics, prior, weight)
    rows, mean = ENGINE.lay_out(kept, None, logs=True, n_threads=2)
    found = rows[:, :n_topics].astype(np.float64)
    lam = weights(kept).T
    logs = psi(lam) - psi(kept.totals)
    peak = logs.max(axis=1, keepdims=True)
    # psi magnifies what rounding did to lambda, the more so the smaller lambda is
    error = 4 * EPS + 4 * EPS * lam * polygamma(1, lam)
    share = found / found.max(axis=1, keepdims=True)
    lost = SMALLEST / np.maximum(np.exp(peak), 1e-6)  # below the smallest probability
    assert (np.abs(share - np.exp(logs - peak)) <= 2 * error * share + 1.01 * lost).all()
    # unless it would be lost, a row is what it says
    plain = peak[:, 0] > np.log(2e-6)
    assert (np.abs(found - np.exp(logs)) <= 2 * error * found + 1.01 * SMALLEST)[plain].all()
    np.testing.assert_allclose(mean, found.mean(axis=1), rtol=4 * EPS)
    assert (mean > 0).all()
    assert not rows[:, n_topics:].any()


def test_words_that_no_topic_knows_are_alike_in_all():
    kept = make_kept(np.random.default_rng(0), 5, 3, prior_weight=0.0)
    for logs in (False, True):
        rows, mean = ENGINE.lay_out(kept, None, logs=logs)
        assert rows[0, 0] > 0
        assert (rows[0, :3] == rows[0, 0]).all()
        assert mean[0] == rows[0, 0]


@given(SEEDS, N_TOPICS, st.sampled_from(["dense", "picks", "picks, random start"]), st.booleans())
def test_a_batch_is_added(every_instruction_set, seed, n_topics, kind, divide):
    rng = np.random.default_rng(seed)
    n_docs, n_words = int(rng.integers(0, 40)), 70
    X, parts = make_documents(rng, n_docs, n_words)
    kept = make_kept(rng, n_words, n_topics)
    by_word = ENGINE.by_word(*parts, n_words)
    laid_out = ENGINE.lay_out(kept, by_word.words)
    solution, theta = make_mixtures(rng, kind, n_docs, n_topics)
    gain = rng.uniform(0.1, 3.0, n_topics)
    before = kept.rows.astype(np.float64)

    grown = ENGINE.add(kept, by_word, laid_out, solution, divide=divide, gain=gain, n_threads=2)

    beta = np.zeros((n_topics, n_words))
    beta[:, by_word.words] = laid_out[0][:, :n_topics].T
    more = statistics(X.toarray().astype(np.float64), beta, theta, divide) * gain
    # every document and topic of a sum may add one rounding
    rtol = EPS * (n_docs + n_topics + 10)
    np.testing.assert_allclose(kept.rows[:, :n_topics], before[:, :n_topics] + more, rtol=rtol)
    untouched = np.setdiff1d(np.arange(n_words), by_word.words)
    assert np.array_equal(kept.rows[untouched], before[untouched])
    assert not kept.rows[:, n_topics:].any()
    actual = (kept.rows - before).sum(axis=0)[:n_topics]
    np.testing.assert_allclose(grown, actual, rtol=1e-12, atol=1e-12)


def statistics(X, beta, theta, divide):
    """sum_d d_j theta_dk, or sum_d d_j phi_djk: V x K."""
    if not divide:
        return X.T @ theta
    x = theta @ beta
    weight = np.divide(X, x, out=np.zeros_like(X), where=x > 0)
    return (weight.T @ theta) * beta.T


@given(SEEDS, N_TOPICS, st.sampled_from(["uniform", "random"]), st.booleans())
def test_picks_say_what_the_mixture_says(seed, n_topics, init, divide):
    """OPE's own picks add what its dense mixtures add."""
    rng = np.random.default_rng(seed)
    _, parts = make_documents(rng, 30, 50)
    by_word = ENGINE.by_word(*parts, 50)
    kept = make_kept(rng, 50, n_topics)
    rows, mean = ENGINE.lay_out(kept, by_word.words)
    alpha = np.full(n_topics, 0.5, np.float32)
    batch = Batch(
        rows, mean, n_topics, parts[0], by_word.places, parts[2], alpha, ids=by_word.words
    )
    found = OPE(n_iter=15, init=init).solve(batch, seed, ENGINE, 1, Wanted(theta=True))
    full = np.diff(parts[0]) > 0
    np.testing.assert_allclose(mixtures(found.picks)[full], found.theta[full], atol=1e-6)
    sums = []
    for solution in (found, replace(found, picks=None, theta=mixtures(found.picks))):
        empty = replace(kept, rows=np.zeros_like(kept.rows))
        ENGINE.add(empty, by_word, (rows, mean), solution, divide=divide, gain=np.ones(n_topics))
        sums.append(empty.rows)
    np.testing.assert_allclose(*sums, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "picks", "picks, random start"])
def test_bytes_do_not_depend_on_threads(every_instruction_set, kind):
    rng = np.random.default_rng(3)
    X, parts = make_documents(rng, 200, 700)
    assert X.nnz > 10_000
    kept = make_kept(rng, 700, 21)
    by_word = ENGINE.by_word(*parts, 700)
    solution, _ = make_mixtures(rng, kind, 200, 21)
    for logs in (False, True):
        results = set()
        for n_threads in (1, 2, 3, 8):
            ours = replace(kept, rows=kept.rows.copy())
            rows, mean = ENGINE.lay_out(ours, by_word.words, logs=logs, n_threads=n_threads)
            for divide in (False, True):
                grown = ENGINE.add(
                    ours,
                    by_word,
                    (rows, mean),
                    solution,
                    divide=divide,
                    gain=np.full(21, 0.7),
                    n_threads=n_threads,
                )
            results.add(b"".join(a.tobytes() for a in (rows, mean, ours.rows, grown)))
        assert len(results) == 1


def test_a_batch_of_nothing():
    kept = make_kept(np.random.default_rng(0), 60, 21)
    before = kept.rows.copy()
    nothing = (np.zeros(4, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    by_word = ENGINE.by_word(*nothing, 60)
    assert len(by_word.words) == len(by_word.entries) == len(by_word.places) == 0
    laid_out = ENGINE.lay_out(kept, by_word.words)
    assert laid_out[0].shape == (0, 32)
    solution = Solution(np.full((3, 21), np.nan, np.float32), np.zeros(3, np.int32))
    grown = ENGINE.add(kept, by_word, laid_out, solution, divide=True, gain=np.ones(21))
    assert np.array_equal(grown, np.zeros(21))
    assert np.array_equal(kept.rows, before)


@given(SEEDS, st.integers(1, 20))
def test_factors_of_vb_are_its_exp_of_expected_logs(seed, n_topics):
    rng = np.random.default_rng(seed)
    X, parts = make_documents(rng, 20, 50)
    kept = make_kept(rng, 50, n_topics)
    rows, mean = ENGINE.lay_out(kept, None)
    alpha = rng.uniform(0.1, 1.0, n_topics).astype(np.float32)
    batch = Batch(rows, mean, n_topics, *parts, alpha)
    wanted = Wanted(theta=False, certificate=False, factors=True)
    found = VB(n_iter=20).solve(batch, 0, ENGINE, 1, wanted)
    assert found.certificate is None
    tokens = np.asarray(X.sum(axis=1))
    full = tokens > 0
    gamma = found.theta[full].astype(np.float64) * (tokens[full, None] + alpha.sum())
    expected = np.exp(psi(gamma))
    share = [
        values / values.sum(axis=1, keepdims=True) for values in (found.factors[full], expected)
    ]
    error = 1e-6 + 4e-7 * gamma * polygamma(1, gamma)
    assert (np.abs(share[0] - share[1]) <= error * share[1] + 1e-7).all()


def test_only_what_is_wanted_is_made():
    rng = np.random.default_rng(0)
    _, parts = make_documents(rng, 20, 50)
    rows, mean = ENGINE.lay_out(make_kept(rng, 50, 7), None)
    batch = Batch(rows, mean, 7, *parts, np.ones(7, np.float32))
    lean = OPE().solve(batch, 0, ENGINE, 1, Wanted(theta=False, certificate=False))
    rich = OPE().solve(batch, 0, ENGINE, 1)
    assert lean.theta is None
    assert lean.certificate is None
    assert rich.certificate is not None
    for part in ("indptr", "topics", "shares", "rest", "start"):
        assert np.array_equal(getattr(lean.picks, part), getattr(rich.picks, part))
