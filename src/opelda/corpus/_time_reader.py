"""Documents' times in any usual notation."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any

import numpy as np

from opelda.corpus._kinds import is_missing
from opelda.errors import DataWarning, InputError, warn

# month names in English
FORMATS = (
    "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%d.%m.%Y", "%Y/%m/%d", "%Y/%m/%d %H:%M:%S",
    "%B %Y", "%b %Y", "%Y-%m", "%a %b %d %H:%M:%S %z %Y", "%d/%b/%Y:%H:%M:%S %z",
)  # fmt: skip
# a numeric day and month in either order, and a time of day
NUMBERED = re.compile(r"(\d{1,2})([/-])(\d{1,2})\2(\d{4})(?:,? +(\d.*))?")
CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")


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
