"""Figure 1: quality of the topics of the seven learners against seconds."""

from statistics import fmean

from matplotlib.figure import Figure

from reproduction.curves import curves, draw_curves, ends, frequencies_alone, last, untestable
from reproduction.experiment import Experiment, Verdict, grade, unless_few
from reproduction.learners import NAMES, SEVEN
from reproduction.rows import Rows, grouped, listed, where

# times that differ by less do not differ
LEVEL_WITH = 1.25
# "hundred times" and "thousand times" faster, with room for another machine; and "many times"
HUNDREDS, THOUSANDS, SEVERAL = 50, 500, 3


def draw(rows: Rows) -> Figure:
    """Draw both measures against the seconds of learning."""
    return draw_curves(rows, "seconds", "seconds of learning")


def judge(rows: Rows) -> list[Verdict]:
    """Say who is first at a level that five of the seven reach, and how much slower others are."""
    return unless_few(rows, [_fastest(rows), _ratios(rows)])


def level(rows: Rows) -> float:
    """Return the predictiveness that all of the paper's learners but the worst two end with."""
    final = sorted((fmean(ends(rows, "lpp")[name]) for name in SEVEN), reverse=True)
    return final[-3]


def seconds_to(rows: Rows, wanted: float) -> dict[str, float]:
    """Return when each learner's first look was at least as good as wanted, the fastest first.

    Of several seeds the mean; a learner with a seed that never reached it is left out.

    >>> points = [(1.0, -8.0), (2.0, -7.5), (3.0, -7.0)]
    >>> rows = [{"learner": "ML-OPE", "seed": 0, "seconds": s, "lpp": p} for s, p in points]
    >>> seconds_to(rows, -7.6)
    {'ML-OPE': 2.0}
    """
    found: dict[str, float] = {}
    for name in (name for name in NAMES if where(rows, learner=name)):
        seeds = grouped(where(rows, learner=name), "seed").values()
        times = [[row["seconds"] for row in own if row["lpp"] >= wanted] for own in seeds]
        if all(times):
            found[name] = fmean(min(own) for own in times)
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
    to_level = {
        name: f"{'' if name in reached else 'more than '}{ratio:.3g}x"
        for name, ratio in times.items()
    }
    same = {name: f"{total[name] / total['Online-OPE']:.3g}x" for name in times}
    several = min(times.values()) >= SEVERAL
    held = several and times["Online-CVB0"] >= HUNDREDS and times["Online-VB"] >= THOUSANDS
    return Verdict(
        claim,
        grade(held, several),
        f"{listed(to_level)}; for the same documents, against Online-OPE: {listed(same)}",
    )


def _reached(rows: Rows) -> tuple[dict[str, float], str]:
    """Return the learners' seconds to the level and the figures, or None and the reason."""
    if (why := untestable(rows)) is not None:
        return {}, why
    wanted, alone = level(rows), frequencies_alone(rows)
    if alone is not None and wanted <= alone:
        return {}, f"most learners stay behind word frequencies alone, LPP {alone:.2f}"
    reached = {name: s for name, s in seconds_to(rows, wanted).items() if name in SEVEN}
    figures = listed({name: f"{seconds:.2g} s" for name, seconds in reached.items()})
    return reached, f"LPP {wanted:.2f}: {figures}"


EXPERIMENT = Experiment(
    name="learning-time",
    title="predictiveness and coherence of seven learners against seconds of learning",
    place="Figure 1",
    runs=curves,
    draw=draw,
    judge=judge,
)
