"""How the figures of these pages look."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

# The colours of Okabe & Ito, which readers with any kind of colour blindness can tell apart.
BLUE, ORANGE, GREEN, RED, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9"

STYLE: dict[str, Any] = {
    "svg.hashsalt": "opelda",  # the same file from run to run
    "svg.fonttype": "none",  # text stays text: smaller, and it can be searched
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 10,
    "legend.frameon": False,
    "savefig.dpi": 110,
}


def tidy(axes: Axes) -> None:
    axes.grid(color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_formatter("{x:,g}")
    axes.spines[["top", "right"]].set_visible(False)
