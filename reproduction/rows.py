"""The rows of a table: grouped, averaged, and what counts as a difference between them."""

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean, variance
from typing import Any

# one line of a table: names of columns and plain values; a missing value is empty there
Row = dict[str, Any]
Rows = list[Row]

# a difference in LPP that means something
TIE = 0.02
# two standard deviations of the difference between two runs with different seeds
SINGLE = 0.045
# topics after fewer updates are mostly their random start, and are not judged
LEAST_UPDATES = 20


def where(rows: Rows, **values: Any) -> Rows:
    """Return the rows that have these values.

    >>> where([{"seed": 0, "lpp": -8.0}, {"seed": 1, "lpp": -7.0}], seed=1)
    [{'seed': 1, 'lpp': -7.0}]
    """
    return [row for row in rows if all(row.get(name) == value for name, value in values.items())]


def grouped(rows: Rows, *columns: str) -> dict[Any, Rows]:
    """Return the rows by the values of a column, or of several, in the order they come.

    >>> rows = [{"T": 20, "f": 1.0}, {"T": 10, "f": 2.0}, {"T": 20, "f": 3.0}]
    >>> {T: len(own) for T, own in grouped(rows, "T").items()}
    {20: 2, 10: 1}
    """
    groups: dict[Any, Rows] = {}
    for row in rows:
        key = tuple(row.get(name) for name in columns)
        groups.setdefault(key if len(columns) > 1 else key[0], []).append(row)
    return groups


def mean_row(rows: Rows, columns: Iterable[str]) -> Row:
    """Return the first row with means of the columns where every row has a value.

    >>> mean_row([{"seed": 0, "lpp": -8.0}, {"seed": 1, "lpp": -7.0}], ["lpp"])
    {'seed': 0, 'lpp': -7.5}
    """
    values: dict[str, list[Any]] = {name: [row.get(name) for row in rows] for name in columns}
    return rows[0] | {name: fmean(own) for name, own in values.items() if None not in own}


def means(rows: Rows, by: str | tuple[str, ...], column: str) -> dict[Any, float]:
    """Return the mean of a column for each value of another column, over rows that have both.

    >>> means([{"T": 10, "f": 1.0}, {"T": 10, "f": 2.0}, {"T": 20, "f": None}], "T", "f")
    {10: 1.5}
    """
    known = [row for row in rows if row.get(column) is not None]
    columns = (by,) if isinstance(by, str) else by
    return {key: fmean(row[column] for row in own) for key, own in grouped(known, *columns).items()}


def too_few_updates(rows: Rows) -> str | None:
    """Return the reason against judging the topics of rows, or None.

    >>> too_few_updates([{"updates": 1}, {"updates": 5}]), too_few_updates([{"updates": 50}])
    ('too few updates to judge: 5, it takes 20', None)
    """
    # word frequencies have no updates; earlier measurements did not count them
    most = max((row["updates"] for row in rows if row.get("updates")), default=None)
    if most is None or most >= LEAST_UPDATES:
        return None
    return f"too few updates to judge: {most}, it takes {LEAST_UPDATES}"


def listed(values: dict[str, str]) -> str:
    """Write names and values in a line."""
    return ", ".join(f"{name} {value}" for name, value in values.items())


def margin(groups: Iterable[Sequence[float]]) -> float:
    """Return the difference in LPP that counts, given the values of each setting's seeds.

    Of several seeds it is two standard errors of the difference between two settings' means, but at
    least 0.02. One seed does not tell how much seeds differ: then it is 0.045, two standard
    deviations of the difference between two single runs, measured where there were several.

    >>> margin([[-8.0], [-7.0]])
    0.045
    >>> margin([[-8.0, -7.0], [-7.5, -8.5]])
    1.4142135623730951
    """
    repeated = [values for values in groups if len(values) > 1]
    if not repeated:
        return SINGLE
    spread = fmean(variance(values) for values in repeated)
    n_seeds = fmean(len(values) for values in repeated)
    return max(TIE, 2 * sqrt(2 * spread / n_seeds))
