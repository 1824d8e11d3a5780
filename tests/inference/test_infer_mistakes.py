"""Errors of `infer` about documents, topics and options."""

import numpy as np
import pytest

from opelda.errors import InputError
from opelda.inference import infer
from tests.cases import cases
from tests.inference.test_infer import COUNTS, TOPICS

NAN, INF = float("nan"), float("inf")


@cases(
    ("X", "message"),
    [
        ([[0, -1] + [0] * 38], r"X\[0, 1\] is -1"),
        (np.where(np.arange(80).reshape(2, 40) == 45, NAN, 1), r"X\[1, 5\] is nan"),
        (np.where(np.arange(80).reshape(2, 40) == 45, INF, 1), r"X\[1, 5\] is inf"),
        (np.ones((2, 39)), "X has 39 columns but the topics have 40 words"),
        (np.ones(40), "X must have shape"),
        (np.full((1, 40), "a"), "X must hold counts"),
        (np.ones((1, 40), complex), "X must hold counts"),
        ([[1, 2], [3]], "X must be a matrix of counts"),
    ],
)
def test_bad_documents_are_rejected(X, message):
    with pytest.raises(InputError, match=message):
        infer(X, TOPICS)


@cases(
    ("topics", "message"),
    [
        (TOPICS * 1.01, r"row \d sums to 1.01"),
        (TOPICS[0], r"topics must be a numeric array of shape \(K, V\)"),
        (np.zeros((0, 40)), "at least one row"),
        (np.where(np.arange(240).reshape(6, 40) == 100, NAN, TOPICS), "row 2 has a NaN"),
        (np.where(np.arange(240).reshape(6, 40) == 100, -0.1, TOPICS), "in row 2"),
        (np.full((2, 40), "a"), "topics must be a numeric array"),
    ],
)
def test_bad_topics_are_rejected(topics, message):
    with pytest.raises(InputError, match=message):
        infer(COUNTS, topics)


@cases(
    ("options", "message"),
    [
        ({"doc_topic_prior": 0}, "doc_topic_prior must be positive"),
        ({"doc_topic_prior": NAN}, "doc_topic_prior is nan"),
        ({"doc_topic_prior": [1, 2]}, r"one number per topic \(6\)"),
        ({"doc_topic_prior": "a"}, "doc_topic_prior must hold real numbers"),
        ({"method": "magic"}, "Unknown method 'magic'; choose one of"),
        ({"method": 3}, "method must be a name or a method object"),
        ({"random_state": -1}, "random_state must be"),
        ({"random_state": "x"}, "random_state must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"n_jobs": 1.5}, "n_jobs must be"),
    ],
)
def test_bad_options_are_rejected(options, message):
    with pytest.raises(InputError, match=message) as caught:
        infer(COUNTS, TOPICS, **options)
    assert str(caught.value).count("\n") == 0
    assert str(caught.value).endswith(".")
