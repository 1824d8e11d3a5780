"""Presets decide the settings that the user omits."""

from inspect import signature

import numpy as np
import pytest

from opelda import OnlineOPE, TopicModel
from opelda._names import PRESETS
from opelda.corpus import generate
from opelda.errors import InputError
from opelda.inference import EM, OPE
from opelda.learning import LEARNERS, ML, Online
from opelda.learning.persistence._model_arrays import NOT_SAVED, as_parts
from opelda.learning.topic_model import preset_settings
from tests.cases import cases

X = generate(800, n_words=200, n_topics=5, random_state=0).X
SMALL = generate(90, n_words=40, n_topics=3, n_tokens=15, random_state=0).X
N_DOCS, K = SMALL.shape[0], 100  # the default
MODELS = [("TopicModel", preset) for preset in PRESETS]
MODELS += [(name, None) for name in LEARNERS if name != "TopicModel"]


def model_of(name, preset, **given):
    chosen = {} if preset is None else {"preset": preset}
    return LEARNERS[name](**({"random_state": 0} | chosen | given))


def learned(model):
    """Return all that a model has learned and answers, as bytes."""
    arrays, header = as_parts(model)
    del header["parameters"], header["checksum"]
    return [model.transform(SMALL).tobytes(), header, {k: v.tobytes() for k, v in arrays.items()}]


def resolved(name, preset):
    """Return explicit values equal to the defaults of omitted parameters."""
    model = model_of(name, preset)
    values = {
        "population": float(N_DOCS),
        "n_jobs": 1,
        "callbacks": [],
        "transform_method": EM() if isinstance(model._settings()["inference"], OPE) else "same",
    }
    if preset is not None:
        chosen = preset_settings(preset, N_DOCS)
        values |= {name: value for name, value in chosen.items() if value is not None}
    if not model._schedule(N_DOCS).n_sweeps:  # which adapt priors that are not given
        values["doc_topic_prior"] = values["topic_word_prior"] = 1 / K
    return {key: value for key, value in values.items() if key in model.get_params()}


@pytest.mark.parametrize(("name", "preset"), MODELS)
def test_explicit_default_of_a_parameter_changes_nothing(name, preset):
    """But `random_state`, whose default is another seed each time."""
    expected = learned(model_of(name, preset).fit(SMALL))
    defaults = {
        key: parameter.default
        for key, parameter in signature(LEARNERS[name]).parameters.items()
        if key not in ("random_state", "preset")
    }
    assert set(defaults) >= {"n_components", "transform_method", "engine", *NOT_SAVED}
    for key, value in defaults.items():
        assert learned(model_of(name, preset, **{key: value}).fit(SMALL)) == expected, key
    for key, value in resolved(name, preset).items():
        assert learned(model_of(name, preset, **{key: value}).fit(SMALL)) == expected, key
    every = resolved(name, preset)
    assert learned(model_of(name, preset, **every).fit(SMALL)) == expected


@pytest.mark.parametrize("preset", PRESETS)
def test_explicit_stream_presets_change_nothing(preset):
    settings = preset_settings(preset)
    for learn in ("partial_fit", "fit_stream"):
        data = SMALL if learn == "partial_fit" else [SMALL]
        expected = learned(getattr(model_of("TopicModel", preset), learn)(data))
        for key, value in settings.items():
            model = model_of("TopicModel", preset, **{key: value})
            assert learned(getattr(model, learn)(data)) == expected, key


def test_preset_parameters_default_to_none():
    parameters = signature(TopicModel).parameters
    for preset in PRESETS:
        for name in preset_settings(preset, 1000):
            assert parameters[name].default is None


def test_equivalent_parameters_give_equal_models():
    models = [
        TopicModel(5, random_state=0),
        TopicModel(5, learning="online", random_state=0),
        TopicModel(5, preset="best", inference=OPE(n_iter=20), random_state=0),
    ]
    first, *others = (learned(model.fit(SMALL)) for model in models)
    assert all(other == first for other in others)


@pytest.mark.parametrize(
    "given",
    [
        {"inference": "vb"},
        {"learning": ML(decay=0.6, offset=10.0, init="documents")},
        {"batch_size": 30},
        {"n_sweeps": 2},
        {"learning": Online(decay=0.6, offset=10.0, init="random")},
        {"topic_word_prior": 0.5},
        {"doc_topic_prior": 0.5},
        {"learning": Online(decay=0.9, offset=10.0, init="documents")},
        {"n_passes": 3},
    ],
)
def test_explicit_parameter_overrides_only_itself(given):
    """Equal to giving every other parameter at the preset's value."""
    others = preset_settings("best", N_DOCS)
    ours = TopicModel(5, random_state=0, **given).fit(SMALL)
    theirs = TopicModel(5, random_state=0, preset="paper", **(others | given)).fit(SMALL)
    assert learned(ours) == learned(theirs)
    assert learned(ours) != learned(TopicModel(5, random_state=0).fit(SMALL))


def test_paper_preset_is_online_ope_with_the_papers_settings():
    ours = TopicModel(5, preset="paper", random_state=0).fit(X)
    theirs = OnlineOPE(5, random_state=0).fit(X)
    assert np.array_equal(ours.components_, theirs.components_)
    assert np.array_equal(ours.transform(X), theirs.transform(X))


@cases("preset", PRESETS)
@cases("n_docs", [0, 1, 30, 1000, 10**5, 10**7, None])
def test_every_preset_makes_a_schedule_for_every_collection(preset, n_docs):
    schedule = TopicModel(5, preset=preset)._schedule(n_docs)
    assert schedule.batch_size >= 1
    assert 1 <= schedule.n_passes <= 20
    assert schedule.n_sweeps >= 0


def test_small_collections_get_more_passes_and_smaller_batches():
    small, large = (TopicModel(5)._schedule(n) for n in (500, 10**6))
    assert small.batch_size < large.batch_size
    assert small.n_passes > large.n_passes


def test_default_preset_is_best():
    assert TopicModel().preset == "best"
    assert TopicModel()._schedule(1000).n_sweeps > 0


@cases("preset", ["slow", 3, ["best"], None])
def test_unknown_preset_is_rejected(preset):
    with pytest.raises(InputError, match="preset must be 'best', 'fast' or 'paper', got"):
        TopicModel(5, preset=preset).fit(X)


def test_streams_are_learned_without_sweeps():
    model = TopicModel(5, random_state=0, batch_size=200).partial_fit(X)
    assert model.n_batch_iter_ == 4


def test_parameters_are_documented_in_signature_order():
    """The number of topics first, then what decides the result, then where and how it runs."""
    for cls in LEARNERS.values():
        listed = list(signature(cls).parameters)
        text = cls.__doc__.split("Attributes\n")[0]
        documented = [
            name
            for line in text.splitlines()
            if line.startswith("    ") and line[4:5].isalpha() and " : " in line
            for name in line.split(" : ")[0].strip().split(", ")
        ]
        assert listed == documented
        assert listed[0] == "n_components"
