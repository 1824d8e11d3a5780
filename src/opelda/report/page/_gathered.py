"""Documents for a page, gathered in one pass and in bounded memory."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.corpus import MiniBatch
from opelda.corpus._column_names import usual_column
from opelda.corpus._kinds import is_missing
from opelda.corpus._matrix import row_sums, stacked
from opelda.corpus._time_reader import TimeReader
from opelda.engines.seam import GOLDEN, mix
from opelda.errors import DataWarning, InputError, warn
from opelda.report._document_blocks import DocumentBlock, called, mended
from opelda.report._retrieval import TypicalDocuments
from opelda.report._shares import corrected_shares
from opelda.report._times import MOST_BINS, span, start_of
from opelda.report._unmixing import Unmixing

MOST_DOCUMENTS = 100_000  # listed in a page
TEXT_BYTES = 10_000_000  # of all texts together
SHORTER = (20_000, 10_000, 5_000, 2_000, 1_000, 500, 200)  # characters of a text
NEW_AT_ONCE = 20_000
GROUP_SUMS = 10_000_000  # entries of the sums of groups
WITHIN = (0.01, 0.1, 1.0)  # nats
NEAR = 0.05  # nats per word
LEVEL = 0.95  # of credible intervals
# Units of held sums, each within the next, and bins of a unit that are held: days may become weeks.
HELD = {"minute": 60, "hour": 60, "day": 7 * MOST_BINS, "month": 60, "quarter": 60, "year": np.inf}


class SummedShares:
    """Sums of documents' words and mixtures by group, or by time in bins that may get longer.

    New keys are left out once the sums have `most` entries.
    """

    def __init__(self, most: float = np.inf, unit: str | None = None) -> None:
        self.most, self.unit = most, unit
        self.size = 0  # entries of all sums
        self.sums: dict[Any, sparse.csr_array] = {}  # (1, words and topics)
        self.n_docs: dict[Any, int] = {}
        self.n_left = 0  # documents of keys that are left out

    def key(self, value: Any) -> Any:
        """Return the group, or the beginning of the bin."""
        return start_of(value, self.unit) if self.unit and value is not None else value

    def add(self, values: Iterable[Any], *parts: Any) -> None:
        """Add documents' rows of all parts, except for a group or time of None."""
        both = sparse.hstack([sparse.csr_array(part) for part in parts], format="csr")
        rows: dict[Any, list[int]] = {}
        for row, value in enumerate(values):
            if value is not None:
                rows.setdefault(self.key(value), []).append(row)
        for key, some in rows.items():
            if self.size >= self.most and key not in self.sums:
                self.n_left += len(some)
            else:
                self.put(key, sparse.csr_array(np.ones((1, len(some)))) @ both[some], len(some))
        while self.unit and self.sums and span(self.sums, self.unit) > HELD[self.unit]:
            longer = list(HELD)[list(HELD).index(self.unit) + 1]
            found = self.by(longer)
            self.unit, self.size = longer, found.size
            self.sums, self.n_docs = found.sums, found.n_docs

    def put(self, key: Any, total: sparse.csr_array, n_docs: int) -> None:
        if key in self.sums:
            self.size -= self.sums[key].nnz
            total = self.sums[key] + total
        self.sums[key] = total
        self.size += total.nnz
        self.n_docs[key] = self.n_docs.get(key, 0) + n_docs

    def by(self, unit: str) -> "SummedShares":
        """Return the sums by a longer unit of time."""
        found = SummedShares(self.most, unit)
        for key, total in self.sums.items():
            found.put(found.key(key), total, self.n_docs[key])
        return found

    def facts(self, keys: list[Any], unmixing: Unmixing) -> dict[str, Any]:
        """Return the documents, corrected shares with intervals, and mean shares of some keys."""
        n_docs = [self.n_docs[key] for key in keys]
        n, n_words = np.array(n_docs)[:, np.newaxis], unmixing.topics.shape[1]
        scale = sparse.diags_array(1.0 / n[:, 0])
        both = sparse.csr_array(scale @ sparse.vstack([self.sums[key] for key in keys]))
        linear, squares, means = np.split(both[:, n_words:].toarray(), 3, axis=1)
        found = corrected_shares(unmixing, n, both[:, :n_words], linear, squares)
        # a single document has no interval
        low, high = np.nan_to_num(found[1], nan=0.0), np.nan_to_num(found[2], nan=1.0)
        named = {"shares": found[0], "low": low, "high": high, "means": means}
        return {"n_docs": n_docs} | {name: x.round(5).tolist() for name, x in named.items()}


@dataclass
class Entry:
    name: str
    tokens: float
    loss: float
    topics: NDArray[np.uint16]
    weights: NDArray[np.float32]
    low: NDArray[np.float32]  # of credible intervals of the weights
    high: NDArray[np.float32]
    main: float  # the probability that the first topic is the main topic
    time: datetime | None
    group: str | None
    # at most one of the two
    text: str | None = None
    counts: tuple[NDArray[np.int32], NDArray[np.float32]] | None = None


class Gathered:
    """The facts of documents that a page needs; samples depend on the documents' numbers alone."""

    def __init__(
        self, model: Any, n_typical: int, *, time: str | None = None, by: str | None = None
    ) -> None:
        self.model = model
        self.n_topics = int(model.components_.shape[0])
        self.n_docs = self.n_empty = 0
        self.n_tokens = self.n_unknown = 0.0
        self.entries: dict[int, Entry] = {}
        self.typical: list[list[int]] = []  # of each topic, once settled
        self.time, self.group = time, by  # the columns
        self.times: SummedShares | None = None
        self.groups: SummedShares | None = None
        self.all = SummedShares()  # under 0, if there are times or groups
        self.bins: SummedShares | None = None  # by the fitting unit of time, once known
        self.periods: SummedShares | None = None
        self._given = time is not None
        self._reader = TimeReader()
        self._n_untimed = 0  # documents
        self._untimed: InputError | None = None
        self.mass = np.zeros(self.n_topics)  # tokens of each topic
        self.within = np.zeros(len(WITHIN), np.int64)
        self.n_near = 0  # documents at most NEAR from the optimum
        self.loss_sum = self.loss_max = 0.0
        self.texts_are_known = False
        self.longest = SHORTER[0]  # characters of a text
        self._typical = TypicalDocuments(n_typical)
        self._listed, self._told, self._counted = Lot(), Lot(), Lot()
        self._rows: list[tuple[NDArray[np.int64], sparse.csr_array]] = []
        self._n_new = 0  # entries since the last were pruned

    @cached_property
    def unmixing(self) -> Unmixing:
        return Unmixing(self.model)

    def add(self, batch: MiniBatch) -> None:
        X, found = batch.X, self.model.infer(batch.X)
        theta = found.theta
        theta = theta.toarray() if hasattr(theta, "toarray") else np.asarray(theta)
        known, first = row_sums(X), self.n_docs
        numbers = np.arange(first, first + len(theta))
        self.n_docs += len(theta)
        self.n_empty += int((known == 0).sum())
        self.n_tokens += float(known.sum())
        self.n_unknown += float(batch.n_unknown_tokens)
        self.mass += known @ theta
        self.within += [int((found.loss <= nats).sum()) for nats in WITHIN]
        self.n_near += int((found.loss <= NEAR * known).sum())
        self.loss_sum += float(found.loss.sum())
        self.loss_max = max(self.loss_max, float(found.loss.max(initial=0.0)))
        times, groups = self._columns(batch.metadata, len(theta))
        if self.times is not None or self.groups is not None:
            words, has_words = self.unmixing.frequencies(X)
            some = np.flatnonzero(has_words)
            linear = self.unmixing.shares(X[some])[0]
            every = (self.all, [0] * len(theta))
            for sums, keys in ((self.times, times), (self.groups, groups), every):
                if sums is not None:
                    sums.add([keys[i] for i in some], words[some], linear, linear**2, theta[some])
        self._typical.add(DocumentBlock(first, X, batch.names), theta)
        drawn = self._counted.drawn(numbers)
        self._rows.append((numbers[drawn], X[drawn]))
        while sum(len(some) for some, _ in self._rows) > 10_000:
            self._counted.halve()
            kept = [(some, x, self._counted.drawn(some)) for some, x in self._rows]
            self._rows = [(some[drawn], x[drawn]) for some, x, drawn in kept]
        typical = set(self._typical.candidates())
        chosen = np.isin(numbers, list(typical))
        listed, told = chosen | self._listed.drawn(numbers), chosen | self._told.drawn(numbers)
        self.texts_are_known |= batch.texts is not None
        rows = np.flatnonzero(listed).tolist()
        bounds: Any = self._intervals(X[rows]) if rows else None
        for at, row in enumerate(rows):
            topics = np.argsort(-theta[row], kind="stable")[:8]
            topics = topics[theta[row, topics] >= 0.01]
            name = None if batch.names is None else batch.names[row]
            text = None if batch.texts is None else batch.texts[row]
            entry = Entry(
                called(name, first + row, text),
                float(found.n_tokens[row]),
                float(found.loss[row]),
                topics.astype(np.uint16),
                theta[row, topics].astype(np.float32),
                bounds.lower[at, topics],
                bounds.upper[at, topics],
                float(bounds.main_topic_probability[at]),
                times[row],
                groups[row],
            )
            if text is not None and told[row]:
                entry.text = mended(str(text)[: SHORTER[0] + 1])
            elif told[row]:
                ends = slice(*X.indptr[row : row + 2])
                # copies, so that they do not hold all of the mini-batch
                entry.counts = (X.indices[ends].copy(), X.data[ends].copy())
            self.entries[first + row] = entry
        self._n_new += int(listed.sum())
        if self._n_new >= NEW_AT_ONCE:
            self._prune(typical)

    def _intervals(self, X: sparse.csr_array) -> Any:
        """Return inference with dense credible intervals."""
        is_sparse = self.model.sparse_output
        try:
            return self.model.set_params(sparse_output=False).infer(X, interval=LEVEL)
        finally:
            self.model.set_params(sparse_output=is_sparse)

    def _columns(self, table: Any, n: int) -> tuple[list[Any], list[Any]]:
        """Return the documents' times and groups; the first mini-batch decides on the columns."""
        times: list[Any] = [None] * n
        groups = times
        if table is None:
            return times, groups
        if self.n_docs == n:
            self.time = self.time or usual_column("time", table.columns)
            self.group = self.group or usual_column("group", table.columns)
            self.times = None if self.time is None else SummedShares(unit="minute")
            self.groups = None if self.group is None else SummedShares(GROUP_SUMS)
        if self.time is not None:
            try:  # `settle` decides whether the column holds enough times
                times = self._reader.read(table[self.time].to_list())
            except InputError as error:
                self._n_untimed += n
                self._untimed = self._untimed or error
        if self.group is not None:
            groups = [None if is_missing(g) or g == "" else str(g) for g in table[self.group]]
        return times, groups

    def sample(self) -> sparse.csr_array:
        """Return the counts of at most 10,000 documents, for scores and stability."""
        return stacked([x for _, x in self._rows], int(self.model.n_features_in_))

    def _prune(self, typical: set[int]) -> None:
        """Drop entries that are neither sampled nor typical, and texts beyond the bounds."""
        self._n_new = 0
        others = self._listed.of(sorted(self.entries.keys() - typical))
        while len(others) > MOST_DOCUMENTS:
            self._listed.halve()
            others = self._listed.of(others)
        entries = self.entries
        self.entries = {n: entries[n] for n in sorted(typical & entries.keys() | set(others))}

        def size(entry: Entry) -> int:  # of a page: 3 bytes for a word and its count
            return len(entry.text or "") if entry.counts is None else 3 * len(entry.counts[0])

        while sum(size(entries[n]) for n in others) > TEXT_BYTES:
            self._told.halve()
            for number in set(others) - set(self._told.of(others)):
                entries[number].text = entries[number].counts = None

    def settle(self) -> None:
        """Finish: cut texts, and raise or warn if most values of the column are no times."""
        best = self._typical.found()
        self.typical = [[-entry.minus_number for entry in entries] for entries in best]
        self._prune({number for numbers in self.typical for number in numbers})
        told = [entry for entry in self.entries.values() if entry.text is not None]
        for self.longest in SHORTER:
            texts = ((entry.text or "")[: self.longest] for entry in told)
            if sum(len(text.encode("utf-8", "replace")) for text in texts) <= TEXT_BYTES:
                break
        for entry in told:
            if len(entry.text or "") > self.longest:
                entry.text = f"{entry.text:.{self.longest}}…"
        untimed = self._untimed if 2 * self._n_untimed > self.n_docs else None
        error = self._reader.contradiction or untimed
        if error is None:
            self._reader.warn()
        elif self._given:
            raise error
        else:
            warn(f"The column {self.time!r} is not used for topics over time: {error}", DataWarning)
            self.time = self.times = None


class Lot:
    """A random sample of numbers; `halve` drops about half of it."""

    def __init__(self) -> None:
        self.limit = np.uint64(2**64 - 1)

    def drawn(self, numbers: Any) -> NDArray[np.bool_]:
        with np.errstate(over="ignore"):
            keys = mix(np.array(numbers, np.uint64) * np.uint64(GOLDEN))
        return np.asarray(keys <= self.limit)

    def of(self, numbers: list[int]) -> list[int]:
        return [number for number, drawn in zip(numbers, self.drawn(numbers), strict=True) if drawn]

    def halve(self) -> None:
        self.limit = self.limit >> np.uint64(1)
