"""Figures of effects of columns on topics."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from opelda._validation import choice, whole
from opelda.errors import InputError
from opelda.report._effects import INTERCEPT, EffectRow
from opelda.report.plots._style import BLUE, GREY, new_axes, note_intervals, styled, tidy, written

MOST_TOPICS, LABEL_SHOWN = 20, 34


@styled
def plot_effect(
    effects: Sequence[EffectRow],
    term: str | None = None,
    *,
    n_topics: int = MOST_TOPICS,
    ax: Any = None,
) -> Any:
    """Draw a term's effects on topics with their intervals, the largest on top.

    Parameters
    ----------
    effects : sequence of EffectRow
        As `estimate_effect` returns them.
    term : str, optional
        The one drawn, as in the table; by default the first after the intercept.
    n_topics : int
        At most so many, those whose intervals are furthest from 0 in standard errors.
    ax : Axes, optional
        By default that of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from opelda.report import EffectRow, plot_effect
    >>> rows = [EffectRow(k, "tea", "year", 0.1 * k, 0.1 * k - 0.05, 0.1 * k + 0.05, 0.025, 0.5, 9)
    ...         for k in range(3)]
    >>> [label.get_text() for label in plot_effect(rows).get_yticklabels()]
    ['2 tea', '1 tea', '0 tea']
    """
    from matplotlib.ticker import PercentFormatter

    terms = list(dict.fromkeys(row.term for row in effects))
    if not terms:
        raise InputError("has no row; give what `estimate_effect` returns.", "effects")
    named = next((name for name in terms if name != INTERCEPT), terms[0])
    named = named if term is None else choice("term", term, terms)
    rows = [row for row in effects if row.term == named]
    rows = sorted(rows, key=lambda row: -abs(row.estimate) / row.se)[: whole("n_topics", n_topics)]
    rows.sort(key=lambda row: (-row.estimate, row.topic))
    axis = new_axes(6.4, 0.24 * len(rows) + 0.9)[0, 0] if ax is None else ax
    places = np.arange(len(rows))
    estimates, low, high = np.array([(row.estimate, row.low, row.high) for row in rows]).T
    axis.axvline(0.0, color=GREY, lw=0.8)
    axis.hlines(places, low, high, color=BLUE, lw=1.6)
    axis.plot(estimates, places, "o", color=BLUE, ms=4)
    axis.set_yticks(places, [f"{row.topic} {written(row.label, LABEL_SHOWN)}" for row in rows])
    axis.set_ylim(len(rows) - 0.4, -0.6)
    tidy(axis)
    axis.locator_params(axis="x", nbins=6)
    widest = float(np.abs([low, high]).max())
    axis.xaxis.set_major_formatter(PercentFormatter(1.0, None if widest < 0.02 else 0))
    axis.set_xlabel(f"change of the corrected share of documents: {written(named, 40)}")
    note_intervals(axis, ax)
    return axis
