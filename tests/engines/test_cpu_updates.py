"""The CPU's own parts of an update: a batch transposed, and its statistics added."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import polygamma, psi

from opelda.engines import CPUEngine
from opelda.engines.cpu._tables import TopicTable, padded_rows, topic_rows
from opelda.engines.cpu._updates import Explained, transposed
from opelda.engines.seam import Documents, Picks, Solution, Step, Wanted
from opelda.errors import InputError
from opelda.inference import EM, OPE, VB
from opelda.learning._rules import Online
from tests.cases import cases

from .made import (
    EPS,
    N_TOPICS,
    SEEDS,
    make_documents,
    make_task,
    make_weights,
    mixtures,
    same_bytes,
)

ENGINE = CPUEngine(2)


def by_word(X, n_threads=2):
    return transposed(Documents(X).part(), X.shape[1], n_threads)


def make_mixtures(rng, kind, n_docs, n_topics):
    """Return a solution and the mixtures it stands for, in double precision."""
    n_iter = np.zeros(n_docs, np.int32)
    if kind == "dense":
        theta = rng.dirichlet(np.full(n_topics, 0.3), n_docs).astype(np.float32)
        return Solution(theta, n_iter), theta.astype(np.float64)
    start = np.full(n_topics, 1 / n_topics) if kind == "picks" else rng.dirichlet(np.ones(n_topics))
    lengths = rng.integers(0, min(n_topics, 5) + 1, n_docs)
    topics = [rng.permutation(n_topics)[:n] for n in lengths]
    shares = [rng.dirichlet(np.ones(n + 1))[:n] for n in lengths]
    picks = Picks(
        np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        np.concatenate([*topics, []]).astype(np.int32),
        np.concatenate([*shares, []]).astype(np.float32),
        np.array([1 - share.sum() for share in shares], np.float32),
        start.astype(np.float32),
    )
    return Solution(None, n_iter, picks=picks), mixtures(picks)


def statistics(X, beta, theta, divide):
    """sum_d d_j theta_dk, or sum_d d_j phi_djk: V x K."""
    if not divide:
        return X.T @ theta
    x = theta @ beta
    weight = np.divide(X, x, out=np.zeros_like(X), where=x > 0)
    return (weight.T @ theta) * beta.T


def check_transposed(X, batch):
    assert np.array_equal(batch.words, np.unique(X.indices))
    assert np.array_equal(batch.words[batch.slots], X.indices)
    entries = batch.entries.view([("doc", np.int32), ("count", np.float32)])
    turned = X.tocsc()  # a word's documents in their order
    assert np.array_equal(entries["doc"], turned.indices)
    assert np.array_equal(entries["count"], turned.data)
    assert np.array_equal(batch.starts, np.unique(turned.indptr))
    np.testing.assert_allclose(batch.tokens, X.astype(np.float64).sum(axis=1), rtol=1e-12)


@given(SEEDS, st.integers(0, 30), st.integers(1, 80))
def test_transposed_batch_equals_scipy(seed, n_docs, n_words):
    X = make_documents(np.random.default_rng(seed), n_docs, n_words)
    check_transposed(X, by_word(X))


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
@pytest.mark.parametrize("n_docs", [1, 7, 2000])
def test_transposing_does_not_depend_on_threads(n_threads, n_docs):
    """As many entries as make threads worth their while, in few documents or in many."""
    rng = np.random.default_rng(n_docs)
    X = sparse.random_array((n_docs, 400_000 // n_docs), density=0.5, dtype=np.float32, rng=rng)
    X = X.tocsr()
    check_transposed(X, by_word(X, n_threads))


def test_word_numbers_beyond_the_topics_are_rejected():
    X = sparse.csr_array(np.float32([[0, 1, 0, 2]]))
    with pytest.raises(InputError, match=r"contains word 3, but the topics have 3 words"):
        transposed(Documents(X).part(), 3, 1)


@given(SEEDS, N_TOPICS, st.sampled_from(["dense", "picks", "picks, random start"]), st.booleans())
def test_kernel_adds_a_batch_like_numpy(every_instruction_set, seed, n_topics, kind, divide):
    rng = np.random.default_rng(seed)
    n_docs, n_words = int(rng.integers(0, 40)), 70
    X, host = make_documents(rng, n_docs, n_words), make_weights(rng, n_words, n_topics)
    batch = by_word(X)
    table = topic_rows(ENGINE.weights(host), batch.words, n_threads=2)
    solution, theta = make_mixtures(rng, kind, n_docs, n_topics)
    gain = rng.uniform(0.1, 3.0, n_topics)
    kept = padded_rows(host.rows, n_topics)
    before = kept.astype(np.float64)

    explained = Explained(batch, table, solution, divide, n_threads=2)
    grown = explained.add(kept, batch.words, gain)

    beta = np.zeros((n_topics, n_words))
    beta[:, batch.words] = table.rows[:, :n_topics].T
    X = X.toarray().astype(np.float64)
    more = statistics(X, beta, theta, divide) * gain
    # every document and topic of a sum may add one rounding
    rtol = EPS * (n_docs + n_topics + 10)
    np.testing.assert_allclose(kept[:, :n_topics], before[:, :n_topics] + more, rtol=rtol)
    untouched = np.setdiff1d(np.arange(n_words), batch.words)
    assert np.array_equal(kept[untouched], before[untouched])
    assert not kept[:, n_topics:].any()
    actual = (kept - before).sum(axis=0)[:n_topics]
    np.testing.assert_allclose(grown, actual, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(explained.mass(), X.sum(axis=1) @ theta, rtol=1e-5, atol=1e-12)


@given(SEEDS, N_TOPICS, st.sampled_from([OPE(15), OPE(15, init="random"), EM()]), st.booleans())
def test_picks_equal_the_mixture(seed, n_topics, method, divide):
    """A method's picks add the same tokens as its dense mixtures."""
    rng = np.random.default_rng(seed)
    X, host = make_documents(rng, 30, 50), make_weights(rng, 50, n_topics)
    batch = by_word(X)
    table = topic_rows(ENGINE.weights(host), batch.words, n_threads=1)
    rows = replace(Documents(X).part(), words=batch.slots)
    task = make_task(n_topics, method, np.full(n_topics, 0.5), seed)
    found = ENGINE._solve(table, rows, task, Wanted())
    full = X.sum(axis=1) > 0
    np.testing.assert_allclose(mixtures(found.picks)[full], found.theta[full], atol=1e-6)
    sums = []
    for solution in (found, replace(found, picks=None, theta=mixtures(found.picks))):
        empty = np.zeros((50, table.rows.shape[1]), np.float32)
        Explained(batch, table, solution, divide).add(empty, batch.words, np.ones(n_topics))
        sums.append(empty)
    np.testing.assert_allclose(*sums, rtol=1e-5, atol=1e-12)


@cases("kind", ["dense", "picks", "picks, random start"])
@cases("logs", [False, True])
def test_update_bytes_do_not_depend_on_threads(every_instruction_set, kind, logs):
    rng = np.random.default_rng(3)
    X, host = make_documents(rng, 200, 700), make_weights(rng, 700, 21)
    assert X.nnz > 10_000
    solution, _ = make_mixtures(rng, kind, 200, 21)
    weights, results = ENGINE.weights(host), set()
    for n_threads in (1, 2, 3, 8):
        batch = by_word(X, n_threads)
        table = topic_rows(weights, batch.words, logs=logs, n_threads=n_threads)
        kept = padded_rows(host.rows, 21)
        made = [table.rows, table.mean, kept]
        for divide in (False, True):
            gain = np.full(21, 0.7)
            explained = Explained(batch, table, solution, divide, n_threads)
            made.append(explained.add(kept, batch.words, gain))
        results.add(b"".join(a.tobytes() for a in made))
    assert len(results) == 1


@pytest.mark.parametrize("number", [1, 2])
def test_update_interrupted_while_adding_is_counted(monkeypatch, number):
    rng = np.random.default_rng(5)
    weights, documents = ENGINE.random_weights(50, 7, 0.1, 3), Documents(make_documents(rng, 9, 50))
    before = weights.host().rows.copy()

    add = Explained.add

    def interrupted(*given):
        add(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(Explained, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ENGINE.update(weights, documents, make_task(7), Online(), Step(number, 0.5, 9.0, 3))
    rows = weights.host().rows
    assert np.array_equal(rows, before) == (number == 1)  # the start is recreated
    np.testing.assert_allclose(weights.sums, rows.sum(axis=0, dtype=float), rtol=1e-12)


def test_empty_batch():
    host = make_weights(np.random.default_rng(0), 60, 21)
    batch = by_word(sparse.csr_array((3, 60), dtype=np.float32))
    assert len(batch.words) == len(batch.entries) == len(batch.slots) == 0
    table = topic_rows(ENGINE.weights(host), batch.words, n_threads=2)
    assert table.rows.shape == (0, 32)
    solution = Solution(np.full((3, 21), np.nan, np.float32), np.zeros(3, np.int32))
    kept = padded_rows(host.rows, 21)
    before = kept.copy()
    explained = Explained(batch, table, solution, divide=True, n_threads=2)
    assert np.array_equal(explained.add(kept, batch.words, np.ones(21)), np.zeros(21))
    assert np.array_equal(kept, before)
    assert np.array_equal(explained.mass(), np.zeros(21))


@given(SEEDS, st.integers(1, 20))
def test_factors_of_vb_are_exp_of_expected_logs(seed, n_topics):
    rng = np.random.default_rng(seed)
    X, host = make_documents(rng, 20, 50), make_weights(rng, 50, n_topics)
    alpha = rng.uniform(0.1, 1.0, n_topics)
    wanted = Wanted(theta=False, certificate=False, factors=True)
    task = make_task(n_topics, VB(n_iter=20), alpha)
    found = ENGINE.infer(ENGINE.weights(host), Documents(X), task, wanted)
    assert found.certificate is None
    tokens = X.sum(axis=1, dtype=np.float64)
    full = tokens > 0
    gamma = found.theta[full].astype(np.float64) * (tokens[full, None] + alpha.sum())
    expected = np.exp(psi(gamma))
    share = [
        values / values.sum(axis=1, keepdims=True) for values in (found.factors[full], expected)
    ]
    error = 1e-6 + 4e-7 * gamma * polygamma(1, gamma)
    assert (np.abs(share[0] - share[1]) <= error * share[1] + 1e-7).all()


@pytest.mark.parametrize("method", [OPE(), EM()], ids=repr)
def test_only_requested_results_are_computed(method):
    rng = np.random.default_rng(0)
    topics = TopicTable.of(rng.dirichlet(np.ones(50), 7), None)
    documents, task = Documents(make_documents(rng, 20, 50)), make_task(7, method)
    lean = ENGINE.infer(topics, documents, task, Wanted(theta=False, certificate=False))
    rich = ENGINE.infer(topics, documents, task)
    assert lean.theta is None
    assert lean.certificate is None
    assert lean.n_tokens is None
    assert rich.certificate is not None
    assert same_bytes(lean.picks, rich.picks)
    assert ENGINE.infer(topics, documents, task, Wanted(picks=False)).picks is None
