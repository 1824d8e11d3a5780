"""Topics as kernels want them: word-major, padded, single precision."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda.engines import MANY_TOPICS, aligned_empty, coarse_rows, row_width
from opelda.errors import InputError

# smaller probabilities count as zero: they would cost denormal arithmetic and explain nothing
SMALLEST = 1e-15


class Topics:
    """Topics checked and laid out once, to infer many batches with.

    Parameters
    ----------
    components : array (K, V)
        Each row a distribution over the words.

    Examples
    --------
    >>> topics = Topics([[0.9, 0.1], [0.2, 0.8]])
    >>> topics.n_topics, topics.n_words
    (2, 2)
    """

    def __init__(self, components: ArrayLike | sparse.sparray | sparse.spmatrix) -> None:
        array = _as_matrix(components)
        self.n_topics, self.n_words = array.shape
        self.rows = aligned_empty(self.n_words, row_width(self.n_topics))
        self.rows[:, self.n_topics :] = 0.0
        self.rows[:, : self.n_topics] = array.T
        self.rows[self.rows < SMALLEST] = 0.0
        self.rows.flags.writeable = False
        self.coarse: NDArray[np.int32] | None = None
        self.coarse_scale: NDArray[np.float32] | None = None
        if self.n_topics >= MANY_TOPICS:
            self.coarse, self.coarse_scale = coarse_rows(self.rows)
        self.mean = (self.rows.sum(axis=1, dtype=np.float64) / self.n_topics).astype(np.float32)
        self.explain_every_word = bool((self.mean > 0).all())
        self.ids: NDArray[np.int32] | None = None

    @classmethod
    def laid_out(
        cls,
        rows: NDArray[np.float32],
        mean: NDArray[np.float32],
        n_topics: int,
        ids: NDArray[np.int32] | None = None,
    ) -> "Topics":
        """Make topics of rows that an engine has laid out, for some words of a vocabulary or all.

        >>> rows = np.zeros((2, 16), np.float32)
        >>> rows[:, :2] = [[0.9, 0.2], [0.1, 0.8]]
        >>> Topics.laid_out(rows, rows.sum(axis=1) / 2, 2)
        Topics(n_topics=2, n_words=2)
        """
        topics = cls.__new__(cls)
        topics.n_topics, topics.n_words = n_topics, len(rows)
        topics.rows, topics.mean, topics.ids = rows, mean, ids
        topics.explain_every_word = True
        topics.coarse = topics.coarse_scale = None  # the engine makes them where they pay
        return topics

    @property
    def components(self) -> NDArray[np.float32]:
        """The topics as K x V (a view)."""
        return self.rows[:, : self.n_topics].T

    def __repr__(self) -> str:
        return f"Topics(n_topics={self.n_topics}, n_words={self.n_words})"


def _as_matrix(components: Any) -> NDArray[Any]:
    if hasattr(components, "toarray"):  # sparse
        components = components.toarray()
    try:
        array = np.asarray(components)
        array = array if array.dtype == np.float32 else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"topics must be a numeric array of shape (K, V): {error}.") from None
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(
            f"topics must have shape (K, V), at least one topic and one word, got {array.shape}."
        )
    sums = array.sum(axis=1, dtype=np.float64)
    if not np.isfinite(sums).all() or (array < 0).any():
        bad = np.flatnonzero(~np.isfinite(array).all(axis=1) | (array < 0).any(axis=1))[0]
        raise InputError(
            f"topics hold a negative, NaN or infinite value in row {bad}; "
            "give probabilities (each row a distribution over the words)."
        )
    off = np.abs(sums - 1.0)
    if off.max() > 1e-3:  # single-precision sums over many words are off by 1e-4
        bad = int(off.argmax())
        raise InputError(
            f"topics must sum to 1 in every row, but row {bad} sums to {sums[bad]:.6g}; "
            "divide each row by its sum."
        )
    return array
