"""Bins of documents by time and by group."""

import datetime as dt
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._names import UNITS
from opelda.corpus._kinds import is_missing
from opelda.corpus._time_reader import TimeReader
from opelda.errors import InputError

MOST_BINS, FEW_DOCUMENTS = 60, 20
FEW_DRAWN = 10  # documents of a bin that a figure shows
# Longer units that are compared, the first that has two.
PERIODS: dict[str, tuple[str, ...]] = {
    "minute": ("hour",), "hour": ("day",), "day": ("month", "week"), "week": ("month",),
    "month": ("year", "quarter"), "quarter": ("year",), "year": (),
}  # fmt: skip
MONTHS = {"month": 1, "quarter": 3, "year": 12}
LENGTHS = {unit: dt.timedelta(**{f"{unit}s": 1}) for unit in ("minute", "hour", "day", "week")}
FIRST = dt.datetime(1, 1, 1)  # a Monday


@dataclass(frozen=True)
class TimeBins:
    """Non-empty bins of time."""

    unit: str
    labels: list[str]
    starts: list[dt.datetime]
    index: NDArray[np.intp]  # of each document's bin; -1 for an unknown time


def time_bins(times: Sequence[Any], unit: str | None = None) -> TimeBins:
    """Assign documents to bins by their times.

    By default `fitting_unit` chooses the unit. Times keep their local clock; time zones are
    ignored.
    """
    reader = TimeReader()
    moments = reader.read(_listed(times))
    reader.warn()
    known = [moment for moment in moments if moment is not None]
    if not known:
        raise InputError("No document has a time; check the column of times.")
    if unit is None:
        unit = fitting_unit(set(known), len(known))
    keys = [None if moment is None else start_of(moment, unit) for moment in moments]
    starts = sorted({key for key in keys if key is not None})
    labels = [label_of(start, unit) for start in starts]
    return TimeBins(unit, labels, starts, _places(starts, keys))


def fitting_unit(
    moments: Collection[dt.datetime], n_docs: int, units: Sequence[str] = UNITS
) -> str:
    """Return the finest unit with at most 60 bins from the first to the last moment, empty ones
    included, and at least 20 documents in each other bin on average.
    """
    sizes = {unit: len({start_of(moment, unit) for moment in moments}) for unit in units}
    fits = (
        u for u in units if sizes[u] * FEW_DOCUMENTS <= n_docs and span(moments, u) <= MOST_BINS
    )
    found = next(fits, units[-1])
    # times that are all at the beginning of longer ones have no finer meaning
    return next(unit for unit in reversed(units) if sizes[unit] == sizes[found])


def span(moments: Collection[dt.datetime], unit: str) -> int:
    """Return the number of bins from the first to the last moment."""
    return 1 + bin_number(max(moments), unit) - bin_number(min(moments), unit)


def gaps_after(starts: Sequence[dt.datetime], unit: str) -> list[int]:
    """Return the places of bins after a gap, over which no line is drawn.

    A gap is longer than the usual step between bins; for days and shorter units, such as weekdays,
    longer than three usual steps.

    >>> gaps_after([dt.datetime(1987, month, 1) for month in (1, 2, 3, 5, 6)], "month")
    [3]
    """
    steps = np.diff([bin_number(start, unit) for start in starts])
    most = np.median(steps) * (3 if unit in ("minute", "hour", "day") else 1)
    return [int(i) + 1 for i in np.flatnonzero(steps > most)]


def group_bins(labels: Sequence[Any], most: int) -> tuple[list[str], NDArray[np.intp], str]:
    """Return the largest groups, by size, each document's number or -1, and a note on the rest."""
    known = [None if is_missing(x) or x == "" else str(x) for x in _listed(labels)]
    counted = Counter(label for label in known if label is not None)
    if not counted:
        raise InputError("No document has a group; check the column of groups.")
    names = sorted(counted, key=lambda name: (-counted[name], name))[:most]
    rest = f" The {most} largest of {len(counted):,} groups." if len(counted) > most else ""
    return names, _places(names, known), rest


def _places(bins: list[Any], keys: list[Any]) -> NDArray[np.intp]:
    number = {key: i for i, key in enumerate(bins)}
    return np.array([number.get(key, -1) for key in keys], np.intp)


def _listed(values: Any) -> list[Any]:
    return values.to_list() if hasattr(values, "to_list") else list(values)


def bin_number(moment: dt.datetime, unit: str) -> int:
    """Return the number of a time's bin, from the year 0 or 1."""
    if unit in MONTHS:
        return (12 * moment.year + moment.month - 1) // MONTHS[unit]
    return (moment - FIRST) // LENGTHS[unit]


def bin_start(number: int, unit: str) -> dt.datetime:
    """Return the beginning of a bin, by its number."""
    if unit in MONTHS:
        year, month = divmod(number * MONTHS[unit], 12)
        return dt.datetime(year, month + 1, 1)
    return FIRST + number * LENGTHS[unit]


def start_of(moment: dt.datetime, unit: str) -> dt.datetime:
    return bin_start(bin_number(moment, unit), unit)


def label_of(start: dt.datetime, unit: str) -> str:
    if unit == "quarter":
        return f"{start.year:04}-Q{start.month // 3 + 1}"
    written = start.isoformat(" ", "minutes")
    return written[: {"year": 4, "month": 7, "week": 10, "day": 10}.get(unit, 16)]
