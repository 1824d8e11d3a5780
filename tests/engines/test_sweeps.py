"""Sampled topics follow explicit probabilities, for any document order and split."""

from itertools import pairwise, product
from math import lgamma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.engines import ReferenceEngine
from opelda.engines.seam import HostWeights
from tests.cases import cases

from .made import PRIORS, SEEDS, make_documents, make_topics, make_weights, plain_weights
from .tokens_made import by_document, cells_of, copy_numbers, counts_of, draw, tokens_of


def without_prior(engine, n_words=2, n_topics=2):
    return engine.weights(HostWeights(np.ones((n_words, n_topics), np.float32), 1e-30))


def within_sampling_error(seen, probabilities, n):
    """Six standard deviations: about one wrong alarm in a billion."""
    return np.abs(seen - probabilities) <= 6 * np.sqrt(probabilities * (1 - probabilities) / n)


@pytest.mark.parametrize("seed", range(3))
def test_draws_follow_the_posterior_of_a_document(tested, engine, seed):
    topics = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.3, 0.3, 0.4]])
    alpha, n = np.array([0.3, 0.8, 0.1]), tested.n_documents
    words = [0, 0, 2]  # a document of two tokens of word 0 and one of word 2
    exact = {}
    for z in product(range(3), repeat=3):
        sizes = np.bincount(z, minlength=3)
        prior = sum(lgamma(a + m) - lgamma(a) for a, m in zip(alpha, sizes, strict=True))
        exact[z] = np.exp(prior) * np.prod([topics[k, w] for k, w in zip(z, words, strict=True)])
    total = sum(exact.values())
    tokens = tokens_of(engine, np.tile([2, 0, 1], (n, 1)), 3)
    draw(engine, tokens, topics, alpha, seed=seed * (2**31 + (5 << 32)), n_draws=15)
    cells = np.asarray(tokens.topics).reshape(n, 3) @ np.array([9, 3, 1])
    seen = np.bincount(cells, minlength=27) / n
    probabilities = np.array([exact[z] / total for z in product(range(3), repeat=3)])
    assert within_sampling_error(seen, probabilities, n).all()


@pytest.mark.parametrize("seed", range(1))
@cases("count", [1.0, 0.5])
def test_conditional_excludes_the_token_itself(tested, engine, count, seed):
    alpha, n = np.array([0.4, 0.6]), tested.n_documents
    tokens = tokens_of(engine, np.tile([count, 0], (n, 1)), 2)
    draw(engine, tokens, [[0.5, 0.5], [0.0, 1.0]], alpha)
    assert not np.asarray(tokens.topics).any()  # only the first topic has the word
    counts = counts_of([[0.5, 0.5], [0.2, 0.8]], 4)
    engine.sweep(without_prior(engine), tokens, alpha, counts=counts, seed=seed)
    # a token of weight 1 is a quarter of all that its topic has
    odds = alpha * [0.5 - count / 4, 0.2]
    seen = np.bincount(tokens.topics, minlength=2) / n
    assert within_sampling_error(seen, odds / odds.sum(), n).all()


def test_only_token_of_a_word_in_its_topic_can_move(engine):
    tokens = tokens_of(engine, np.tile([1, 0], (50, 1)), 2)
    draw(engine, tokens, [[0.5, 0.5], [0.0, 1.0]], [0.5, 0.5])
    counts = counts_of([[0.2, 0.8], [0.2, 0.8]], 5)
    engine.sweep(without_prior(engine), tokens, np.array([0.5, 0.5]), counts=counts, seed=0)
    assert (np.asarray(tokens.topics) == 1).all()


@cases("n_topics", [1, 7, 16, 100])
def test_only_topics_with_the_word_are_drawn(engine, n_topics):
    topics = np.zeros((n_topics, 40))
    topics[np.arange(40) % n_topics, np.arange(40)] = 1.0  # every word in one topic alone
    topics[topics.sum(axis=1) == 0, 0] = 1e-3  # and topics with tiny weights
    counts = np.random.default_rng(0).poisson(0.3, (20, 40))
    counts[:, 0] = 0
    tokens = tokens_of(engine, counts, n_topics)
    draw(engine, tokens, topics, np.full(n_topics, 0.1), n_draws=3)
    words = np.repeat(tokens.rows.words, tokens.rows.counts.astype(int))
    assert np.array_equal(tokens.topics, words % n_topics)


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("n_topics", [3, 16, 40])
def test_draws_equal_the_references(tested, engine, n_topics, prior, seed):
    """Over several sweeps, with fractions and repeated words, except for rounding ties."""
    rng = np.random.default_rng(seed)
    X, host = make_documents(rng, 30, 40), make_weights(rng, 40, n_topics, prior)
    alpha, engines = rng.uniform(0.05, 0.5, n_topics), (engine, ReferenceEngine())
    counts = [None, None]
    tokens = [tokens_of(e, X.toarray(), n_topics) for e in engines]
    for number in (1, 2, 3):
        options = {"seed": seed + (number << 32), "n_draws": 3 if number == 1 else 1}
        counts = [
            e.sweep(e.weights(host), drawn, alpha, counts=before, **options)
            for e, drawn, before in zip(engines, tokens, counts, strict=True)
        ]
        found, expected = (np.asarray(drawn.topics) for drawn in tokens)
        others = [np.any(part) for part in np.split(found != expected, tokens[1].first[1:-1])]
        assert np.mean(others) <= tested.others
        if any(others):
            break  # a draw that rounding decides changes those after it
    assert len(np.unique(found)) > n_topics / 2


@given(SEEDS, st.booleans(), st.lists(st.integers(0, 20), max_size=4))
def test_parts_in_any_order_add_up_to_the_same_bytes(engine, seed, fractions, cuts):
    """Sweep after sweep, each part by an engine that knows only its own documents."""
    rng = np.random.default_rng(seed)
    X = make_documents(rng, 20, 9, fractions)[rng.integers(0, 20, 20)]  # with duplicates
    topics, alpha = make_topics(rng, 4, 9), np.full(4, 0.3)
    whole = tokens_of(engine, X.toarray(), 4)
    ends = sorted({0, 20, *cuts})
    numbers = copy_numbers(X)
    places = [np.arange(first, last) for first, last in pairwise(ends)]
    places = [places[i] for i in rng.permutation(len(places))]
    parts = [
        tokens_of(engine, X.toarray()[at], 4, copies=numbers[at], shift=whole.shift)
        for at in places
    ]
    weights, counts = engine.weights(plain_weights(topics)), None
    for number in (1, 2, 3):
        options = {"counts": counts, "seed": number << 32}
        expected = engine.sweep(weights, whole, alpha, **options)
        drawn = [engine.sweep(weights, part, alpha, **options) for part in parts]
        counts = drawn[0]
        for more in drawn[1:]:
            counts = counts + more
        assert counts.shift == expected.shift
        assert np.array_equal(cells_of(counts), cells_of(expected))
        ours = by_document(whole)
        for at, part in zip(places, parts, strict=True):
            for d, topics_of in zip(at, by_document(part), strict=True):
                assert np.array_equal(ours[d], topics_of)


@given(SEEDS, st.booleans(), st.integers(1, 4))
def test_documents_with_priors_of_their_own_are_drawn_as_in_parts(engine, seed, fractions, n_rows):
    """Each part has the documents of one prior; some topics are impossible a priori."""
    rng = np.random.default_rng(seed)
    X = make_documents(rng, 20, 9, fractions)[rng.integers(0, 20, 20)]
    row = rng.permutation(np.arange(20) % n_rows).astype(np.uint16)
    alphas = rng.uniform(0.1, 0.6, (n_rows, 4)) * (rng.random((n_rows, 4)) < 0.8)
    alphas[:, 0] = 0.2
    whole, numbers = tokens_of(engine, X.toarray(), 4, prior_rows=row), copy_numbers(X)
    places = [np.flatnonzero(row == r) for r in range(n_rows)]
    parts = [
        tokens_of(engine, X.toarray()[at], 4, copies=numbers[at], shift=whole.shift)
        for at in places
    ]
    weights, counts = engine.weights(plain_weights(make_topics(rng, 4, 9))), None
    for number in (1, 2, 3):
        options = {"counts": counts, "seed": number << 32}
        counts = engine.sweep(weights, whole, alphas, **options)
        drawn = [
            engine.sweep(weights, part, alpha, **options)
            for part, alpha in zip(parts, alphas, strict=True)
        ]
        assert np.array_equal(cells_of(counts), sum(map(cells_of, drawn)))
        ours = by_document(whole)
        for r, (at, part) in enumerate(zip(places, parts, strict=True)):
            for d, topics_of in zip(at, by_document(part), strict=True):
                assert np.array_equal(ours[d], topics_of)
            found, alone = engine.histogram(whole, 1.0, r), engine.histogram(part, 1.0)
            for name, values in vars(alone).items():
                assert np.array_equal(getattr(found, name), values)


@given(SEEDS)
def test_draws_do_not_depend_on_document_order(engine, seed):
    rng = np.random.default_rng(seed)
    X = make_documents(rng, 15, 9)[rng.integers(0, 15, 20)].toarray()
    topics, order = make_topics(rng, 4, 9), rng.permutation(20)
    one, other = tokens_of(engine, X, 4), tokens_of(engine, X[order], 4)
    drawn = [draw(engine, t, topics, np.ones(4), n_draws=2) for t in (one, other)]
    assert np.array_equal(cells_of(drawn[0]), cells_of(drawn[1]))
    ours, theirs = by_document(one), by_document(other)

    def of_content(documents, rows):
        return sorted((row.tobytes(), z.tobytes()) for row, z in zip(rows, documents, strict=True))

    assert of_content(ours, X) == of_content(theirs, X[order])


@pytest.mark.parametrize("seed", range(1))
def test_identical_documents_draw_independently(engine, seed):
    X = np.tile([2, 1, 3, 0, 1], (40, 1))
    topics, alpha, tokens = np.full((5, 5), 0.2), np.ones(5), tokens_of(engine, X, 5)
    counts = draw(engine, tokens, topics, alpha, seed)
    assert len(np.unique(np.array(by_document(tokens)), axis=0)) > 30
    # the numbering of copies changes no draw
    copies = np.random.default_rng(2).permutation(40)
    others = tokens_of(engine, X, 5, copies=copies)
    assert np.array_equal(cells_of(draw(engine, others, topics, alpha, seed)), cells_of(counts))
    ours, theirs = np.array(by_document(tokens)), np.array(by_document(others))
    assert np.array_equal(theirs, ours[copies])
    # and unnumbered copies draw the same topics
    alike = tokens_of(engine, X, 5, copies=np.zeros(40, np.int64))
    draw(engine, alike, topics, alpha, seed)
    assert len(np.unique(np.array(by_document(alike)), axis=0)) == 1


@pytest.mark.parametrize("seed", range(1))
def test_draws_differ_between_sweeps_and_seeds(engine, seed):
    X = make_documents(np.random.default_rng(seed), 200, 9).toarray()
    topics, found = np.full((5, 9), 1 / 9), []
    for chance in (seed, seed + 1, seed + (1 << 32), seed + (2 << 32)):
        tokens = tokens_of(engine, X, 5)
        draw(engine, tokens, topics, np.ones(5), seed=chance)
        found.append(np.asarray(tokens.topics).copy())
    for i in range(4):
        for j in range(i):
            assert 0.1 < (found[i] == found[j]).mean() < 0.4
