"""Figures of topics' words."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from opelda._validation import whole
from opelda._word_ranking import Rank
from opelda.errors import InputError
from opelda.metrics._ranking import topic_weights
from opelda.metrics._topics import GivenTopics, MeasuredTopics
from opelda.report._table import topic_table
from opelda.report.plots._style import bars, panels, styled, written


@styled
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
    topics : array (K, V), Topics or fitted model
    n_words : int
        Words per topic.
    only : iterable of int, optional
        The numbers of the topics wanted, in the order wanted; by default the `n_topics` heaviest.
    n_topics : int
        At most so many panels, if `only` is not given.
    by : {"relevance", "probability", "tfidf", "frex"}
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
    axes = panels(ax, len(table), 4, 2.4, 0.21 * n_rows + 0.98)
    most = max(max(row.probabilities) for row in table)
    for axis, row in zip(axes, table, strict=True):
        share = "" if row.weight is None else f"  {row.weight:.1%}"
        title = f"{row.topic}{share}\n{written(row.label, 20, 2)}"
        bars(axis, [written(word, 18) for word in row.words], row.probabilities, title, most)
    return axes


def heaviest_topics(topics: GivenTopics, n: int) -> list[int]:
    """Return the numbers of the heaviest topics, or the first ones where weights are not known."""
    whole("n_topics", n)
    shares = topic_weights(topics)
    n_topics = len(MeasuredTopics.of(topics).weights)
    order = np.arange(n_topics) if shares is None else np.argsort(-shares, kind="stable")
    return [int(k) for k in order[:n]]
