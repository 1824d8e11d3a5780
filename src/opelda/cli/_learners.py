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
    sweeps: int = 0,
    **more: Any,
) -> Any:
    """Return a learner with what was asked for, and what measurements recommend for the rest."""
    name = learning.learner or DEFAULT_LEARNER
    given: dict[str, Any] = {"n_iter": learning.n_iter or defaults.N_ITER}
    make = learner_class(name)
    if sweeps:
        make, given = _sweeping(name, learning.n_iter)
        given["n_sweeps"] = sweeps
    return make(
        n_topics,
        doc_topic_prior=learning.alpha,
        topic_word_prior=learning.eta,
        batch_size=learning.batch_size or batch_size,
        learning_decay=_or(learning.learning_decay, defaults.DECAY),
        learning_offset=_or(learning.learning_offset, defaults.OFFSET),
        n_jobs=-1 if jobs is None else jobs,
        random_state=_or(learning.seed, defaults.SEED),
        **given,
        **more,
    )


def _sweeping(name: str, n_iter: int | None) -> tuple[Any, dict[str, Any]]:
    """Return the learner that sweeps at the end, and what makes it learn as the one named."""
    from opelda import TopicModel
    from opelda.inference import OPE

    rule, _, method = name.partition("-")
    if method != "ope":
        raise InputError(
            f"--sweeps is for online-ope, ml-ope and streaming-ope, not {name}; leave one out."
        )
    inference = None if n_iter is None else OPE(n_iter=n_iter)
    return TopicModel, {"preset": "best", "inference": inference, "learning": rule}


def changed(model: Any, learning: Learning, **more: Any) -> Any:
    """Give a model that goes on learning the parameters that may change."""
    for name in FIXED:
        if getattr(learning, name) is not None:
            raise InputError(f"--{name} has no effect here: the model keeps its own; leave it out.")
    given = given_options(learning)
    return model.set_params(**given, **more)


def _or(given: Any, default: Any) -> Any:
    return default if given is None else given
