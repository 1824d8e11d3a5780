"""Times of documents as dates, and shares of topics over them."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

# As polars reads them, the usual ones first; a column has one of them throughout.
FORMATS = (
    "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m", "%Y", "%Y/%m/%d", "%d.%m.%Y",
    "%a, %d %b %Y %H:%M:%S", "%a %b %d %H:%M:%S %z %Y", "%d %b %Y", "%d %B %Y", "%B %d, %Y",
    "%b %d, %Y", "%Y%m%d",
)  # fmt: skip
UNITS = ("day", "month", "year")
LETTERS = {"day": 10, "month": 7, "year": 4}  # of an ISO date that name it
MOST_BINS = 120  # in a picture
MOST_KEYS = 1_000  # summed at a time
# Seconds that are times: 1973 to 2286.
SECONDS = (1e8, 1e10)
ZONE = r"(\d{2}:\d{2}:\d{2})(?:\.\d+)?\s*(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})?$"
PARSED = 0.8  # of the values that are there, for a column of dates


def as_days(values: pl.Series) -> list[str | None]:
    """Return the dates of texts, or of seconds since 1970, in ISO form; None for what is none.

    A year or a month stands for its first day.

    >>> as_days(pl.Series(["2021-03-05T10:00:00Z", "?", "2022-01-01 08:00:00"]))
    ['2021-03-05', None, None]
    >>> as_days(pl.Series(["1617235200", "1617321600"]))
    ['2021-04-01', '2021-04-02']
    """
    texts = values.cast(pl.String, strict=False).str.strip_chars()
    # fractions of seconds and zones do not change the day that a reader sees
    plain = texts.str.replace(ZONE, "$1")
    n_known = int(texts.drop_nulls().str.len_chars().cast(pl.Boolean).sum() or 0)
    best: pl.Series | None = None
    for source in (plain, texts):
        for form in FORMATS:
            found = _parsed(source, form)
            if best is None or found.count() > best.count():
                best = found
        if best is not None and n_known and best.count() >= PARSED * n_known:
            break
    numbers = texts.cast(pl.Float64, strict=False)
    numbers = numbers.set(numbers.is_between(*SECONDS).not_(), None) if len(numbers) else numbers
    if best is None or numbers.count() > best.count():
        best = pl.from_epoch(numbers.cast(pl.Int64), "s").dt.date()
    return [None if day is None else day.isoformat() for day in best.to_list()]


def _parsed(texts: pl.Series, form: str) -> pl.Series:
    if form == "%Y":
        texts = texts.set(texts.str.len_chars() != 4, None) + "-01-01"
    elif form == "%Y-%m":
        texts = texts.set(texts.str.len_chars() != 7, None) + "-01"
    form = {"%Y": "%Y-%m-%d", "%Y-%m": "%Y-%m-%d"}.get(form, form)
    return texts.str.to_datetime(form, strict=False).dt.date()


class Shares:
    """Sums of documents' mixtures by a key, such as a day or a group."""

    def __init__(self, n_topics: int) -> None:
        self.n_topics = n_topics
        self.sums: dict[Any, NDArray[np.float64]] = {}
        self.n_docs: dict[Any, int] = {}

    def add(self, keys: Iterable[Hashable | None], theta: NDArray[Any]) -> None:
        """Add documents; those whose key is None are left out."""
        keys = list(keys)
        rows: dict[Hashable, list[int]] = {}
        for row, key in enumerate(keys):
            if key is not None:
                rows.setdefault(key, []).append(row)
        for key, some in rows.items():
            total = theta[some].sum(axis=0, dtype=np.float64)
            self.sums[key] = self.sums.get(key, 0.0) + total
            self.n_docs[key] = self.n_docs.get(key, 0) + len(some)

    def merged(self, name: Any) -> "Shares":
        """Return the same with keys replaced by a function of them."""
        found = Shares(self.n_topics)
        for key, total in self.sums.items():
            new = name(key)
            found.sums[new] = found.sums.get(new, 0.0) + total
            found.n_docs[new] = found.n_docs.get(new, 0) + self.n_docs[key]
        return found

    def means(self, keys: Iterable[Any]) -> list[list[float]]:
        """Return the mean mixtures of some keys."""
        return [[round(float(x), 6) for x in self.sums[k] / self.n_docs[k]] for k in keys]


class TimedShares:
    """Shares over time: by day, by month where those are too many, or else by year."""

    def __init__(self, n_topics: int) -> None:
        self.shares = Shares(n_topics)
        self.unit = "day"

    def add(self, days: Iterable[str | None], theta: NDArray[Any]) -> None:
        """Add documents with the days they are of."""
        self.shares.add([self._key(day) for day in days], theta)
        if len(self.shares.sums) > MOST_KEYS:
            self._coarsen()

    def finish(self) -> list[str]:
        """Return the bins in order, few enough for a picture."""
        while len(self.shares.sums) > MOST_BINS and self.unit != UNITS[-1]:
            self._coarsen()
        return sorted(self.shares.sums)

    def bin(self, day: str | None) -> str | None:
        """Return the bin of a day."""
        return self._key(day)

    def _key(self, day: str | None) -> str | None:
        return None if day is None else day[: LETTERS[self.unit]]

    def _coarsen(self) -> None:
        if self.unit == UNITS[-1]:
            return
        self.unit = UNITS[UNITS.index(self.unit) + 1]
        self.shares = self.shares.merged(self._key)
