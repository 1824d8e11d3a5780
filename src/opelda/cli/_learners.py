"""Learners made from options, and changed by them."""

from typing import Any

from opelda.cli._choices import learner_class, learner_name
from opelda.cli._options import Learning
from opelda.cli._reading import given_options
from opelda.errors import InputError

PRESET, SEED = "best", 0
# what a model keeps for good
FIXED = ("preset", "learner", "doc_topic_prior", "topic_word_prior", "random_state")


def new_learner(learning: Learning, n_topics: int | None = None, **more: Any) -> Any:
    """Return `TopicModel` with a preset, or a learner of the paper, and what was asked for."""
    given = {"random_state": SEED} | given_options(learning) | more
    if n_topics is not None:
        given["n_components"] = n_topics
    preset, learner = given.pop("preset", None), given.pop("learner", None)
    given = {name: value for name, value in given.items() if value is not None}
    if learner is not None:
        if preset is not None:
            raise InputError(
                "has no effect with {preset}: the paper's learners have the paper's settings; "
                "leave one out.",
                "learner",
                preset=preset,
            )
        if "n_sweeps" in given:
            raise InputError(
                "has no effect with {learner}: the paper's learners do not sweep; leave one out.",
                "n_sweeps",
                learner=learner,
            )
        return learner_class(learner)(**given)
    from opelda import TopicModel
    from opelda.inference import OPE

    if "n_iter" in given:
        given["inference"] = OPE(n_iter=given.pop("n_iter"))
    return TopicModel(preset=preset or PRESET, **given)


def changed(model: Any, learning: Learning) -> Any:
    """Give a model that goes on learning the parameters that may change."""
    given = given_options(learning)
    for name in FIXED:
        if name in given:
            raise InputError("has no effect here: the model keeps its own; leave it out.", name)
    if "n_iter" in given and not hasattr(model, "n_iter"):
        model.set_params(inference=_with_iterations(model._inference(), given.pop("n_iter")))
    return model.set_params(**given)


def _with_iterations(method: Any, n_iter: int) -> Any:
    from sklearn.base import clone

    if not hasattr(method, "n_iter"):
        name = type(method).__name__
        raise InputError(f"has no effect here: {name} has no such setting; leave it out.", "n_iter")
    return clone(method).set_params(n_iter=n_iter)


def check_same(model: Any, learning: Learning, n_topics: int | None, folder: str) -> None:
    """Refuse options that are not those with which the model of a checkpoint was made."""
    asked = given_options(learning)
    if n_topics is not None:
        asked["n_components"] = n_topics
    asked.pop("transform_method", None)  # which changes nothing that is learned
    for name, value in asked.items():
        has = _setting(model, name)
        if has != value:
            said, advised = ("without", ...) if has is None else ("with", has)
            raise InputError(
                f"The checkpoint in {folder} was made {said} {{{name}}}; leave the option out, or "
                "choose another folder.",
                None,
                **{name: advised},
            )


def _setting(model: Any, name: str) -> Any:
    """Return what a model learns with, by its own parameters or by its preset's."""
    if name == "learner":
        return None if hasattr(model, "preset") else learner_name(model)
    settings = model.get_params(deep=False)
    if hasattr(model, "preset"):
        settings |= model._settings() | {"n_iter": getattr(model._inference(), "n_iter", None)}
    return settings.get(name)
