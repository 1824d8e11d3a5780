"""Models: read from files, or made and changed by options."""

import json
from pathlib import Path
from typing import Any

from opelda.cli._inputs import Columns
from opelda.cli._options import LEARNERS, Accuracy, Learning, dashed, given_options
from opelda.cli._terminal import count, tell
from opelda.errors import InputError

PRESET = "best"
# parameters that a model keeps
FIXED = (
    "preset", "learner", "doc_topic_prior", "topic_word_prior", "random_state", "seeds",
    "n_sweeps", "n_runs",
)  # fmt: skip
SEEDS_FORM = "write a line such as 'health care: health, insurance, medicaid' for each topic"


def checkpoint_file(folder: str | Path) -> Path:
    """Return the file that holds the model of a stream's checkpoint."""
    from opelda.learning.persistence._stored_model import CHECKPOINT_FILE as FILE

    return Path(folder) / FILE


def load_model(
    given: str,
    jobs: int | None = None,
    engine: str | None = None,
    inference: Accuracy | None = None,
) -> Any:
    """Read a model that is to run and to infer documents so."""
    import opelda

    model = on_machine(opelda.load(given), jobs, engine)
    return model if inference is None else model.set_params(**inference.parameters())


def on_machine(model: Any, jobs: int | None, engine: str | None = None) -> Any:
    """Set where a model runs."""
    return model.set_params(n_jobs=jobs, engine=engine or "cpu")


def columns_of(model: Any) -> Columns:
    """Return a model's vocabulary, None if its columns have no words, their number, and threads."""
    return model._state.vocabulary, int(model.n_features_in_), model.n_jobs


def topic_facts(coherence: Any, stability: Any, seeds: dict[str, str]) -> dict[str, Any]:
    """Return coherence, stability and seed words found again, as far as a model knows them."""
    return {
        "coherence": None if coherence is None else float(coherence.mean()),
        "incoherent_topics": None if coherence is None else int((coherence < 0).sum()),
        **({} if stability is None else {"stability": float(stability.mean())}),
        **({"seed_words_in_top_20": seeds} if seeds else {}),
    }


def seeds_found(model: Any) -> dict[str, str]:
    """Return how many seed words of each seeded topic are among its top words."""
    return {name: f"{n_found} of {n}" for name, (n_found, n) in model.seed_coverage_.items()}


def seeds_text(found: dict[str, str]) -> str:
    """Return a line about seed words."""
    return ", ".join(map(" ".join, found.items())) + " (among the 20 top words)"


def tell_missed(n: int) -> None:
    """Say how many documents missed the accuracy, if any."""
    if n:
        tell(
            f"{count(n, 'document')} could not be proved to be as accurate as asked; ask for less."
        )


def new_learner(learning: Learning, n_topics: int | None = None) -> Any:
    """Return a `TopicModel` with a preset, or a learner of the paper, with the given options."""
    import opelda
    from opelda.inference import OPE

    given = {"random_state": 0} | _given(learning)
    if n_topics is not None:
        given["n_components"] = n_topics
    # at most one: a preset belongs to `TopicModel`, the paper's learners are classes
    preset, learner = given.pop("preset", None), given.pop("learner", None)
    if learner is None:
        if "n_iter" in given:
            given["inference"] = OPE(n_iter=given.pop("n_iter"))
        return opelda.TopicModel(preset=preset or PRESET, **given)
    if learner not in LEARNERS:
        raise InputError(f"must be one of {', '.join(LEARNERS)}, not {learner!r}.", "learner")
    if preset is not None:
        raise InputError("has no effect with {preset}; leave one out.", "learner", preset=preset)
    for name in {"n_sweeps", "n_runs", "seeds"} & given.keys():
        raise InputError("has no effect with {learner}; leave one out.", name, learner=learner)
    return getattr(opelda, LEARNERS[learner])(**given)


def _given(learning: Learning) -> dict[str, Any]:
    """Return the parameters that were given, with the seed words of the file."""
    given = given_options(learning)
    return given | {"seeds": read_seeds(given["seeds"])} if "seeds" in given else given


def changed(model: Any, learning: Learning) -> Any:
    """Set the parameters that may change before a model continues to learn."""
    given = given_options(learning)
    for name in FIXED:
        if name in given:
            raise InputError("has no effect here: the model keeps its own; leave it out.", name)
    given.pop("n_passes", None)  # of this command, not of the model
    if "n_iter" in given and not hasattr(model, "n_iter"):
        from sklearn.base import clone

        method = model._inference()
        if not hasattr(method, "n_iter"):
            what = f"{type(method).__name__} has no such setting"
            raise InputError(f"has no effect here: {what}; leave it out.", "n_iter")
        given["inference"] = clone(method).set_params(n_iter=given.pop("n_iter"))
    return model.set_params(**given)


def check_same(model: Any, learning: Learning, n_topics: int | None, folder: str) -> None:
    """Reject options other than the ones that the model of a checkpoint was made with."""
    asked = _given(learning) | ({} if n_topics is None else {"n_components": n_topics})
    asked.pop("transform_method", None)  # learning does not depend on it
    # also the parameters that the preset chose
    has = {"learner": dashed(type(model).__name__)} | model.get_params(deep=False)
    if hasattr(model, "preset"):
        has = {**model._settings(), "learner": None}
        has["n_iter"] = getattr(has["inference"], "n_iter", None)
        seeds = model._seed_topics(model.n_components)
        if seeds is not None:
            has["seeds"] = dict(zip(seeds.names, map(list, seeds.words), strict=True))
    made = f"The checkpoint in {folder} was made"
    for name, value in asked.items():
        own = has.get(name)
        if own != value:
            said, advised = ("without", ...) if own is None else ("with", own)
            if name == "seeds" and own is not None:
                said, advised = "with other", ...
            raise InputError(f"{made} {said} {{{name}}}; leave it out.", None, **{name: advised})


def read_seeds(given: str) -> dict[str, list[str]]:
    """Read seed words: a line for each topic, or from a .json file an object of lists."""
    path, found = Path(given), {}
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path} cannot be read as UTF-8 text: {error}.") from None
    if path.suffix.lower() == ".json":
        try:
            found = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}, line {error.lineno} is not JSON; mend it.") from None
    else:
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            name, _, rest = (part.strip() for part in line.partition(":"))
            words = [word.strip() for word in rest.split(",") if word.strip()]
            if not (name and words):
                raise InputError(f"{path}, line {number} has no name or no words; {SEEDS_FORM}.")
            if name in found:
                raise InputError(f"{path}, line {number} has {name!r} again; join its words.")
            found[name] = words
    if not found:
        raise InputError(f"{path} holds no seed words; {SEEDS_FORM}.")
    return found
