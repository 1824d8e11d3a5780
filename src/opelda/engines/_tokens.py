"""A collection whose every token has a topic, and what an engine does with it."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Tokens:
    """A collection token by token, each with a topic.

    A count of c is ceil(c) tokens of equal weight, at most 16.

    Attributes
    ----------
    indptr, words, counts : int64, int32, float32 arrays
        The documents, as in `Batch`; words are columns.
    first : int64 array (n_docs + 1,)
        Where the tokens of each document begin.
    topics : uint16 array
        Of each token, written by `Engine.draw`.
    """

    indptr: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float32]
    first: NDArray[np.int64]
    topics: NDArray[np.uint16]


class DrawsTopics(Protocol):
    """The part of an engine that draws the topics of tokens."""

    def tokens(
        self, indptr: NDArray[np.int64], words: NDArray[np.int32], counts: NDArray[np.float32]
    ) -> Tokens:
        """Make tokens of documents; their topics are yet to be drawn."""
        ...

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
        """Draw the tokens' topics anew, document by document: P(k) ~ (N_dk + alpha_k) beta_kj.

        `rows` are the topics of every word; N_dk counts the document's other tokens, and a token
        of weight w is taken out of its topic's beta as w `own` (K,). ``fresh``: the tokens have no
        topics so far.
        """
        ...

    def count(
        self, tokens: Tokens, rows: NDArray[np.float32], n_topics: int, n_threads: int = 1
    ) -> NDArray[np.float64]:
        """Add the tokens' weights to the rows of their words; return their sums per topic."""
        ...
