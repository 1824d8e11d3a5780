"""The part of the CPU engine that draws the topics of tokens."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda import _native
from opelda.engines._tokens import Tokens


class CPUTokens:
    """Draws and counts topics with native kernels."""

    def tokens(
        self, indptr: NDArray[np.int64], words: NDArray[np.int32], counts: NDArray[np.float32]
    ) -> Tokens:
        """Make tokens of documents; see `opelda.engines.Engine.tokens`."""
        first = _native.first_tokens(indptr, counts)
        return Tokens(indptr, words, counts, first, np.zeros(int(first[-1]), np.uint16))

    def draw(
        self,
        tokens: Tokens,
        rows: NDArray[np.float32],
        alpha: NDArray[np.float64],
        *,
        own: NDArray[np.float64],
        fresh: bool,
        n_sweeps: int,
        seed: int,
        n_threads: int = 1,
    ) -> None:
        """Draw the tokens' topics anew; see `opelda.engines.Engine.draw`."""
        _native.resample(
            rows,
            n_topics=len(alpha),
            indptr=tokens.indptr,
            words=tokens.words,
            counts=tokens.counts,
            first_token=tokens.first,
            z=tokens.topics,
            fresh=fresh,
            n_sweeps=n_sweeps,
            alpha=padded(alpha, rows.shape[1]),
            inverse=padded(own, rows.shape[1]),
            seed=seed,
            n_threads=n_threads,
        )

    def count(
        self, tokens: Tokens, rows: NDArray[np.float32], n_topics: int, n_threads: int = 1
    ) -> NDArray[np.float64]:
        """Add the tokens' weights to the rows; see `opelda.engines.Engine.count`."""
        sums = np.zeros(n_topics)
        _native.count_topics(
            tokens.words, tokens.counts, tokens.topics, rows, sums, n_threads=n_threads
        )
        return sums


def padded(values: NDArray[Any], stride: int) -> NDArray[np.float32]:
    """Return a row as wide as kernels read it, filled up with zeros."""
    row = np.zeros(stride, np.float32)
    row[: len(values)] = values
    return row
