"""Similar topics, and a hierarchy of topics."""

import heapq
from collections.abc import Iterator, Sequence
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from opelda._names import printable
from opelda._validation import number, whole
from opelda._word_ranking import NEARLY_THE_SAME, SMALLEST, best_words, hellinger, word_factors
from opelda.errors import InputError
from opelda.metrics._top_words import labels_of, shares_or_even
from opelda.metrics._topics import GivenTopics, MeasuredTopics
from opelda.report.rows import MergeRow, SimilarRow, Table

Array = NDArray[np.float64]


def similar_topics(
    topics: GivenTopics,
    threshold: float = NEARLY_THE_SAME,
    *,
    feature_names: Sequence[str] | None = None,
) -> Table[SimilarRow]:
    """Return the pairs of similar topics, the most similar first.

    The similarity is the Bhattacharyya coefficient, sum_w sqrt(beta_aw beta_bw).
    ``model.merge_topics`` merges topics.

    Parameters
    ----------
    topics, feature_names
        As for `topic_table`.
    threshold : float
        The minimum similarity; .7 is rare between topics of a ``TopicModel()``.

    Examples
    --------
    >>> topics = [[0.5, 0.5, 0, 0], [0, 0, 0.7, 0.3], [0.4, 0.6, 0, 0]]
    >>> [(row.topic, row.other, round(row.similarity, 3)) for row in similar_topics(topics)]
    [(0, 2, 0.995)]
    """
    least = number("threshold", threshold, 0.0, 1.0)
    alike = 1.0 - hellinger(MeasuredTopics.of(topics).weights) ** 2
    first, second = np.nonzero(np.triu(alike >= least, 1))
    order = np.argsort(-alike[first, second], kind="stable")
    labels = labels_of(topics, feature_names)
    rows = (
        SimilarRow(a, b, float(alike[a, b]), labels[a], labels[b])
        for a, b in zip(first[order].tolist(), second[order].tolist(), strict=True)
    )
    return Table(SimilarRow, rows)


class TopicTree(NamedTuple):
    """A hierarchy of K topics, by K - 1 mergers in their order; printed, a tree."""

    merges: Table[MergeRow]
    labels: list[str]
    weights: Array

    @property
    def heights(self) -> Array:
        """The loss of each node, and at least that of its parts; 0 for topics."""
        found = np.zeros(len(self.labels) + len(self.merges))
        for row in self.merges:
            found[row.node] = max(found[row.first], found[row.second], row.loss)
        return found

    @property
    def linkage(self) -> Array:
        """The mergers in the format of `scipy.cluster.hierarchy` (K - 1, 4)."""
        heights = self.heights
        rows = [(m.first, m.second, heights[m.node], m.n_topics) for m in self.merges]
        return np.array(rows, np.float64).reshape(-1, 4)

    def groups(self, n: int) -> list[list[int]]:
        """Cut the tree into n groups of topics.

        ``model.merge_topics([group for group in tree.groups(20) if len(group) > 1])`` leaves 20.
        """
        n = whole("n", n, 1, len(self.labels))
        members = {topic: [topic] for topic in range(len(self.labels))}
        for row in self.merges[: len(self.labels) - n]:
            members[row.node] = members.pop(row.first) + members.pop(row.second)
        return sorted(sorted(group) for group in members.values())

    def leaves(self) -> list[int]:
        """Return the topics in the order of the tree, the heavier branches first."""
        return [node for node, _ in self._walk() if node < len(self.labels)]

    def __str__(self) -> str:
        labels = [f"{topic} {label}" for topic, label in enumerate(self.labels)]
        labels += [" ".join(row.words) for row in self.merges]
        return "\n".join(before + printable(labels[node]) for node, before in self._walk())

    def _walk(self) -> Iterator[tuple[int, str]]:
        """Yield every node and the branches drawn before its name; the heavier branches first."""
        n_topics = len(self.labels)
        waiting = [(n_topics + len(self.merges) - 1, "", "")]
        while waiting:
            node, before, below = waiting.pop()
            yield node, before
            if node >= n_topics:
                row = self.merges[node - n_topics]
                waiting.append((row.second, below + "└─ ", below + "   "))
                waiting.append((row.first, below + "├─ ", below + "│  "))


def topic_tree(
    topics: GivenTopics, n_words: int = 4, *, feature_names: Sequence[str] | None = None
) -> TopicTree:
    """Merge pairs of topics, with the minimal loss at each step.

    Merging a and b loses (w_a + w_b) JS(a, b) nats per token: their shares of the tokens (even, if
    unknown) times their weighted Jensen-Shannon divergence (the agglomerative information
    bottleneck, Slonim & Tishby 1999).

    Parameters
    ----------
    topics, feature_names
        As for `topic_table`.
    n_words : int
        Words of each node.

    Examples
    --------
    >>> topics = [[0.5, 0.5, 0, 0], [0, 0, 0.7, 0.3], [0.4, 0.6, 0, 0], [0, 0.1, 0.5, 0.4]]
    >>> words = ["tea", "cup", "court", "judge"]
    >>> tree = topic_tree(topics, 2, feature_names=words)
    >>> print(tree)
    cup court
    ├─ tea cup
    │  ├─ 0 tea, cup, court
    │  └─ 2 cup, tea, court
    └─ court judge
       ├─ 1 court, judge, tea
       └─ 3 court, judge, cup
    >>> tree.groups(2)
    [[0, 2], [1, 3]]
    """
    measured = MeasuredTopics.of(topics)
    n, names = whole("n_words", n_words), measured.words(feature_names)
    if measured.are_ids or (measured.weights < 0).any() or not measured.weights.any(axis=1).all():
        raise InputError(
            "must hold non-negative weights of words as floats, with a sum above 0 for each topic.",
            "topics",
        )
    masses = measured.weights.astype(np.float64)
    masses /= masses.sum(axis=1, keepdims=True)
    weights = shares_or_even(measured.model, len(masses))
    masses *= np.maximum(weights, SMALLEST)[:, np.newaxis]
    # inner nodes are all wide: words that are rare elsewhere say more
    factors = word_factors(masses, "relevance", np.ones(len(masses)), 0.3)
    rows: list[MergeRow] = []
    sizes = [1] * len(weights)
    for node, first, second, loss, mass in _mergers(masses):
        best = best_words((mass / mass.sum())[np.newaxis], min(n, len(mass)), factors)[0][0]
        sizes.append(sizes[first] + sizes[second])
        words = tuple(str(names[j]) for j in best)
        rows.append(MergeRow(node, first, second, sizes[-1], float(mass.sum()), loss, words))
    return TopicTree(Table(MergeRow, rows), labels_of(topics, feature_names), weights)


def _terms(mass: Array) -> float:
    """Return a topic's part of the mutual information of topics and words, but for p(w)."""
    total = float(mass.sum())
    return float(xlogy(mass, mass).sum()) - (total * log(total) if total > 0 else 0.0)


def _mergers(masses: Array) -> Iterator[tuple[int, int, int, float, Array]]:
    """Yield number, parts, loss and mass of each node."""
    # A pair's loss is computed only when its lower bound is the smallest: the entropy of the topic
    # given a word is at most 2 log 2 sqrt(p (1 - p)), which adds up to a scalar product.
    n_topics = len(masses)
    mass = dict(enumerate(masses))
    terms = {node: _terms(part) for node, part in mass.items()}
    totals = masses.sum(axis=1)
    roots = np.sqrt(masses, dtype=np.float32)
    nodes = np.arange(n_topics)  # in the rows of `roots`; -1 for a merged one
    waiting: list[tuple[float, bool, int, int, int, int]] = []

    def wait(row: int, others: NDArray[np.int64]) -> None:
        common = (roots[others] @ roots[row]).astype(np.float64)
        both = totals[others] + totals[row]
        apart = xlogy(both, both) - xlogy(totals[others], totals[others])
        apart -= xlogy(totals[row], totals[row])
        bounds: Array = apart - 2 * log(2) * common - 1e-6 * both  # single precision's share
        for bound, other in zip(bounds.tolist(), others.tolist(), strict=True):
            (a, i), (b, j) = sorted(((int(nodes[other]), other), (int(nodes[row]), row)))
            heapq.heappush(waiting, (bound, False, a, b, i, j))

    for row in range(n_topics):
        wait(row, np.arange(row))
    for node in range(n_topics, 2 * n_topics - 1):
        while True:
            loss, is_known, a, b, i, j = heapq.heappop(waiting)
            if nodes[i] != a or nodes[j] != b:
                continue
            if is_known:
                break
            loss = max(terms[a] + terms[b] - _terms(mass[a] + mass[b]), 0.0)
            heapq.heappush(waiting, (loss, True, a, b, i, j))
        first, second = (a, b) if totals[i] >= totals[j] else (b, a)
        made = mass.pop(a) + mass.pop(b)
        mass[node], terms[node] = made, _terms(made)
        nodes[i], nodes[j] = node, -1
        totals[i], roots[i] = totals[i] + totals[j], np.sqrt(made)
        yield node, first, second, loss, made
        wait(i, np.flatnonzero((nodes >= 0) & (nodes != node)))
