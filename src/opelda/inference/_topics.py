"""Topics as kernels want them: word-major, padded, single precision."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda.errors import InputError

LANES = 16
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
        stride = -(-self.n_topics // LANES) * LANES
        self.rows = _aligned_zeros(self.n_words, stride)
        self.rows[:, : self.n_topics] = array.T
        self.rows[self.rows < SMALLEST] = 0.0
        self.rows.flags.writeable = False
        self.coarse: NDArray[np.int32] | None = None
        self.coarse_scale: NDArray[np.float32] | None = None
        if self.n_topics >= 256:
            self.coarse, self.coarse_scale = _coarse(self.rows)
        self.mean = (self.rows.sum(axis=1, dtype=np.float64) / self.n_topics).astype(np.float32)
        self.explain_every_word = bool((self.mean > 0).all())

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


def _aligned_zeros(n_rows: int, stride: int) -> NDArray[np.float32]:
    """Zeros on a 64-byte boundary, so that a vector load never crosses a cache line."""
    raw = np.zeros(n_rows * stride + LANES, np.float32)
    offset = (-raw.ctypes.data // raw.itemsize) % LANES
    return raw[offset : offset + n_rows * stride].reshape(n_rows, stride)


def _coarse(rows: NDArray[np.float32]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the rows as one-byte floats rounded up, a quarter of the memory to read.

    With many topics reading the rows is what OPE's time goes into. Its bounds do not need them to
    the last bit, only from above: five bits of exponent below the row's largest weight and three
    of mantissa. Bytes are laid out so that native code unpacks 64 topics by shifts (kernels.hpp).
    """
    n_words, stride = rows.shape
    n_blocks = -(-stride // 64)
    coarse = np.zeros((n_words, n_blocks * LANES), np.int32)
    exponents = np.frexp(rows.max(axis=1))[1]
    for first in range(0, n_words, 4096):  # in parts: the temporaries are larger than the result
        part = slice(first, first + 4096)
        scaled = np.ldexp(rows[part], -exponents[part, None]).astype(np.float32)
        rounded_up = ((scaled.view(np.uint32) + 0xFFFFF) >> 20).astype(np.int32)
        code = np.where(scaled > 0, np.maximum(rounded_up - (96 << 3), 1 << 3), 0).astype(np.uint8)
        code = np.pad(code, ((0, 0), (0, n_blocks * 64 - stride)))
        quads = code.reshape(-1, n_blocks, 4, LANES).swapaxes(2, 3)
        coarse[part] = np.ascontiguousarray(quads).view("<i4")[..., 0].reshape(-1, n_blocks * LANES)
    return coarse, np.ldexp(np.float32(1), exponents + 48).astype(np.float32)
