"""Figures of a model: words, hierarchy and map of the topics, learning and inference."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._validation import whole
from opelda._word_ranking import Rank
from opelda.errors import InputError
from opelda.metrics._top_words import labels_of, shares_or_even
from opelda.metrics._topics import GivenTopics, MeasuredTopics
from opelda.report._topic_map import map_positions
from opelda.report._topic_table import topic_table
from opelda.report._topic_tree import TopicTree, topic_tree
from opelda.report.plots._frame import BLUE, GREY, LIGHT, LINES, bars, frame, tidy, written

EDGE = 12.0  # points around all circles
# below, above, right, left, and the corners between these
SIDES = ((0, -1), (0, 1), (1, 0), (-1, 0), (1, -1), (-1, -1), (1, 1), (-1, 1))

Array = NDArray[np.float64]


SHARES_NOTE = "Titles: the topic's share of all words. Bars: the word's share of the topic."


def plot_topics(
    topics: GivenTopics,
    n_words: int = 8,
    *,
    only: Iterable[int] | None = None,
    n_topics: int = 12,
    by: Rank = "relevance",
    ax: Any = None,
) -> Any:
    """Draw topics' best words as bars, a panel for each topic, on one scale.

    Parameters
    ----------
    topics, n_words, by
        As for `topic_table`; bars are always probabilities.
    only : iterable of int, optional
        The numbers of the topics, in the order wanted; by default the `n_topics` heaviest, or the
        first ones if weights are unknown.
    ax : Axes or array of Axes, optional
        One for each topic.

    Examples
    --------
    >>> axes = plot_topics([[0.7, 0.3], [0.4, 0.6]], n_words=2)
    >>> [float(bar.get_width()) for bar in axes[0].patches]
    [0.7, 0.3]
    """
    if only is None:
        weights = shares_or_even(topics, len(MeasuredTopics.of(topics).weights))
        only = np.argsort(-weights, kind="stable")[: whole("n_topics", n_topics)].tolist()
    table = topic_table(topics, n_words, by=by, only=only)
    if not len(table):
        raise InputError("must name at least one topic.", "only")
    n_rows = len(table[0].words)
    most = max(max(row.probabilities) for row in table)
    with frame(ax, 2.4, 0.21 * n_rows + 0.98, len(table), 4, note=SHARES_NOTE) as axes:
        for axis, row in zip(axes, table, strict=True):
            share = "" if row.weight is None else f"  {row.weight:.1%}"
            title = f"{row.topic}{share}\n{written(row.label, 20, 2)}"
            bars(axis, [written(word, 18) for word in row.words], row.probabilities, title, most)
    return axes


def plot_tree(topics: GivenTopics | TopicTree, *, n_words: int = 3, ax: Any = None) -> Any:
    """Draw the hierarchy of topics, with the loss of each merger and its words if they fit.

    Parameters
    ----------
    topics : array (K, V), Topics, fitted model or TopicTree
    n_words : int
        Words of a node, unless a tree is given.

    Examples
    --------
    >>> axes = plot_tree([[0.7, 0.3, 0.0], [0.6, 0.4, 0.0], [0.0, 0.1, 0.9]])
    >>> [text.get_text() for text in axes.get_yticklabels()]
    ['0 x0, x1, x2 (0)', '1 x0, x1, x2 (1)', '2 x2, x1, x0']
    """
    tree = topics if isinstance(topics, TopicTree) else topic_tree(topics, n_words)
    n_topics, heights, leaves = len(tree.labels), tree.heights, tree.leaves()
    places = np.zeros(len(heights))
    places[leaves] = np.arange(n_topics)
    top = max(float(heights.max()), 1e-12)
    parents = np.full(len(heights), top * 1.15)
    with frame(ax, 8.0, min(max(0.17 * n_topics, 1.6) + 0.7, 60.0)) as axis:
        for row in tree.merges:
            parts = [row.first, row.second]
            parents[parts] = heights[row.node]
            places[row.node] = places[parts].mean()
            axis.plot([heights[row.node]] * 2, places[parts], color=BLUE, lw=1.0)
        axis.hlines(places, heights, parents, color=BLUE, lw=1.0)
        for row in tree.merges:
            ends = np.sqrt([parents[row.node], heights[row.node]])
            # a small letter takes an eightieth of the width
            room = int((ends[0] - ends[1]) / (0.0125 * np.sqrt(top)))
            words = list(row.words)
            while words and len(" ".join(words)) > room:
                words.pop()
            axis.annotate(
                written(" ".join(words)), (parents[row.node], places[row.node]), (2, 1), ha="left",
                va="bottom", textcoords="offset points", color=GREY, fontsize="x-small",
            )  # fmt: skip
        axis.set_yticks(range(n_topics), [written(f"{k} {tree.labels[k]}", 40) for k in leaves])
        axis.set_ylim(n_topics - 0.4, -0.6)
        axis.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0.0)), np.square))
        axis.set_xlim(top * 1.15, 0.0)
        axis.locator_params(axis="x", nbins=4)
        axis.set_xlabel("nats per token lost by merging")
        axis.yaxis.tick_right()
        axis.tick_params(axis="y", length=0, labelsize="small")
        axis.tick_params(axis="x", labelsize="x-small", labelcolor=GREY, color=LIGHT)
        axis.spines[["top", "right", "left"]].set_visible(False)
    return axis


def plot_learning(model: Any, *, ax: Any = None) -> Any:
    """Draw the learning curve of a fitted model.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.corpus import generate
    >>> X = generate(500, n_words=50, n_topics=3).X
    >>> plot_learning(TopicModel(3, random_state=0).fit(X)).get_xlabel()
    'documents seen, in each pass'
    """
    curve = list(getattr(model, "learning_curve_", ()))
    if not curve:
        raise InputError(
            "This model has no learning curve; models of earlier versions did not store one."
        )
    documents, scores = np.array(curve, np.float64).T
    with frame(ax, 6.4, 3.6) as axis:
        axis.plot(documents, scores, "-o", color=BLUE, ms=4, lw=1.6)
        if documents[-1] > 300 * documents[0] > 0:
            axis.set_xscale("log")
        else:
            axis.set_xlim(left=0)
            axis.locator_params(axis="x", nbins=5)
            axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.set_xlabel("documents seen, in each pass")
        axis.set_ylabel(f"log probability of a token of\n{model.learning_curve_of_}")
        tidy(axis)
    return axis


def plot_history(found: Any, *, ax: Any = None) -> Any:
    """Draw the mean gap and loss by iteration of ``infer(..., history=True)``.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> found = infer([[4, 0, 2]], [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], history=True)
    >>> [line.get_label() for line in plot_history(found).lines]
    ['gap', 'loss']
    """
    history = getattr(found, "history", None)
    if history is None:
        raise InputError("has no history; infer with history=True.", "found")
    with frame(ax, 6.4, 3.6) as axis:
        for name, (colour, _, dash) in zip(("gap", "loss"), LINES, strict=False):
            means = getattr(history, name).mean(axis=1)
            axis.plot(history.n_iter, means, dash, color=colour, lw=1.6, label=name)
        axis.set_yscale("log")
        axis.set_xlabel(f"iterations of {found.method.name}")
        axis.set_ylabel("nats, mean over documents")
        axis.legend()
        tidy(axis)
    return axis


def plot_map(topics: GivenTopics, *, n_labels: int | None = None, ax: Any = None) -> Any:
    """Draw a map of topics: similar ones close together, their areas proportional to weights.

    Circles do not overlap. Each topic has its number, and the heaviest have their labels.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
    n_labels : int, optional
        The maximum number of labels; by default all labels that fit.
    ax : Axes, optional
        Its units will be points.

    Examples
    --------
    >>> axes = plot_map([[0.7, 0.3, 0.0], [0.6, 0.4, 0.0], [0.0, 0.1, 0.9]])
    >>> len(axes.collections[0].get_offsets())
    3
    """
    most = None if n_labels is None else whole("n_labels", n_labels, 0)
    labels = labels_of(topics)
    n = len(labels)
    weights, size = shares_or_even(topics, n), (7.2, 5.2) if n <= 40 else (10.0, 7.2)
    with frame(ax, *size) as axis:
        axis.set_xticks([])
        axis.set_yticks([])
        axis.spines[:].set_visible(False)
        axis.figure.draw_without_rendering()  # only now its size is known
        box = _extent(axis)
        axis.set_xlim(0, box[0])
        axis.set_ylim(0, box[1])
        # in square points; at most a third of the map is covered
        area = min(3200.0, 0.33 * float(box.prod()) / n)
        sizes = np.maximum(area * weights / weights.max(), 0.05 * area)
        radii = np.sqrt(sizes) / 2
        places = spread(map_positions(topics), radii, box)
        axis.scatter(*places.T, s=sizes, color=BLUE, alpha=0.28, lw=0)
        axis.scatter(*places.T, s=sizes, facecolor="none", edgecolor=BLUE, lw=0.8)
        how = {"ha": "center", "va": "center", "fontsize": 8 if n <= 40 else 6}
        numbers = [axis.text(*places[k], str(k), **how) for k in range(n)]
        order = np.argsort(-weights, kind="stable")[:most]
        _label(axis, numbers, [(int(k), labels[k]) for k in order], places, radii, box)
    return axis


def spread(places: Array, radii: Array, box: Array) -> Array:
    """Spread circles over a box without overlaps."""
    low, high = places.min(axis=0), places.max(axis=0)
    inner = np.maximum(box - 2 * (EDGE + radii.max()), 1.0)
    scale = inner / np.maximum(high - low, 1e-6)
    scale = np.minimum(scale, 2.0 * scale.min())  # one direction is stretched twice as far at most
    found: Array = box / 2 + (places - (low + high) / 2) * scale
    sums = radii[:, np.newaxis] + radii
    wanted = sums + min(6.0, float(radii.mean()) / 2)  # points between two: room for labels
    np.fill_diagonal(wanted, 0.0)
    edges = np.minimum((EDGE + radii)[:, np.newaxis], box / 2)
    for _ in range(int(min(400, 2e7 / len(places) ** 2)) + 1):
        between = found[:, np.newaxis] - found
        far = np.hypot(*np.moveaxis(between, 2, 0))
        if (far >= wanted - 0.1).all():
            break
        # a smaller circle moves more
        moved = 0.6 * np.maximum(wanted - far, 0.0) * radii / sums / np.maximum(far, 1e-9)
        found += (moved[..., np.newaxis] * between).sum(axis=1)
        found = np.clip(found, edges, box - edges)
    return found


def _label(
    axis: Any, numbers: list[Any], labels: list[tuple[int, str]], places: Array, radii: Array,
    box: Array,
) -> None:  # fmt: skip
    taken = [_bounds(at, _extent(text) + 2) for at, text in zip(places, numbers, strict=True)]
    size = 8 if len(places) <= 40 else 7
    for k, label in labels:
        others = np.arange(len(places)) != k
        reach = 1 + max(radii[k], _extent(numbers[k])[1] / 2)
        for shown in dict.fromkeys((written(label, 28), written(label, 16))):
            if shown == "…":  # a word that is longer
                continue
            text = axis.text(0, 0, shown, ha="center", va="center", fontsize=size)
            extent = _extent(text)
            sides = [np.array(s) * (reach * (1.0 if 0 in s else 0.7) + extent / 2) for s in SIDES]
            rest = taken, places[others], radii[others], box
            middles = (places[k] + side for side in sides)
            free = next((at for at in middles if _is_free(_bounds(at, extent), *rest)), None)
            if free is not None:
                text.set_position(free)
                taken.append(_bounds(free, extent))
                break
            text.remove()


def _extent(text: Any) -> Array:
    """Return the width and height of a text or axes in points."""
    window = text.get_window_extent()
    return np.array([window.width, window.height]) / float(text.figure.dpi) * 72


def _bounds(middle: Array, extent: Array) -> Array:
    return np.stack([middle - extent / 2, middle + extent / 2])


def _is_free(bounds: Array, taken: list[Array], places: Array, radii: Array, box: Array) -> bool:
    low, high = bounds
    lows, highs = np.moveaxis(np.array(taken), 1, 0)
    over = (low < highs).all(axis=1) & (high > lows).all(axis=1)
    nearest = np.clip(places, low, high)
    on = np.hypot(*(places - nearest).T) < radii
    return bool((low >= 0).all() and (high <= box).all()) and not (over.any() or on.any())
