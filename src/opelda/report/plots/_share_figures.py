"""Figures of topics' shares over time and by group, and of effects on them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._names import UNITS
from opelda._validation import choice, whole
from opelda.errors import InputError
from opelda.metrics._mixture_measures import check_model
from opelda.metrics._top_words import labels_of
from opelda.metrics._topics import chosen_topics
from opelda.report._document_blocks import column_of
from opelda.report._effects import INTERCEPT
from opelda.report._shares import MOST_GROUPS, SharesByBin, corpus_shares
from opelda.report._times import gaps_after, group_bins, time_bins
from opelda.report._unmixing import INTERVALS_NOTE
from opelda.report.plots._frame import BLUE, GREY, LINES, bars, frame, percent, tidy, written
from opelda.report.rows import EffectRow


def plot_over_time(
    model: Any,
    corpus: Any,
    dates: str | Sequence[Any] | None = None,
    *,
    topics: Iterable[int] | None = None,
    n_topics: int = 6,
    unit: str | None = None,
    min_docs: int = 10,
    level: float = 0.95,
    ax: Any = None,
) -> Any:
    """Draw corrected shares over time, with intervals (see `topics_over_time`).

    Parameters
    ----------
    model, corpus, dates, unit, level
        As for `topics_over_time`.
    topics : iterable of int, optional
        At most 8; by default the `n_topics` (up to 8) whose share changed most.
    min_docs : int
        Bins with fewer documents are excluded.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> axes = plot_over_time(model, texts, [2001] * 9 + [2002] * 9, min_docs=5)
    >>> sorted(line.get_ydata().round().tolist() for line in axes.lines)
    [[0.0, 1.0], [1.0, 0.0]]
    """
    from opelda.report.plots._time_axis import time_axis

    if unit is not None:
        choice("unit", unit, UNITS)
    check_model(model)
    bins = time_bins(column_of(corpus, dates, "time"), unit)
    if len(bins.starts) < 2:
        raise InputError(
            f"All documents have the same {bins.unit}; pass documents of at least two."
        )
    found = corpus_shares(model, corpus, bins.index, len(bins.starts), level)
    kept = np.flatnonzero(found.n_docs >= whole("min_docs", min_docs))
    if len(kept) < 2:
        raise InputError(
            f"Fewer than two {bins.unit}s have {min_docs} documents each; choose a longer "
            "unit with {unit}, or pass more documents.",
            unit=...,
        )
    found = SharesByBin._make(part[kept] for part in found)
    chosen = _chosen(found, topics, n_topics, len(LINES))
    labels = labels_of(model)
    starts = [bins.starts[i] for i in found.bins]
    gaps = gaps_after(starts, bins.unit)
    # a NaN in each gap: lines and bands are not drawn over it
    times = [start for i, start in enumerate(starts) for _ in range(1 + (i in gaps))]
    with frame(ax, 7.2, 3.8, note=INTERVALS_NOTE) as axis:
        for k, (colour, marker, dash) in zip(chosen, LINES, strict=False):
            shares, *ends = (
                np.insert(x[:, k], gaps, np.nan) for x in (found.shares, found.low, found.high)
            )
            alone = np.isnan(np.pad(shares, 1, constant_values=np.nan))
            lone = np.flatnonzero(alone[:-2] & alone[2:])
            marked = None if len(starts) <= 40 else lone
            name = f"{k} {written(labels[k], 28)}"
            axis.plot(times, shares, dash, color=colour, marker=marker, markevery=marked, ms=4,
                      lw=1.6, label=name)  # fmt: skip
            axis.fill_between(times, *ends, color=colour, alpha=0.18, lw=0)
            limits = (x[lone] for x in ends)  # bands have no width there
            axis.vlines([times[i] for i in lone], *limits, color=colour, alpha=0.3, lw=2)
        axis.set_ylim(bottom=0)
        percent(axis.yaxis, axis.get_ylim()[1], 0.05)
        axis.set_ylabel(f"corrected share of documents, by {bins.unit}")
        tidy(axis)
        time_axis(axis, starts, bins.unit)
        _name_lines(axis)
    return axis


def plot_groups(
    model: Any,
    corpus: Any,
    column: str | Sequence[Any] | None = None,
    *,
    topics: Iterable[int] | None = None,
    n_topics: int = 6,
    n_groups: int = MOST_GROUPS,
    level: float = 0.95,
    ax: Any = None,
) -> Any:
    """Draw corrected shares by group, a panel for each topic (see `topics_by`).

    Parameters
    ----------
    model, corpus, column, n_groups, level
        As for `topics_by`.
    topics : iterable of int, optional
        By default the `n_topics` in which the groups differ most.
    ax : array of Axes, optional
        One for each topic.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> axes = plot_groups(model, texts, ["pets"] * 9 + ["money"] * 9)
    >>> [label.get_text() for label in axes[0].get_yticklabels()]
    ['money (9)', 'pets (9)']
    """
    names, index, rest = group_bins(column_of(corpus, column, "group"), whole("n_groups", n_groups))
    found = corpus_shares(model, corpus, index, len(names), level)
    chosen = _chosen(found, topics, n_topics, len(found.shares[0]))
    labels, n = labels_of(model), len(found.bins)
    counted = zip(found.bins, found.n_docs, strict=True)
    ticks = [f"{written(names[i], 24)} ({n_docs:,})" for i, n_docs in counted]
    most = float(np.fmax(found.shares, found.high)[:, chosen].max())
    height = 0.24 * n + 0.95
    with frame(ax, 2.7, height, len(chosen), 3, note=INTERVALS_NOTE + rest, sharey=True) as axes:
        for axis, k in zip(axes, chosen, strict=True):
            title = f"{k} {written(labels[k], 24, 2)}"
            ends = found.low[:, k], found.high[:, k]
            bars(axis, ticks, found.shares[:, k], title, most, ends)
            axis.set_xlabel("corrected share of documents", fontsize="x-small")
    return axes


def plot_effect(
    effects: Sequence[EffectRow], term: str | None = None, *, n_topics: int = 20, ax: Any = None
) -> Any:
    """Draw a term's effects on topics with their intervals, the largest on top.

    Parameters
    ----------
    effects : sequence of EffectRow
        The result of `estimate_effect`.
    term : str, optional
        As in the table; by default the first after the intercept.
    n_topics : int
        Maximum number of topics, ordered by the distance from 0 in standard errors.

    Examples
    --------
    >>> from opelda.report.rows import EffectRow
    >>> rows = [EffectRow(k, "tea", "year", 0.1 * k, 0.1 * k - 0.05, 0.1 * k + 0.05, 0.025, 0.5, 9)
    ...         for k in range(3)]
    >>> [label.get_text() for label in plot_effect(rows).get_yticklabels()]
    ['2 tea', '1 tea', '0 tea']
    """
    terms = list(dict.fromkeys(row.term for row in effects))
    if not terms:
        raise InputError("has no rows; pass the result of `estimate_effect`.", "effects")
    named = next((name for name in terms if name != INTERCEPT), terms[0])
    named = named if term is None else choice("term", term, terms)
    rows = [row for row in effects if row.term == named]
    rows = sorted(rows, key=lambda row: -abs(row.estimate) / row.se)[: whole("n_topics", n_topics)]
    rows.sort(key=lambda row: (-row.estimate, row.topic))
    places = np.arange(len(rows))
    estimates, low, high = np.array([(row.estimate, row.low, row.high) for row in rows]).T
    with frame(ax, 6.4, 0.24 * len(rows) + 0.9, note=_note(effects)) as axis:
        axis.axvline(0.0, color=GREY, lw=0.8)
        axis.hlines(places, low, high, color=BLUE, lw=1.6)
        axis.plot(estimates, places, "o", color=BLUE, ms=4)
        axis.set_yticks(places, [f"{row.topic} {written(row.label, 34)}" for row in rows])
        axis.set_ylim(len(rows) - 0.4, -0.6)
        tidy(axis)
        axis.locator_params(axis="x", nbins=6)
        percent(axis.xaxis, float(np.abs([low, high]).max()))
        axis.set_xlabel(f"change of the corrected share of documents: {written(named, 40)}")
    return axis


def plot_predicted(effects: Sequence[EffectRow], *, n_topics: int = 6, ax: Any = None) -> Any:
    """Draw predicted shares with intervals: lines over a number, a panel per topic over levels.

    Parameters
    ----------
    effects : sequence of EffectRow
        The result of `estimate_effect` with `at`.
    n_topics : int
        Maximum number of topics, at most 8: those whose predicted shares differ most.

    Examples
    --------
    >>> from opelda.report.rows import EffectRow
    >>> rows = [EffectRow(k, "tea", f"year={y}", 0.1 * k, 0.0, 0.2, 0.1, 0.5, 9)
    ...         for k in range(2) for y in (1999, 2005)]
    >>> [line.get_xdata().tolist() for line in plot_predicted(rows).lines]
    [[1999.0, 2005.0], [1999.0, 2005.0]]
    """
    settings = list(dict.fromkeys(row.term for row in effects))
    column = (settings or [""])[0].partition("=")[0]
    values = [setting.partition("=")[2] for setting in settings]
    if len(settings) < 2 or not all(s.startswith(f"{column}=") for s in settings):
        raise InputError("must be the result of `estimate_effect` with {at}.", "effects", at=...)
    found: dict[int, list[EffectRow]] = {}
    for row in effects:
        found.setdefault(row.topic, []).append(row)
    most = min(whole("n_topics", n_topics), len(LINES))
    wide = {k: np.ptp([row.estimate for row in rows]) for k, rows in found.items()}
    chosen = sorted(wide, key=lambda k: (-wide[k], k))[:most]
    ends = {k: np.array([(r.estimate, r.low, r.high) for r in found[k]]).T for k in chosen}
    labels = {k: f"{k} {written(found[k][0].label, 28)}" for k in chosen}
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        ticks, top = [written(value, 24) for value in values], max(e.max() for e in ends.values())
        height = 0.24 * len(ticks) + 0.95
        with frame(ax, 2.7, height, len(chosen), 3, note=_note(effects), sharey=True) as axes:
            for axis, k in zip(axes, chosen, strict=True):
                bars(axis, ticks, ends[k][0], labels[k], top, ends[k][1:])
                axis.set_xlabel("predicted share of documents", fontsize="x-small")
        return axes
    with frame(ax, 7.2, 3.8, note=_note(effects)) as axis:
        for k, (colour, _, dash) in zip(chosen, LINES, strict=False):
            axis.plot(numbers, ends[k][0], dash, color=colour, lw=1.6, label=labels[k])
            axis.fill_between(numbers, *ends[k][1:], color=colour, alpha=0.18, lw=0)
        percent(axis.yaxis, float(np.abs(axis.get_ylim()).max()), 0.05)
        axis.set_ylabel("predicted share of documents")
        axis.set_xlabel(written(column, 40))
        axis.ticklabel_format(axis="x", useOffset=False)  # 1987.5, not +1.987e3
        tidy(axis)
        _name_lines(axis)
    return axis


def _chosen(
    found: SharesByBin, topics: Iterable[int] | None, n_topics: int, most: int
) -> list[int]:
    """Return the topics wanted, or those whose shares differ most between bins."""
    if topics is None:
        n_topics = min(whole("n_topics", n_topics), most)
        weights = found.n_docs / found.n_docs.sum()
        variances: NDArray[Any] = weights @ (found.shares - weights @ found.shares) ** 2
        return [int(k) for k in np.argsort(-variances, kind="stable")[:n_topics]]
    wanted = chosen_topics(topics, found.shares.shape[1])
    if not 1 <= len(wanted) <= most:
        raise InputError(f"must name 1 to {most} topics, got {len(wanted)}.", "topics")
    return wanted


def _note(effects: Sequence[EffectRow]) -> str:
    """Return the note of a table of effects."""
    return getattr(effects, "note", "") or INTERVALS_NOTE


def _name_lines(axis: Any) -> None:
    """Write each line's name at its end, without overlaps."""
    low, high = axis.get_ylim()
    least = (high - low) * 0.062
    lines = sorted(axis.lines, key=lambda line: line.get_ydata()[-1])
    heights: list[float] = []
    for line in lines:
        at = float(line.get_ydata()[-1])
        heights.append(at if not heights else max(at, heights[-1] + least))
    over = heights[-1] - max(high - least / 2, float(lines[-1].get_ydata()[-1]))
    for i in range(len(heights) - 1, -1, -1):  # down again, as far as the next one allows
        limit = heights[i + 1] - least if i + 1 < len(heights) else heights[i] - max(over, 0.0)
        heights[i] = min(heights[i], limit)
    for line, height in zip(lines, heights, strict=True):
        place = (height - low) / (high - low)
        axis.annotate(
            line.get_label(), (1.0, place), (6, 0), xycoords="axes fraction",
            textcoords="offset points", va="center", color=line.get_color(), fontsize="small",
            annotation_clip=False,
        )  # fmt: skip
