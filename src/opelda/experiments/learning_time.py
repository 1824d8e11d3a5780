"""Figure 1: how good the topics of the seven learners are after so many seconds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opelda.experiments._curves import (
    best_first,
    curves,
    draw_curves,
    frequencies_alone,
    last,
    listed,
)
from opelda.experiments._data import Data
from opelda.experiments._experiment import Experiment, Rows, Run, Verdict, grade
from opelda.experiments._learning import NAMES, SEVEN
from opelda.experiments._settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SLOW = ("Online-CGS", "Online-CVB0", "Online-VB", "Streaming-VB")


def runs(settings: Settings, data: Data) -> Sequence[Run]:
    """Return the runs of all learners."""
    return curves(settings)


def draw(rows: Rows) -> "Figure":
    """Draw both measures against the seconds of learning."""
    return draw_curves(rows, "seconds", "seconds of learning")


def judge(rows: Rows) -> list[Verdict]:
    """Say who is first at a level, and how much slower the others are."""
    return [_fastest(rows), _ratios(rows)]


def level(rows: Rows) -> float:
    """Return a predictiveness that all of the paper's learners but the worst two reach."""
    ends = sorted((row["lpp"] for row in last(rows) if row["learner"] in SEVEN), reverse=True)
    return float(ends[max(len(ends) - 3, 0)])


def seconds_to(rows: Rows, wanted: float) -> dict[str, float]:
    """Return when each learner's first look was at least as good as wanted, the fastest first.

    Of several seeds the mean; a learner that never was is left out.

    >>> points = [(1.0, -8.0), (2.0, -7.5), (3.0, -7.0)]
    >>> rows = [{"learner": "ML-OPE", "seed": 0, "seconds": s, "lpp": p} for s, p in points]
    >>> seconds_to(rows, -7.6)
    {'ML-OPE': 2.0}
    """
    found: dict[str, list[float]] = {}
    for name in dict.fromkeys(row["learner"] for row in rows if row["learner"] in NAMES):
        own = [row for row in rows if row["learner"] == name]
        for seed in dict.fromkeys(row["seed"] for row in own):
            times = [r["seconds"] for r in own if r["seed"] == seed and r["lpp"] >= wanted]
            if times:
                found.setdefault(name, []).append(min(times))
    means = {name: sum(times) / len(times) for name, times in found.items()}
    return dict(sorted(means.items(), key=lambda pair: pair[1]))


def _fastest(rows: Rows) -> Verdict:
    claim = "ML-OPE is the fastest to a given predictiveness"
    names = {row["learner"] for row in rows if row["learner"] in SEVEN}
    if "ML-OPE" not in names or len(names) == 1:
        return Verdict(claim, "not tested", "it takes ML-OPE and another of the learners")
    wanted, alone = level(rows), frequencies_alone(rows)
    if alone is not None and wanted <= alone:
        why = f"most learners stay behind word frequencies alone, LPP {alone:.2f}"
        return Verdict(claim, "not tested", why)
    reached = {name: s for name, s in seconds_to(rows, wanted).items() if name in SEVEN}
    order = list(reached)
    outcome = grade(order[:1] == ["ML-OPE"], "ML-OPE" in order[:3])
    told = ", ".join(f"{name} {seconds:.2g} s" for name, seconds in reached.items())
    return Verdict(claim, outcome, f"LPP {wanted:.2f}: {told}")


def _ratios(rows: Rows) -> Verdict:
    claim = "OPE's learners are tens to thousands of times faster than those of CGS, CVB0 and VB"
    ends = {row["learner"]: row["seconds"] for row in last(rows)}
    base = ends.get("Online-OPE")
    slow = {name: ends[name] / base for name in SLOW if base and name in ends}
    if not slow:
        return Verdict(claim, "not tested", "it takes Online-OPE and another of the learners")
    most, least = max(slow.values()), min(slow.values())
    outcome = grade(least >= 10, most >= 10)
    told = listed({name: f"{ratio:.1f}x" for name, ratio in best_first(slow).items()})
    return Verdict(claim, outcome, f"seconds for the same documents against Online-OPE's: {told}")


EXPERIMENT = Experiment(
    name="learning-time",
    title="predictiveness and coherence of seven learners against seconds of learning",
    place="Figure 1",
    runs=runs,
    draw=draw,
    judge=judge,
)
