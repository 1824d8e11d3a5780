"""Several runs of the same learning, with other seeds: which one is kept, how alike they are."""

from collections.abc import Callable
from typing import Any

import numpy as np

from opelda.learning._listeners import Run
from opelda.learning._state import State
from opelda.learning._transform import heaviest_words
from opelda.metrics._matching import stability_over_runs

# As measured on generated documents with two to four times as many topics as they were drawn from:
# of 10 words (AUC .982 instead of .994), and by the cosine (.990), it tells true topics less well.
COMPARED_WORDS = 20


def run_seeds(seed: int, n_runs: int) -> list[int]:
    """Return a seed for each run: the one given, and others that follow from it."""
    return [seed, *np.random.SeedSequence(seed).generate_state(n_runs - 1).tolist()]


def another(model: Any, seed: int, **changes: Any) -> Any:
    """Return a model with the same parameters that learns once, with this seed and silently."""
    given = model.get_params(deep=False) | {"random_state": seed, "callbacks": None, "verbose": 0}
    if "n_runs" in given:
        given["n_runs"] = 1
    return type(model)(**given | changes)


def learn_runs(model: Any, seeds: list[int], learn: Callable[[Run], Any]) -> None:
    """Learn once with each seed, and leave the model with the run that is most like the others.

    Where something stops that, it is one of the runs that were finished.
    """
    done: list[State] = []
    words: list[Any] = []
    try:
        for number, seed in enumerate(seeds, 1):
            learn(Run(number, len(seeds), seed))
            words.append(compared_words(model))
            done.append(model._state)
    finally:
        if done:
            stability = stability_over_runs(words[: len(done)])
            prototype = int(stability.mean(axis=1).argmax())
            model._state = done[prototype]
            model._state.stability = stability[prototype] if len(done) > 1 else None


def compared_words(model: Any) -> Any:
    """Return the ids of the words by which topics are matched (K, n)."""
    return heaviest_words(model, min(COMPARED_WORDS, model._state.weights.n_words))
