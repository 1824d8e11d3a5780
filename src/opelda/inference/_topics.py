"""Topics to infer with, checked once and laid out once on each engine."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda.engines import Engine
from opelda.errors import InputError


class Topics:
    """Topics checked and laid out once, to infer many batches with.

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
        self._hold(_as_matrix(components), None)

    @classmethod
    def of_words(cls, components: NDArray[Any], words: NDArray[np.int32]) -> "Topics":
        """Make topics of some words of a vocabulary, a part of distributions that are not checked.

        >>> Topics.of_words(np.array([[0.3, 0.1]]), np.array([5, 7], np.int32))
        Topics(n_topics=1, n_words=2)
        """
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
        """Return the engine's handle of these topics, made when it is first asked for."""
        if engine.name not in self._handles:
            self._handles[engine.name] = engine.topics(self.components, self._ids)
        return self._handles[engine.name]

    def __repr__(self) -> str:
        return f"Topics(n_topics={self.n_topics}, n_words={self.n_words})"


def _as_matrix(components: Any) -> NDArray[Any]:
    if hasattr(components, "components_"):
        components = np.asarray(components.components_)
        sums = components.sum(axis=1, keepdims=True, dtype=np.float64)
        if np.abs(sums - 1.0).max() > 1e-3:
            components = components / sums
    if hasattr(components, "toarray"):  # sparse
        components = components.toarray()
    try:
        array = np.array(components)  # a copy: what is given may change later
        array = array if array.dtype == np.float32 else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be a numeric array of shape (K, V): {error}.", "topics") from None
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(
            f"must have shape (K, V), at least one topic and one word, got {array.shape}.", "topics"
        )
    sums = array.sum(axis=1, dtype=np.float64)
    if not np.isfinite(sums).all() or (array < 0).any():
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1) | (array < 0).any(axis=1))[0]
        raise InputError(
            f"hold a negative, NaN or infinite value in row {bad}; give probabilities (each row a "
            "distribution over the words).",
            "topics",
        )
    off = np.abs(sums - 1.0)
    if off.max() > 1e-3:  # single-precision sums over many words are off by 1e-4
        bad = int(off.argmax())
        raise InputError(
            f"must sum to 1 in every row, but row {bad} sums to {sums[bad]:.6g}; divide each row "
            "by its sum.",
            "topics",
        )
    return array
