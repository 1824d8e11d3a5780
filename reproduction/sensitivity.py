"""Figure 3: how much the parameters of learning matter to ML-OPE and Online-OPE, one at a time."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction import rows as table
from reproduction.curves import MEASURES
from reproduction.data import Data
from reproduction.experiment import Experiment, Report, Run, Verdict, grade
from reproduction.learners import learned, new_learner
from reproduction.plots import LOOKS, draw_line, legend, panels, tidy
from reproduction.rows import (
    LEAST_UPDATES,
    TIE,
    Rows,
    grouped,
    listed,
    margin,
    too_few_updates,
    where,
)
from reproduction.settings import Settings

LEARNERS = ("ML-OPE", "Online-OPE")


class Sweep(NamedTuple):
    """The values that a parameter takes."""

    label: str
    values: tuple[float, ...]
    quick: tuple[float, ...]
    ticks: tuple[float, ...]
    scale: str = "log"


# The paper names no values, only kappa in (0.5, 1] and tau > 0.
SWEEPS = {
    "batch_size": Sweep(
        "mini-batch size S",
        values=(100, 250, 500, 1000, 2500, 5000, 10_000),
        quick=(100, 500),
        ticks=(100, 1000, 10_000),
    ),
    "n_iter": Sweep(
        "iterations T of OPE",
        values=(5, 10, 20, 50, 100),
        quick=(20, 100),
        ticks=(5, 10, 20, 50, 100),
    ),
    "learning_decay": Sweep(
        "forgetting rate κ",
        values=(0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        quick=(0.6,),
        ticks=(0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        scale="linear",
    ),
    "learning_offset": Sweep(
        "offset τ",
        values=(0.1, 1.0, 10.0, 20.0, 50.0, 100.0),
        quick=(1.0, 50.0),
        ticks=(0.1, 1.0, 10.0, 100.0),
    ),
}


def runs(settings: Settings, data: Data) -> Sequence[Run]:
    """Return a run for each learner, seed and changed parameter, and one with no change."""
    base = _base(settings, data)
    changes: list[dict[str, float]] = [{}]
    for name, sweep in SWEEPS.items():
        values = sweep.quick if settings.quick else sweep.values
        if name == "batch_size":  # there cannot be more documents than all
            values = tuple(dict.fromkeys(min(value, data.train.shape[0]) for value in values))
        changes += [{name: value} for value in values if value != base[name]]
    return [
        Run(_label(learner, changed), one_pass, {"learner": learner, "seed": seed} | changed)
        for seed in settings.seeds()
        for changed in changes
        for learner in LEARNERS
    ]


def _base(settings: Settings, data: Data) -> dict[str, float]:
    base = {name: getattr(settings, name) for name in SWEEPS}
    return base | {"batch_size": min(settings.batch_size, data.train.shape[0])}


def _label(learner: str, changed: dict[str, float]) -> str:
    return " ".join([learner, *(f"{name}={value:g}" for name, value in changed.items())])


def one_pass(
    data: Data, settings: Settings, report: Report, *, learner: str, seed: int, **changed: float
) -> Rows:
    """Learn in one pass with a parameter changed, and look at the topics at its end.

    Nothing changed is a point of every sweep: a row for each.
    """
    model = new_learner(learner, settings, seed, n_passes=1, **changed)
    end = learned(model, data, settings, report)
    return [
        {
            "learner": learner,
            "parameter": name,
            "value": float(value),
            "as_set": not changed,
            "seed": seed,
            **end,
        }
        for name, value in (changed or _base(settings, data)).items()
    ]


def means(rows: Rows, learner: str, parameter: str, measure: str = "lpp") -> dict[float, float]:
    """Return a learner's means over seeds by a parameter's values, in their order.

    >>> about = {"learner": "ML-OPE", "parameter": "n_iter", "value": 20.0}
    >>> means([about | {"lpp": -8.0}, about | {"lpp": -7.0}], "ML-OPE", "n_iter")
    {20.0: -7.5}
    """
    found = table.means(where(rows, learner=learner, parameter=parameter), "value", measure)
    return {value: found[value] for value in sorted(found)}


def _margin(rows: Rows, learner: str, parameter: str) -> float:
    seeds = grouped(where(rows, learner=learner, parameter=parameter), "value").values()
    return margin([row["lpp"] for row in own] for own in seeds)


def draw(rows: Rows) -> Figure:
    """Draw both measures against each parameter: means over seeds, and the seeds as dots.

    All parameters except tau share an axis; beside tau the rest could look flat.
    """
    figure, axes = panels(len(SWEEPS), len(MEASURES), width=2.7, height=2.6)
    for row, (measure, title) in zip(axes, MEASURES.items(), strict=True):
        row[0].set_ylabel(title)
        for panel, (parameter, sweep) in zip(row, SWEEPS.items(), strict=True):
            if parameter != "learning_offset":
                panel.sharey(row[0])
            panel.set(xscale=sweep.scale, xlabel=sweep.label)
            panel.set_xticks(sweep.ticks)
            _draw_panel(panel, rows, parameter, measure)
            tidy(panel)
    legend(figure, axes)
    return figure


def _draw_panel(panel: Axes, rows: Rows, parameter: str, measure: str) -> None:
    here = where(rows, parameter=parameter)
    for learner in LEARNERS:
        own = where(here, learner=learner)
        points = means(own, learner, parameter, measure)
        if points:
            draw_line(panel, learner, list(points), list(points.values()))
        if len(own) > len(points):
            x, y = [row["value"] for row in own], [row[measure] for row in own]
            panel.scatter(x, y, s=9, color=LOOKS[learner].colour, alpha=0.3, lw=0)
    for value in sorted(grouped(where(here, as_set=True), "value")):
        panel.axvline(value, color="#e4e4e4", lw=6, zorder=0, label="as in the other panels")


def judge(rows: Rows) -> list[Verdict]:
    """Compare the settings.

    Values with too few updates are left out. A difference must be larger than the margin of its
    sweep. To be as good is to be within 0.02: seeds that differ much must not make settings equal.

    >>> [verdict.outcome for verdict in judge([])]
    ['not tested', 'not tested', 'not tested', 'not tested']
    """
    return [
        _verdict(rows, "larger mini-batches are better", "batch_size", _rises),
        _verdict(
            rows,
            "20 iterations of OPE are as good as 100",
            "n_iter",
            _twenty_do,
            (20, 100),
            equal=True,
        ),
        _verdict(rows, "kappa hardly matters", "learning_decay", _flat, equal=True),
        _verdict(rows, "tau = 1 is best", "learning_offset", _one_is_best, (1,)),
    ]


def _verdict(
    rows: Rows,
    claim: str,
    parameter: str,
    holds: Callable[[dict[float, float], float], bool],
    needed: tuple[float, ...] = (),
    *,
    equal: bool = False,
) -> Verdict:
    few = {row["value"] for row in where(rows, parameter=parameter) if too_few_updates([row])}
    rows = [row for row in rows if row["value"] not in few]
    found = {learner: means(rows, learner, parameter) for learner in LEARNERS}
    tested = {
        learner: values
        for learner, values in found.items()
        if len(values) > 1 and all(value in values for value in needed)
    }
    left_out = f"too few updates to judge {', '.join(f'{value:g}' for value in sorted(few))}"
    if not tested and few:
        why = f"{left_out} of {parameter}: it takes {LEAST_UPDATES}"
        return Verdict(claim, "not tested", why)
    if not tested:
        wanted = " and ".join(f"{value:g}" for value in needed) or "several values"
        why = f"it takes {parameter} of {wanted}" + (", and another" if len(needed) == 1 else "")
        return Verdict(claim, "not tested", why)
    held, figures = [], []
    for learner, values in tested.items():
        counts = TIE if equal else _margin(rows, learner, parameter)
        held.append(holds(values, counts))
        figures.append(f"{learner} {_in_words(values)} ({counts:.2g} counts)")
    why = f"LPP after one pass by {parameter}: {'; '.join(figures)}"
    why += f"; {left_out}" if few else ""
    return Verdict(claim, grade(all(held), any(held)), why)


def _in_words(values: dict[float, float]) -> str:
    return listed({f"{value:g}:": f"{lpp:.3f}" for value, lpp in values.items()})


def _rises(lpp: dict[float, float], counts: float) -> bool:
    """No value is behind a smaller one, and the largest is ahead of the smallest."""
    lost = max(before - after for before, after in combinations(lpp.values(), 2))
    return lost <= counts < lpp[max(lpp)] - lpp[min(lpp)]


def _twenty_do(lpp: dict[float, float], counts: float) -> bool:
    return lpp[100] - lpp[20] <= counts


def _flat(lpp: dict[float, float], counts: float) -> bool:
    return max(lpp.values()) - min(lpp.values()) <= counts


def _one_is_best(lpp: dict[float, float], counts: float) -> bool:
    """It is not behind any other, and some are behind it."""
    return max(lpp.values()) - lpp[1] <= counts < lpp[1] - min(lpp.values())


EXPERIMENT = Experiment(
    name="sensitivity",
    title="predictiveness and coherence after one pass as one parameter of learning changes",
    place="Figure 3",
    runs=runs,
    draw=draw,
    judge=judge,
)
