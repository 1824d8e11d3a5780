"""Numbers, times and lists as people write them."""

import math
from collections.abc import Sequence

UNITS = ("B", "kB", "MB", "GB", "TB")


def count(number: float, singular: str, plural: str | None = None) -> str:
    """Return a number with what it counts.

    >>> count(1, "document"), count(12500, "document"), count(0, "entry", "entries")
    ('1 document', '12,500 documents', '0 entries')
    """
    return f"{number:,.0f} {singular if number == 1 else plural or singular + 's'}"


def duration(seconds: float) -> str:
    """Return a time to two or three digits.

    >>> duration(0.0123), duration(4.25), duration(75), duration(4000)
    ('0.01 s', '4.2 s', '1 min 15 s', '1 h 6 min')
    """
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def roughly(seconds: float) -> str:
    """Return a time as nobody can know it better beforehand.

    >>> roughly(0.2), roughly(3.4), roughly(47), roughly(400), roughly(9000)
    ('a second', '3 s', '45 s', '7 min', '2.5 h')
    """
    if seconds < 1.5:
        return "a second"
    if seconds < 10:
        return f"{seconds:.0f} s"
    if seconds < 90:
        return f"{round(seconds / 5) * 5} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.2g} h"


def speed(number: float, seconds: float) -> str:
    """Return documents a second.

    >>> speed(100_000, 2.0), speed(5, 0.0), speed(3, 2.0)
    ('50,000 docs/s', '', '1.5 docs/s')
    """
    if seconds <= 0:
        return ""
    rate = number / seconds
    return f"{rate:,.0f} docs/s" if rate >= 10 else f"{rate:.2g} docs/s"


def size(n_bytes: float) -> str:
    """Return a file's size.

    >>> size(900), size(1_250_000)
    ('900 B', '1.2 MB')
    """
    unit = 0
    while n_bytes >= 1000 and unit < len(UNITS) - 1:
        n_bytes /= 1000
        unit += 1
    return f"{n_bytes:.0f} {UNITS[unit]}" if unit == 0 else f"{n_bytes:.1f} {UNITS[unit]}"


def share(part: float | None) -> str:
    """Return a part of the whole in percent.

    >>> share(0.1234), share(0.0004), share(None)
    ('12.3%', '<0.1%', '-')
    """
    if part is None:
        return "-"
    return f"{part:.1%}" if part >= 0.001 or part == 0 else "<0.1%"


def some(items: Sequence[str], n: int) -> str:
    """Return the first few of a list in words.

    >>> some(["a", "b", "c", "d"], 2), some(["a"], 2)
    ('a, b and 2 more', 'a')
    """
    first = ", ".join(items[:n])
    return first if len(items) <= n else f"{first} and {len(items) - n:,} more"


def plain(number: float | None) -> float | None:
    """Return a number fit for JSON, which has neither NaN nor infinity.

    >>> plain(1.5), plain(float("nan")), plain(None)
    (1.5, None, None)
    """
    return None if number is None or not math.isfinite(number) else float(number)
