"""Figures of models and documents, drawn with matplotlib.

Functions draw on `ax`, by default axes of a new figure, and return the axes. `STYLE` has the
settings of matplotlib for all figures; `tidy(axes)` applies the same grid and frame to other axes.
"""

from opelda.report.plots._frame import STYLE as STYLE
from opelda.report.plots._frame import tidy as tidy
from opelda.report.plots._share_figures import (
    plot_effect,
    plot_groups,
    plot_over_time,
    plot_predicted,
)
from opelda.report.plots._topic_figures import (
    plot_history,
    plot_learning,
    plot_map,
    plot_topics,
    plot_tree,
)

__all__ = [
    "plot_effect",
    "plot_groups",
    "plot_history",
    "plot_learning",
    "plot_map",
    "plot_over_time",
    "plot_predicted",
    "plot_topics",
    "plot_tree",
]
