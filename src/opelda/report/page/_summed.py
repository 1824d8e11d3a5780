"""Shares of topics by time or by group, summed up while documents pass by."""

from collections.abc import Hashable, Iterable
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.report._times import FEW_DOCUMENTS, MOST_BINS, label_of, start_of
from opelda.report._unmixing import on_simplex

# Each within the next: weeks are in no month.
NESTED = ("minute", "hour", "day", "month", "quarter", "year")
MOST_KEYS = 1_000  # summed at a time


class SummedShares:
    """Sums of documents' shares by a key, such as a time or a group; of so many keys at most."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.sums: dict[Any, Any] = {}
        self.n_docs: dict[Any, int] = {}
        self.n_left = 0  # documents of keys beyond these

    def add(self, keys: Iterable[Hashable | None], theta: NDArray[Any]) -> None:
        """Add documents; those whose key is None are left out."""
        rows: dict[Hashable, list[int]] = {}
        for row, key in enumerate(keys):
            if key is not None:
                rows.setdefault(key, []).append(row)
        for key, some in rows.items():
            if self.most is not None and len(self.sums) >= self.most and key not in self.sums:
                self.n_left += len(some)
                continue
            self._put(key, theta[some].sum(axis=0, dtype=np.float64), len(some))

    def _put(self, key: Hashable, total: NDArray[np.float64], n_docs: int) -> None:
        self.sums[key] = self.sums.get(key, 0.0) + total
        self.n_docs[key] = self.n_docs.get(key, 0) + n_docs

    def renamed(self, name: Any) -> "SummedShares":
        """Return the same with keys replaced by a function of them."""
        found = SummedShares()
        for key, total in self.sums.items():
            found._put(name(key), total, self.n_docs[key])
        return found

    def means(self, keys: Iterable[Any]) -> list[list[float]]:
        """Return the mean shares of some keys."""
        found = np.array([self.sums[key] / self.n_docs[key] for key in keys])
        rows: list[list[float]] = on_simplex(found).round(6).tolist()
        return rows


class TimedShares:
    """Shares over time, in bins that get longer when there are too many."""

    def __init__(self) -> None:
        self.shares = SummedShares()
        self.unit = NESTED[0]

    def add(self, moments: Iterable[datetime | None], theta: NDArray[Any]) -> None:
        """Add documents with their times."""
        self.shares.add([self.bin(moment) for moment in moments], theta)
        while len(self.shares.sums) > MOST_KEYS and self.unit != NESTED[-1]:
            self._coarsen()

    def finish(self) -> list[datetime]:
        """Return the bins in order: few enough for a picture, with enough documents in each."""
        shares = self.shares
        while self.unit != NESTED[-1] and (
            len(shares.sums) > MOST_BINS
            or sum(shares.n_docs.values()) < FEW_DOCUMENTS * len(shares.sums)
        ):
            self._coarsen()
            shares = self.shares
        # times that are all at the beginning of longer ones have no finer meaning
        while self.unit != NESTED[-1] and len({self._longer(key) for key in shares.sums}) == len(
            shares.sums
        ):
            self._coarsen()
            shares = self.shares
        return sorted(shares.sums)

    def bin(self, moment: datetime | None) -> datetime | None:
        """Return the beginning of a time's bin."""
        return None if moment is None else start_of(moment, self.unit)

    def label(self, start: datetime) -> str:
        """Return what a bin is called."""
        return label_of(start, self.unit)

    def _longer(self, key: datetime) -> datetime:
        return start_of(key, NESTED[NESTED.index(self.unit) + 1])

    def _coarsen(self) -> None:
        self.shares = self.shares.renamed(self._longer)
        self.unit = NESTED[NESTED.index(self.unit) + 1]
