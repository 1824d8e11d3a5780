"""Figures of models and documents, drawn with matplotlib, which is imported when one is.

Every function draws on `ax`, by default axes of a new figure, and returns the axes. `STYLE` holds
matplotlib's settings of all figures; `tidy(axes)` gives other axes the same grid and frame.
"""

from opelda.report.plots._frame import STYLE as STYLE
from opelda.report.plots._frame import tidy as tidy
from opelda.report.plots._map_figure import plot_map
from opelda.report.plots._share_figures import plot_effect, plot_groups, plot_over_time
from opelda.report.plots._topic_figures import plot_history, plot_learning, plot_topics, plot_tree

__all__ = [
    "plot_effect",
    "plot_groups",
    "plot_history",
    "plot_learning",
    "plot_map",
    "plot_over_time",
    "plot_topics",
    "plot_tree",
]
