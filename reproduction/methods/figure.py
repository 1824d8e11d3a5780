"""The figure of Table 1: three panels of growth, one of quality against time, one of memory."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from reproduction.methods.found import (
    PARTS,
    exponents,
    fallen_back,
    grows_with,
    quality,
    storage,
    times,
)
from reproduction.methods.measuring import FLAT, NAMES, UNSCREENED, is_compiled
from reproduction.plots import LOOKS, draw_line, legend, tidy
from reproduction.rows import Rows, where

AXES = {"K": "topics, K", "n": "distinct words, n", "N": "tokens, N"}
SMALL = 8  # points of text
LINE = 9.5  # points from one line of it to the next
WIDE = 0.7  # width of a letter, in heights
MOST = 0.5  # documents that TLI may fall back on to be spoken of
# where a label may stand, as seen from its point
AROUND = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))


def draw_table(rows: Rows) -> Figure:
    """Draw all parts; parts without rows stay empty."""
    figure = Figure(figsize=(11, 8.6), layout="constrained")
    axes = figure.subplot_mosaic([["K", "n", "N"], ["quality", "quality", "memory"]])
    for part in PARTS:
        _draw_times(axes[part], rows, part)
    _draw_quality(axes["quality"], rows)
    _draw_memory(axes["memory"], rows)
    if any(panel.lines for panel in axes.values()):
        legend(figure, np.array(list(axes.values())), n_columns=7)
    figure.draw_without_rendering()  # only now is it known where things are, in points
    for part in PARTS:
        _label_ends(axes[part], rows, part)
    _label_points(axes["quality"], rows)
    return figure


def _draw_times(axes: Axes, rows: Rows, part: str) -> None:
    found = times(rows, part)
    for name in (*NAMES, UNSCREENED):
        if name in found:
            draw_line(axes, name, *zip(*found[name], strict=True), label=_entry(name))
    axes.set(xscale="log", yscale="log", xlabel=AXES[part])
    if part == "K":
        axes.set_ylabel("time per document and iteration, one thread")
    sizes = sorted({size for points in found.values() for size, _ in points})
    tidy(axes)
    if sizes:
        axes.set_xticks(sizes, [f"{size:,.0f}" for size in sizes], fontsize=SMALL)
        room = max(sizes[-1] / sizes[0], 2.0)
        axes.set_xlim(sizes[0] / room**0.05, sizes[-1] * room**0.7)  # for the exponents
        row = where(rows, part=part)[0]
        fixed = {"K": f"n = {row['n_words']:,.0f}", "n": f"K = {row['n_topics']:,}"}
        fixed["N"] = f"{fixed['n']}, {fixed['K']}"
        axes.set_title(f"{fixed[part]}; beside lines: exponents", fontsize=10)
    axes.yaxis.set_major_formatter(EngFormatter("s"))


def _entry(name: str) -> str:
    return name if is_compiled(name) else f"{name} (NumPy)"


def _draw_quality(axes: Axes, rows: Rows) -> None:
    found = quality(rows)
    for name in (*NAMES, FLAT):
        if name in found:
            point = [found[name]["seconds_per_document"]], [found[name]["lpp"]]
            draw_line(axes, name, *point, label=_entry(name))
    axes.set(xscale="log", xlabel="time per document, one thread")
    axes.set_ylabel("log predictive probability")
    axes.margins(0.12, 0.15)
    tidy(axes)
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    if found:
        row = next(iter(found.values()))
        axes.set_title(
            f"{row['documents']} test documents, K = {row['n_topics']}, "
            f"{row['vocabulary']:,} words{_tli(rows)}",
            fontsize=10,
        )


def _tli(rows: Rows) -> str:
    """Say how TLI does where it could only take part of the words.

    Nothing where it fell back on most documents: that would not be TLI.
    """
    found, share = quality(rows, frequent=True), fallen_back(rows)
    if "TLI" not in found or "OPE" not in found or share > MOST:
        return ""
    ahead = found["TLI"]["lpp"] - found["OPE"]["lpp"]
    words = f"TLI, {found['TLI']['vocabulary']:,} words: {ahead:+.2f} against OPE"
    return f"; {words}, fell back on {share:.0%}"


def _draw_memory(axes: Axes, rows: Rows) -> None:
    found = storage(rows)
    for y, row in enumerate(found):
        bar = axes.barh(y, row["peak_bytes"], color=LOOKS[row["method"]].colour)
        grows = grows_with(rows, row)
        label = EngFormatter("B", places=1)(row["peak_bytes"]) + (f" ~ {grows}" if grows else "")
        axes.bar_label(bar, [label], fontsize=SMALL, padding=2)
    axes.set_yticks(range(len(found)), [row["method"] for row in found], fontsize=SMALL)
    axes.set(xscale="log", xlabel="memory beside input and output")
    tidy(axes)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(EngFormatter("B"))
    if found:
        sizes = [max(row["peak_bytes"], 1) for row in found]
        axes.set_xlim(min(sizes) / 3, max(sizes) * 30)  # room for the labels
        row = found[0]
        axes.set_title(
            f"K = {row['n_topics']}, n = {row['n_words']:,.0f}, N = {row['n_tokens']:,.0f}",
            fontsize=10,
        )


def _label_ends(axes: Axes, rows: Rows, part: str) -> None:
    """Write the exponents beside the lines' ends, without overlap."""
    found, slopes = times(rows, part), exponents(rows, part)
    names = sorted(slopes, key=lambda name: found[name][-1][1])
    if not names:
        return
    ends = [found[name][-1] for name in names]
    positions = _points(axes, ends)
    right = positions[:, 0].max() + 16
    low, high = np.array(axes.bbox.intervaly) * 72 / axes.figure.dpi
    heights = spread(positions[:, 1], LINE, low + LINE / 2, high - LINE / 2)
    for name, end, (x, y), height in zip(names, ends, positions, heights, strict=True):
        label = f"{name.split(', ')[-1]} {slopes[name]:.2f}"
        _annotate(axes, label, end, right - x, height - y, LOOKS[name].colour, "left")


def spread(positions: Any, least: float, low: float, high: float) -> NDArray[np.float64]:
    """Move ascending positions so far apart and between two limits, by the least sum of squares.

    >>> spread([1.0, 1.0, 9.0], 2.0, -5.0, 8.0)
    array([0., 2., 8.])
    """
    steps = least * np.arange(len(positions))
    moved: NDArray[np.float64] = isotonic_regression(np.asarray(positions, float) - steps).x
    return np.clip(moved, low, high - steps[-1]) + steps


def _label_points(axes: Axes, rows: Rows) -> None:
    """Write names beside points, where neither names nor points are yet."""
    found = quality(rows)
    if not found:
        return
    at = [(row["seconds_per_document"], row["lpp"]) for row in found.values()]
    positions = _points(axes, at)
    taken = [_box(x, y, 8, 8) for x, y in positions]
    for name, end, (x, y) in zip(found, at, positions, strict=True):
        width = WIDE * SMALL * len(name)
        moves = [
            (dx * (width / 2 + far), dy * (LINE / 2 + far)) for far in (7, 16) for dx, dy in AROUND
        ]
        boxes = [_box(x + dx, y + dy, width, LINE) for dx, dy in moves]
        clashes = [sum(_overlap(box, other) for other in taken) for box in boxes]
        best = int(np.argmin(clashes))
        taken.append(boxes[best])
        _annotate(axes, name, end, *moves[best], LOOKS[name].colour, "center")


def _points(axes: Axes, at: Any) -> NDArray[np.float64]:
    """Return where data lie, in points."""
    pixels: NDArray[np.float64] = axes.transData.transform(np.array(at, float))
    return pixels * 72 / axes.figure.dpi


def _box(x: float, y: float, width: float, height: float) -> tuple[float, ...]:
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _overlap(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    sides = (min(first[i + 2], second[i + 2]) - max(first[i], second[i]) for i in (0, 1))
    width, height = (max(side, 0.0) for side in sides)
    return width * height


def _annotate(
    axes: Axes, text: str, at: Any, dx: float, dy: float, colour: str, align: str
) -> None:
    label = axes.annotate(
        text,
        at,
        (dx, dy),
        textcoords="offset points",
        fontsize=SMALL,
        ha=align,
        va="center",
        arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.6, "shrinkA": 1, "shrinkB": 3},
    )
    label.set_in_layout(False)
