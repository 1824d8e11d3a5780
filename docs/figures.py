"""Draw the figures of docs/inference.md and print their numbers.

    python docs/figures.py [--out DIR]

All documents are generated, from fixed seeds (figure_data.py).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from figure_data import (
    ALPHA,
    LENGTHS,
    SCHEDULES,
    Array,
    Artefact,
    Gaps,
    measure_artefact,
    measure_collapse,
    measure_gaps,
    measure_rate,
)
from figure_style import BLUE, GREEN, ORANGE, RED, SKY, STYLE, tidy
from matplotlib.figure import Figure

ALPHA_SIGN = "\N{GREEK SMALL LETTER ALPHA}"
STYLES = ((BLUE, "o", "-"), (GREEN, "s", "-"), (ORANGE, "^", "-"), (RED, "v", "--"))
COLLAPSE = dict(zip(SCHEDULES, STYLES, strict=True))


def draw_collapse(errors: dict[str, Array]) -> Figure:
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for (name, runs), shift in zip(errors.items(), (0.955, 0.985, 1.015, 1.045), strict=True):
        colour, marker, line = COLLAPSE[name]
        mean = runs.mean(axis=1)
        spread = np.abs(np.stack([runs.min(axis=1), runs.max(axis=1)]) - mean)
        x = np.array(LENGTHS) * shift
        axes.errorbar(
            x, mean, spread, color=colour, marker=marker, ls=line, capsize=3, lw=1.6, label=name
        )
    axes.set_xscale("log")
    axes.set_xticks(LENGTHS)
    axes.set_ylim(0, 2)
    axes.set_xlabel("tokens in the document")
    axes.set_ylabel("mean L1 distance to the true mixture")
    axes.legend(loc="upper right")
    tidy(axes)
    return figure


def print_collapse(errors: dict[str, Array]) -> None:
    print("| tokens | " + " | ".join(errors) + " |")
    print("|---" * (len(errors) + 1) + "|")
    for i, n_tokens in enumerate(LENGTHS):
        cells = (f"{runs[i].mean():.2f} ± {runs[i].std():.2f}" for runs in errors.values())
        print(f"| {n_tokens} | " + " | ".join(cells) + " |")


def draw_artefact(run: Artefact) -> Figure:
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(run.T, run.g2, color=ORANGE, marker="s", ms=3.5, label="g2, log prior")
    axes.plot(run.T, run.f, color=BLUE, marker="o", ms=3.5, label="f = g1 + g2")
    axes.plot(run.T, run.g1, color=GREEN, marker="^", ms=3.5, label="g1, log likelihood")
    late = run.T >= 50
    fitted = np.polyval(np.polyfit(np.log(run.T[late]), run.f[late], 1), np.log(run.T[late]))
    label = f"fit of f: {run.slope('f'):.1f} ln T\npredicted: {run.predicted():.1f} ln T"
    axes.plot(run.T[late], fitted, color="black", lw=1, ls="--", zorder=5, label=label)
    axes.set_xscale("log")
    axes.set_xlabel("iterations T")
    axes.set_ylabel("nats, mean over the batch")
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.34))
    tidy(axes)
    return figure


def print_artefact(run: Artefact) -> None:
    print("| T | g1 | g2 | f | topics picked |")
    print("|---|---|---|---|---|")
    for T in (2, 3, 5, 10, 50, 500, 5000):
        i = int(np.flatnonzero(run.T == T)[0])
        row = f"{run.g1[i]:.1f} | {run.g2[i]:.1f} | {run.f[i]:.1f} | {run.picked[i]:.2f}"
        print(f"| {T} | {row} |")
    print("per unit of ln T, from T = 50 on:")
    print(", ".join(f"{term} {run.slope(term):.2f}" for term in ("g1", "g2", "f")))
    print(f"predicted (1 - alpha) (K - picked): {run.predicted():.2f}")


def draw_gaps(gaps: Gaps) -> Figure:
    figure = Figure(figsize=(9.2, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    styles = zip((SKY, ORANGE, GREEN, RED), "osD^", strict=True)
    for (T, (lost, gap)), (colour, marker) in zip(gaps.concave.items(), styles, strict=True):
        left.plot(lost, gap, ls="", marker=marker, ms=4, mew=0, color=colour, label=f"T = {T}")
    least = min(lost.min() for lost, _ in gaps.concave.values())
    most = max(gap.max() for _, gap in gaps.concave.values())
    line = np.array([least / 1.5, most * 1.5])
    left.plot(line, line, color="black", lw=1, ls="--", label="gap = f* - f")
    left.set(xscale="log", yscale="log", title=f"{ALPHA_SIGN} = 1: f is concave")
    left.set_xlabel("f* - f, what a mixture lacks in truth (nats)")
    left.set_ylabel("gap (nats)")
    left.legend(loc="lower right")

    both = f"gap; dashed: (1 - {ALPHA_SIGN}) (K - topics picked)"
    for values, colour, marker, label in (
        (gaps.likelihood_gap, GREEN, "^", "likelihood_gap"),
        (gaps.sharper, SKY, "D", "N ln(1 + likelihood_gap / N)"),
        (gaps.gap, BLUE, "o", both),
        (gaps.lost, RED, "s", "log likelihood lost in truth"),
    ):
        right.plot(gaps.T, values, color=colour, marker=marker, ms=3.5)
        above = label != both  # the two lines above it leave no room there
        where = (gaps.T[-1], values[-1] * (1.2 if above else 0.8))
        right.text(*where, label, ha="right", va="bottom" if above else "top")
    right.plot(gaps.T, gaps.floor, color="black", ls="--", lw=1, zorder=5)
    right.set(xscale="log", yscale="log", title=f"{ALPHA_SIGN} = 1/K: f is not concave")
    right.set_ylim(3, 5000)
    right.set_xlabel("iterations T")
    right.set_ylabel("nats, mean over the documents")
    for axes in (left, right):
        tidy(axes)
    return figure


def print_gaps(gaps: Gaps) -> None:
    n = gaps.n_tokens
    print("alpha = 1, medians")
    print("| T | f* - f | gap | N ln(1 + gap/N) | smallest gap / (f* - f) |")
    print("|---|---|---|---|---|")
    for T, (lost, gap) in gaps.concave.items():
        medians = (np.median(v) for v in (lost, gap, n * np.log1p(gap / n)))
        cells = " | ".join(f"{v:.2f}" for v in medians)
        print(f"| {T} | {cells} | {(gap / lost).min():.1f} |")
    print(f"f* is known to within {gaps.doubt:.0e}")
    print(f"alpha = {ALPHA:g}, means")
    columns = ("gap", "floor", "likelihood_gap", "sharper", "lost")
    print("| T | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for T in (5, 10, 50, 500, 2000):
        i = int(np.flatnonzero(gaps.T == T)[0])
        print(f"| {T} | " + " | ".join(f"{getattr(gaps, c)[i]:.1f}" for c in columns) + " |")


def print_rate(found: dict[str, Array]) -> None:
    print("| T | distance, coins | f* - f, coins | distance, balanced | f* - f, balanced |")
    print("|---|---|---|---|---|")
    for (T, *one), (_, *two) in zip(*found.values(), strict=True):
        print(f"| {T:.0f} | " + " | ".join(f"{v:.1e}" for v in (*one, *two)) + " |")


FIGURES = {
    "collapse": (measure_collapse, draw_collapse, print_collapse),
    "artefact": (measure_artefact, draw_artefact, print_artefact),
    "gaps": (measure_gaps, draw_gaps, print_gaps),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "figures")
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        for name, (measure, draw, tell) in FIGURES.items():
            numbers = measure()
            path = options.out / f"{name}.{options.format}"
            metadata = {"Date": None} if options.format == "svg" else None
            draw(numbers).savefig(path, metadata=metadata)
            print(f"\n{name}")
            tell(numbers)
    print("\nrate")
    print_rate(measure_rate())


if __name__ == "__main__":
    main()
