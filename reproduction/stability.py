"""Figure 5: OPE's convergence with more iterations, and the spread of OPE's runs.

With alpha < 1 a topic that was never picked has theta_1k / T after T iterations, so that f grows by
(1 - alpha) ln T for each of them and never ends: the prior's doing, not progress. The terms of f
are therefore kept apart. The same topics hold the gap open, each by 1 - alpha in the limit: no T
closes it.

The paper's OPE is random in two ways, its start and its picks; ours starts at the uniform mixture.
The spread of runs is measured with either start, convergence with ours.
"""

from collections.abc import Sequence
from statistics import fmean, median

import numpy as np
from scipy import sparse

from opelda.inference import OPE, Topics, infer
from opelda.metrics import inference_spread
from reproduction.data import Data
from reproduction.experiment import Experiment, Report, Run, Verdict, grade, unless_few
from reproduction.learners import new_learner
from reproduction.paper import STABLE_SD
from reproduction.rows import Row, Rows, where
from reproduction.settings import Settings
from reproduction.stability_figure import (
    STARTS,
    TERMS,
    Start,
    convergence,
    draw,
    line,
    spreads,
)

N_DOCS = 100
N_RUNS = 10
# likelihoods are close up to this share
CLOSE = 0.01
# a rate of 1/T, with room for measurements at few T
RATE = -0.7


def runs(settings: Settings, data: Data) -> Sequence[Run]:
    """Return a run for each seed: topics, and OPE of all lengths on them."""
    lengths = [10, 20, 50, 100] if settings.quick else list(range(10, 101, 10))
    return [
        Run("OPE of growing length", walks, {"seed": seed, "lengths": lengths})
        for seed in settings.seeds()
    ]


def walks(data: Data, settings: Settings, report: Report, *, seed: int, lengths: list[int]) -> Rows:
    """Learn topics by ML-OPE in one pass, then infer test documents with OPE of each length T.

    A row of "stability" has a document's means and standard deviations over runs from one start;
    one of "convergence" has the means of f and its terms, and medians of gaps, over documents and
    runs from the uniform start. `growth` is (1 - alpha) * (topics never picked).
    """
    model = new_learner("ML-OPE", settings, seed, n_passes=1).fit(data.train)
    topics = Topics(model.components_)
    n_test = data.test.shape[0]
    rng = np.random.default_rng([seed, 3])
    chosen = np.sort(rng.choice(n_test, min(N_DOCS, n_test), replace=False))
    docs = data.test[chosen]
    rows: Rows = []
    for done, length in enumerate(lengths):
        report((done + 1) / (len(lengths) + 1))
        about = {"seed": seed, "updates": model.n_batch_iter_, "T": length}
        own = {init: _spreads(docs, topics, settings, seed, length, init) for init in STARTS}
        means = {name: fmean(row[name] for row in own["uniform"]) for name in TERMS}
        gaps = _gaps(docs, topics, settings, seed, length)
        rows.append({"part": "convergence", **about, "init": "uniform", **means, **gaps})
        rows += [
            {"part": "stability", **about, "init": init, "document": int(i), **row}
            for init in STARTS
            for i, row in zip(chosen, own[init], strict=True)
        ]
    return rows


def _spreads(
    docs: sparse.csr_array, topics: Topics, settings: Settings, seed: int, length: int, init: Start
) -> Rows:
    found = inference_spread(
        topics,
        docs,
        method=OPE(n_iter=length, init=init),
        doc_topic_prior=settings.doc_topic_prior,
        n_runs=N_RUNS,
        random_state=seed,
        n_jobs=settings.n_jobs,
    )
    columns = {
        "f": found.mean,
        "log_likelihood": found.log_likelihood_mean,
        "log_prior": found.log_prior_mean,
        "sd_f": found.sd,
        "sd_log_likelihood": found.log_likelihood_sd,
        "sd_log_prior": found.log_prior_sd,
    }
    return [
        {name: float(values[i]) for name, values in columns.items()} for i in range(docs.shape[0])
    ]


def _gaps(
    docs: sparse.csr_array, topics: Topics, settings: Settings, seed: int, length: int
) -> Row:
    rng = np.random.default_rng(seed)
    done = [
        infer(
            docs,
            topics,
            method=OPE(n_iter=length, init="uniform"),
            doc_topic_prior=settings.doc_topic_prior,
            random_state=rng,
            n_jobs=settings.n_jobs,
        )
        for _ in range(N_RUNS)
    ]
    picks = (run.picked for run in done if run.picked is not None)
    unpicked = topics.n_topics - np.array([np.diff(picked.indptr) for picked in picks])
    return {
        "gap": float(np.median([run.gap for run in done])),
        "likelihood_gap": float(np.median([run.likelihood_gap for run in done])),
        "unpicked": float(unpicked.mean()),
        "growth": float((1 - settings.alpha) * unpicked.mean()),
    }


def judge(rows: Rows) -> list[Verdict]:
    """Say how much runs differ, and what converges how fast."""
    return unless_few(rows, [_stable(rows), _growth(rows), _gap(rows), _twenty(rows)])


def _stable(rows: Rows) -> Verdict:
    claim = f"OPE is stable: the sd of f over runs is at most {STABLE_SD:g} for most documents"
    random, uniform = (spreads(rows, init=init) for init in STARTS)
    if not random or not uniform:
        return Verdict(claim, "not tested", "it takes several runs of the same documents")
    shares, ours = _shares(random), _shares(uniform)
    worst = min(shares, key=shares.__getitem__)
    own = where(rows, part="stability", init="random")
    f, likelihood, prior = (median(row[f"sd_{name}"] for row in own) for name in TERMS)
    relative = median(
        row["sd_log_likelihood"] / max(abs(row["log_likelihood"]), 1e-9) for row in own
    )
    why = (
        f"from a random start for {shares[worst]:.0%} at the worst T, {worst}; median {f:.2g}, of "
        f"the log-likelihood alone {likelihood:.2g}, {relative:.1%} of it, of the log-prior "
        f"{prior:.2g}; from the uniform start for {min(ours.values()):.0%} at the worst T, median "
        f"{median(sd for found in uniform.values() for sd in found):.2g}"
    )
    return Verdict(claim, grade(shares[worst] > 0.5, max(shares.values()) > 0.5), why)


def _shares(found: dict[int, list[float]]) -> dict[int, float]:
    """Return by T for how many of the documents OPE is stable."""
    return {T: fmean(sd <= STABLE_SD for sd in sds) for T, sds in found.items()}


def _growth(rows: Rows) -> Verdict:
    claim = "f converges at the rate 1/T"
    points = convergence(rows)
    if len(points) < 3:
        return Verdict(claim, "not tested", "it takes at least three values of T")
    lengths = np.array([row["T"] for row in points])
    f = [row["f"] for row in points]
    _, slope, off = line(np.log(lengths), f)
    _, _, off_inverse = line(1 / lengths, f)
    grown = slope * np.log(lengths[-1] / lengths[0])
    flat = abs(grown) <= CLOSE * abs(points[-1]["log_likelihood"])  # as with alpha = 1
    why = (
        f"f = a {slope:+.4g} ln T to within {off:.2g}, a + c/T to within {off_inverse:.2g}; topics "
        f"never picked make it {fmean(row['growth'] for row in points):+.4g} ln T"
    )
    return Verdict(claim, grade(bool(flat) or off_inverse < off), why)


def _gap(rows: Rows) -> Verdict:
    claim = "OPE comes to a stationary point at the rate 1/T"
    points = [row for row in convergence(rows) if row["gap"] > 0]
    if len(points) < 3:
        return Verdict(claim, "not tested", "it takes at least three values of T with a gap")
    lengths = np.log([row["T"] for row in points])
    _, power, _ = line(lengths, np.log([row["gap"] for row in points]))
    first, last = points[0], points[-1]
    held = [max(row["growth"], 0.0) for row in (first, last)]
    why = (
        f"the median gap goes like T^{power:.2f}: {first['gap']:.4g} at T = {first['T']}, "
        f"{last['gap']:.4g} at {last['T']}; topics never picked hold about "
        f"{held[0]:.4g} and "
        f"{held[1]:.4g} of it open"
    )
    return Verdict(claim, grade(power <= RATE), why)


def _twenty(rows: Rows) -> Verdict:
    claim = "T = 20 is about as good as T = 100"
    points = {row["T"]: row for row in convergence(rows) if row["T"] <= 100}
    if 20 not in points or 100 not in points:
        return Verdict(claim, "not tested", "it takes both")
    short, long = points[20], points[100]
    wanted = long["log_likelihood"]
    behind = {T: wanted - row["log_likelihood"] for T, row in points.items()}
    allowed = CLOSE * abs(wanted)
    far = max((T for T, lost in behind.items() if lost > allowed), default=0)
    why = (
        f"log-likelihood {short['log_likelihood']:.1f} and {wanted:.1f}, within {CLOSE:.0%} from "
        f"T = {min(points.keys() - range(far + 1))} on; gap {short['gap']:.4g} and "
        f"{long['gap']:.4g}, of the likelihood alone {short['likelihood_gap']:.4g} and "
        f"{long['likelihood_gap']:.4g}"
    )
    return Verdict(claim, grade(behind[20] <= allowed, behind[20] <= 3 * allowed), why)


EXPERIMENT = Experiment(
    name="stability",
    title="convergence of OPE with its iterations, and the spread of its runs",
    place="Figure 5",
    runs=runs,
    draw=draw,
    judge=judge,
)
