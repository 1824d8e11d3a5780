"""Figure 4: how long inference of a document takes, mini-batch by mini-batch, while learning."""

from collections.abc import Iterator, Sequence
from statistics import fmean, median
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator
from scipy import sparse

from opelda import TopicModel
from opelda.engines import CPUEngine
from opelda.inference import infer
from opelda.learning import History
from reproduction.data import Data
from reproduction.experiment import Experiment, Report, Run, Verdict, grade, unless_few
from reproduction.learners import online_learner
from reproduction.methods.measuring import new_method
from reproduction.paper import SECONDS
from reproduction.plots import LOOKS, draw_line, legend, panels, tidy
from reproduction.rows import Rows, grouped, where
from reproduction.settings import Settings

# the fastest of the paper first
METHODS = tuple(SECONDS)
# ratio of the next method's time to the fastest; below it two are alike
AHEAD = 1.1
COUNTED = 500  # documents of a mini-batch whose iterations are counted


def runs(settings: Settings, data: Data) -> Sequence[Run]:
    """Return a run of all methods for each seed: they must be timed side by side."""
    n_batches = 4 if settings.quick else 20
    return [
        Run("OPE, CGS, CVB0 and VB in turn", times, {"seed": seed, "n_batches": n_batches})
        for seed in settings.seeds()
    ]


def times(data: Data, settings: Settings, report: Report, *, seed: int, n_batches: int) -> Rows:
    """Time the inference of Online learners, which differ only in their method.

    All learn from the same mini-batches. Each mini-batch is given to one learner after another,
    in rotating order, so that other load on the machine affects all alike; a
    learner that is thrown away has run before. Times are of inference alone, with compiled
    kernels on one thread for any `n_jobs`; the topics' words are copied before, the topics
    updated after. D of the Online rule is the size of the collection, as in `fit`. Iterations are
    counted afterwards, by the topics as they are then.
    """
    train = data.train
    size = min(settings.batch_size, train.shape[0])
    first = train[: min(size, 100)]
    for name in METHODS:
        _learner(name, settings, seed, train.shape[0]).partial_fit(first)
    learners = {name: _learner(name, settings, seed, train.shape[0]) for name in METHODS}
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
                    "iterations": _iterations(learner, batch[:COUNTED], settings),
                    **about,
                }
            )
            report(len(rows) / (n_batches * len(METHODS)))
    return rows


def _batches(
    counts: sparse.csr_array, size: int, seed: int, n_batches: int
) -> Iterator[sparse.csr_array]:
    """Go through the documents in random order, repeatedly; all batches are full."""
    per_pass = counts.shape[0] // size
    for number in range(n_batches):
        n_pass, position = divmod(number, per_pass)
        order = np.random.default_rng([seed, 3, n_pass]).permutation(counts.shape[0])
        yield counts[order[position * size : (position + 1) * size]]


def _learner(name: str, settings: Settings, seed: int, n_docs: int) -> TopicModel:
    history = History(1, gap=False)  # the gap's time would count
    given = {"population": n_docs, "engine": CPUEngine(1), "callbacks": history}
    return online_learner(new_method(name, settings), settings, seed, **given)


def _iterations(learner: TopicModel, batch: sparse.csr_array, settings: Settings) -> float:
    method: Any = learner.inference
    prior = settings.doc_topic_prior
    found = infer(batch, learner, doc_topic_prior=prior, method=method, random_state=0)
    return float(found.n_iter.mean())


def medians(rows: Rows) -> dict[str, float]:
    """Return each method's median time per document, over seeds and later mini-batches.

    Times move while topics are learned: only the second half of the mini-batches counts.

    >>> times = {1: 0.9, 2: 0.8, 3: 0.1, 4: 0.3}
    >>> rows = [{"batch": batch, "seconds_per_document": s} for batch, s in times.items()]
    >>> medians([{"method": "OPE", **row} for row in rows])
    {'OPE': 0.2}
    """
    found = grouped(_second_half(rows), "method")
    return {name: _median(found[name]) for name in METHODS if name in found}


def _median(rows: Rows) -> float:
    return float(median(row["seconds_per_document"] for row in rows))


def _second_half(rows: Rows) -> Rows:
    last = max((row["batch"] for row in rows), default=0)
    return [row for row in rows if row["batch"] > last // 2]


def draw(rows: Rows) -> Figure:
    """Draw the time per document against mini-batches, and its median beside the paper's."""
    figure, axes = panels(2, width=5.2, height=4.2)
    _draw_batches(axes[0, 0], rows)
    _draw_medians(axes[0, 1], rows)
    legend(figure, axes, n_columns=6)
    return figure


def _draw_batches(axes: Axes, rows: Rows) -> None:
    for name in medians(rows):
        points = grouped(where(rows, method=name), "batch")
        batches = sorted(points)
        draw_line(axes, name, batches, [_median(points[batch]) for batch in batches])
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


def _draw_medians(axes: Axes, rows: Rows) -> None:
    found = medians(rows)
    for x, name in enumerate(METHODS):
        colour = LOOKS[name].colour
        if name in found:
            here = axes.bar(x - 0.2, found[name], 0.36, color=colour)
            axes.bar_label(here, [_ratio(found, name)], fontsize=8, padding=2)
        there = axes.bar(
            x + 0.2, SECONDS[name], 0.36, facecolor="white", edgecolor=colour, hatch="////"
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
    verdicts = [
        _fastest(rows),
        _slower(rows, "VB", "hundreds of times", 100, 10),
        _slower(rows, "CVB0", "tens of times", 10, 3),
        _slower(rows, "CGS", "several times", 3, 1.5),
    ]
    return unless_few([{"updates": row["batch"]} for row in rows], verdicts)


def _fastest(rows: Rows) -> Verdict:
    claim = "OPE is the fastest inference"
    found = dict(sorted(medians(rows).items(), key=lambda pair: pair[1]))
    if "OPE" not in found or len(found) < 2:
        return Verdict(claim, "not tested", "it takes OPE and another method")
    ahead = min(found[name] for name in found if name != "OPE") / found["OPE"]
    figures = ", ".join(f"{name} {seconds * 1e6:,.3g}" for name, seconds in found.items())
    outcome = grade(ahead >= AHEAD, ahead >= 1 / AHEAD)
    return Verdict(claim, outcome, f"µs per document: {figures}; less than 10% is a tie")


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
    return fmean(row["iterations"] for row in where(_second_half(rows), method=method))


EXPERIMENT = Experiment(
    name="inference-time",
    title="time to infer a document while learning, of OPE, CGS, CVB0 and VB",
    place="Figure 4",
    runs=runs,
    draw=draw,
    judge=judge,
)
