"""Figures of topics: their words, and where they lie on a map."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from opelda._validation import whole
from opelda.errors import InputError
from opelda.metrics._topics import GivenTopics, MeasuredTopics
from opelda.report._inferred import labels_of
from opelda.report._map import map_positions
from opelda.report._ranking import Rank, topic_weights
from opelda.report._style import BLUE, bars, new_axes, panels, styled, written
from opelda.report._table import topic_table

LABEL_SHOWN = 28  # letters
LARGEST = 3200.0  # area of the heaviest topic's circle on a map of 20, in square points


@styled
def plot_topics(
    topics: GivenTopics,
    n_words: int = 8,
    *,
    only: Iterable[int] | None = None,
    n_topics: int = 12,
    by: Rank = "probability",
    ax: Any = None,
) -> Any:
    """Draw topics' best words as bars, a panel for each topic.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
    n_words : int
        Words per topic.
    only : iterable of int, optional
        The numbers of the topics wanted, in the order wanted; by default the `n_topics` heaviest.
    n_topics : int
        At most so many panels, if `only` is not given.
    by : {"probability", "relevance", "frex"}
        How words are ranked, see `rank_words`; bars are always probabilities.
    ax : Axes or array of Axes, optional
        One for each topic; by default those of a new figure.

    Returns
    -------
    array of Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from opelda.report import plot_topics
    >>> axes = plot_topics([[0.7, 0.3], [0.4, 0.6]], n_words=2)
    >>> [float(bar.get_width()) for bar in axes[0].patches]
    [0.7, 0.3]
    """
    measured = MeasuredTopics.of(topics)
    chosen = heaviest_topics(topics, n_topics) if only is None else list(only)
    table = topic_table(topics, n_words, by=by, only=chosen)
    if not len(table):
        raise InputError("must name at least one topic.", "only")
    n_rows = min(n_words, measured.n_words)
    axes = panels(ax, len(table), 4, 2.4, 0.21 * n_rows + 0.78)
    for axis, row in zip(axes, table, strict=True):
        share = "" if row.weight is None else f"  {row.weight:.1%}"
        title = f"{row.topic}{share}\n{written(row.label, 20, 2)}"
        bars(axis, [written(word, 18) for word in row.words], row.probabilities, title)
    return axes


@styled
def plot_map(topics: GivenTopics, *, n_labels: int | None = None, ax: Any = None) -> Any:
    """Draw topics on a plane, similar ones beside each other, as large as their weights.

    Each topic has its number, and as many as fit, the heaviest first, their labels.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
    n_labels : int, optional
        At most so many labels; by default no fewer than fit.
    ax : Axes, optional
        By default that of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from opelda.report import plot_map
    >>> axes = plot_map([[0.7, 0.3, 0.0], [0.6, 0.4, 0.0], [0.0, 0.1, 0.9]])
    >>> len(axes.collections[0].get_offsets())
    3
    """
    most = None if n_labels is None else whole("n_labels", n_labels, 0)
    labels, places, shares = labels_of(topics), map_positions(topics), topic_weights(topics)
    n = len(labels)
    weights = np.full(n, 1.0 / n) if shares is None else shares
    axis = new_axes(*((7.2, 5.2) if n <= 40 else (10.0, 7.2)))[0, 0] if ax is None else ax
    # circles that would cover the same part of the map, however many there are
    area = LARGEST * min(1.0, (20.0 if n <= 40 else 35.0) / n)
    sizes = np.maximum(area * weights / weights.max(), 0.05 * area)
    axis.scatter(*places.T, s=sizes, color=BLUE, alpha=0.28, lw=0)
    axis.scatter(*places.T, s=sizes, facecolor="none", edgecolor=BLUE, lw=0.8)
    for limit, (low, high) in zip(
        (axis.set_xlim, axis.set_ylim), np.stack([places.min(0), places.max(0)], 1), strict=True
    ):
        margin = 0.1 * (high - low) + 0.01
        limit(low - margin, high + margin)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.spines[:].set_visible(False)
    order = np.argsort(-weights, kind="stable")
    numbers = [
        axis.text(*places[k], str(k), ha="center", va="center", fontsize=8 if n <= 40 else 6)
        for k in order
    ]
    _label(axis, numbers, order[:most], places, sizes, labels)
    return axis


def _label(
    axis: Any, numbers: list[Any], order: Any, places: Any, sizes: Any, labels: list[str]
) -> None:
    """Write labels around the circles, those that cover nothing but a circle."""
    axis.figure.draw_without_rendering()  # only now it is known where things are
    frame = axis.get_window_extent()
    taken = [number.get_window_extent().padded(2) for number in numbers]
    radii = np.sqrt(sizes / np.pi) + 1  # in points
    middles, dots = axis.transData.transform(places), radii * axis.figure.dpi / 72
    for k in order:
        options: list[tuple[int, int, Any, Any]] = []
        for across, up in ((0, -1), (0, 1), (1, 0), (-1, 0)):
            text = axis.annotate(
                written(labels[k], LABEL_SHOWN), places[k], (across * radii[k], up * radii[k]),
                textcoords="offset points", fontsize=8 if len(places) <= 40 else 7,
                ha=("right", "center", "left")[across + 1], va=("top", "center", "bottom")[up + 1],
            )  # fmt: skip
            box = text.get_window_extent()
            inside = frame.x0 <= box.x0 and box.x1 <= frame.x1
            covered = _covered(box, middles, dots)
            if inside and covered <= 1 and not any(box.overlaps(other) for other in taken):
                options.append((covered, len(options), text, box))
            else:
                text.remove()
        options.sort(key=lambda option: option[:2])
        taken += [box for _, _, _, box in options[:1]]
        for _, _, text, _ in options[1:]:
            text.remove()


def _covered(box: Any, middles: Any, radii: Any) -> int:
    """Return how many circles a label lies on."""
    nearest = np.clip(middles, [box.x0, box.y0], [box.x1, box.y1])
    return int((((middles - nearest) ** 2).sum(axis=1) < (radii - 2) ** 2).sum())


def heaviest_topics(topics: GivenTopics, n: int) -> list[int]:
    """Return the numbers of the heaviest topics, or the first ones where weights are not known."""
    whole("n_topics", n)
    shares = topic_weights(topics)
    n_topics = len(MeasuredTopics.of(topics).weights)
    order = np.arange(n_topics) if shares is None else np.argsort(-shares, kind="stable")
    return [int(k) for k in order[:n]]
