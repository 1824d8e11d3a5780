"""Figure 5, drawn: convergence and spread of OPE's runs, as their rows have them."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from reproduction.paper import STABLE_SD
from reproduction.plots import LOOKS, legend, panels, tidy
from reproduction.rows import Rows, grouped, mean_row, where

# where runs begin: the paper's way and ours
Start = Literal["random", "uniform"]
STARTS: tuple[Start, Start] = ("random", "uniform")
# f and its terms: name, marker and line; the colour is OPE's
TERMS = {
    "f": ("f", "o", "-"),
    "log_likelihood": ("log-likelihood", "^", "--"),
    "log_prior": ("log-prior", "s", ":"),
}
# of the histogram; the last bin has no end
EDGES = (0, 0.5, 1, 2, 5, 10, STABLE_SD, 50)
GAPS = ("gap", "likelihood_gap", "unpicked", "growth")
EXPLAINED: dict[str, Any] = {
    "color": "#999999",
    "lw": 5,
    "alpha": 0.5,
    "label": "due to topics never picked",
}


def convergence(rows: Rows) -> Rows:
    """Return the points of convergence in the order of T, means over seeds.

    >>> values = dict.fromkeys((*TERMS, *GAPS), 0.0)
    >>> rows = [{"part": "convergence", "T": 10, **values, "f": f} for f in (1.0, 2.0)]
    >>> convergence(rows)[0]["f"]
    1.5
    """
    points = grouped(where(rows, part="convergence"), "T")
    return [mean_row(points[T], (*TERMS, *GAPS)) for T in sorted(points)]


def spreads(rows: Rows, column: str = "sd_f", init: Start = "random") -> dict[int, list[float]]:
    """Return the standard deviations of all documents and seeds from one start, by T.

    >>> about = {"part": "stability", "T": 10, "init": "random"}
    >>> spreads([{**about, "sd_f": sd} for sd in (0.5, 2.0)])
    {10: [0.5, 2.0]}
    """
    found = grouped(where(rows, part="stability", init=init), "T")
    return {T: [row[column] for row in found[T]] for T in sorted(found)}


def line(x: ArrayLike, y: ArrayLike) -> tuple[float, float, float]:
    """Return a and b of the best y = a + b x, and the root mean square of the residuals.

    >>> [round(abs(value), 6) for value in line([0, 1, 2], [1, 3, 5])]
    [1.0, 2.0, 0.0]
    """
    b, a = np.polyfit(np.asarray(x, float), np.asarray(y, float), 1)
    rest = np.asarray(y) - a - b * np.asarray(x)
    return float(a), float(b), float(np.sqrt((rest**2).mean()))


def draw(rows: Rows) -> Figure:
    """Draw f, its terms and the gaps against T, and histograms of f's spread over runs."""
    figure, axes = panels(2, 2, width=5.2, height=3.6)
    points = convergence(rows)
    lengths = [row["T"] for row in points]
    _draw_f(axes[0, 0], points, lengths)
    _draw_terms(axes[0, 1], points, lengths)
    _draw_gaps(axes[1, 0], points, lengths)
    _draw_spreads(axes[1, 1], rows)
    for panel in axes.flat:
        panel.set_xlabel("T, iterations of OPE")
        tidy(panel)
    legend(figure, axes, n_columns=4)
    return figure


def _draw(axes: Axes, x: Sequence[Any], y: Sequence[Any], term: str, **options: Any) -> None:
    label, marker, dash = TERMS[term]
    looks: dict[str, Any] = {"marker": marker, "ls": dash, "label": label, "ms": 5, "lw": 1.6}
    axes.plot(x, y, color=LOOKS["OPE"].colour, **(looks | options))


def _draw_f(axes: Axes, points: Rows, lengths: list[int]) -> None:
    if len(points) > 2:
        a, b, _ = line(np.log(lengths), [row["f"] for row in points])
        x = np.geomspace(lengths[0], lengths[-1], 100)
        axes.plot(x, a + b * np.log(x), color="black", lw=1, label="a + b ln T")
        axes.set_title(f"f = {a:.1f} {b:+.2f} ln T", fontsize=10)
    _draw(axes, lengths, [row["f"] for row in points], "f", ls="")
    axes.set_ylabel("f, mean of documents (nats)")


def _draw_terms(axes: Axes, points: Rows, lengths: list[int]) -> None:
    growth = [row["growth"] * np.log(row["T"] / lengths[0]) for row in points]
    axes.plot(lengths, growth, **EXPLAINED)
    for term in ("log_likelihood", "log_prior"):
        _draw(axes, lengths, [row[term] - points[0][term] for row in points], term)
    axes.set_ylabel(f"change since T = {min(lengths, default=10)} (nats)")


def _draw_gaps(axes: Axes, points: Rows, lengths: list[int]) -> None:
    axes.plot(lengths, _positive(points, "growth"), **EXPLAINED)
    _draw(axes, lengths, _positive(points, "gap"), "f", label="gap of f")
    gaps = _positive(points, "likelihood_gap")
    _draw(axes, lengths, gaps, "log_likelihood", label="gap of the log-likelihood")
    axes.set(yscale="log", ylabel="gap, median of documents (nats)")


def _positive(points: Rows, name: str) -> list[float]:
    """Leave gaps in the line where a logarithmic axis has no place for a value."""
    return [row[name] if row[name] > 0 else np.nan for row in points]


def histogram(found: dict[int, list[float]]) -> NDArray[np.int64]:
    """Return how many standard deviations lie between each two of `EDGES` (T, bins).

    >>> histogram({10: [0.0, 0.5, 0.7, 99.0]}).tolist()
    [[1, 2, 0, 0, 0, 0, 0, 1]]
    """
    return np.array([np.histogram(values, [*EDGES, np.inf])[0] for values in found.values()])


def _draw_spreads(axes: Axes, rows: Rows) -> None:
    """Draw a histogram for each T as a column of numbers, the darker the more documents."""
    found = spreads(rows)
    shades = LinearSegmentedColormap.from_list("OPE", ["white", LOOKS["OPE"].colour])
    for x, counts in enumerate(histogram(found) if found else []):
        for level in np.flatnonzero(counts):
            share = counts[level] / counts.sum()
            axes.fill_between([x - 0.5, x + 0.5], level, level + 1, color=shades(share))
            shade = "white" if share > 0.5 else "black"
            font: dict[str, Any] = {"ha": "center", "va": "center", "size": 8, "color": shade}
            axes.text(x, level + 0.5, str(counts[level]), **font)
    axes.axhline(
        EDGES.index(STABLE_SD), color="black", lw=1, ls=":", label=f"sd {STABLE_SD:g}, the paper's"
    )
    axes.set_xticks(range(len(found)), [str(length) for length in found])
    axes.set(xlim=(-0.5, max(len(found), 1) - 0.5), ylim=(0, len(EDGES)))
    axes.set_yticks(range(len(EDGES)), [f"{edge:g}" for edge in EDGES])
    axes.set_ylabel("sd of f over runs (nats)")
    axes.set_title("documents with such an sd, random start", fontsize=10)
