"""Draw OPE's walk over three topics and its gap, for docs/how-ope-works.md.

    python docs/walk_figure.py [--out DIR]

It prints the numbers that the page quotes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from figure_style import BLUE, GREEN, ORANGE, RED, STYLE, tidy
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.tri import Triangulation
from numpy.typing import NDArray

from opelda.optimize import Iterate, Simplex, Term, maximize

TOPICS = np.array([[0.6, 0.25, 0.05, 0.1], [0.05, 0.2, 0.65, 0.1], [0.1, 0.1, 0.1, 0.7]])
COUNTS = np.array([9, 6, 4, 1])
ALPHA = 1.5  # f is concave, and has a maximum to be drawn
SHOWN = 40
CORNERS = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])


def walk(n_iter: int) -> list[Iterate]:
    likelihood = Term(
        lambda x: float(COUNTS @ np.log(x @ TOPICS)), lambda x: TOPICS @ (COUNTS / (x @ TOPICS))
    )
    prior = Term(lambda x: float((ALPHA - 1) * np.log(x).sum()), lambda x: (ALPHA - 1) / x)
    seen: list[Iterate] = []
    maximize(
        likelihood,
        prior,
        domain=Simplex(3),
        n_iter=n_iter,
        history_every=1,
        callback=seen.append,
        coins="balanced",
        random_state=0,
    )
    return seen


def objective(x: NDArray[np.float64]) -> NDArray[np.float64]:
    prior: NDArray[np.float64] = (ALPHA - 1) * np.log(x).sum(axis=1)
    return np.log(x @ TOPICS) @ COUNTS + prior


def draw_simplex(axes: Axes, seen: list[Iterate], best: NDArray[np.float64]) -> None:
    n = 60
    grid = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]) / n
    grid = 0.997 * grid + 0.001
    x, y = (grid @ CORNERS).T
    loss = objective(best[None])[0] - objective(grid)
    levels = [0.1, 0.5, 1, 2, 4, 8, 16]
    axes.tricontour(Triangulation(x, y), loss, levels, colors="#bbbbbb", linewidths=0.8)
    axes.fill(*CORNERS.T, fill=False, ec="#444444", lw=1)
    path = np.array([iterate.x for iterate in seen[:SHOWN]]) @ CORNERS
    axes.plot(*path.T, color=BLUE, marker="o", ms=3, lw=1, label=f"the walk, {SHOWN} iterations")
    axes.plot(*path[0], color=GREEN, marker="s", ls="", label="start: every topic alike")
    axes.plot(*(best @ CORNERS), color=RED, marker="*", ms=12, ls="", label="the optimum")
    for number, (corner, side) in enumerate(zip(CORNERS, ("top", "top", "bottom"), strict=True)):
        axes.text(*corner, f"topic {number} alone", ha="center", va=side)
    axes.set_aspect("equal")
    axes.axis("off")
    axes.legend(loc="upper left", bbox_to_anchor=(-0.3, 1.05))


def draw_gap(axes: Axes, seen: list[Iterate], best: float) -> None:
    iterations = [iterate.iteration for iterate in seen]
    gap, lost = ([i.gap for i in seen], [max(best - i.f, 1e-9) for i in seen])
    axes.loglog(iterations, gap, color=ORANGE, lw=1.4, label="the gap, which is known")
    axes.loglog(iterations, lost, color=BLUE, lw=1.4, label="what is lost, which is not")
    axes.set(xlabel="iterations", ylabel="nats", ylim=(1e-6, 20))
    axes.legend(loc="lower left")
    tidy(axes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "figures")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    seen = walk(2000)
    exact = max(walk(20_000), key=lambda iterate: iterate.f)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.2, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        draw_simplex(left, seen, exact.x)
        draw_gap(right, seen, exact.f)
        figure.savefig(options.out / "ope-walk.svg", metadata={"Date": None})
    for number in (10, 50, 200, 2000):
        iterate = seen[number - 1]
        print(f"| {number} | {iterate.gap:.3f} | {exact.f - iterate.f:.4f} |")


if __name__ == "__main__":
    main()
