"""A learner's parameters, checked when they are used."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.engines import row_width
from opelda.errors import InputError
from opelda.learning._topic_store import Prior


def as_word_prior(value: Any, n_topics: int, n_words: int) -> Prior:
    """Return eta as the topic store keeps it; None is 1/K.

    One number; one per word (V,); or one per topic and word (K, V), turned word-major.
    """
    if value is None:
        return 1.0 / n_topics
    try:
        prior = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be numbers: {error}.", "topic_word_prior") from None
    if prior.ndim > 0 and prior.shape not in ((n_words,), (n_topics, n_words)):
        raise InputError(
            f"must be a number, one number per word ({n_words}) or a matrix of topics x words "
            f"({n_topics} x {n_words}), got shape {prior.shape}.",
            "topic_word_prior",
        )
    if not ((prior >= 1e-30) & (prior <= 1e6)).all():
        raise InputError("must be positive, from 1e-30 to 1e6.", "topic_word_prior")
    if prior.ndim == 0:
        return float(prior)
    if prior.ndim == 1:
        return prior.astype(np.float32)
    rows: NDArray[np.float32] = np.zeros((n_words, row_width(n_topics)), np.float32)
    rows[:, :n_topics] = prior.T
    return rows
