"""Table 1, read from its rows: exponents of growth, storage and its growth, quality."""

import re
from collections.abc import Sequence
from math import log

import numpy as np

from reproduction.rows import Row, Rows, grouped, mean_row, where

# the column that each part of the timing varies
PARTS = {"K": "n_topics", "n": "n_words", "N": "n_tokens"}
FITTED = 3  # of the largest sizes, where the fixed work per document weighs least
GROWS = 1 / 3  # an exponent that counts as growing
AVERAGED = ("lpp", "seconds_per_document", "likelihood_gap", "effective_topics")
FELL_BACK = re.compile(r"for (\d+) of \d+ documents")  # in TLI's warning

Points = list[tuple[float, float]]


def times(rows: Rows, part: str) -> dict[str, Points]:
    """Return each method's sizes and seconds per iteration, in the order of sizes.

    >>> row = {"part": "K", "method": "VB", "n_topics": 25, "seconds_per_iteration": 0.5}
    >>> times([row, row | {"n_topics": 10, "seconds_per_iteration": None}], "K")
    {'VB': [(25, 0.5)]}
    """
    known = [row for row in where(rows, part=part) if row.get("seconds_per_iteration") is not None]
    return {
        name: sorted((row[PARTS[part]], row["seconds_per_iteration"]) for row in own)
        for name, own in grouped(known, "method").items()
    }


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the slope of log value over log size at the largest sizes; None of a single one.

    >>> exponent([(1, 9.0), (10, 2.0), (20, 4.0), (40, 8.0)])
    1.0
    """
    last = sorted(points)[-FITTED:]
    if len({size for size, _ in last}) < 2:
        return None
    x, y = np.log(np.array(last)).T
    x = x - x.mean()
    return round(float(x @ y / (x @ x)), 6)


def exponents(rows: Rows, part: str) -> dict[str, float]:
    """Return how each method's time per iteration grows with K, n or N."""
    slopes = {name: exponent(points) for name, points in times(rows, part).items()}
    return {name: slope for name, slope in slopes.items() if slope is not None}


def storage(rows: Rows) -> Rows:
    """Return the measurements of memory on the smallest document, the least memory first."""
    known = [row for row in where(rows, part="memory") if row.get("peak_bytes") is not None]
    first = min((_size(row) for row in known), default=None)
    return sorted((row for row in known if _size(row) == first), key=lambda row: row["peak_bytes"])


def grows_with(rows: Rows, smallest: Row) -> str:
    """Return which of K, n and N a method's memory grows with.

    >>> rows = [
    ...     {"part": "memory", "method": "CVB", "peak_bytes": size, "n_topics": k,
    ...      "n_words": 9, "n_tokens": t}
    ...     for size, k, t in ((100, 5, 9), (200, 10, 9), (101, 5, 18))
    ... ]
    >>> grows_with(rows, rows[0])
    'K'
    """
    letters = ""
    for row in where(rows, part="memory", method=smallest["method"]):
        larger = [letter for letter, column in PARTS.items() if row[column] > smallest[column]]
        if not larger or not row["peak_bytes"] or not smallest["peak_bytes"]:
            continue
        letter = larger[0]  # with more words come more tokens
        ratio = row[PARTS[letter]] / smallest[PARTS[letter]]
        if log(row["peak_bytes"] / smallest["peak_bytes"]) / log(ratio) > GROWS:
            letters += f" {letter}"
    return letters.strip()


def quality(rows: Rows, *, frequent: bool = False) -> dict[str, Row]:
    """Return what each method has reached, means over seeds, the best prediction first.

    With all words of the model, or, where TLI could not do that, with the frequent ones.
    """
    sizes = grouped(where(rows, part="quality"), "vocabulary")
    if not sizes or (frequent and len(sizes) < 2):
        return {}
    known = [row for row in sizes[(min if frequent else max)(sizes)] if row.get("lpp") is not None]
    means = {name: mean_row(own, AVERAGED) for name, own in grouped(known, "method").items()}
    return dict(sorted(means.items(), key=lambda pair: -pair[1]["lpp"]))


def fallen_back(rows: Rows) -> float:
    """Return the share of documents on which TLI's conditions failed, by its warnings.

    >>> note = "TLI fell back to the likeliest mixture of all topics for 3 of 20 documents: why."
    >>> quality = {"part": "quality", "method": "TLI", "lpp": -7.0, "documents": 20}
    >>> fallen_back([quality | {"note": note}, quality | {"note": None}])
    0.075
    """
    own = where(rows, part="quality", method="TLI")
    known = [row for row in own if row.get("lpp") is not None]
    failed = [FELL_BACK.search(row.get("note") or "") for row in known]
    n_failed = sum(int(match[1]) for match in failed if match)
    n_docs: int = sum(row["documents"] for row in known)
    return n_failed / n_docs if n_docs else 0.0


def _size(row: Row) -> tuple[int, int, int]:
    return row["n_topics"] * row["n_words"], row["n_tokens"], row["n_words"]
