"""Topics merged, removed or split: the topics there are then, and how tables carry over."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # labels are edited and read without the engines
    from opelda.engines.seam import HostWeights

GONE = -1


@dataclass(frozen=True)
class Edit:
    """Which topics there are from now on, and what each is made of.

    `origin` has for each of them a former topic, the heaviest of those it is made of; `joins` the
    others, as pairs of a former topic and the one that takes it in. A former topic that is in
    neither is gone. Those that one is split into, `parts`, all have it as their origin.
    """

    origin: NDArray[np.int64]  # (K',)
    joins: tuple[tuple[int, int], ...]
    n_before: int
    parts: tuple[int, ...] = ()
    shares: NDArray[np.float64] | None = None  # (V, parts) of each word's weight; rows sum to 1
    sizes: NDArray[np.float64] | None = None  # (parts,) of the topic; they sum to 1
    tokens: NDArray[np.integer] | None = None  # the topics of a window's tokens from now on

    @classmethod
    def merging(cls, groups: Iterable[Sequence[int]], weights: NDArray[np.float64]) -> "Edit":
        """Make one topic of each group, with the lowest number; the others move up."""
        goes_to = np.arange(len(weights))
        for group in groups:
            goes_to[list(group)] = min(group)
        return cls._of(goes_to, weights)

    @classmethod
    def removing(cls, topics: Sequence[int], weights: NDArray[np.float64]) -> "Edit":
        """Leave topics out; the others move up."""
        goes_to = np.arange(len(weights))
        goes_to[list(topics)] = GONE
        return cls._of(goes_to, weights)

    @classmethod
    def _of(cls, goes_to: NDArray[np.int64], weights: NDArray[np.float64]) -> "Edit":
        kept, times = np.unique(goes_to[goes_to != GONE], return_counts=True)
        origin = kept.copy()
        joins: list[tuple[int, int]] = []
        for number in np.flatnonzero(times > 1).tolist():
            members = np.flatnonzero(goes_to == kept[number])
            members = members[np.argsort(-weights[members], kind="stable")]
            origin[number] = members[0]
            joins.extend((former, number) for former in members[1:].tolist())
        return cls(origin, tuple(joins), len(weights))

    @classmethod
    def splitting(
        cls, topic: int, n_before: int, shares: NDArray[np.float64], sizes: NDArray[np.float64]
    ) -> "Edit":
        """Make parts of a topic: the first has its number, the others come after all topics."""
        more = len(sizes) - 1
        origin = np.concatenate((np.arange(n_before), np.full(more, topic)))
        parts = (topic, *range(n_before, n_before + more))
        return cls(origin, (), n_before, parts, shares, sizes)

    @property
    def n_topics(self) -> int:
        """K'."""
        return len(self.origin)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The number of each former topic from now on; that of a split one is its first part's."""
        numbers = np.full(self.n_before, GONE)
        numbers[self.origin[::-1]] = np.arange(self.n_topics)[::-1]
        for former, number in self.joins:
            numbers[former] = number
        return numbers

    @property
    def mapping(self) -> dict[int, int]:
        """The same, without those that are gone."""
        numbers = enumerate(self.numbers.tolist())
        return {former: number for former, number in numbers if number != GONE}

    @property
    def changed(self) -> NDArray[np.int64]:
        """The topics that are others than before."""
        return np.array(sorted({number for _, number in self.joins} | set(self.parts)), np.int64)

    def added(self, table: NDArray[Any], parts: NDArray[np.float64] | None = None) -> Any:
        """Return a table (..., K) with as many columns as there are topics, nothing lost in joins.

        A split topic's column is divided by the parts' shares of it.
        """
        found = np.ascontiguousarray(table[..., self.origin])
        for former, number in self.joins:
            found[..., number] += table[..., former]
        if self.parts:
            shares = self.sizes if parts is None else parts
            found[..., list(self.parts)] *= np.asarray(shares, found.dtype)
        return found

    def largest(self, table: NDArray[Any]) -> Any:
        """Return a table (..., K) of which joined columns are each entry's larger one."""
        found = np.ascontiguousarray(table[..., self.origin])
        for former, number in self.joins:
            found[..., number] = np.maximum(found[..., number], table[..., former])
        return found

    def weights(self, host: "HostWeights") -> "HostWeights":
        """Add up the weights of topics that are one; of a word's priors the largest counts."""
        prior = host.prior
        if np.ndim(prior) == 2:
            prior = self.largest(np.asarray(prior))
        return replace(host, rows=self.added(host.rows, self.shares), prior=prior, sums=None)
