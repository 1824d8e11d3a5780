"""Learners made from options."""

from typing import Any

from opelda.cli import _defaults as defaults
from opelda.cli._choices import learner_class
from opelda.cli._options import Learning
from opelda.cli._reading import given_options
from opelda.errors import InputError

DEFAULT_LEARNER = "online-ope"
# what a model keeps for good
FIXED = ("learner", "alpha", "eta", "seed")


def new_learner(
    learning: Learning,
    n_topics: int,
    *,
    batch_size: int,
    jobs: int | None,
    **more: Any,
) -> Any:
    """Return a learner with what was asked for, and what measurements recommend for the rest."""
    return learner_class(learning.learner or DEFAULT_LEARNER)(
        n_topics,
        doc_topic_prior=learning.alpha,
        topic_word_prior=learning.eta,
        batch_size=learning.batch_size or batch_size,
        learning_decay=_or(learning.learning_decay, defaults.DECAY),
        learning_offset=_or(learning.learning_offset, defaults.OFFSET),
        n_iter=learning.n_iter or defaults.N_ITER,
        n_jobs=-1 if jobs is None else jobs,
        random_state=_or(learning.seed, defaults.SEED),
        **more,
    )


def changed(model: Any, learning: Learning, **more: Any) -> Any:
    """Give a model that goes on learning the parameters that may change."""
    for name in FIXED:
        if getattr(learning, name) is not None:
            raise InputError(f"--{name} has no effect here: the model keeps its own; leave it out.")
    given = given_options(learning)
    return model.set_params(**given, **more)


def _or(given: Any, default: Any) -> Any:
    return default if given is None else given
