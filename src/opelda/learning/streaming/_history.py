"""The history of topics, in bounded memory: fewer points to a stretch the longer it gets."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_POINTS = 64
FIRST_SPACING = 1  # blocks from one point to the next, doubled when there are too many
TOP_WORDS = 10


@dataclass(frozen=True)
class Points:
    """Shares, rho and first words of all topics, at some numbers of documents."""

    documents: NDArray[np.int64]  # (P,) that were learned from by then
    shares: NDArray[np.float32]  # (P, K) of the tokens since the point before
    rho: NDArray[np.float32]  # (P, K)
    words: NDArray[np.int32]  # (P, K, 10) columns, the likeliest first; -1 for none
    spacing: int = FIRST_SPACING

    @classmethod
    def none(cls, n_topics: int) -> "Points":
        """No history."""
        shape = 0, n_topics
        shares, rho = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        return cls(np.zeros(0, np.int64), shares, rho, np.zeros((*shape, TOP_WORDS), np.int32))

    def __len__(self) -> int:
        return len(self.documents)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all but the spacing."""
        return {name: getattr(self, name) for name in ("documents", "shares", "rho", "words")}

    def added(
        self,
        document: int,
        shares: NDArray[np.float64],
        rho: NDArray[np.float64],
        words: NDArray[np.int32],
    ) -> "Points":
        """Return these and one more; of too many, every second one, with shares of both."""
        made = replace(
            self,
            documents=np.append(self.documents, np.int64(document)),
            shares=np.concatenate((self.shares, shares[None].astype(np.float32))),
            rho=np.concatenate((self.rho, rho[None].astype(np.float32))),
            words=np.concatenate((self.words, words[None])),
        )
        if len(made) < MOST_POINTS:
            return made
        return replace(
            made,
            documents=made.documents[1::2],
            shares=(made.shares[::2] + made.shares[1::2]) / np.float32(2),
            rho=np.minimum(made.rho[::2], made.rho[1::2]),
            words=made.words[1::2],
            spacing=2 * self.spacing,
        )

    def without(self, words: NDArray[np.integer]) -> "Points":
        """Forget words whose columns are others' from now on."""
        return replace(self, words=np.where(np.isin(self.words, words), -1, self.words))

    def before(self, document: float) -> int:
        """Return the last point that is not after a number of documents, else the first one."""
        return max(int(np.searchsorted(self.documents, document, "right")) - 1, 0)
