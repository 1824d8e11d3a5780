"""Figure 1: how good the topics of the seven learners are after so many seconds."""

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from opelda.experiments._curves import (
    complete,
    curves,
    draw_curves,
    ends,
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

# times that differ by less do not differ
LEVEL_WITH = 1.25
# "hundred times" and "thousand times" faster, with room for another machine; and "many times"
HUNDREDS, THOUSANDS, SEVERAL = 50, 500, 3


def runs(settings: Settings, data: Data) -> Sequence[Run]:
    """Return the runs of all learners."""
    return curves(settings)


def draw(rows: Rows) -> "Figure":
    """Draw both measures against the seconds of learning."""
    return draw_curves(rows, "seconds", "seconds of learning")


def judge(rows: Rows) -> list[Verdict]:
    """Say who is first at a level that five of the seven reach, and how much slower others are."""
    return [_fastest(rows), _ratios(rows)]


def level(rows: Rows) -> float:
    """Return the predictiveness that all of the paper's learners but the worst two end with."""
    final = sorted((fmean(ends(rows, "lpp")[name]) for name in SEVEN), reverse=True)
    return final[-3]


def seconds_to(rows: Rows, wanted: float) -> dict[str, float]:
    """Return when each learner's first look was at least as good as wanted, the fastest first.

    Of several seeds the mean; a learner of which a seed never was is left out.

    >>> points = [(1.0, -8.0), (2.0, -7.5), (3.0, -7.0)]
    >>> rows = [{"learner": "ML-OPE", "seed": 0, "seconds": s, "lpp": p} for s, p in points]
    >>> seconds_to(rows, -7.6)
    {'ML-OPE': 2.0}
    """
    found: dict[str, float] = {}
    for name in dict.fromkeys(row["learner"] for row in rows if row["learner"] in NAMES):
        first: dict[int, float] = {row["seed"]: float("inf") for row in rows}
        for row in rows:
            if row["learner"] == name and row["lpp"] >= wanted:
                first[row["seed"]] = min(first[row["seed"]], row["seconds"])
        seconds = [first[seed] for seed in {r["seed"] for r in rows if r["learner"] == name}]
        if max(seconds) < float("inf"):
            found[name] = fmean(seconds)
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def _fastest(rows: Rows) -> Verdict:
    claim = "ML-OPE is the fastest to a given predictiveness"
    reached, why = _reached(rows)
    if not reached:
        return Verdict(claim, "not tested", why)
    own, first = reached.get("ML-OPE", float("inf")), min(reached.values())
    return Verdict(claim, grade(own == first, own <= LEVEL_WITH * first), why)


def _ratios(rows: Rows) -> Verdict:
    claim = "OPE is hundreds of times faster than CVB0, and thousands than VB, to the same level"
    reached, why = _reached(rows)
    fast = [reached[name] for name in ("ML-OPE", "Online-OPE") if name in reached]
    if not fast:
        return Verdict(claim, "not tested", why)
    # who never got there took all its time in vain
    total = {row["learner"]: row["seconds"] for row in last(rows)}
    times = {
        name: reached.get(name, total[name]) / min(fast)
        for name in ("Online-CGS", "Online-CVB0", "Online-VB", "Streaming-VB")
    }
    told = {
        name: f"{'' if name in reached else 'more than '}{ratio:.3g}x"
        for name, ratio in times.items()
    }
    same = {name: f"{total[name] / total['Online-OPE']:.3g}x" for name in times}
    several = min(times.values()) >= SEVERAL
    held = several and times["Online-CVB0"] >= HUNDREDS and times["Online-VB"] >= THOUSANDS
    return Verdict(
        claim,
        grade(held, several),
        f"{listed(told)}; for the same documents, against Online-OPE: {listed(same)}",
    )


def _reached(rows: Rows) -> tuple[dict[str, float], str]:
    """Return the seven's seconds to the level and the figures, or nothing and the reason."""
    if not complete(rows):
        return {}, "it takes all seven learners"
    wanted, alone = level(rows), frequencies_alone(rows)
    if alone is not None and wanted <= alone:
        return {}, f"most learners stay behind word frequencies alone, LPP {alone:.2f}"
    reached = {name: s for name, s in seconds_to(rows, wanted).items() if name in SEVEN}
    told = listed({name: f"{seconds:.2g} s" for name, seconds in reached.items()})
    return reached, f"LPP {wanted:.2f}: {told}"


EXPERIMENT = Experiment(
    name="learning-time",
    title="predictiveness and coherence of seven learners against seconds of learning",
    place="Figure 1",
    runs=runs,
    draw=draw,
    judge=judge,
)
