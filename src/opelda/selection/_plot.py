"""The figure of numbers of topics that were compared."""

from typing import Any

import numpy as np

from opelda.report.plots._style import BLUE, GREY, LIGHT, panels, styled, tidy

SHARES = ("stability", "distinctness", "live_topics")
PANELS = (
    ("lpp", "log probability of a held-out token"),
    ("quality", "quality: coherence x stability"),
    ("coherence", "coherence (NPMI)"),
    ("stability", "stability over runs"),
    ("distinctness", "distinctness"),
    ("live_topics", "share of live topics"),
)


@styled
def plot_choice(choice: Any, *, ax: Any = None) -> Any:
    """Draw a panel for each measure over the number of topics; see `Choice.plot`."""
    axes = panels(ax, len(PANELS), 3, 2.9, 2.2)
    numbers = np.array([row.n_topics for row in choice.table], np.float64)
    for axis, (name, title) in zip(axes, PANELS, strict=True):
        values = np.array([getattr(row, name) for row in choice.table], np.float64)  # None is NaN
        if name == "live_topics":
            values = values / numbers
        axis.axvline(choice.n_topics, color=GREY, lw=1.0, ls=":")
        if name == "lpp":
            error = np.array([row.lpp_error for row in choice.table])
            axis.fill_between(numbers, values - error, values + error, color=LIGHT, lw=0)
        axis.plot(numbers, values, "-o", color=BLUE, ms=4, lw=1.6)
        axis.set_xscale("log")
        axis.margins(y=0.1)
        axis.set_title(title, loc="left", fontsize="small")
        tidy(axis)
        axis.set_xticks(numbers, [f"{number:,.0f}" for number in numbers])
        axis.tick_params(labelsize="small")
        if name != "lpp":
            axis.set_ylim(bottom=min(0.0, *values), top=1.05 if name in SHARES else None)
    for axis in axes[3:]:
        axis.set_xlabel("topics", fontsize="small")
    return axes
