"""Stability of a fitted model's topics, by refitting."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import opelda
from opelda import OnlineOPE, TopicModel
from opelda.corpus import generate
from opelda.errors import InputError
from opelda.learning._learner import run_seeds
from opelda.metrics import match_topics
from opelda.report import topic_table
from opelda.selection import stability

X = generate(150, n_words=60, n_topics=3, n_tokens=20, random_state=0).X
FAST = {"preset": "fast", "n_passes": 1, "n_jobs": 1}


@pytest.mark.parametrize("n_runs", [1, 2])  # of the model itself
def test_stability_is_the_mean_over_runs_with_other_seeds(n_runs, tmp_path):
    model = TopicModel(4, random_state=0, n_runs=n_runs, **FAST).fit(X)
    before = np.asarray(model.components_).tobytes()
    found = stability(model, X, n_runs=3)
    others = [
        TopicModel(4, random_state=seed, **FAST).fit(X)
        for seed in run_seeds(model._state.seed, 3)[1:]
    ]
    alike = [match_topics(model, other, similarity="jaccard", n_words=20)[1] for other in others]
    assert found.topics.mean() == pytest.approx(np.mean(alike)) == pytest.approx(float(found))
    assert found.runs[0] == pytest.approx(found.topics.mean())
    between = match_topics(*others, similarity="jaccard", n_words=20)[1].mean()
    assert found.runs[1] == pytest.approx((alike[0].mean() + between) / 2)
    assert np.asarray(model.components_).tobytes() == before
    np.testing.assert_array_equal(model.topic_stability_, found.topics)
    assert [row.stability for row in topic_table(model)] == found.topics.tolist()
    opelda.save(model, tmp_path / "m")
    np.testing.assert_array_equal(opelda.load(tmp_path / "m").topic_stability_, found.topics)


def test_documents_are_counted_with_the_vocabulary_of_the_model():
    texts = ["green tea cup", "black tea pot", "red wine glass", "white wine bottle"] * 9
    model = OnlineOPE(2, random_state=0, n_jobs=1).fit(texts)
    told = []
    found = stability(model, texts[::-1], n_runs=2, progress=lambda *each: told.append(each))
    assert told == [("run 1 of 1", 0, 1)]
    assert 0 < float(found) <= 1
    other = stability(model, texts, n_runs=2, random_state=5)
    assert other.topics.shape == (2,)


def test_models_that_cannot_be_refitted_are_rejected():
    with pytest.raises(NotFittedError):
        stability(TopicModel(2), X)
    with pytest.raises(InputError, match="must be a fitted learner"):
        stability(np.ones((2, 3)), X)
    with pytest.raises(InputError, match="n_runs must be"):
        stability(TopicModel(2, **FAST).fit(X), X, n_runs=1)
