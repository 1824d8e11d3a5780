"""Figure 4: how long inference of a document takes, mini-batch by mini-batch, while learning."""

from collections.abc import Iterator, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines import CPUEngine
from opelda.engines._solutions import Solution
from opelda.experiments._data import Data
from opelda.experiments._experiment import Experiment, Report, Rows, Run, Verdict, grade
from opelda.experiments._paper import SECONDS
from opelda.experiments._settings import Settings
from opelda.inference import CGS, CVB0, OPE, VB, Method
from opelda.learning import TopicModel
from opelda.learning.callbacks import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# the fastest of the paper first
METHODS = tuple(SECONDS)
# the next must take so many times as long as the fastest; within it two are alike
AHEAD = 1.1


class CountingEngine(CPUEngine):
    """An engine that remembers how many iterations the documents of its last batch took."""

    iterations: NDArray[np.int32]

    def _solve(self, *given: Any, **options: Any) -> Solution:
        solution = super()._solve(*given, **options)
        self.iterations = solution.n_iter
        return solution


def runs(settings: Settings, data: Data) -> Sequence[Run]:
    """Return a run of all methods for each seed: they must be timed side by side."""
    n_batches = 4 if settings.quick else 20
    return [
        Run("OPE, CGS, CVB0 and VB in turn", times, {"seed": seed, "n_batches": n_batches})
        for seed in settings.seeds()
    ]


def times(data: Data, settings: Settings, report: Report, *, seed: int, n_batches: int) -> Rows:
    """Time the inference of Online learners, which differ in nothing but their method.

    All learn from the same mini-batches. Each mini-batch is given to one learner after the other,
    the first of them another every time, so that what else the machine does hits all alike; a
    learner that is thrown away has run before. Times are those of inference alone, with compiled
    kernels on one thread whatever `n_jobs` is; the topics' words are laid out before, the topics
    updated after. D of the Online rule is the size of the collection, as in `fit`.
    """
    train = data.train
    size = min(settings.batch_size, train.shape[0])
    first = train[: min(size, 100)]
    for method in _methods(settings).values():
        _learner(method, settings, seed, train.shape[0]).partial_fit(first)
    learners = {
        name: _learner(method, settings, seed, train.shape[0])
        for name, method in _methods(settings).items()
    }
    rows: Rows = []
    for number, batch in enumerate(_batches(train, size, seed, n_batches)):
        about = {
            "documents": size,
            "n_words": int(batch.count_nonzero()) / size,
            "n_tokens": float(batch.sum(dtype=np.float64)) / size,
        }
        turn = number % len(METHODS)
        for name in METHODS[turn:] + METHODS[:turn]:
            learner = learners[name]
            learner.partial_fit(batch)
            rows.append(
                {
                    "method": name,
                    "seed": seed,
                    "batch": number + 1,
                    "seconds_per_document": learner.callbacks.reports[-1].e_seconds / size,
                    "iterations": _iterations(learner),
                    **about,
                }
            )
            report(len(rows) / (n_batches * len(METHODS)))
    return rows


def _batches(
    counts: sparse.csr_array, size: int, seed: int, n_batches: int
) -> Iterator[sparse.csr_array]:
    """Go through the documents in random order, as often as it takes; all batches are full."""
    per_pass = counts.shape[0] // size
    for number in range(n_batches):
        n_pass, place = divmod(number, per_pass)
        order = np.random.default_rng([seed, 3, n_pass]).permutation(counts.shape[0])
        yield counts[order[place * size : (place + 1) * size]]


def _methods(settings: Settings) -> dict[str, Method]:
    n_iter = settings.n_iter
    halves = {"burn_in": n_iter // 2, "n_samples": n_iter - n_iter // 2}
    return {
        "OPE": OPE(n_iter=n_iter),
        "CGS": CGS(**halves),
        "CVB0": CVB0(**halves),
        "VB": VB(n_iter=n_iter),
    }


def _learner(method: Method, settings: Settings, seed: int, n_docs: int) -> TopicModel:
    return TopicModel(
        settings.n_topics,
        preset="paper",
        inference=method,
        learning="online",
        doc_topic_prior=settings.doc_topic_prior,
        topic_word_prior=settings.topic_word_prior,
        batch_size=settings.batch_size,
        learning_decay=settings.learning_decay,
        learning_offset=settings.learning_offset,
        population=n_docs,
        engine=CountingEngine(1),
        random_state=seed,
        callbacks=History(1, gap=False),  # the gap's time would count
    )


def _iterations(learner: TopicModel) -> float:
    engine: Any = learner.engine
    return float(engine.iterations.mean())


def medians(rows: Rows) -> dict[str, float]:
    """Return each method's median time per document, over seeds and later mini-batches.

    Times move while topics are learned: only the second half of the mini-batches counts.

    >>> times = {1: 0.9, 2: 0.8, 3: 0.1, 4: 0.3}
    >>> rows = [{"batch": batch, "seconds_per_document": s} for batch, s in times.items()]
    >>> medians([{"method": "OPE", **row} for row in rows])
    {'OPE': 0.2}
    """
    later = _second_half(rows)
    seconds = {
        name: [row["seconds_per_document"] for row in later if row["method"] == name]
        for name in METHODS
    }
    return {name: median(own) for name, own in seconds.items() if own}


def _second_half(rows: Rows) -> Rows:
    last = max((row["batch"] for row in rows), default=0)
    return [row for row in rows if row["batch"] > last // 2]


def draw(rows: Rows) -> "Figure":
    """Draw the time per document against mini-batches, and its median beside the paper's."""
    from opelda.experiments._plots import legend, panels

    figure, axes = panels(2, width=5.2, height=4.2)
    _draw_batches(axes[0, 0], rows)
    _draw_medians(axes[0, 1], rows)
    legend(figure, axes, n_columns=6)
    return figure


def _draw_batches(axes: "Axes", rows: Rows) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    from opelda.experiments._plots import draw_line, tidy

    for name in medians(rows):
        points: dict[int, list[float]] = {}
        for row in rows:
            if row["method"] == name:
                points.setdefault(row["batch"], []).append(row["seconds_per_document"])
        batches = sorted(points)
        draw_line(axes, name, batches, [median(points[batch]) for batch in batches])
    axes.set(yscale="log", xlabel="mini-batch", ylabel="time per document, one thread")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    tidy(axes)
    axes.yaxis.set_major_formatter(EngFormatter("s"))
    if rows:
        words = fmean(row["n_words"] for row in rows)
        axes.set_title(
            f"{rows[0]['documents']:,} documents a mini-batch, {words:.0f} distinct words each",
            fontsize=10,
        )


def _draw_medians(axes: "Axes", rows: Rows) -> None:
    from matplotlib.ticker import EngFormatter

    from opelda.experiments._plots import LOOKS, tidy

    found = medians(rows)
    for place, name in enumerate(METHODS):
        colour = LOOKS[name].colour
        if name in found:
            here = axes.bar(place - 0.2, found[name], 0.36, color=colour)
            axes.bar_label(here, [_ratio(found, name)], fontsize=8, padding=2)
        there = axes.bar(
            place + 0.2, SECONDS[name], 0.36, facecolor="white", edgecolor=colour, hatch="////"
        )
        axes.bar_label(there, [_ratio(SECONDS, name)], fontsize=8, padding=2)
    # in grey: what tells the two bars of every method apart
    axes.bar(0, 0, color="#888888", label="here")
    axes.bar(0, 0, facecolor="white", edgecolor="#888888", hatch="////", label="the paper's Python")
    axes.set(yscale="log", xlabel="inference", ylabel="median time per document")
    axes.set_xticks(range(len(METHODS)), METHODS)
    drawn = [*found.values(), *SECONDS.values()]
    axes.set_ylim(min(drawn) / 5, max(drawn) * 5)
    tidy(axes)
    axes.grid(visible=False, axis="x")
    axes.yaxis.set_major_formatter(EngFormatter("s"))
    axes.set_title("second half of the mini-batches; over the bars: times OPE's", fontsize=10)


def _ratio(seconds: dict[str, float], name: str) -> str:
    if name == "OPE" or "OPE" not in seconds:
        return ""
    return f"{seconds[name] / seconds['OPE']:.3g}x"


def judge(rows: Rows) -> list[Verdict]:
    """Say who is fastest, and by how much."""
    return [
        _fastest(rows),
        _slower(rows, "VB", "hundreds of times", 100, 10),
        _slower(rows, "CVB0", "tens of times", 10, 3),
        _slower(rows, "CGS", "several times", 3, 1.5),
    ]


def _fastest(rows: Rows) -> Verdict:
    claim = "OPE is the fastest inference"
    found = dict(sorted(medians(rows).items(), key=lambda pair: pair[1]))
    if "OPE" not in found or len(found) < 2:
        return Verdict(claim, "not tested", "it takes OPE and another method")
    ahead = min(found[name] for name in found if name != "OPE") / found["OPE"]
    told = ", ".join(f"{name} {seconds * 1e6:,.3g}" for name, seconds in found.items())
    outcome = grade(ahead >= AHEAD, ahead >= 1 / AHEAD)
    return Verdict(claim, outcome, f"µs per document: {told}; less than 10% is a tie")


def _slower(rows: Rows, other: str, words: str, wanted: float, partly: float) -> Verdict:
    claim = f"OPE is {words} faster than {other}"
    found = medians(rows)
    if "OPE" not in found or other not in found:
        return Verdict(claim, "not tested", f"it takes OPE and {other}")
    ratio = found[other] / found["OPE"]
    why = (
        f"{ratio:.3g} times, in the paper {SECONDS[other] / SECONDS['OPE']:.3g}; "
        f"{_iterations_of(rows, other):.3g} iterations a document, OPE "
        f"{_iterations_of(rows, 'OPE'):.3g}"
    )
    return Verdict(claim, grade(ratio >= wanted, ratio >= partly), why)


def _iterations_of(rows: Rows, method: str) -> float:
    return fmean(row["iterations"] for row in _second_half(rows) if row["method"] == method)


EXPERIMENT = Experiment(
    name="inference-time",
    title="time to infer a document while learning, of OPE, CGS, CVB0 and VB",
    place="Figure 4",
    runs=runs,
    draw=draw,
    judge=judge,
)
