"""Topic matching against brute force, and agreement of models."""

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from opelda.errors import InputError
from opelda.inference import Topics
from opelda.metrics import match_topics, topic_stability
from tests.cases import cases

SIMILARITIES = ("cosine", "jaccard", "jensen_shannon")
shares = st.one_of(st.just(0.0), st.floats(1e-6, 1))


def cosine(x, y, n_words):
    long, wide = math.hypot(*x), math.hypot(*y)
    return sum((x / long) * (y / wide)) if long and wide else 0.0


def jaccard(x, y, n_words):
    a, b = (set(sorted(range(len(z)), key=lambda j: (-z[j], j))[:n_words]) for z in (x, y))
    return len(a & b) / len(a | b)


def jensen_shannon(x, y, n_words):
    if not x.any() or not y.any():
        return 0.0
    bits = 0.0
    for p, q in zip(x / sum(x), y / sum(y), strict=True):
        bits += sum(z * math.log2(2 * z / (p + q)) for z in (p, q) if z) / 2
    return 1 - bits


BY_HAND = {"cosine": cosine, "jaccard": jaccard, "jensen_shannon": jensen_shannon}


@pytest.mark.parametrize("name", SIMILARITIES)
@given(
    hnp.arrays(np.float64, (4, 5), elements=shares),
    hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.just(5)), elements=shares),
    st.integers(1, 6),
)
def test_matching_equals_brute_force(name, a, b, n_words):
    order, found = match_topics(a, b, similarity=name, n_words=n_words)

    def similarity(x, y):
        return BY_HAND[name](x, y, n_words)

    n = min(len(a), len(b))
    matched = order[order >= 0]
    assert len(matched) == len(set(matched.tolist())) == n
    assert ((found >= 0) & (found <= 1)).all()
    for i, j in enumerate(order):
        expected = similarity(a[i], b[j]) if j >= 0 else 0.0
        assert found[i] == pytest.approx(expected, abs=1e-7)
    best = max(
        sum(similarity(a[i], b[j]) for i, j in zip(rows, columns, strict=True))
        for rows in combinations(range(len(a)), n)
        for columns in permutations(range(len(b)), n)
    )
    assert found.sum() == pytest.approx(best, abs=1e-6)


@cases("name", SIMILARITIES)
@cases("scale", [1e-320, 1e-300, 1e300])
def test_matching_tiny_and_huge_weights(name, scale):
    order, found = match_topics(scale * np.eye(3), np.eye(3)[::-1], similarity=name, n_words=1)
    assert order.tolist() == [2, 1, 0]
    assert found.tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", SIMILARITIES)
@given(st.permutations(range(6)), st.integers(0, 999))
def test_matching_undoes_a_permutation(name, order, seed):
    topics = np.random.default_rng(seed).dirichlet(np.full(40, 0.5), 6)
    shuffled = topics[list(order)]
    found, alike = match_topics(topics, shuffled, similarity=name, n_words=20)
    assert np.array_equal(shuffled[found], topics)
    np.testing.assert_allclose(alike, 1)
    assert topic_stability([topics, shuffled, topics], similarity=name) == pytest.approx(1)


def test_topics_objects_are_topics():
    topics = np.random.default_rng(1).dirichlet(np.ones(12), 3)
    order, found = match_topics(Topics(topics), Topics(topics[::-1]))
    assert order.tolist() == [2, 1, 0]
    np.testing.assert_allclose(found, 1, atol=1e-6)
    assert topic_stability([Topics(topics), topics]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", SIMILARITIES)
@given(st.integers(2, 4), st.integers(0, 999), st.data())
def test_stability_equals_the_mean_of_all_pairs(name, n_models, seed, data):
    rng = np.random.default_rng(seed)
    models = [rng.dirichlet(np.full(15, 0.3), rng.integers(1, 5)) for _ in range(n_models)]
    found = topic_stability(iter(models), similarity=name, n_words=4)
    pairs = []
    for a, b in combinations(models, 2):
        few, many = sorted((a, b), key=len)
        best = max(
            sum(BY_HAND[name](few[i], many[j], 4) for i, j in enumerate(chosen))
            for chosen in permutations(range(len(many)), len(few))
        )
        pairs.append(best / len(many))
    assert found == pytest.approx(np.mean(pairs), abs=1e-9)
    assert 0 <= found <= 1
    order = data.draw(st.permutations(range(n_models)))
    again = topic_stability([models[i] for i in order], similarity=name, n_words=4)
    assert again == pytest.approx(found, abs=1e-12)


def test_models_without_common_topics():
    models = [np.eye(6)[:3], np.eye(6)[3:]]
    for name in SIMILARITIES:
        assert topic_stability(models, similarity=name, n_words=1) == 0
    assert topic_stability([np.eye(4), np.eye(4)[:3]]) == 0.75


ONE = [[1.0, 0.0]]
IDS = np.array([[1, 0]], np.uint16)


@cases(
    ("call", "message"),
    [
        (lambda: match_topics([[1.0]], [[0.5, 0.5]]), "over 1 and over 2 words"),
        (lambda: match_topics([[1.0]], [[np.inf]]), "b must be finite, but row 0 has"),
        (lambda: match_topics([[1, 0]], ONE), "a must have the weights of words as floats"),
        (lambda: match_topics(ONE, IDS, similarity="jaccard"), "b must have the weights of words"),
        (lambda: topic_stability([ONE, IDS]), r"runs\[1\] must have the weights of words"),
        (
            lambda: match_topics(ONE, ONE, similarity="sine"),
            "similarity must be 'cosine', .* got 'sine'",
        ),
        (lambda: match_topics(ONE, ONE, similarity=None), "similarity must be .* got None"),
        (lambda: match_topics(ONE, ONE, similarity="jaccard", n_words=0), "n_words must be"),
        (
            lambda: match_topics(ONE, [[1.0, -1.0]], similarity="jensen_shannon"),
            "no negative weights",
        ),
        (lambda: topic_stability([ONE]), "at least two to be compared, got 1"),
        (lambda: topic_stability([]), "at least two"),
        (lambda: topic_stability(ONE), r"runs\[0\] must be a numeric array"),
        (lambda: topic_stability([ONE, [[1.0]]]), "over 2 and over 1 words"),
    ],
)
def test_bad_input_is_rejected(call, message):
    with pytest.raises(InputError, match=message):
        call()
