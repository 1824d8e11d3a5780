"""Figures of models and documents, drawn with matplotlib, which is imported when one is."""

from opelda.report.plots._map import plot_map
from opelda.report.plots._over import plot_groups, plot_learning, plot_over_time
from opelda.report.plots._style import STYLE, tidy
from opelda.report.plots._topics import plot_topics
from opelda.report.plots._tree import plot_tree

__all__ = [
    "STYLE",
    "plot_groups",
    "plot_learning",
    "plot_map",
    "plot_over_time",
    "plot_topics",
    "plot_tree",
    "tidy",
]
