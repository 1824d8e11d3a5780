"""Figure 2: how good the topics of the seven learners are after so many documents."""

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from opelda.experiments._curves import (
    complete,
    curves,
    draw_curves,
    ends,
    frequencies_alone,
    listed,
)
from opelda.experiments._data import Data
from opelda.experiments._experiment import Experiment, Rows, Run, Verdict, grade
from opelda.experiments._learning import SEVEN
from opelda.experiments._margin import margin
from opelda.experiments._settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# the paper's streaming learners never take their random start out
AS_IN_PAPER = {name: f"{name}, start kept" for name in ("Streaming-OPE", "Streaming-VB")}
# differences in NPMI below this are between seeds of one learner, too
CLOSE = 0.01


def runs(settings: Settings, data: Data) -> Sequence[Run]:
    """Return the runs of all learners."""
    return curves(settings)


def draw(rows: Rows) -> "Figure":
    """Draw both measures against the documents seen; further passes come after the first."""
    return draw_curves(rows, "documents", "documents seen")


def judge(rows: Rows) -> list[Verdict]:
    """Say who is best and who is worst at the end; what differs no more than seeds do is a tie."""
    return [_best(rows), _worst(rows), _coherent(rows)]


def _best(rows: Rows) -> Verdict:
    claim = "Online-OPE has the best predictiveness"
    if not complete(rows):
        return Verdict(claim, "not tested", "it takes all seven learners")
    found, alone = ends(rows, "lpp"), frequencies_alone(rows)
    final = {name: fmean(found[name]) for name in SEVEN}
    lead = final["Online-OPE"] - max(v for name, v in final.items() if name != "Online-OPE")
    counts = margin(found.values())
    why = f"{_told(final)} ({counts:.2g} counts)"
    if alone is not None and final["Online-OPE"] <= alone:
        return Verdict(claim, "not reproduced", f"{why}; word frequencies alone {alone:.3f}")
    return Verdict(claim, grade(lead > counts, lead >= -counts), why)


def _worst(rows: Rows) -> Verdict:
    claim = "Streaming-OPE is the worst in predictiveness"
    found = ends(rows, "lpp")
    if not complete(rows) or not set(AS_IN_PAPER.values()) <= set(found):
        return Verdict(claim, "not tested", "it takes all seven learners, and both starts")
    final = {name: fmean(found[AS_IN_PAPER.get(name, name)]) for name in SEVEN}
    behind = min(v for name, v in final.items() if name != "Streaming-OPE")
    behind -= final["Streaming-OPE"]
    counts = margin(found.values())
    better = fmean(found["Streaming-OPE"])
    why = f"with its random start kept {_told(final)}; without {better:.3f} ({counts:.2g} counts)"
    return Verdict(claim, grade(behind > counts, behind >= -counts), why)


def _coherent(rows: Rows) -> Verdict:
    claim = "Online-OPE is among the best three in coherence"
    if not complete(rows):
        return Verdict(claim, "not tested", "it takes all seven learners")
    final = {name: fmean(ends(rows, "npmi")[name]) for name in SEVEN}
    behind = sorted(final.values())[-3] - final["Online-OPE"]
    return Verdict(claim, grade(behind <= 0, behind <= CLOSE), f"NPMI {_told(final)}")


def _told(values: dict[str, float]) -> str:
    best_first = sorted(values.items(), key=lambda pair: -pair[1])
    return listed({name: f"{value:.3f}" for name, value in best_first})


EXPERIMENT = Experiment(
    name="learning-documents",
    title="predictiveness and coherence of seven learners against documents seen",
    place="Figure 2",
    runs=runs,
    draw=draw,
    judge=judge,
)
