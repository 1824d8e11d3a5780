"""The frame of every figure: axes, colours, settings of matplotlib, texts."""

from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import wrap
from typing import Any

import numpy as np

from opelda._names import printable
from opelda.errors import InputError

# Okabe & Ito's colours, which readers with any kind of colour blindness can tell apart.
BLUE, ORANGE, GREEN, RED, SKY, PINK = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7",
)  # fmt: skip
BLACK, GREY, LIGHT = "#000000", "#666666", "#dddddd"
# lines also differ by marker and dash: not everything is printed in colour
LINES = (
    (BLUE, "o", "-"), (RED, "s", "-"), (GREEN, "^", "-"), (ORANGE, "D", "-"), (PINK, "v", "-"),
    (SKY, "P", "--"), (BLACK, "X", "--"), (GREY, "*", "--"),
)  # fmt: skip

STYLE: Any = {
    "svg.hashsalt": "opelda",  # the same file from run to run
    "svg.fonttype": "none",  # text stays text: smaller, and it can be searched
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 10,
    "legend.frameon": False,
    "savefig.dpi": 130,
}


@contextmanager
def frame(
    ax: Any, width: float, height: float, n_panels: int = 0, most_columns: int = 1, note: str = "",
    **how: Any,
) -> Iterator[Any]:  # fmt: skip
    """Yield the given axes or axes of a new figure, in the style of all figures.

    With `n_panels`, yield an array of axes, each of that size. A note is below a new figure only.
    """
    with matplotlib().rc_context(STYLE):
        if ax is None:
            import matplotlib.pyplot as plt

            n = max(n_panels, 1)
            n_columns = min(n, most_columns)
            n_rows = -(-n // n_columns)
            figure = plt.figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
            axes = figure.subplots(n_rows, n_columns, squeeze=False, **how).ravel()
            for axis in axes[n:]:
                axis.remove()
            yield axes[:n] if n_panels else axes[0]
            if note:
                letters = int(14 * figure.get_figwidth())
                figure.supxlabel(written(note, letters, 4), fontsize="x-small", color=GREY)
        elif not n_panels:
            yield ax
        else:
            axes = np.atleast_1d(np.asarray(ax, object)).ravel()
            if len(axes) < n_panels:
                raise InputError(
                    f"holds {len(axes)}, but there are {n_panels} topics; pass one axis per "
                    "topic, or fewer topics.",
                    "ax",
                )
            yield axes[:n_panels]


def matplotlib() -> Any:
    """Import matplotlib, or raise an error that says how to install it."""
    try:
        import matplotlib
    except ImportError:
        raise InputError(
            "Figures need matplotlib, which is not installed; run: pip install 'opelda[plot]'."
        ) from None
    return matplotlib


def written(text: str, width: int = 60, lines: int = 1) -> str:
    r"""Return a text for matplotlib: wrapped, cut to some lines, and without formulas.

    >>> written("a $x$"), written("tea, cup, pot", 10), written("tea, cup, pot", 9, 2)
    ('a \\$x\\$', 'tea, cup…', 'tea, cup,\npot')
    """
    found = wrap(printable(text), width, max_lines=lines, placeholder="…") or [""]
    return "\n".join(line.replace(",…", "…") for line in found).replace("$", r"\$")


def bars(
    axis: Any, names: list[str], shares: Any, title: str, most: float, ends: Any = None
) -> None:
    """Draw named shares as bars on a scale up to `most`, and intervals as lines."""
    from matplotlib.ticker import MaxNLocator

    places = range(len(names))
    axis.barh(places, shares, color=BLUE, height=0.72)
    axis.set_yticks(places, names)
    axis.set_ylim(len(names) - 0.4, -0.6)
    far = shares if ends is None else np.fmax(shares, ends[1])
    if ends is not None:
        axis.hlines(places, *ends, color=BLACK, lw=1.0)
    for place, share, at in zip(places, shares, far, strict=True):
        axis.annotate(
            f"{share:.1%}", (at, place), (3, 0), textcoords="offset points", va="center",
            color=GREY, fontsize="x-small",
        )  # fmt: skip
    axis.set_xlim(0, 1.3 * max(most, 1e-6))  # room for the numbers
    axis.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    percent(axis.xaxis, most)
    axis.tick_params(axis="x", labelsize="x-small", labelcolor=GREY, color=LIGHT)
    axis.grid(axis="x", color=LIGHT, lw=0.6)
    axis.set_axisbelow(True)
    axis.tick_params(axis="y", length=0)
    axis.spines[["top", "right", "bottom"]].set_visible(False)
    axis.set_title(title, loc="left", fontsize="small", fontweight="bold")


def percent(axis: Any, largest: float, few: float = 0.02) -> None:
    """Write shares on an axis as percent, with decimals only if all are small."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1.0, None if largest < few else 0))


def tidy(axes: Any) -> None:
    """Draw a grid, plain numbers on logarithmic axes, and no frame."""
    from matplotlib.ticker import LogLocator

    axes.grid(color=LIGHT, lw=0.6)
    axes.set_axisbelow(True)
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            low, high = axis.get_view_interval()
            if high < 30 * low:  # hardly a decade has numbers enough
                axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter("{x:,.10g}")
    axes.spines[["top", "right"]].set_visible(False)
