"""Given splits: scored documents, repetitions and errors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from opelda.errors import InputError
from opelda.inference import OPE
from opelda.metrics import log_predictive_probability, predict_held_out, split_tokens
from tests.cases import cases

TOPICS = np.array([[0.5, 0.3, 0.2, 0.0], [0.0, 0.1, 0.3, 0.6]])
counts = hnp.arrays(
    np.float64, (5, 4), elements=st.sampled_from([0, 0, 0, 1, 2, 0.5, 1e-300, 1e13])
)


@given(st.lists(st.tuples(counts, counts), min_size=1, max_size=3), st.sampled_from([1, 2]))
def test_one_topic_equals_manual_computation(splits, n_topics):
    """Equal topics: for any theta, probabilities equal the topic's."""
    splits = [*splits, (np.ones((5, 4)) * [[1], [1], [1], [0], [1]], np.ones((5, 4)))]
    topic = np.array([0.5, 0.25, 0.25, 0.0])
    means, total, mass, by_split = {}, 0.0, 0.0, []
    usable = True
    for observed, held in splits:
        scores = []
        for d in range(5):
            if observed[d].any() and held[d].any():
                score = sum(
                    n * math.log(max(p, 1e-30)) for n, p in zip(held[d], topic, strict=True)
                )
                total, mass = total + score, mass + held[d].sum()
                scores.append(score / held[d].sum())
                means.setdefault(d, []).append(scores[-1])
        usable = usable and bool(scores)
        by_split.append(np.mean(scores) if scores else None)
    if not usable:
        with pytest.raises(InputError, match="has no document with words observed and held out"):
            predict_held_out([topic] * n_topics, splits)
        return
    found = predict_held_out([topic] * n_topics, splits)
    per_document = [np.mean(m) for m in means.values()]
    # mixtures sum to 1 in single precision
    assert found.macro == pytest.approx(np.mean(per_document), rel=1e-6)
    assert found.micro == pytest.approx(total / mass, rel=1e-6)
    assert found.splits == pytest.approx(by_split, rel=1e-6)
    assert found.n_documents == len(means)
    assert found.n_left_out == 5 - len(means)
    spread = np.std(per_document, ddof=1) / math.sqrt(len(means))
    assert found.standard_error == pytest.approx(spread, rel=1e-4, abs=1e-5)


@given(counts, counts, st.sampled_from(["vb", "ope", "fw", "cvb0"]), st.sampled_from([1e-9, 1, 50]))
def test_score_is_never_nan(observed, held, method, alpha):
    observed[0, 0] = held[0, 0] = 1
    found = predict_held_out(
        TOPICS, [(observed, held)], method=method, doc_topic_prior=alpha, random_state=0
    )
    for value in (found.macro, found.micro, *found.splits):
        assert math.log(1e-30) - 1e-9 <= value <= 1e-6
    assert found.standard_error >= 0


@given(st.permutations(range(6)), st.permutations(range(2)), st.integers(0, 99))
def test_order_of_documents_and_topics(documents, topics, seed):
    X = np.random.default_rng(seed).integers(1, 5, (6, 4))
    observed, held = split_tokens(X, random_state=seed)
    options = {"engine": "reference", "random_state": 0}
    found = predict_held_out(TOPICS, [(observed, held)], **options)
    order = list(documents)
    moved = predict_held_out(TOPICS[list(topics)], [(observed[order], held[order])], **options)
    assert moved.macro == pytest.approx(found.macro, abs=1e-12)
    assert moved.micro == pytest.approx(found.micro, abs=1e-12)
    assert moved.standard_error == pytest.approx(found.standard_error, abs=1e-12)


def test_given_split_equals_the_internal_split():
    X = np.random.default_rng(0).integers(1, 5, (30, 4))
    whole = log_predictive_probability(TOPICS, X, random_state=8, n_splits=1, method=OPE())
    rng = np.random.default_rng(8)
    split = split_tokens(X, random_state=rng)
    seed = int(rng.integers(2**32))

    class Seeded(OPE):
        def kernel(self, n_topics, _):
            return OPE().kernel(n_topics, seed)

    assert predict_held_out(TOPICS, [split], method=Seeded()) == whole


def test_inputs_of_every_kind_are_unchanged():
    observed, held = (
        np.array([[2, 1, 0, 0], [0, 0, 1, 1.0]]),
        np.array([[1, 0, 0, 0], [0, 0, 1, 0]]),
    )
    expected = predict_held_out(TOPICS, [(observed, held)])
    zeros = sparse.csr_array((observed.ravel(), np.tile(range(4), 2), [0, 4, 8]), shape=(2, 4))
    for pair in ((zeros, held.tolist()), [sparse.coo_array(observed), sparse.csc_array(held)]):
        assert predict_held_out(TOPICS, iter([pair])) == expected
    assert zeros.nnz == 8
    assert predict_held_out(sparse.csr_array(TOPICS), [(observed, held)]) == expected
    assert predict_held_out(TOPICS, [(observed, held)] * 2).macro == expected.macro


def test_one_document_has_no_spread():
    assert predict_held_out(TOPICS, [([[1, 0, 0, 0]], [[1, 0, 0, 0]])]).standard_error == math.inf


ROWS = np.ones((2, 4))


@cases(
    ("splits", "message"),
    [
        ([], "no pair"),
        ((ROWS, ROWS), "item 0 is ndarray; for one split"),
        ([(ROWS,)], "item 0 is tuple"),
        ([(ROWS, ROWS[:1])], "held-out counts of shape"),
        ([(ROWS, ROWS), (ROWS[:1], ROWS[:1])], "Split 1 has 1 documents but the first has 2"),
        ([(ROWS, ROWS), (ROWS, 0 * ROWS)], "Split 1 has no document"),
        ([(ROWS[:0], ROWS[:0])], "Split 0 has no document"),
        ([(ROWS[:, 1:], ROWS[:, 1:])], "3 columns"),
        ([(-ROWS, ROWS)], "counts must be"),
    ],
)
@cases("engine", ["cpu", "reference"])
def test_bad_splits_are_rejected(splits, message, engine):
    with pytest.raises(InputError, match=message):
        predict_held_out(TOPICS, splits, engine=engine)


@cases(
    ("options", "message"),
    [
        ({"method": "guess"}, "Unknown method"),
        ({"doc_topic_prior": 0}, "doc_topic_prior must be"),
        ({"random_state": "x"}, "random_state must be"),
        ({"engine": 3}, "engine must be"),
    ],
)
def test_bad_options_are_rejected(options, message):
    with pytest.raises(InputError, match=message):
        predict_held_out(TOPICS, [(ROWS, ROWS)], **options)
