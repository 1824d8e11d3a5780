"""Style of figures: one colour, marker and line for a method, in all figures."""

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from opelda.report.plots import STYLE, tidy

__all__ = ["LOOKS", "STYLE", "Look", "draw_line", "legend", "panels", "style", "tidy"]


class Look(NamedTuple):
    """How one method is drawn."""

    colour: str
    marker: str
    dash: str = "-"


# Colours of Okabe & Ito and of Tol's muted set, which readers with any kind of colour blindness can
# tell apart; markers and dashes separate the rest, also in black and white. An inference
# method has the colour of the Online learner that uses it.
LOOKS: dict[str, Look] = {
    "ML-OPE": Look("#D55E00", "s"),
    "Online-OPE": Look("#0072B2", "o"),
    "Streaming-OPE": Look("#56B4E9", "^"),
    "Streaming-OPE, start kept": Look("#56B4E9", "2", ":"),
    "Online-CGS": Look("#009E73", "D"),
    "Online-CVB0": Look("#E69F00", "v"),
    "Online-VB": Look("#000000", "P"),
    "Streaming-VB": Look("#CC79A7", "X"),
    "Streaming-VB, start kept": Look("#CC79A7", "1", ":"),
    "OPE": Look("#0072B2", "o"),
    "OPE, every topic": Look("#0072B2", ".", ":"),
    "OPE in NumPy": Look("#0072B2", ".", "--"),
    "OPE, alpha 1": Look("#0072B2", "s", "--"),
    "BOPE": Look("#332288", "p"),
    "EM": Look("#661100", "+"),
    "Exact": Look("#EE3377", "*", "-."),
    "VB": Look("#000000", "P"),
    "CVB": Look("#882255", "d"),
    "CVB0": Look("#E69F00", "v"),
    "CGS": Look("#009E73", "D"),
    "FW": Look("#999933", "<"),
    "OFW": Look("#DDCC77", ">"),
    "CCCP": Look("#44AA99", "h"),
    "SMM": Look("#117733", "H"),
    "TLI": Look("#AA4499", "*"),
    "PMD": Look("#CC6677", "8"),
    "HAMCMC": Look("#666666", "x"),
    "no topics": Look("#888888", "", ":"),
}


def style() -> AbstractContextManager[None]:
    """Return the context to draw and save figures in."""
    context: AbstractContextManager[None] = mpl.rc_context(STYLE)
    return context


def panels(
    n_columns: int, n_rows: int = 1, *, width: float = 4.6, height: float = 3.6, **options: Any
) -> tuple[Figure, Any]:
    """Return a figure and its axes as an array (n_rows, n_columns)."""
    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, **options)


def draw_line(axes: Axes, name: str, x: Any, y: Any, *, label: str | None = None) -> None:
    """Draw a method's line with its own look."""
    look = LOOKS[name]
    axes.plot(
        x,
        y,
        color=look.colour,
        marker=look.marker,
        linestyle=look.dash,
        ms=5,
        lw=1.6,
        label=name if label is None else label,
    )


def legend(figure: Figure, axes: Any, n_columns: int = 5) -> None:
    """Write one legend for all panels above them."""
    entries: dict[str, Any] = {}
    for panel in axes.flat:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside upper center",
        ncols=min(n_columns, len(entries)),
    )
