"""Custom update rules."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

import opelda
from opelda import TopicModel
from opelda.corpus import generate
from opelda.errors import InputError
from opelda.learning._rules import ML, SGRLD, Online, Streaming
from tests.cases import cases

MADE = generate(60, n_words=30, n_topics=3, random_state=0)
OPTIONS = {"preset": "paper", "batch_size": 20, "random_state": 0}


@dataclass(frozen=True)
class Forgetting(Streaming):
    """Streaming Bayes with exponential forgetting."""

    keep: float = 0.5

    def prepare(self, weights, step, n_docs, mass):
        """Shrink the counts, not the prior."""
        super().prepare(weights, step, n_docs, mass)
        weights.shrink(self.keep)
        return np.full(weights.n_topics, 1.0 / weights.scale)


@cases(
    ("name", "rule"),
    [("ml", ML()), ("online", Online()), ("streaming", Streaming()), ("sgrld", SGRLD())],
)
def test_rule_object_equals_its_name(name, rule):
    by_name = TopicModel(3, learning=name, **OPTIONS).fit(MADE.X)
    by_rule = clone(TopicModel(3, learning=rule, **OPTIONS)).fit(MADE.X)
    assert np.array_equal(by_name.components_, by_rule.components_)


def test_custom_rule_is_used():
    """Each batch halves the earlier weights: 20 tokens, 10 + 20, 5 + 10 + 20."""
    X = np.full((3, 4), 5.0)
    model = TopicModel(1, learning=Forgetting(), **{**OPTIONS, "batch_size": 1}).partial_fit(X)
    assert model._state.weights.totals == pytest.approx(35 + 4 * 1.0)  # eta is 1/K


def test_model_with_a_custom_rule_is_not_saved(tmp_path):
    model = TopicModel(3, learning=Forgetting(), **OPTIONS).fit(MADE.X)
    with pytest.raises(InputError, match=r"learning is .*which a model file cannot store"):
        opelda.save(model, tmp_path / "model.opelda")


@cases("rule", [3, object(), Streaming, ["ml"], "fast"])
def test_bad_rules_are_rejected(rule):
    with pytest.raises(InputError, match="learning must be"):
        TopicModel(3, learning=rule).fit(MADE.X)
