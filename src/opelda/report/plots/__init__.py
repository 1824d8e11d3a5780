"""Figures of models and documents, drawn with matplotlib, which is imported when one is."""

from opelda.report.plots._effects_figure import plot_effect
from opelda.report.plots._learning import plot_history, plot_learning
from opelda.report.plots._map_figure import plot_map
from opelda.report.plots._over import plot_groups, plot_over_time
from opelda.report.plots._style import STYLE, tidy
from opelda.report.plots._topic_words import plot_topics
from opelda.report.plots._tree_figure import plot_tree

__all__ = [
    "STYLE",
    "plot_effect",
    "plot_groups",
    "plot_history",
    "plot_learning",
    "plot_map",
    "plot_over_time",
    "plot_topics",
    "plot_tree",
    "tidy",
]
