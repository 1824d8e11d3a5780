"""The hierarchy of topics as a figure."""

from typing import Any

import numpy as np

from opelda.metrics._topics import GivenTopics
from opelda.report._tree import TopicTree, topic_tree
from opelda.report.plots._style import BLUE, GREY, LIGHT, new_axes, styled, written

ROW = 0.17  # inches of a topic
TALLEST = 60.0
LETTER = 0.0125  # of the width of the axes, that a small letter takes


@styled
def plot_tree(topics: GivenTopics | TopicTree, *, n_words: int = 3, ax: Any = None) -> Any:
    """Draw the hierarchy of topics: those that are merged first are similar, or small.

    A node is as far to the left as merging there loses, and has its words where there is room.

    Parameters
    ----------
    topics : array (K, V), Topics, fitted model or TopicTree
    n_words : int
        Words of a node, if a tree is still to be made.
    ax : Axes, optional
        By default that of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from opelda.report import plot_tree
    >>> axes = plot_tree([[0.7, 0.3, 0.0], [0.6, 0.4, 0.0], [0.0, 0.1, 0.9]])
    >>> [text.get_text() for text in axes.get_yticklabels()]
    ['0 x0, x1, x2 (0)', '1 x0, x1, x2 (1)', '2 x2, x1, x0']
    """
    from matplotlib.ticker import MaxNLocator

    tree = topics if isinstance(topics, TopicTree) else topic_tree(topics, n_words)
    n_topics, heights = len(tree.labels), tree.heights
    height = min(max(ROW * n_topics, 1.6) + 0.7, TALLEST)
    axis = new_axes(8.0, height)[0, 0] if ax is None else ax
    leaves = tree.leaves()
    places = np.zeros(len(heights))
    places[leaves] = np.arange(n_topics)
    top = max(float(heights.max()), 1e-12)
    parents = np.full(len(heights), top * 1.15)
    for row in tree.merges:
        parts = [row.first, row.second]
        parents[parts] = heights[row.node]
        places[row.node] = places[parts].mean()
        axis.plot([heights[row.node]] * 2, places[parts], color=BLUE, lw=1.0)
    axis.hlines(places, heights, parents, color=BLUE, lw=1.0)
    for row in tree.merges:
        ends = np.sqrt([parents[row.node], heights[row.node]])
        room = int((ends[0] - ends[1]) / (LETTER * np.sqrt(top)))
        words = list(row.words)
        while words and len(" ".join(words)) > room:
            words.pop()
        axis.annotate(
            written(" ".join(words)), (parents[row.node], places[row.node]), (2, 1), ha="left",
            va="bottom", textcoords="offset points", color=GREY, fontsize="x-small",
        )  # fmt: skip
    axis.set_yticks(range(n_topics), [written(tree.name(topic), 40) for topic in leaves])
    axis.set_ylim(n_topics - 0.4, -0.6)
    axis.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0.0)), np.square))
    axis.set_xlim(top * 1.15, 0.0)
    axis.xaxis.set_major_locator(MaxNLocator(4))
    axis.set_xlabel("nats per token lost by merging")
    axis.yaxis.tick_right()
    axis.tick_params(axis="y", length=0, labelsize="small")
    axis.tick_params(axis="x", labelsize="x-small", labelcolor=GREY, color=LIGHT)
    axis.spines[["top", "right", "left"]].set_visible(False)
    return axis
