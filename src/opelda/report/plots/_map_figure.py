"""The map of topics as a figure: circles that do not hide each other, and labels beside them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._validation import whole
from opelda.metrics._top_words import labels_of, shares_or_even
from opelda.metrics._topics import GivenTopics
from opelda.report._topic_map import map_positions
from opelda.report.plots._frame import BLUE, frame, written

EDGE = 12.0  # points around all circles
# below, above, right, left, and the corners between these
SIDES = ((0, -1), (0, 1), (1, 0), (-1, 0), (1, -1), (-1, -1), (1, 1), (-1, 1))

Array = NDArray[np.float64]


def plot_map(topics: GivenTopics, *, n_labels: int | None = None, ax: Any = None) -> Any:
    """Draw a map of topics: similar ones close together, their areas proportional to weights.

    Circles do not overlap. Each topic has its number, and the heaviest have their labels.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
    n_labels : int, optional
        The largest number of labels; by default as many as fit.
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
