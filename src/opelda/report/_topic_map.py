"""A map of topics, by t-SNE."""

import numpy as np
from numpy.typing import NDArray

from opelda._word_ranking import DIGITS, hellinger
from opelda.metrics._topics import GivenTopics, MeasuredTopics

Array = NDArray[np.float64]


def map_positions(topics: GivenTopics) -> Array:
    """Return positions of topics (as for `topic_table`) on a plane (K, 2), from -1 to 1.

    By t-SNE on Hellinger distances, independent of seeds and of the order of topics and words. No
    two topics coincide.

    Examples
    --------
    >>> topics = [[0.5, 0.5, 0, 0], [0.4, 0.6, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.6, 0.4]]
    >>> x = map_positions(topics)[:, 0]
    >>> bool(abs(x[0] - x[1]) < abs(x[0] - x[2]))
    True
    """
    weights = MeasuredTopics.of(topics).weights
    distances = hellinger(weights)
    n = len(distances)
    if n == 1:
        return np.zeros((1, 2))
    # in an order that follows from the topics: sums below depend on the order
    spread = np.round((weights.astype(np.float64) ** 2).sum(axis=1), DIGITS)
    order = np.lexsort((spread, *np.sort(distances, axis=1).T[::-1]))
    found = np.empty((n, 2))
    found[order] = _spread(_steps(_similarities(distances[np.ix_(order, order)])))
    return found


def _similarities(distances: Array) -> Array:
    """Return t-SNE's p: Gaussian similarities, the perplexity being 8 or less."""
    n = len(distances)
    squares = distances**2
    np.fill_diagonal(squares, np.inf)
    squares -= squares.min(axis=1, keepdims=True)
    target = np.log(min(8, (n - 1) / 1.5) if n > 2 else 1.0)
    low, high = np.full(n, -10.0), np.full(n, 30.0)  # of the widths' logarithms
    p = np.empty_like(squares)
    for _ in range(30):
        middle = (low + high) / 2
        p = np.exp(-squares * np.exp(middle)[:, np.newaxis])
        p /= p.sum(axis=1, keepdims=True)
        entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
        wide = entropy > target
        low, high = np.where(wide, middle, low), np.where(wide, high, middle)
    p += p.T
    p /= p.sum()
    return p


def _steps(p: Array) -> Array:
    places = _start(p)
    speed, gain = np.zeros_like(places), np.ones_like(places)
    rate = max(len(p) / 12.0, 10.0)
    for step in range(300):
        early = step < 80
        attraction, repulsion, total = _forces(p, places)
        slope = 4.0 * ((12.0 if early else 1.0) * attraction - repulsion / total)
        gain = np.where((slope > 0) != (speed > 0), gain + 0.2, np.maximum(gain * 0.8, 0.01))
        speed = (0.5 if early else 0.8) * speed - rate * gain * slope
        places = places + speed
        places -= places.mean(axis=0)
    return places


def _forces(p: Array, places: Array) -> tuple[Array, Array, float]:
    """Return the sums over j of p_ij q_ij and of q_ij^2, times place_i - place_j, and that of q."""
    total, parts = 0.0, []
    # 64 rows are in the cache; without BLAS, whose sums depend on threads
    for first in range(0, len(p), 64):
        rows = slice(first, first + 64)
        q = 1.0 / (1.0 + _squares_apart(places[rows], places))
        q[np.arange(len(q)), np.arange(first, first + len(q))] = 0.0
        total += float(q.sum())
        sums = []
        for weights in (p[rows] * q, q * q):
            along = [np.einsum("ij,j->i", weights, axis) for axis in places.T]
            sums.append(weights.sum(axis=1)[:, np.newaxis] * places[rows] - np.stack(along, axis=1))
        parts.append(sums)
    attraction, repulsion = (np.concatenate(part) for part in zip(*parts, strict=True))
    return attraction, repulsion, total


def _squares_apart(some: Array, places: Array) -> Array:
    return np.square(some[:, :1] - places[:, 0]) + np.square(some[:, 1:] - places[:, 1])


def _start(p: Array) -> Array:
    """Return two eigenvectors of the graph of neighbours, and a small spiral against ties."""
    n = len(p)
    degree = np.sqrt(np.maximum(p.sum(axis=1), 1e-12))
    _, vectors = np.linalg.eigh(p / np.outer(degree, degree))
    found = np.zeros((n, 2))
    for axis in range(min(2, n - 1)):
        vector = vectors[:, -2 - axis] / degree
        vector = np.round(vector / np.abs(vector).max(), DIGITS)
        found[:, axis] = vector * np.sign(vector[np.abs(vector).argmax()])
    angles = np.arange(n) * (np.pi * (3 - np.sqrt(5)))  # no two in one direction
    far = np.sqrt((np.arange(n) + 0.5) / n)
    return 1e-2 * found + 1e-3 * np.stack([far * np.cos(angles), far * np.sin(angles)], axis=1)


def _spread(places: Array) -> Array:
    """Rotate to the principal axes, push topics apart, and scale to [-1, 1]."""
    places = places - places.mean(axis=0)
    _, _, directions = np.linalg.svd(places, full_matrices=False)
    places = places @ directions.T
    places = places * np.where(places[np.abs(places).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    places = places / max(np.abs(places).max(), 1e-12)
    least = 0.9 / np.sqrt(len(places))
    for _ in range(100):
        far = np.sqrt(_squares_apart(places, places))
        np.fill_diagonal(far, np.inf)
        first, second = np.nonzero(far < least)
        if not len(first):
            break
        apart = places[first] - places[second]
        away = (least / np.maximum(far[first, second], 1e-9) - 1.0) / 2
        np.add.at(places, first, away[:, np.newaxis] * apart)
    places /= np.abs(places).max()
    return places
