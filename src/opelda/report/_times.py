"""Documents' times, read however they are written, and put into bins of a fitting width."""

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.corpus._kinds import is_missing
from opelda.errors import InputError

MOST_BINS, FEW_DOCUMENTS = 60, 20
UNITS = ("minute", "hour", "day", "week", "month", "quarter", "year")
# month names in English; a day and a month that are both numbers might be either way round
FORMATS = (
    "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%d.%m.%Y", "%Y/%m/%d", "%Y/%m/%d %H:%M:%S",
    "%B %Y", "%b %Y", "%a %b %d %H:%M:%S %z %Y", "%d/%b/%Y:%H:%M:%S %z",
)  # fmt: skip
EPOCH = dt.datetime(1970, 1, 1)
# seconds and milliseconds since then, from 1973 on and up to 2286: no year is as large
SECONDS, MILLISECONDS = (1e8, 1e10), (1e11, 1e13)
FIRST_YEAR = 1000  # smaller numbers are those of months, weeks and days


@dataclass(frozen=True)
class Bins:
    """Documents in bins of time, none of which is empty."""

    unit: str
    labels: list[str]
    starts: list[dt.datetime]
    index: NDArray[np.intp]  # of each document's bin; -1 where its time is not known


def time_bins(times: Sequence[Any], unit: str | None = None) -> Bins:
    """Put documents into bins by their times.

    Without a unit they are as fine as they can be with at most 60 bins and 20 documents in each on
    average.

    Parameters
    ----------
    times : sequence
        Dates, or texts and numbers of the usual forms: years, ISO 8601, e-mail's, seconds since
        1970. A time with a zone counts as its own clock showed it, whatever the zone.
    unit : {"minute", "hour", "day", "week", "month", "quarter", "year"}, optional
    """
    plain = times.to_list() if hasattr(times, "to_list") else list(times)
    moments = moments_of(plain)
    known = [moment for moment in moments if moment is not None]
    if not known:
        raise InputError("There is no document with a time; look at the column.")
    unit = unit or _fitting(known)
    starts = sorted({start_of(moment, unit) for moment in known})
    number = {start: i for i, start in enumerate(starts)}
    index = [-1 if moment is None else number[start_of(moment, unit)] for moment in moments]
    labels = [label_of(start, unit) for start in starts]
    return Bins(unit, labels, starts, np.array(index, np.intp))


def group_bins(labels: Sequence[Any], most: int) -> tuple[list[str], NDArray[np.intp]]:
    """Return the groups with most documents, the largest first, and each document's number.

    -1 is a document of a smaller group, or of none.
    """
    plain = labels.to_list() if hasattr(labels, "to_list") else list(labels)
    known = [None if is_missing(label) or label == "" else str(label) for label in plain]
    counted = Counter(label for label in known if label is not None)
    if not counted:
        raise InputError("There is no document with a group; look at the column.")
    names = sorted(counted, key=lambda name: (-counted[name], name))[:most]
    number = {name: i for i, name in enumerate(names)}
    return names, np.array([-1 if x is None else number.get(x, -1) for x in known], np.intp)


def _fitting(moments: list[dt.datetime]) -> str:
    sizes = {unit: len({start_of(moment, unit) for moment in moments}) for unit in UNITS}
    for n_bins in sizes.values():
        if n_bins <= MOST_BINS and len(moments) >= FEW_DOCUMENTS * n_bins:
            # times that are all at the beginning of longer ones have no finer meaning
            return next(other for other in reversed(UNITS) if sizes[other] == n_bins)
    return "year"


def start_of(moment: dt.datetime, unit: str) -> dt.datetime:
    if unit in ("hour", "minute"):
        return moment.replace(
            minute=0 if unit == "hour" else moment.minute, second=0, microsecond=0
        )
    day = dt.datetime(moment.year, moment.month, moment.day)
    if unit == "week":
        return max(day, dt.datetime(1, 1, 8)) - dt.timedelta(days=day.weekday())
    month = {"month": day.month, "quarter": (day.month - 1) // 3 * 3 + 1, "year": 1}
    return day.replace(day=1, month=month[unit]) if unit in month else day


def label_of(start: dt.datetime, unit: str) -> str:
    if unit == "quarter":
        return f"{start.year:04}-Q{start.month // 3 + 1}"
    written = start.isoformat(" ", "minutes")
    return written[: {"year": 4, "month": 7, "week": 10, "day": 10}.get(unit, 16)]


def moments_of(values: list[Any]) -> list[dt.datetime | None]:
    """Return times as written, without their zones; None where there is none.

    At most half may be unreadable.
    """
    read: dict[Any, dt.datetime | None] = {}
    first = None
    # else times in different zones would be equal
    values = [_without_zone(x) if isinstance(x, dt.datetime) else x for x in values]
    for value in values:
        if is_missing(value) or value == "":
            read[value] = None
        elif value not in read:
            read[value] = _moment(value)
            first = value if read[value] is None and first is None else first
    moments = [read[value] for value in values]
    given = [value for value in values if not is_missing(value) and value != ""]
    unreadable = sum(read[value] is None for value in given)
    if given and 2 * unreadable > len(given):
        raise InputError(
            f"{first!r} is not known to be a time, nor are most others; give dates such as "
            "2017-07-31, years, or seconds since 1970."
        )
    return moments


def _moment(value: Any) -> dt.datetime | None:
    try:
        return _without_zone(_parsed(value))
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def _without_zone(moment: dt.datetime) -> dt.datetime:
    return moment.replace(tzinfo=None)


def _parsed(value: Any) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day)
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]").astype(object)  # type: ignore[no-any-return]
    if isinstance(value, int | float | np.number):
        return _of_number(float(value))
    text = str(value).strip()
    if re.fullmatch(r"\d{1,4}|\d+\.\d*|\d{9,}", text):
        return _of_number(float(text))
    if re.fullmatch(r"\d{4}-\d{1,2}", text):
        return dt.datetime(int(text[:4]), int(text[5:]), 1)
    for read in (dt.datetime.fromisoformat, parsedate_to_datetime):
        try:
            return read(text)
        except (ValueError, TypeError, IndexError):
            pass
    for form in FORMATS:
        try:
            return dt.datetime.strptime(text, form)
        except ValueError:
            pass
    raise ValueError(text)


def _of_number(number: float) -> dt.datetime:
    if SECONDS[0] <= number < SECONDS[1]:
        return EPOCH + dt.timedelta(seconds=number)
    if MILLISECONDS[0] <= number < MILLISECONDS[1]:
        return EPOCH + dt.timedelta(milliseconds=number)
    if number >= FIRST_YEAR and number == math.floor(number):
        return dt.datetime(int(number), 1, 1)
    raise ValueError(number)
