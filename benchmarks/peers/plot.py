"""Quality against seconds, from the lines alone.

python -m benchmarks.peers.plot FILE.jsonl FOLDER
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import tables

PANELS = {"lpp": "log predictive probability", "npmi": "NPMI"}
DASHES = ("-", "--", ":", "-.")


def draw(lines: list[tables.Line], folder: Path) -> list[Path]:
    """Draw an SVG per corpus: a panel per measure, a line per system and settings."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    paths = []
    for corpus in dict.fromkeys(line["corpus"] for line in lines):
        runs = tables.runs(line for line in lines if line["corpus"] == corpus)
        figure, axes = pyplot.subplots(1, 2, figsize=(12, 5), layout="constrained")
        for axis, (measure, title) in zip(axes, PANELS.items(), strict=True):
            panel(axis, runs, measure)
            axis.set(xscale="log", xlabel="seconds of training", ylabel=title)
            axis.grid(alpha=0.3)
        axes[0].set_title(corpus, loc="left")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
        path = folder / f"{corpus}.svg"
        figure.savefig(path)
        pyplot.close(figure)
        paths.append(path)
    return paths


def panel(axis: Any, runs: list[list[tables.Line]], measure: str) -> None:
    """Draw the runs: a colour per system, a dash per settings."""
    colours: dict[str, str] = {}
    dashes: dict[tuple[str, str], str] = {}
    for run in runs:
        system, label = run[0]["system"], run[0]["label"]
        colour = colours.setdefault(system, f"C{len(colours)}")
        so_far = sum(name == system for name, _ in dashes)
        dash = dashes.setdefault((system, label), DASHES[so_far % len(DASHES)])
        axis.plot(
            [line["seconds"] for line in run],
            [line[measure] for line in run],
            color=colour,
            linestyle=dash,
            linewidth=2.2 if system == tables.OURS else 1.2,
            marker="." if len(run) > 1 else "o",
            label=f"{system}, {label}",
        )


if __name__ == "__main__":
    import sys

    print(*draw(tables.read(Path(sys.argv[1])), Path(sys.argv[2])), sep="\n")
