"""Figure 2: how good the topics of the seven learners are after so many documents."""

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
from opelda.experiments._learning import SEVEN
from opelda.experiments._settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# differences in LPP below this are between seeds of one learner, too
TIE = 0.02


def runs(settings: Settings, data: Data) -> Sequence[Run]:
    """Return the runs of all learners."""
    return curves(settings)


def draw(rows: Rows) -> "Figure":
    """Draw both measures against the documents seen; further passes come after the first."""
    return draw_curves(rows, "documents", "documents seen")


def judge(rows: Rows) -> list[Verdict]:
    """Say who is best and who is worst at the end."""
    return [_best(rows), _worst(rows), _start(rows), _coherent(rows)]


def _ends(rows: Rows, measure: str) -> dict[str, float]:
    ends = {row["learner"]: row[measure] for row in last(rows) if row["learner"] in SEVEN}
    return best_first(ends)


def _told(values: dict[str, float]) -> str:
    return listed({name: f"{value:.3f}" for name, value in values.items()})


def _best(rows: Rows) -> Verdict:
    claim = "Online-OPE has the best predictiveness"
    ends = _ends(rows, "lpp")
    if "Online-OPE" not in ends or len(ends) == 1:
        return Verdict(claim, "not tested", "it takes Online-OPE and another of the learners")
    behind = max(ends.values()) - ends["Online-OPE"]
    alone = frequencies_alone(rows)
    if alone is not None and ends["Online-OPE"] <= alone:
        return Verdict(claim, "not reproduced", f"{_told(ends)}; without topics {alone:.3f}")
    return Verdict(claim, grade(behind == 0, behind < TIE), _told(ends))


def _worst(rows: Rows) -> Verdict:
    claim = "Streaming-OPE is the worst in predictiveness"
    ends = _ends(rows, "lpp")
    if "Streaming-OPE" not in ends or len(ends) == 1:
        return Verdict(claim, "not tested", "it takes Streaming-OPE and another of the learners")
    ahead = ends["Streaming-OPE"] - min(ends.values())
    outcome = grade(ahead == 0, ahead < TIE)
    return Verdict(claim, outcome, f"it is {list(ends).index('Streaming-OPE') + 1}. of {len(ends)}")


def _start(rows: Rows) -> Verdict:
    claim = "Streaming-OPE's weakness is its random start, which is never taken out"
    ends = {row["learner"]: row["lpp"] for row in last(rows)}
    pair = [ends.get(name) for name in ("Streaming-OPE", "Streaming-OPE, start kept")]
    if pair[0] is None or pair[1] is None:
        return Verdict(claim, "not tested", "it takes Streaming-OPE with both starts")
    gained = pair[0] - pair[1]
    outcome = grade(gained > 5 * TIE, gained > TIE)
    return Verdict(claim, outcome, f"LPP {pair[1]:.3f} with it, {pair[0]:.3f} without")


def _coherent(rows: Rows) -> Verdict:
    claim = "Online-OPE is among the best in coherence"
    ends = _ends(rows, "npmi")
    if "Online-OPE" not in ends or len(ends) == 1:
        return Verdict(claim, "not tested", "it takes Online-OPE and another of the learners")
    place = list(ends).index("Online-OPE") + 1
    outcome = grade(place <= 3)
    return Verdict(claim, outcome, f"NPMI {_told(ends)}")


EXPERIMENT = Experiment(
    name="learning-documents",
    title="predictiveness and coherence of seven learners against documents seen",
    place="Figure 2",
    runs=runs,
    draw=draw,
    judge=judge,
)
