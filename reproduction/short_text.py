"""Short texts: BOPE with various p, OPE, VB and CGS, in learning and with given topics."""

from collections.abc import Callable, Sequence
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from reproduction.data import Data
from reproduction.experiment import Experiment, Run, Verdict, grade, unless_few
from reproduction.learners import NO_TOPICS
from reproduction.plots import draw_line, legend, panels, tidy
from reproduction.rows import Rows, grouped, listed, margin, means, where
from reproduction.settings import Settings
from reproduction.short_methods import PARTS, Tried, infer_with, learn_with, no_topics

P = (0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
QUICK_P = (0.1, 0.5, 0.9)
OTHERS = ("OPE", "VB", "CGS")
# of BOPE's p, the one that is set beside OPE: chosen beforehand, not by how well it does
CHOSEN_P = 0.9
# tokens per document; the claims do not cover longer documents
SHORT = 30

PANELS = {
    "learning": {
        "lpp": "log predictive probability\nof the topics learned",
        "npmi": "NPMI of the top words",
        "incoherent": "topics with NPMI below 0",
    },
    "inference": {
        "lpp": "log predictive probability\nwith given topics",
        "effective_topics": "effective topics per document",
        "seconds_per_document": "µs of inference per document",
    },
}

Scores = dict[Tried, float]


def runs(settings: Settings, data: Data) -> Sequence[Run]:
    """Return a run for each method and seed, and for each seed one with topics that are given."""
    tried: list[Tried] = [("BOPE", p) for p in (QUICK_P if settings.quick else P)]
    tried += [(name, None) for name in OTHERS]
    learning = [
        Run(_label(name, p), learn_with, {"method": name, "p": p, "seed": seed})
        for seed in settings.seeds()
        for name, p in tried
    ]
    given = [
        Run("given topics", infer_with, {"methods": [list(pair) for pair in tried], "seed": seed})
        for seed in settings.seeds()
    ]
    return [*learning, *given, Run(NO_TOPICS, no_topics)]


def _label(name: str, p: float | None) -> str:
    return name if p is None else f"{name} p={p:g}"


def scores(rows: Rows, part: str, measure: str = "lpp") -> Scores:
    """Return means over seeds by method and p.

    >>> rows = [{"part": "learning", "method": "VB", "p": None, "lpp": lpp} for lpp in (-8, -7)]
    >>> scores(rows, "learning")
    {('VB', None): -7.5}
    """
    return means(where(rows, part=part), ("method", "p"), measure)


def draw(rows: Rows) -> Figure:
    """Draw BOPE against p, and the methods without p as horizontal lines."""
    figure, axes = panels(3, len(PANELS), width=3.6, height=2.8)
    for row, (part, measures) in zip(axes, PANELS.items(), strict=True):
        for panel, (measure, title) in zip(row, measures.items(), strict=True):
            _draw_panel(panel, scores(rows, part, measure), measure)
            panel.set(xlabel="p of BOPE", ylabel=title, xlim=(-0.04, 1.04))
            tidy(panel)
    legend(figure, axes)
    return figure


def _draw_panel(panel: Axes, found: Scores, measure: str) -> None:
    timed = measure == "seconds_per_document"
    shown = {tried: value * (1e6 if timed else 1) for tried, value in found.items()}
    if points := sorted(_by_p(shown).items()):
        draw_line(panel, "BOPE", *zip(*points, strict=True))
    for name in (*OTHERS, NO_TOPICS):
        if (name, None) in shown:
            draw_line(panel, name, (0, 1), [shown[name, None]] * 2)
    if timed:
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))


def _by_p(found: Scores) -> dict[float, float]:
    return {p: value for (_, p), value in found.items() if p is not None}


def judge(rows: Rows) -> list[Verdict]:
    """Compare the methods: what holds in learning and with given topics is "reproduced".

    What holds in one of the two is so "partly".

    >>> [verdict.outcome for verdict in judge([])]
    ['not tested', 'not tested', 'not tested']
    """
    verdicts = [
        _verdict(rows, "BOPE is best with p near 1 on short texts", _near_one),
        _verdict(rows, "BOPE is ahead of OPE on short texts", _bope_ahead),
        _verdict(rows, "VB and CGS are behind OPE on short texts", _others_behind),
    ]
    return unless_few(rows, verdicts)


# whether a claim holds, the best LPP it is about, and the figures; None where methods are missing
Tested = tuple[bool, float, str] | None
Test = Callable[[Scores, float], Tested]


def _verdict(rows: Rows, claim: str, test: Test) -> Verdict:
    held, best, parts = {}, {}, []
    for part in PARTS:
        found = scores(rows, part)
        counts = _margin(rows, part)
        tested = test(found, counts)
        if tested is not None:
            held[part], best[part], figures = tested
            parts.append(f"{part}: {figures} ({counts:.2g} counts)")
    if "learning" not in held:
        return Verdict(claim, "not tested", "methods to compare in learning were left out")
    alone = scores(rows, "learning").get((NO_TOPICS, None))
    parts += [f"{NO_TOPICS}: {alone:.3f}"] if alone is not None else []
    length = fmean(row["tokens_per_document"] for row in rows)
    why = f"{length:.0f} tokens per document; LPP in {'; '.join(parts)}"
    if length > SHORT:
        return Verdict(claim, "not tested", f"texts are not short: {why}")
    if alone is not None and best["learning"] <= alone:
        return Verdict(claim, "not tested", f"none is ahead of word frequencies alone: {why}")
    return Verdict(claim, grade(all(held.get(part) for part in PARTS), any(held.values())), why)


def _margin(rows: Rows, part: str) -> float:
    """Return the smallest difference that counts; with given topics, seeds affect methods alike."""
    groups: dict[Tried, list[float]] = {}
    for of_seed in grouped(rows, "seed").values():
        own = scores(of_seed, part)
        own.pop((NO_TOPICS, None), None)
        shared = fmean(own.values()) if own and part == "inference" else 0.0
        for tried, value in own.items():
            groups.setdefault(tried, []).append(value - shared)
    return margin(groups.values())


def _near_one(lpp: Scores, counts: float) -> Tested:
    """From 0.9 on it is as good as any, and better than up to 0.5."""
    found = dict(sorted(_by_p(lpp).items()))
    near = [value for p, value in found.items() if p >= 0.9]
    far = [value for p, value in found.items() if p <= 0.5]
    if not near or not far:
        return None
    behind = max(found.values()) - max(near)
    figures = listed({f"p={p:g}": f"{value:.3f}" for p, value in found.items()})
    return behind <= counts < max(near) - max(far), max(found.values()), figures


def _bope_ahead(lpp: Scores, counts: float) -> Tested:
    found, ope = _by_p(lpp), lpp.get(("OPE", None))
    if not found or ope is None:
        return None
    p = min(found, key=lambda p: abs(p - CHOSEN_P))
    figures = f"BOPE {found[p]:.3f} with p={p:g}, OPE {ope:.3f}"
    return found[p] - ope > counts, max(found[p], ope), figures


def _others_behind(lpp: Scores, counts: float) -> Tested:
    found = {name: lpp[name, None] for name in OTHERS if (name, None) in lpp}
    if len(found) < len(OTHERS):
        return None
    ahead = found["OPE"] - max(found["VB"], found["CGS"])
    figures = listed({name: f"{value:.3f}" for name, value in found.items()})
    return ahead > counts, max(found.values()), figures


EXPERIMENT = Experiment(
    name="short-text",
    title="BOPE with various p, OPE, VB and CGS on short texts",
    place="Section 5.1, and the paper on BOPE (IEEE Access 2020)",
    runs=runs,
    draw=draw,
    judge=judge,
)
