"""Documents, weights and topics round trip through every engine."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.engines import CPUEngine, Engine, ReferenceEngine, get_engine
from opelda.engines.seam import Step, TokenCounts
from opelda.errors import EngineError, InputError
from opelda.learning._rules import Online
from tests.cases import cases

from .made import (
    N_TOPICS,
    PRIORS,
    SEEDS,
    SMALLEST,
    as_lambda,
    as_topics,
    make_documents,
    make_task,
    make_weights,
    same_bytes,
)

every_prior = pytest.mark.parametrize("prior", PRIORS)


def test_engine_names_resolve(engine):
    assert type(get_engine(engine.name)) is type(engine)
    assert get_engine(engine) is engine


def test_missing_engine_is_reported():
    with pytest.raises(EngineError, match="Unknown engine 'abacus'; choose 'cpu', 'cuda', 'auto'"):
        get_engine("abacus")
    with pytest.raises(InputError, match="engine must be a name or an engine"):
        get_engine(3)


def test_engines_implement_the_protocol(engine):
    asked = {name for name in vars(Engine) if not name.startswith("_")}
    assert {"update", "sweep", "infer"} < asked
    assert [name for name in asked if not hasattr(engine, name)] == []


@given(SEEDS, st.integers(0, 12), st.integers(1, 9))
def test_parts_select_rows_of_a_collection(engine, seed, n_docs, n_words):
    rng = np.random.default_rng(seed)
    X = make_documents(rng, n_docs, n_words)
    documents = engine.documents(X)
    assert (documents.n_docs, documents.n_words) == X.shape
    first, last = sorted(rng.integers(0, n_docs + 1, 2))
    part = documents.part(int(first), int(last))
    found = sparse.csr_array((part.counts, part.words, part.indptr), (last - first, n_words))
    np.testing.assert_array_equal(found.toarray(), X.toarray()[first:last])
    np.testing.assert_allclose(part.tokens(), X.toarray()[first:last].sum(axis=1), rtol=1e-6)
    assert np.array_equal(part.empty, part.tokens() == 0)


def test_explicit_zeros_are_ignored(engine):
    X = sparse.csr_array(([0.0, 2.0, 0.0], [0, 1, 2], [0, 2, 3]), shape=(2, 3))
    rows = engine.documents(X).part()
    assert rows.words.tolist() == [1]
    assert rows.empty.tolist() == [False, True]


# 16 topics need no padding
@cases("n_topics", [1, 7, 16, 21])
@every_prior
def test_weights_round_trip_through_the_host(engine, prior, n_topics):
    host = make_weights(np.random.default_rng(0), 30, n_topics, prior)
    for other in (engine, CPUEngine(1), ReferenceEngine()):
        taken = other.weights(engine.weights(host).host())
        assert (taken.owner, taken.n_words, taken.n_topics) == (other.name, 30, n_topics)
        back = taken.host()
        assert np.array_equal(back.rows, host.rows)
        assert np.array_equal(back.prior, np.float32(host.prior) if prior != "number" else 0.05)
        assert (back.scale, back.prior_weight) == (host.scale, host.prior_weight)
        assert back.rows.dtype == np.float32
        assert back.rows.shape == (30, n_topics)
        np.testing.assert_allclose(taken.sums, host.rows.sum(axis=0, dtype=float), rtol=1e-12)
        np.testing.assert_allclose(taken.totals, as_lambda(host).sum(axis=1), rtol=1e-6)


@cases("n_topics", [5, 16])
def test_read_only_weights_can_be_updated(engine, n_topics):
    """As they come from a file, or from another process."""
    rng = np.random.default_rng(1)
    host, documents = make_weights(rng, 20, n_topics), engine.documents(make_documents(rng, 9, 20))
    before = host.rows.tobytes()
    weights = engine.weights(host)
    engine.update(weights, documents, make_task(n_topics), Online(), Step(2, 0.5, 9, 0))
    assert host.rows.tobytes() == before
    assert not np.array_equal(weights.host().rows, host.rows)


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
def test_random_weights_are_alike_on_every_engine(engine, seed):
    ours = engine.random_weights(300, 21, 0.1, seed)
    theirs = ReferenceEngine().random_weights(300, 21, 0.1, seed)
    rows = ours.host().rows
    np.testing.assert_allclose(rows, theirs.rows, rtol=1e-6)
    np.testing.assert_allclose(ours.sums, rows.sum(axis=0, dtype=float), rtol=1e-6)
    assert (ours.scale, ours.prior_weight) == (1.0, 0.0)
    assert not np.allclose(rows, engine.random_weights(300, 21, 0.1, seed ^ 1).host().rows)


@given(SEEDS, st.integers(1, 30), N_TOPICS, st.integers(1, 30), N_TOPICS)
def test_random_weight_depends_only_on_word_topic_and_seed(
    engine, seed, n_words, n_topics, more_words, more_topics
):
    few = engine.random_weights(n_words, n_topics, 0.1, seed).host().rows
    shape = n_words + more_words, n_topics + more_topics
    many = engine.random_weights(*shape, 0.1, seed).host().rows
    assert np.array_equal(few, many[:n_words, :n_topics])


@pytest.mark.parametrize("seed", range(1))
def test_random_weights_have_the_stated_mean_and_spread(engine, seed):
    rows = engine.random_weights(5000, 21, 0.1, seed).host().rows
    assert rows.min() > 0.5
    assert abs(rows.mean() - 1) < 0.01
    assert abs(rows.std() - 0.1) < 0.01
    for numbers in (rows, rows.T[:, :400]):
        beside = np.corrcoef(numbers[:-1].ravel(), numbers[1:].ravel())[0, 1]
        assert abs(beside) < 0.05


@every_prior
@given(SEEDS, N_TOPICS, st.sampled_from([0.0, 1e-3, 1.0]))
def test_topics_are_weights_over_their_sums(tested, engine, prior, seed, n_topics, prior_weight):
    rng = np.random.default_rng(seed)
    host = make_weights(rng, 60, n_topics, prior, prior_weight)
    expected = as_topics(as_lambda(host))
    weights = engine.weights(host)
    found = engine.read(weights)
    assert found.shape == (n_topics, 60)
    assert not found.flags.writeable
    np.testing.assert_allclose(found, expected, rtol=tested.rtol, atol=1e-21)
    np.testing.assert_allclose(found.sum(axis=1, dtype=float), 1, rtol=1e-5)
    if prior_weight == 0.0:  # word 0 has no weight
        np.testing.assert_allclose(found[:, 0], SMALLEST, rtol=1e-6)
    some = np.sort(rng.permutation(60)[:25]).astype(np.int32)
    fresh = engine.read(engine.weights(host), some)
    assert np.array_equal(fresh, found[:, some])
    assert np.array_equal(engine.read(weights, some), fresh)
    assert engine.read(weights, some[:0]).shape == (n_topics, 0)


@every_prior
@given(SEEDS, st.integers(1, 20))
def test_changed_weights_equal_the_changes(engine, prior, seed, n_topics):
    """Grown, reset, added to, shrunk, blended, forgotten; topics are re-read each time."""
    rng = np.random.default_rng(seed)
    weights = engine.weights(make_weights(rng, 30, n_topics, prior))
    rows = weights.host().rows.astype(float)
    new, more = rng.uniform(0.1, 2, (2, n_topics))

    def check():
        host = weights.host()
        np.testing.assert_allclose(weights.scale * host.rows, rows, rtol=1e-5, atol=1e-30)
        np.testing.assert_allclose(weights.scale * weights.sums, rows.sum(axis=0), rtol=1e-5)
        expected = as_topics(as_lambda(host))
        np.testing.assert_allclose(engine.read(weights), expected, rtol=2e-6, atol=1e-21)

    rows *= weights.scale
    check()
    weights.grow(33, new)
    rows = np.vstack([rows, np.tile(new, (3, 1))])
    assert weights.n_words == 33
    check()
    before = np.array(weights.host().prior)
    weights.reset(np.array([2, 5]), more)
    rows[[2, 5]] = more
    check()
    if before.ndim:  # the former words have no weight
        expected, others = before.copy(), np.delete(before, [2, 5], axis=0)
        expected[[2, 5]] = others.mean(axis=0)
        np.testing.assert_allclose(weights.host().prior, expected, rtol=1e-5)
    weights.add(n_topics - 1, np.array([4, 6]), np.array([1.0, 2.0]))
    weights.recount()
    rows[[4, 6], -1] += np.array([1.0, 2.0]) * weights.scale
    check()
    for factor in (0.5, 1e-5, 1e-5):  # the rows themselves are finally scaled
        weights.begin_change()
        weights.shrink(factor)
        rows *= factor
        check()
    assert weights.scale == 1.0
    cells = rng.integers(0, 9, (33, n_topics))
    engine.blend(weights, TokenCounts(sparse.csr_array(cells), 4), 0.25)
    rows = 0.75 * rows + 0.25 * cells / 16
    assert weights.prior_weight == 1.0
    check()
    weights.begin_change()
    weights.clear()
    rows[:] = 0
    check()


def test_returned_topics_are_copies(engine):
    rng = np.random.default_rng(3)
    weights = engine.weights(make_weights(rng, 20, 16))
    documents = engine.documents(make_documents(rng, 9, 20))
    before = engine.read(weights)
    kept = before.copy()
    engine.update(weights, documents, make_task(16), Online(), Step(2, 0.5, 9, 0))
    assert np.array_equal(before, kept)
    assert not np.array_equal(engine.read(weights), kept)


def test_results_do_not_depend_on_earlier_calls(tested, engine):
    rng = np.random.default_rng(4)
    host, X, task = make_weights(rng, 20, 7), make_documents(rng, 9, 20), make_task(7)
    for other in range(3):  # other weights and documents on the same engine
        weights = engine.weights(make_weights(rng, 20, 7))
        engine.update(weights, engine.documents(X), task, Online(), Step(1, 0.5, 9, other))
    alone = tested.make()
    found = [e.infer(e.weights(host), e.documents(X), task) for e in (engine, alone)]
    assert same_bytes(*found)
