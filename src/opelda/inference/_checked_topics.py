"""Topics to infer with, checked once, with a cached handle for each engine."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda._count_matrix import counts
from opelda.engines import Engine
from opelda.errors import InputError

OFF_ONE = 1e-3  # single-precision sums over many words are off by 1e-4


class Topics:
    """Topics checked and prepared once, to infer many batches with.

    Parameters
    ----------
    components : array (K, V), or a fitted model
        Each row a distribution over the words (a model's are divided by their sums). Single
        precision stays single precision.

    Attributes
    ----------
    components : float32 or float64 array (K, V), read only
    n_topics, n_words : int

    Examples
    --------
    >>> topics = Topics([[0.9, 0.1], [0.2, 0.8]])
    >>> topics.n_topics, topics.n_words
    (2, 2)
    """

    def __init__(self, components: ArrayLike | sparse.sparray | sparse.spmatrix) -> None:
        self._hold(_distributions(components), None)

    @classmethod
    def of_words(cls, components: NDArray[Any], words: NDArray[np.int32]) -> "Topics":
        """Make unchecked topics of some words of a vocabulary."""
        topics = cls.__new__(cls)
        topics._hold(components, words)
        return topics

    def _hold(self, components: NDArray[Any], ids: NDArray[np.int32] | None) -> None:
        self.components = components.view()
        self.components.flags.writeable = False
        self.n_topics, self.n_words = components.shape
        self._ids = ids
        self._handles: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_handles": {}}  # an engine's are for its own process

    def on(self, engine: Engine) -> Any:
        """Return the engine's handle of these topics, made on first use."""
        if engine.name not in self._handles:
            self._handles[engine.name] = engine.topics(self.components, self._ids)
        return self._handles[engine.name]

    def __repr__(self) -> str:
        return f"Topics(n_topics={self.n_topics}, n_words={self.n_words})"


def _distributions(components: Any) -> NDArray[Any]:
    """Return a copy of topics, whose rows must sum to 1."""
    if hasattr(components, "components_"):
        components = model_topics(components, "topics")
    array = as_matrix(components, "topics")
    array = np.array(array, np.float32 if array.dtype == np.float32 else np.float64)
    negative = np.flatnonzero((array < 0).any(axis=1))
    if len(negative):
        raise InputError(
            f"have a negative value in row {negative[0]}; pass probabilities (each row a "
            "distribution over the words).",
            "topics",
        )
    sums = array.sum(axis=1, dtype=np.float64)
    off = np.abs(sums - 1.0)
    if off.max() > OFF_ONE:
        bad = int(off.argmax())
        raise InputError(
            f"must sum to 1 in every row, but row {bad} sums to {sums[bad]:.6g}; divide each row "
            "by its sum.",
            "topics",
        )
    return array


def as_matrix(values: Any, name: str) -> NDArray[Any]:
    """Return a matrix of finite numbers, in single or double precision or whole."""
    if hasattr(values, "toarray"):  # sparse
        values = values.toarray()
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iu" and array.dtype != np.float32:
            array = array.astype(np.float64, copy=False)  # fractions and texts of numbers, too
    except (TypeError, ValueError) as error:
        reason = str(error).rstrip(".")
        raise InputError(f"must be a numeric array of shape (K, V): {reason}.", name) from None
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(
            "must be a numeric array of shape (K, V) with at least one row and one column, got "
            f"{array.dtype} of shape {array.shape}.",
            name,
        )
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise InputError(f"must be finite, but row {bad[0]} has a NaN or infinite value.", name)
    return array


def counts_over(n_words: int, X: Any) -> sparse.csr_array:
    """Return documents as counts over n_words words."""
    matrix = counts(X)
    if matrix.shape[1] != n_words:
        raise InputError(
            f"has {matrix.shape[1]} columns but the topics have {n_words} words; count the "
            "documents with the topics' own vocabulary.",
            "X",
        )
    return matrix


def model_topics(model: Any, name: str) -> NDArray[Any]:
    """Return a model's topics as distributions; a row of zeros stays one."""
    found = getattr(model, "components_", None)  # not fitted is an AttributeError, too
    if found is None:
        from sklearn.utils.validation import check_is_fitted

        if hasattr(model, "fit"):
            check_is_fitted(model)
        raise InputError(
            f"is a {type(model).__name__}, which has no components_; pass a fitted topic model, "
            "such as the last step of a pipeline.",
            name,
        )
    weights = as_matrix(found, name)
    if (weights < 0).any():
        raise InputError(
            f"is a {type(model).__name__} with negative components_; pass a topic model.", name
        )
    sums = weights.sum(axis=1, dtype=np.float64)
    if np.abs(sums - 1.0).max() <= OFF_ONE:
        return weights
    return weights / np.where(sums > 0, sums, 1.0)[:, None]
