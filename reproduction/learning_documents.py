"""Figure 2: quality of the topics of the seven learners against documents."""

from statistics import fmean

from matplotlib.figure import Figure

from reproduction.curves import curves, draw_curves, ends, frequencies_alone, untestable
from reproduction.experiment import Experiment, Verdict, grade, unless_few
from reproduction.learners import SEVEN
from reproduction.rows import Rows, listed, margin

# the paper's streaming learners never take their random start out
AS_IN_PAPER = {name: f"{name}, start kept" for name in ("Streaming-OPE", "Streaming-VB")}
# differences in NPMI below this also occur between seeds of a learner
CLOSE = 0.01


def draw(rows: Rows) -> Figure:
    """Draw both measures against the documents seen; further passes come after the first."""
    return draw_curves(rows, "documents", "documents seen")


def judge(rows: Rows) -> list[Verdict]:
    """Return the best and worst learner at the end; differences like those of seeds are ties."""
    return unless_few(rows, [_best(rows), _worst(rows), _coherent(rows)])


def _best(rows: Rows) -> Verdict:
    claim = "Online-OPE has the best predictiveness"
    if (why := untestable(rows)) is not None:
        return Verdict(claim, "not tested", why)
    found, alone = ends(rows, "lpp"), frequencies_alone(rows)
    final = {name: fmean(found[name]) for name in SEVEN}
    lead = final["Online-OPE"] - max(v for name, v in final.items() if name != "Online-OPE")
    counts = margin(found.values())
    why = f"{_best_first(final)} ({counts:.2g} counts)"
    if alone is not None and final["Online-OPE"] <= alone:
        return Verdict(claim, "not reproduced", f"{why}; word frequencies alone {alone:.3f}")
    return Verdict(claim, grade(lead > counts, lead >= -counts), why)


def _worst(rows: Rows) -> Verdict:
    claim = "Streaming-OPE is the worst in predictiveness"
    found = ends(rows, "lpp")
    if (why := untestable(rows)) is not None:
        return Verdict(claim, "not tested", why)
    if not set(AS_IN_PAPER.values()) <= set(found):
        return Verdict(claim, "not tested", "it takes both starts of the streaming learners")
    final = {name: fmean(found[AS_IN_PAPER.get(name, name)]) for name in SEVEN}
    behind = min(v for name, v in final.items() if name != "Streaming-OPE")
    behind -= final["Streaming-OPE"]
    counts = margin(found.values())
    figures = f"{_best_first(final)}; without {fmean(found['Streaming-OPE']):.3f}"
    why = f"with its random start kept {figures} ({counts:.2g} counts)"
    return Verdict(claim, grade(behind > counts, behind >= -counts), why)


def _coherent(rows: Rows) -> Verdict:
    claim = "Online-OPE is among the best three in coherence"
    if (why := untestable(rows)) is not None:
        return Verdict(claim, "not tested", why)
    final = {name: fmean(ends(rows, "npmi")[name]) for name in SEVEN}
    behind = sorted(final.values())[-3] - final["Online-OPE"]
    return Verdict(claim, grade(behind <= 0, behind <= CLOSE), f"NPMI {_best_first(final)}")


def _best_first(values: dict[str, float]) -> str:
    ordered = sorted(values.items(), key=lambda pair: -pair[1])
    return listed({name: f"{value:.3f}" for name, value in ordered})


EXPERIMENT = Experiment(
    name="learning-documents",
    title="predictiveness and coherence of seven learners against documents seen",
    place="Figure 2",
    runs=curves,
    draw=draw,
    judge=judge,
)
