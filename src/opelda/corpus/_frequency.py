"""Which words are kept: by the number of documents that hold them, and how often they occur."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._validation import whole
from opelda.errors import InputError

# Below so many documents, how many hold a word says little.
FEW, SOME = 50, 1_000


def default_min_df(n_docs: int) -> int:
    """Return the least number of documents with a word where the user does not say.

    Words of one or two documents in thousands are misspellings and names: they make the model
    large and no topic clearer.
    """
    return 1 if n_docs < FEW else 2 if n_docs < SOME else 5


def default_max_df(n_docs: int) -> float:
    """Return the largest share of documents with a word where the user does not say."""
    return 1.0 if n_docs < FEW else 0.5


def kept_words(
    df: NDArray[np.int64],
    total: NDArray[np.float64],
    n_docs: int,
    min_df: Any,
    max_df: Any,
    max_features: int | None,
) -> NDArray[np.bool_]:
    """Return which words stay, as scikit-learn's CountVectorizer decides it.

    `df` and `total` are the words' document frequencies and counts, the words in alphabetical
    order.
    """
    if max_features is not None:
        max_features = whole("max_features", max_features)
    low, high = as_bound("min_df", min_df, n_docs), as_bound("max_df", max_df, n_docs)
    if high < low:
        raise InputError(
            f"({max_df!r}) is below {{min_df}} ({min_df!r}) in a collection of {n_docs} documents: "
            "no word could be kept.",
            "max_df",
            min_df=...,
        )
    keep: NDArray[np.bool_] = (df >= low) & (df <= high)
    if max_features is not None and keep.sum() > max_features:
        most = (-total[keep]).argsort()[:max_features]
        chosen = np.zeros(len(keep), bool)
        chosen[np.flatnonzero(keep)[most]] = True
        keep = chosen
    return keep


def as_bound(name: str, value: Any, n_docs: int) -> float:
    """Return a bound in documents; a float is a share of them."""
    if isinstance(value, float | np.floating):
        if not 0.0 <= value <= 1.0:
            raise InputError(
                f"must be a whole number of documents or a share from 0.0 to 1.0, got {value!r}.",
                name,
            )
        return float(value) * n_docs
    return whole(name, value)
