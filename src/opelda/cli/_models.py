"""Models: read from files, or made and changed by options."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from opelda.cli._options import LEARNERS, Learning, dashed, given_options
from opelda.cli._seed_files import read_seeds
from opelda.errors import InputError

PRESET, SEED = "best", 0
# Parameters that a model keeps for good.
SEEDED = ("seed_words", "seed_strength")
FIXED = ("preset", "learner", "doc_topic_prior", "topic_word_prior", "random_state", *SEEDED)
# Parameters that say how large an update's step is; the Streaming rule has no steps.
STEPS = {"learning_decay": "decay", "learning_offset": "offset"}
WITHOUT_STEPS = "the updates of a streaming learner add up, without steps"


def checkpoint_file(folder: str | Path) -> Path:
    """Return the file that holds the model of a stream's checkpoint."""
    from opelda.learning.persistence._stored_model import CHECKPOINT_FILE as FILE

    return Path(folder) / FILE


def load_model(given: str, jobs: int | None = None, engine: str | None = None) -> Any:
    """Read a model that is to run so."""
    import opelda

    return on_machine(opelda.load(given), jobs, engine)


def save_labels(given: str, labels: dict[int, str]) -> None:
    """Give topics labels, in the model's own file."""
    from opelda.model_file import change

    change(given, lambda model: model.set_topic_labels(labels))


def on_machine(model: Any, jobs: int | None, engine: str | None) -> Any:
    """Set where a model runs."""
    return model.set_params(n_jobs=jobs, engine=engine or "cpu")


def columns_of(model: Any) -> tuple[Any, int]:
    """Return a model's vocabulary, None if its columns have no words, and how many it has."""
    return model._state.vocabulary, int(model.n_features_in_)


def topic_facts(model: Any) -> dict[str, Any]:
    """Return coherence, stability and seed words found again, as far as a model knows them."""
    found, stability = model.coherence_, model.topic_stability_
    seeds = seeds_found(model)
    return {
        "coherence": None if found is None else float(found.mean()),
        "incoherent_topics": None if found is None else int((found < 0).sum()),
        **({} if stability is None else {"stability": float(stability.mean())}),
        **({"seed_words_in_top_20": seeds} if seeds else {}),
    }


def seeds_found(model: Any) -> dict[str, str]:
    """Return how many seed words of each seeded topic are among its top words."""
    return {name: f"{n_found} of {n}" for name, (n_found, n) in model.seed_coverage_.items()}


def seeds_text(found: dict[str, str]) -> str:
    """Return a line about seed words."""
    return ", ".join(map(" ".join, found.items())) + " (among the 20 top words)"


def learner_name(model: Any) -> str:
    """Return what the command line calls a model's learner."""
    return dashed(type(model).__name__)


def new_learner(learning: Learning, n_topics: int | None = None, **more: Any) -> Any:
    """Return `TopicModel` with a preset, or a learner of the paper, and what was asked for."""
    import opelda
    from opelda.inference import OPE

    given = {"random_state": SEED} | _given(learning) | {"n_components": n_topics} | more
    given = {name: value for name, value in given.items() if value is not None}
    # of the two, at most one: a preset is `TopicModel`'s, the paper's learners are classes
    preset, learner = given.pop("preset", None), given.pop("learner", None)
    if learner is None:
        if "n_iter" in given:
            given["inference"] = OPE(n_iter=given.pop("n_iter"))
        given |= _of_rule(given, None) | _seeds(given)
        return opelda.TopicModel(preset=preset or PRESET, **given)
    if learner not in LEARNERS:
        raise InputError(f"must be one of {', '.join(LEARNERS)}, not {learner!r}.", "learner")
    if preset is not None:
        raise InputError(
            "has no effect with {preset}: the paper's learners have the paper's settings; leave "
            "one out.",
            "learner",
            preset=preset,
        )
    useless = {
        "n_sweeps": "the paper's learners do not sweep",
        "n_runs": "the paper's learners learn once",
    }
    useless |= dict.fromkeys(SEEDED, "the paper's learners know no seed words")
    if learner.startswith("streaming"):
        useless |= dict.fromkeys(STEPS, WITHOUT_STEPS)
    for name in useless.keys() & given.keys():
        raise InputError(
            f"has no effect with {{learner}}: {useless[name]}; leave one out.",
            name,
            learner=learner,
        )
    return getattr(opelda, LEARNERS[learner])(**given)


def _given(learning: Learning) -> dict[str, Any]:
    """Return the parameters that were given; seed words are in a file."""
    given = given_options(learning)
    if "seed_words" in given:
        given["seed_words"] = read_seeds(given["seed_words"])
    elif "seed_strength" in given:
        raise InputError("has no effect without --seeds; leave it out.", "seed_strength")
    return given


def changed(model: Any, learning: Learning) -> Any:
    """Give a model that goes on learning the parameters that may change."""
    given = given_options(learning)
    useless = dict.fromkeys(FIXED, "the model keeps its own")
    if learner_name(model).startswith("streaming"):
        useless |= dict.fromkeys(STEPS, WITHOUT_STEPS)
    for name in useless.keys() & given.keys():
        raise InputError(f"has no effect here: {useless[name]}; leave it out.", name)
    if hasattr(model, "preset"):
        given |= _of_rule(given, model.learning)
        if "n_iter" in given:
            given["inference"] = _with_iterations(model._inference(), given.pop("n_iter"))
    return model.set_params(**given)


def _of_rule(given: dict[str, Any], rule: Any) -> dict[str, Any]:
    """Take the sizes of steps out of what was given, and return the rule that has them."""
    from opelda.learning._rules import rule_of

    steps = {STEPS[name]: given.pop(name) for name in STEPS.keys() & given.keys()}
    if not steps:
        return {}
    known = rule_of("online" if rule is None else rule)
    for name in steps:
        if not hasattr(known, name):
            raise InputError(f"has no effect here: {WITHOUT_STEPS}; leave it out.", name)
    return {"learning": replace(known, **steps)}  # type: ignore[type-var]


def _seeds(given: dict[str, Any]) -> dict[str, Any]:
    """Take the seed words out of what was given, and return them as the model has them."""
    from opelda.learning import Seeds

    words, strength = (given.pop(name, None) for name in SEEDED)
    if words is None:
        return {}
    return {"seeds": words if strength is None else Seeds(words, strength)}


def _with_iterations(method: Any, n_iter: int) -> Any:
    from sklearn.base import clone

    if not hasattr(method, "n_iter"):
        name = type(method).__name__
        raise InputError(f"has no effect here: {name} has no such setting; leave it out.", "n_iter")
    return clone(method).set_params(n_iter=n_iter)


def check_same(model: Any, learning: Learning, n_topics: int | None, folder: str) -> None:
    """Refuse options that are not those with which the model of a checkpoint was made."""
    asked = _given(learning) | ({} if n_topics is None else {"n_components": n_topics})
    asked.pop("transform_method", None)  # which changes nothing that is learned
    # not only the parameters given then: what the preset chose may be given now
    for name, value in asked.items():
        has = _setting(model, name)
        if has != value:
            said, advised = ("without", ...) if has is None else ("with", has)
            if name == "seed_words" and has is not None:
                said, advised = "with other", ...
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
        settings = model._settings()
        settings["n_iter"] = getattr(settings["inference"], "n_iter", None)
        schedule, seeds = model._schedule(), model._seed_topics(model.n_components)
        settings |= {name: getattr(schedule, step) for name, step in STEPS.items()}
        if seeds is not None:
            words = {name: list(own) for name, own in zip(seeds.names, seeds.words, strict=True)}
            settings |= {"seed_words": words, "seed_strength": seeds.strength}
    return settings.get(name)
