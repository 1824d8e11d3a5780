"""Documents' times in any usual notation, and bins of documents by time and by group."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._names import UNITS
from opelda.corpus._kinds import is_missing
from opelda.errors import DataWarning, InputError, warn

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
# month names in English
FORMATS = (
    "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%d.%m.%Y", "%Y/%m/%d", "%Y/%m/%d %H:%M:%S",
    "%B %Y", "%b %Y", "%Y-%m", "%a %b %d %H:%M:%S %z %Y", "%d/%b/%Y:%H:%M:%S %z",
)  # fmt: skip
# a numeric day and month in either order, and a time of day
NUMBERED = re.compile(r"(\d{1,2})([/-])(\d{1,2})\2(\d{4})(?:,? +(\d.*))?")
CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")


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


class TimeReader:
    """Reads times part by part; 2/26/1987 is month first until a number above 12 decides."""

    def __init__(self) -> None:
        self._day_first: bool | None = None
        self._assumed: str | None = None  # an ambiguous date, read before the order was known
        self.contradiction: InputError | None = None  # a later date is day first

    def read(self, values: list[Any]) -> list[dt.datetime | None]:
        """Return times without zones; None if missing, or unreadable as at most half are."""
        # else times in different zones would be equal
        values = [x.replace(tzinfo=None) if isinstance(x, dt.datetime) else x for x in values]
        given = [value for value in values if not is_missing(value) and value != ""]
        read: dict[Any, Any] = dict.fromkeys(given)
        self._find_order(text for text in read if isinstance(text, str))
        for value in read:
            with suppress(ValueError, OverflowError, TypeError, IndexError):
                read[value] = self._moment(value)
        unreadable = [value for value in given if read[value] is None]
        if 2 * len(unreadable) > len(given):
            raise InputError(
                f"{unreadable[0]!r} is not a supported time, and most other values are not "
                "either; pass dates such as 2017-07-31, years, or seconds since 1970."
            )
        return [None if is_missing(value) else read.get(value) for value in values]

    def warn(self) -> None:
        """Warn if the order of day and month is ambiguous in all dates."""
        if self._assumed is not None and self._day_first is None:
            warn(
                f"The order of day and month is ambiguous in {self._assumed!r} and all other "
                "dates; month first is assumed. Otherwise write dates as 1987-02-26.",
                DataWarning,
            )

    def _find_order(self, texts: Iterable[str]) -> None:
        dates = [found for text in texts if (found := NUMBERED.fullmatch(text.strip()))]
        days = Counter((int(date[1]) > 12) - (int(date[3]) > 12) for date in dates)
        if self._day_first is None and days[1] != days[-1]:
            self._day_first = days[1] > days[-1]
        if self._day_first is None and dates:
            self._assumed = self._assumed or dates[0][0]
        elif self._day_first and self._assumed:
            self.contradiction = InputError(
                f"{self._assumed!r} was read with the month first, but later dates have the "
                "day first; write dates as 1987-02-26."
            )

    def _moment(self, value: Any) -> dt.datetime:
        found = NUMBERED.fullmatch(value.strip()) if isinstance(value, str) else None
        if found is None:
            return _parsed(value).replace(tzinfo=None)
        first, second, clock = int(found[1]), int(found[3]), found[5] or "0:00"
        day, month = (first, second) if self._day_first else (second, first)
        return dt.datetime.combine(
            dt.date(int(found[4]), month, day), _by_format(clock, CLOCKS).time()
        )


def _by_format(text: str, formats: Iterable[str]) -> dt.datetime:
    for form in formats:
        with suppress(ValueError):
            return dt.datetime.strptime(text, form)
    raise ValueError(text)


def _parsed(value: Any) -> dt.datetime:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").astype(object)
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day)
    text = str(value).strip()
    if isinstance(value, int | float | np.number) or re.fullmatch(r"\d{1,4}|\d+\.\d*|\d{9,}", text):
        number = float(value)
        # seconds and milliseconds from 1973 on and up to 2286: no year is as large
        for unit, (first, last) in (("seconds", (1e8, 1e10)), ("milliseconds", (1e11, 1e13))):
            if first <= number < last:
                return dt.datetime(1970, 1, 1) + dt.timedelta(**{unit: number})
        if number >= 1000 and number.is_integer():  # less may be months, weeks or days
            return dt.datetime(int(number), 1, 1)
        raise ValueError(number)
    for read in (dt.datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, TypeError, IndexError):
            return read(text)
    return _by_format(text, FORMATS)
