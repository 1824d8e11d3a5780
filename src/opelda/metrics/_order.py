"""Documents given as topics and topics as documents, where the two can be told apart."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.corpus import Corpus
from opelda.errors import InputError
from opelda.inference import Topics

ROWS_LOOKED_AT = 8


def is_model(given: Any) -> bool:
    """Whether this is an estimator, fitted or not, or has topics as one has.

    >>> from opelda import OnlineOPE
    >>> is_model(OnlineOPE()), is_model([[0.5, 0.5]])
    (True, False)
    """
    # `fit` first: a learner computes its components_
    return callable(getattr(given, "fit", None)) or hasattr(given, "components_")


def check_order(topics: Any, X: Any, name: str) -> None:
    """Refuse documents in the place of topics, and topics in that of documents.

    Counts and topics are both matrices: they are told apart only where the first is whole numbers
    that are no distributions, and the second no more rows, distributions over as many words.

    >>> check_order([[2, 3, 0]], [[0.5, 0.25, 0.25]], "topics")
    Traceback (most recent call last):
    opelda.errors.InputError: topics and X seem to have changed places; topics come first.
    """
    if not is_model(topics) and _are_documents(topics):
        raise InputError(
            f"must be an array (K, V), a Topics or a fitted model, got {type(topics).__name__}; "
            "topics come first, documents second.",
            name,
        )
    if isinstance(X, Topics) or is_model(X):
        raise InputError(f"is a {type(X).__name__}: topics come first, documents second.", "X")
    if X is not None and not is_model(topics) and _seem_swapped(topics, X):
        raise InputError("and X seem to have changed places; topics come first.", name)


def _are_documents(given: Any) -> bool:
    """Whether these are texts, a corpus, a mini-batch or a stream."""
    if isinstance(given, list | tuple) and given:
        return isinstance(given[0], str)
    return isinstance(given, str) or hasattr(given, "X") or hasattr(given, "counted")


def _seem_swapped(topics: Any, X: Any) -> bool:
    counts = _first_rows(topics)
    if counts is None or (counts != np.floor(counts)).any() or counts.sum(axis=1).max() <= 1:
        return False
    rows = _first_rows(X)
    if rows is None or rows.shape[1] != counts.shape[1] or _n_rows(X) > _n_rows(topics):
        return False
    some_parts = bool((rows != np.floor(rows)).any())
    return some_parts and bool((np.abs(rows.sum(axis=1) - 1.0) < 1e-3).all())


def _n_rows(given: Any) -> int:
    return int(given.shape[0]) if hasattr(given, "shape") else len(given)


def _first_rows(given: Any) -> NDArray[np.float64] | None:
    """Return a few rows of a matrix, and None of anything else."""
    if isinstance(given, Corpus):
        given = given.X
    if hasattr(given, "tocsr"):
        given = given.tocsr()[:ROWS_LOOKED_AT].toarray()
    elif not isinstance(given, np.ndarray | list | tuple):
        return None
    try:
        rows = np.asarray(given[:ROWS_LOOKED_AT], np.float64)
    except (TypeError, ValueError):
        return None
    return rows if rows.ndim == 2 and 0 not in rows.shape else None
