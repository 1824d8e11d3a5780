"""The hierarchy of topics, and near-duplicate topics."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, is_valid_linkage

from opelda import OnlineOPE
from opelda.corpus import generate
from opelda.errors import InputError
from opelda.report import similar_topics, topic_tree, topic_weights
from opelda.report._topic_tree import TopicTree
from opelda.report.plots import plot_tree
from opelda.report.rows import MergeRow, Table


def information(masses):
    """Return the mutual information of topics and words from their joint distribution."""
    product = np.outer(masses.sum(axis=1), masses.sum(axis=0))
    return (masses * np.log(masses / product)).sum()


def greedy(masses):
    """Merge topics by computing the information loss of every pair."""
    parts = {k: mass for k, mass in enumerate(masses)}
    for node in range(len(masses), 2 * len(masses) - 1):
        now = information(np.array([*parts.values()]))
        losses = {}
        for a in parts:
            for b in parts:
                if a < b:
                    rest = [mass for k, mass in parts.items() if k not in (a, b)]
                    losses[a, b] = now - information(np.array([*rest, parts[a] + parts[b]]))
        a, b = min(losses, key=losses.get)
        yield node, {a, b}, losses[a, b]
        parts[node] = parts.pop(a) + parts.pop(b)


@pytest.mark.parametrize("seed", range(5))
def test_each_merge_loses_the_least_information(seed):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(30, 0.2), 9) + 1e-6
    topics /= topics.sum(axis=1, keepdims=True)
    rows = topic_tree(topics).merges
    for row, (node, parts, loss) in zip(rows, greedy(topics / 9), strict=True):
        assert (row.node, {row.first, row.second}) == (node, parts)
        assert row.loss == pytest.approx(loss, abs=1e-9)
    assert sum(row.loss for row in rows) == pytest.approx(information(topics / 9))


def test_weights_are_those_of_the_model_and_add_up():
    model = OnlineOPE(6, batch_size=50, random_state=0).fit(generate(300, n_words=60).X)
    tree = topic_tree(model)
    assert tree.merges[-1].weight == pytest.approx(1.0)
    assert tree.merges[-1].n_topics == 6
    np.testing.assert_allclose(tree.weights, topic_weights(model))
    first = tree.merges[0]
    assert first.weight == pytest.approx(tree.weights[[first.first, first.second]].sum())
    masses = model.components_ * tree.weights[:, None]
    assert sum(row.loss for row in tree.merges) == pytest.approx(information(masses), rel=1e-4)


def test_groups_and_linkage_are_cuts_of_the_tree():
    topics = np.random.default_rng(2).dirichlet(np.full(40, 0.1), 12)
    tree = topic_tree(topics)
    assert is_valid_linkage(tree.linkage)
    assert (np.diff(tree.heights[12:]) >= 0).sum() >= 9
    for n in (1, 5, 12):
        groups = tree.groups(n)
        assert len(groups) == n
        assert sorted(topic for group in groups for topic in group) == list(range(12))
        named = fcluster(tree.linkage, n, "maxclust")
        if len(set(named)) == n and (np.diff(tree.linkage[:, 2]) >= 0).all():
            assert all(len(set(named[group])) == 1 for group in groups)
    with pytest.raises(InputError, match="n must be"):
        tree.groups(13)


def test_heights_never_decrease():
    rows = [MergeRow(3, 0, 1, 2, 0.6, 0.3, ()), MergeRow(4, 3, 2, 3, 1.0, 0.2, ())]
    tree = TopicTree(Table(MergeRow, rows), ["a", "b", "c"], np.ones(3) / 3)
    assert tree.heights.tolist() == [0, 0, 0, 0.3, 0.3]
    assert is_valid_linkage(tree.linkage)


def test_tree_figure_has_every_topic_once():
    topics = np.random.default_rng(3).dirichlet(np.full(25, 0.1), 7)
    tree = topic_tree(topics)
    lines = str(tree).splitlines()
    assert len(lines) == 13
    assert sorted(line.split("─ ")[1] for line in lines if "─ " in line and ", " in line) == sorted(
        f"{topic} {tree.labels[topic]}" for topic in range(7)
    )
    axes = plot_tree(tree)
    shown = [text.get_text() for text in axes.get_yticklabels()]
    assert shown == [f"{topic} {tree.labels[topic]}" for topic in tree.leaves()]
    assert plot_tree(topics, ax=axes) is axes
    assert str(topic_tree([[0.5, 0.5]])) == "0 x0, x1"


def test_similar_topics_have_a_large_coefficient():
    topics = np.random.default_rng(4).dirichlet(np.full(20, 0.5), 8)
    topics[5] = 0.98 * topics[2] + 0.02 * topics[1]
    found = similar_topics(topics)
    assert [(row.topic, row.other) for row in found] == [(2, 5)]
    expected = np.sqrt(topics[2] * topics[5]).sum()
    assert found[0].similarity == pytest.approx(expected, abs=1e-5)
    everything = similar_topics(topics, 0.0)
    assert len(everything) == 28
    values = [row.similarity for row in everything]
    assert values == sorted(values, reverse=True)
    with pytest.raises(InputError, match="threshold must be"):
        similar_topics(topics, 1.5)


def test_invalid_topics_are_rejected():
    for topics in ([[1, 2], [3, 4]], [[0.5, -0.5]], [[0.0, 0.0], [0.5, 0.5]]):
        with pytest.raises(InputError, match="topics must hold"):
            topic_tree(topics)
