"""Shares of topics by time or by group, summed up while documents pass by."""

from collections.abc import Hashable, Iterable
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.report._times import FEW_DOCUMENTS, MOST_BINS, label_of, start_of
from opelda.report._unmixing import Unmixing

# Each within the next: weeks are in no month.
NESTED = ("minute", "hour", "day", "month", "quarter", "year")


class SummedShares:
    """Sums of documents' words and mixtures by a key, such as a time or a group.

    A key that is new when the sums have `most` entries is left out.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.size = 0  # entries of all sums
        self.sums: dict[Any, sparse.csr_array] = {}  # (1, words and topics)
        self.n_docs: dict[Any, int] = {}
        self.n_left = 0  # documents of keys beyond these

    def add(self, keys: Iterable[Hashable | None], words: Any, theta: NDArray[Any]) -> None:
        """Add documents' word frequencies and mixtures; those whose key is None are left out."""
        both = sparse.hstack((words, sparse.csr_array(theta)), format="csr")
        rows: dict[Hashable, list[int]] = {}
        for row, key in enumerate(keys):
            if key is not None:
                rows.setdefault(key, []).append(row)
        for key, some in rows.items():
            if self.most is not None and self.size >= self.most and key not in self.sums:
                self.n_left += len(some)
                continue
            total = sparse.csr_array(np.ones((1, len(some)))) @ both[some]
            self._put(key, total, len(some))

    def _put(self, key: Hashable, total: sparse.csr_array, n_docs: int) -> None:
        former = self.sums.get(key)
        self.sums[key] = total if former is None else former + total
        self.size += self.sums[key].nnz - (0 if former is None else former.nnz)
        self.n_docs[key] = self.n_docs.get(key, 0) + n_docs

    def renamed(self, name: Any) -> "SummedShares":
        """Return the same with keys replaced by a function of them."""
        found = SummedShares()
        for key, total in self.sums.items():
            found._put(name(key), total, self.n_docs[key])
        return found

    def facts(self, keys: list[Any], unmixing: Unmixing) -> dict[str, Any]:
        """Return the documents, corrected shares and mean shares of some keys."""
        n_docs = [self.n_docs[key] for key in keys]
        scale = sparse.diags_array(1.0 / np.array(n_docs))
        both = sparse.csr_array(scale @ sparse.vstack([self.sums[key] for key in keys]))
        n_words = unmixing.topics.shape[1]
        corrected, means = unmixing.likeliest(both[:, :n_words]), both[:, n_words:].toarray()
        return {
            "n_docs": n_docs,
            "shares": corrected.round(6).tolist(),
            "means": means.round(6).tolist(),
        }


class TimedShares:
    """Shares over time, in bins that get longer when there are too many."""

    def __init__(self) -> None:
        self.shares = SummedShares()
        self.unit = NESTED[0]

    def add(self, moments: Iterable[datetime | None], words: Any, theta: NDArray[Any]) -> None:
        """Add documents with their times."""
        self.shares.add([self.bin(moment) for moment in moments], words, theta)
        while len(self.shares.sums) > MOST_BINS and self.unit != NESTED[-1]:
            self._coarsen()

    def finish(self) -> list[datetime]:
        """Return the bins in order: few enough for a picture, with enough documents in each."""
        n_docs = sum(self.shares.n_docs.values())
        while self.unit != NESTED[-1] and (
            n_docs < FEW_DOCUMENTS * len(self.shares.sums)
            # times that are all at the beginning of longer ones have no finer meaning
            or len({self._longer(key) for key in self.shares.sums}) == len(self.shares.sums)
        ):
            self._coarsen()
        return sorted(self.shares.sums)

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
