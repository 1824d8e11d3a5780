"""Presets: what stands in for what the user does not say."""

import numpy as np
import pytest

from opelda import OnlineOPE, TopicModel
from opelda.corpus import generate
from opelda.errors import InputError
from opelda.inference import OPE

X = generate(800, n_words=200, n_topics=5, random_state=0).X


def test_the_paper_s_preset_is_online_ope_with_the_paper_s_settings():
    ours = TopicModel(5, preset="paper", random_state=0).fit(X)
    theirs = OnlineOPE(5, random_state=0).fit(X)
    assert np.array_equal(ours.components_, theirs.components_)


def test_what_is_given_comes_before_the_preset():
    model = TopicModel(
        5, preset="fast", batch_size=100, n_passes=3, learning_decay=0.7, learning_offset=5.0
    )
    schedule = model._schedule(10**6)
    assert (schedule.batch_size, schedule.n_passes, schedule.n_sweeps) == (100, 3, 0)
    assert (schedule.decay, schedule.offset) == (0.7, 5.0)
    assert model.set_params(n_sweeps=0, preset="best")._schedule(10**6).n_sweeps == 0
    assert TopicModel(5, inference=OPE(n_iter=7))._inference().n_iter == 7
    assert TopicModel(5, topic_word_prior=0.3)._word_prior() == 0.3


@pytest.mark.parametrize("preset", ["best", "fast", "paper"])
@pytest.mark.parametrize("n_docs", [0, 1, 30, 1000, 10**5, 10**7, None])
def test_every_preset_makes_a_schedule_for_every_collection(preset, n_docs):
    schedule = TopicModel(5, preset=preset)._schedule(n_docs)
    assert schedule.batch_size >= 1
    assert 1 <= schedule.n_passes <= 20
    assert schedule.n_sweeps >= 0


def test_small_collections_are_gone_through_more_often_in_smaller_steps():
    small, large = (TopicModel(5)._schedule(n) for n in (500, 10**6))
    assert small.batch_size < large.batch_size
    assert small.n_passes > large.n_passes


def test_the_best_is_the_default():
    assert TopicModel()._preset is TopicModel(preset="best")._preset
    assert TopicModel()._schedule(1000).n_sweeps > 0


@pytest.mark.parametrize("chosen", [{"inference": "ope"}, {"learning": "online"}])
def test_who_chooses_a_method_or_a_rule_gets_that_and_nothing_else(chosen):
    model = TopicModel(5, random_state=0, **chosen).fit(X)
    assert np.array_equal(model.components_, OnlineOPE(5, random_state=0).fit(X).components_)


@pytest.mark.parametrize("preset", ["slow", 3, ["best"]])
def test_an_unknown_preset(preset):
    with pytest.raises(InputError, match="preset must be one of"):
        TopicModel(5, preset=preset).fit(X)


def test_streams_are_learned_without_sweeps():
    model = TopicModel(5, random_state=0, batch_size=200).partial_fit(X)
    assert model.n_batch_iter_ == 4
