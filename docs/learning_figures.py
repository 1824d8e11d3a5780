"""Draw the figures of docs/learning.md and print their numbers as tables.

    python docs/learning_figures.py [--out DIR]

They show benchmarks/results/sensitivity.jsonl, which benchmarks/sensitivity.py has measured.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any, TypeAlias

import matplotlib as mpl
from figure_style import BLUE, GREEN, LOOKS, ORANGE, RED, STYLE, tidy
from matplotlib.axes import Axes
from matplotlib.figure import Figure

MEASURED = Path(__file__).parents[1] / "benchmarks" / "results" / "sensitivity.jsonl"
KAPPA = "\N{GREEK SMALL LETTER KAPPA}"
DECAYS = {0.5: (ORANGE, "^"), 0.6: (BLUE, "o"), 0.7: (GREEN, "s"), 0.9: (RED, "v")}
PAPER = {"OnlineOPE": "Online-OPE", "MLOPE": "ML-OPE", "StreamingOPE": "Streaming-OPE"}
LEARNERS = {name: LOOKS[theirs][:2] for name, theirs in PAPER.items()}
LPP, INCOHERENT = "LPP", "incoherent topics"
LABELS = {LPP: "held-out LPP (nats a token)", INCOHERENT: "incoherent topics of 100"}

Run: TypeAlias = dict[str, Any]
Line: TypeAlias = dict[float, Run]  # runs by the setting that was varied


def read(path: Path = MEASURED) -> list[Run]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def line(runs: list[Run], sweep: str, varied: str, **fixed: Any) -> Line:
    """Return the runs of a sweep that have the fixed settings, by the varied one."""
    wanted = {"sweep": sweep, **fixed}.items()
    found = {run[varied]: run for run in runs if wanted <= run.items()}
    return dict(sorted(found.items()))


def by_decay(runs: list[Run]) -> dict[float, Line]:
    name = "batch size and decay"
    return {decay: line(runs, name, "batch_size", learning_decay=decay) for decay in DECAYS}


def by_learner(runs: list[Run]) -> dict[str, Line]:
    others = [name for name in LEARNERS if name != "OnlineOPE"]
    found = {name: line(runs, "batch size", "batch_size", learner=name) for name in others}
    return {"OnlineOPE": by_decay(runs)[0.6], **found}


def draw_batch_size(runs: list[Run]) -> Figure:
    figure, panels = _panels()
    seeds = [run for run in runs if run["sweep"] == "seeds"]
    for axes, measure in zip(panels, (LPP, INCOHERENT), strict=True):
        for decay, (colour, marker) in DECAYS.items():
            _plot(axes, by_decay(runs)[decay], measure, f"{KAPPA} = {decay}", colour, marker)
        values = [run[measure] for run in seeds]
        label = f"{len(seeds)} seeds, {KAPPA} = 0.6"
        size = seeds[0]["batch_size"]
        axes.vlines(size, min(values), max(values), color="#bbbbbb", lw=7, zorder=1, label=label)
        _sizes(axes, by_decay(runs)[0.6])
    panels[1].set_ylim(bottom=0)
    _legend(figure, panels[0])
    return figure


def draw_learners(runs: list[Run]) -> Figure:
    figure, panels = _panels()
    for axes, measure in zip(panels, (LPP, INCOHERENT), strict=True):
        for name, sizes in by_learner(runs).items():
            _plot(axes, sizes, measure, name, *LEARNERS[name])
            _sizes(axes, sizes)
    panels[1].set_ylim(bottom=-1)
    _legend(figure, panels[0])
    return figure


def draw_effort(runs: list[Run]) -> Figure:
    figure, panels = _panels(sharey=True)
    for name, style in LEARNERS.items():
        _plot(panels[0], line(runs, "iterations", "n_iter", learner=name), LPP, name, *style)
        _plot(panels[1], line(runs, "passes", "n_passes", learner=name), LPP, name, *style)
    panels[0].set(xscale="log", xlabel="OPE's iterations T (n_iter), 1 pass")
    panels[0].set_xticks(list(line(runs, "iterations", "n_iter", learner="MLOPE")))
    panels[1].set(xlabel="passes (n_passes), T = 50", ylabel="")
    panels[1].set_xticks(list(line(runs, "passes", "n_passes", learner="MLOPE")))
    _legend(figure, panels[0])
    for axes in panels:
        tidy(axes)
    return figure


FIGURES = {
    "learning-batch-size": draw_batch_size,
    "learning-learners": draw_learners,
    "learning-effort": draw_effort,
}


def print_tables(runs: list[Run]) -> None:
    decays, learners = by_decay(runs), by_learner(runs)
    columns = " | ".join(f"{KAPPA} = {decay}" for decay in decays)
    print(f"| S | OnlineOPE, {columns} | MLOPE, {KAPPA} = 0.6 | StreamingOPE |")
    for size in decays[0.6]:
        cells = [sizes[size] for sizes in decays.values()]
        cells += [learners[name][size] for name in ("MLOPE", "StreamingOPE")]
        print(f"| {size:,} | {' | '.join(map(_both, cells))} |")
    for sweep, varied in (
        ("iterations", "n_iter"),
        ("passes", "n_passes"),
        ("offset", "learning_offset"),
    ):
        for name in LEARNERS:
            values = line(runs, sweep, varied, learner=name)
            if values:
                print(f"| {varied} | {' | '.join(f'{value:g}' for value in values)} |")
                print(f"| {name} | {' | '.join(map(_both, values.values()))} |")
    print("| random start | replaced | kept |")
    for name in ("StreamingOPE", "StreamingVB"):
        for size in (1000, 5000):
            kept = line(runs, "random start", "keep_start", learner=name, batch_size=size)
            print(f"| {name}, S = {size:,} | {' | '.join(map(_both, kept.values()))} |")
    scores = [run[LPP] for run in runs if run["sweep"] == "seeds"]
    print(f"{len(scores)} seeds: {statistics.mean(scores):.3f} ± {statistics.stdev(scores):.3f}")


def _both(run: Run) -> str:
    return f"{run[LPP]:.3f} ({run[INCOHERENT]})"


def _panels(sharey: bool = False) -> tuple[Figure, Any]:
    figure = Figure(figsize=(9.2, 4.0), layout="constrained")
    return figure, figure.subplots(1, 2, sharey=sharey)


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))


def _plot(axes: Axes, runs: Line, measure: str, name: str, colour: str, marker: str) -> None:
    values = [run[measure] for run in runs.values()]
    axes.plot(list(runs), values, color=colour, marker=marker, ms=5, lw=1.6, label=name)
    axes.set_ylabel(LABELS[measure])


def _sizes(axes: Axes, runs: Line) -> None:
    axes.set(xscale="log", xlabel="documents per mini-batch S (batch_size)")
    axes.set_xticks(list(runs))
    tidy(axes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "figures")
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    runs = read()
    with mpl.rc_context(STYLE):
        for name, draw in FIGURES.items():
            metadata = {"Date": None} if options.format == "svg" else None
            draw(runs).savefig(options.out / f"{name}.{options.format}", metadata=metadata)
    print_tables(runs)


if __name__ == "__main__":
    main()
