"""Draw the figures of docs/inference.md and print the numbers quoted there.

    python docs/figures.py [--out DIR]

All documents are generated, from fixed seeds.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from opelda.inference import OPE, Inference, Topics, infer

Array = NDArray[np.float64]

N_TOPICS = 100
ALPHA = 1 / N_TOPICS
ALPHA_SIGN = "\N{GREEK SMALL LETTER ALPHA}"
LENGTHS = (8, 65, 330)
# The colours of Okabe & Ito, which readers with any kind of colour blindness can tell apart.
BLUE, ORANGE, GREEN, RED, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9"


class Corpus(NamedTuple):
    """Generated documents with the mixtures and topics they were drawn from."""

    counts: NDArray[np.int64]
    theta: Array
    topics: Array


def generate(n_docs: int, n_tokens: int, seed: int, smoothing: float = 0.05) -> Corpus:
    """Draw documents of a given length from LDA's own model.

    Topics are sparse (Dirichlet 0.02), but a share of each, `smoothing`, is spread over all words:
    the topics of a trained model usually give every word some probability.
    """
    rng = np.random.default_rng([seed, n_tokens])
    n_words = 2000
    topics = (1 - smoothing) * rng.dirichlet(np.full(n_words, 0.02), N_TOPICS)
    topics += smoothing / n_words
    theta = rng.dirichlet(np.full(N_TOPICS, ALPHA), n_docs)
    words = theta @ topics
    counts = np.stack([rng.multinomial(n_tokens, p / p.sum()) for p in words])
    return Corpus(counts, theta, topics)


def printed_algorithm(corpus: Corpus, epsilon: float, n_iter: int, seed: int) -> Array:
    """Run Algorithm 1 word for word: a random start, and one coin per document and iteration."""
    rng = np.random.default_rng([seed, 2])
    d, topics = corpus.counts, corpus.topics
    n_docs = len(d)
    theta = rng.dirichlet(np.ones(N_TOPICS), n_docs)
    a, b = np.zeros((n_docs, 1)), np.zeros((n_docs, 1))
    for t in range(1, n_iter + 1):
        heads = rng.random((n_docs, 1)) < 0.5
        a, b = a + heads, b + ~heads
        slope = a * ((d / (theta @ topics)) @ topics.T) + b * (ALPHA - 1) / theta
        vertex = np.full((n_docs, N_TOPICS), epsilon)
        vertex[np.arange(n_docs), slope.argmax(axis=1)] += 1 - N_TOPICS * epsilon
        theta += (vertex - theta) / t
    return theta


COLLAPSE = {
    "practical": (BLUE, "o", "-"),
    "literal, ε = 1e-3": (GREEN, "s", "-"),
    "literal, ε = 1e-10": (ORANGE, "^", "-"),
    "literal, ε = 1e-10, random start": (RED, "v", "--"),
}


def measure_collapse(
    n_docs: int = 300, n_seeds: int = 5, smoothing: float = 0.05
) -> dict[str, Array]:
    """Return each schedule's mean L1 error to the true mixture, per length and seed."""
    errors = {name: np.zeros((len(LENGTHS), n_seeds)) for name in COLLAPSE}
    for i, n_tokens in enumerate(LENGTHS):
        for seed in range(n_seeds):
            corpus = generate(n_docs, n_tokens, seed, smoothing)
            table = Topics(corpus.topics)

            def error(theta: Array, corpus: Corpus = corpus) -> float:
                return float(np.abs(theta - corpus.theta).sum(axis=1).mean())

            for name, ope in (
                ("practical", OPE()),
                ("literal, ε = 1e-3", OPE(schedule="literal", epsilon=1e-3)),
                ("literal, ε = 1e-10", OPE(schedule="literal", epsilon=1e-10)),
            ):
                found = infer(corpus.counts, table, method=ope, random_state=seed)
                errors[name][i, seed] = error(found.theta)
            printed = printed_algorithm(corpus, 1e-10, 50, seed)
            errors["literal, ε = 1e-10, random start"][i, seed] = error(printed)
    return errors


def draw_collapse(errors: dict[str, Array]) -> Figure:
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for (name, runs), shift in zip(errors.items(), (0.955, 0.985, 1.015, 1.045), strict=True):
        colour, marker, line = COLLAPSE[name]
        mean = runs.mean(axis=1)
        spread = np.abs(np.stack([runs.min(axis=1), runs.max(axis=1)]) - mean)
        x = np.array(LENGTHS) * shift
        axes.errorbar(
            x, mean, spread, color=colour, marker=marker, ls=line, capsize=3, lw=1.6, label=name
        )
    axes.set_xscale("log")
    axes.set_xticks(LENGTHS)
    axes.set_ylim(0, 2)
    axes.set_xlabel("tokens in the document")
    axes.set_ylabel("mean L1 distance to the true mixture")
    axes.legend(loc="upper right")
    _tidy(axes)
    return figure


def print_collapse(errors: dict[str, Array]) -> None:
    print("| tokens | " + " | ".join(errors) + " |")
    print("|---" * (len(errors) + 1) + "|")
    for i, n_tokens in enumerate(LENGTHS):
        cells = (f"{runs[i].mean():.2f} ± {runs[i].std():.2f}" for runs in errors.values())
        print(f"| {n_tokens} | " + " | ".join(cells) + " |")


class Artefact(NamedTuple):
    """Means over one batch after T iterations."""

    T: NDArray[np.int64]
    g1: Array
    g2: Array
    picked: Array

    @property
    def f(self) -> Array:
        return self.g1 + self.g2

    def slope(self, term: str, first: int = 50) -> float:
        """Return how much a term grows per unit of ln T, fitted from `first` iterations on."""
        late = first <= self.T
        return float(np.polyfit(np.log(self.T[late]), getattr(self, term)[late], 1)[0])

    def predicted(self, first: int = 50) -> float:
        return float((1 - ALPHA) * (N_TOPICS - self.picked[first <= self.T].mean()))


def measure_artefact(n_docs: int = 300, longest: int = 5000) -> Artefact:
    """Follow one walk per document: with shared picks a longer run begins like a shorter one."""
    corpus = generate(n_docs, 65, seed=0)
    table = Topics(corpus.topics)
    lengths = _grid(2, longest)
    rows = []
    for T in lengths:
        ope = OPE(n_iter=int(T), picks="shared")
        found = infer(corpus.counts, table, method=ope, random_state=0)
        rows.append((found.log_likelihood.mean(), found.log_prior.mean(), _n_picked(found).mean()))
    g1, g2, picked = np.array(rows).T
    return Artefact(lengths, g1, g2, picked)


def draw_artefact(run: Artefact) -> Figure:
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(run.T, run.g2, color=ORANGE, marker="s", ms=3.5, label="g2, log prior")
    axes.plot(run.T, run.f, color=BLUE, marker="o", ms=3.5, label="f = g1 + g2")
    axes.plot(run.T, run.g1, color=GREEN, marker="^", ms=3.5, label="g1, log likelihood")
    late = run.T >= 50
    fitted = np.polyval(np.polyfit(np.log(run.T[late]), run.f[late], 1), np.log(run.T[late]))
    label = f"fit of f: {run.slope('f'):.1f} ln T\npredicted: {run.predicted():.1f} ln T"
    axes.plot(run.T[late], fitted, color="black", lw=1, ls="--", zorder=5, label=label)
    axes.set_xscale("log")
    axes.set_xlabel("iterations T")
    axes.set_ylabel("nats, mean over the batch")
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.34))
    _tidy(axes)
    return figure


def print_artefact(run: Artefact) -> None:
    print("| T | g1 | g2 | f | topics picked |")
    print("|---|---|---|---|---|")
    for T in (2, 3, 5, 10, 50, 500, 5000):
        i = int(np.flatnonzero(run.T == T)[0])
        row = f"{run.g1[i]:.1f} | {run.g2[i]:.1f} | {run.f[i]:.1f} | {run.picked[i]:.2f}"
        print(f"| {T} | {row} |")
    print("per unit of ln T, from T = 50 on:")
    print(", ".join(f"{term} {run.slope(term):.2f}" for term in ("g1", "g2", "f")))
    print(f"predicted (1 - alpha) (K - picked): {run.predicted():.2f}")


def likeliest(d: Array, beta: Array, n_iter: int = 20_000) -> tuple[float, float]:
    """Return the largest log-likelihood of any mixture by EM, and how far it may be off."""
    kept = np.arange(len(beta))
    theta = np.full(len(beta), 1 / len(beta))
    for i in range(n_iter):
        slope = beta[kept] @ (d / (theta @ beta[kept]))
        if slope.max() - d.sum() <= 1e-6:
            break
        theta *= slope / d.sum()
        if i % 200 == 199:  # drop what EM has all but emptied; the bound below sees every topic
            kept, theta = kept[theta > 1e-10], theta[theta > 1e-10]
        theta /= theta.sum()
    x = theta @ beta[kept]
    return float(d @ np.log(x)), float((beta @ (d / x)).max() - d.sum())


class Gaps(NamedTuple):
    """What documents of one length lack in truth, beside their certificates.

    Attributes
    ----------
    n_tokens : int
    concave : dict
        For alpha = 1, per T: f* - f and the gap of each document.
    doubt : float
        How far f* may be off.
    T : array
    gap, floor, likelihood_gap, sharper, lost : arrays
        For alpha = 1/K, per T, means over the documents: the gap, (1 - alpha) (K - picked), the
        likelihood gap, N ln(1 + likelihood gap / N), and what the likelihood lacks in truth.
    """

    n_tokens: int
    concave: dict[int, tuple[Array, Array]]
    doubt: float
    T: NDArray[np.int64]
    gap: Array
    floor: Array
    likelihood_gap: Array
    sharper: Array
    lost: Array


def measure_gaps(n_docs: int = 100, longest: int = 2000) -> Gaps:
    n_tokens = 65
    corpus = generate(n_docs, n_tokens, seed=1)
    table = Topics(corpus.topics)
    components = table.components.astype(np.float64)
    optima = [likeliest(d[d > 0].astype(np.float64), components[:, d > 0]) for d in corpus.counts]
    best, doubt = np.array(optima).T
    concave = {}
    for T in (10, 50, 250, 1000):
        ope = OPE(n_iter=T)
        found = infer(corpus.counts, table, method=ope, doc_topic_prior=1.0, random_state=0)
        concave[T] = (best - found.log_likelihood, found.gap)
    lengths = _grid(5, longest)
    rows = []
    for T in lengths:
        found = infer(corpus.counts, table, method=OPE(n_iter=int(T)), random_state=0)
        floor = (1 - ALPHA) * (N_TOPICS - _n_picked(found))
        sharper = n_tokens * np.log1p(found.likelihood_gap / n_tokens)
        lost = best - found.log_likelihood
        rows.append([v.mean() for v in (found.gap, floor, found.likelihood_gap, sharper, lost)])
    return Gaps(n_tokens, concave, doubt.max(), lengths, *np.array(rows).T)


def draw_gaps(gaps: Gaps) -> Figure:
    figure = Figure(figsize=(9.2, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    styles = zip((SKY, ORANGE, GREEN, RED), "osD^", strict=True)
    for (T, (lost, gap)), (colour, marker) in zip(gaps.concave.items(), styles, strict=True):
        left.plot(lost, gap, ls="", marker=marker, ms=4, mew=0, color=colour, label=f"T = {T}")
    least = min(lost.min() for lost, _ in gaps.concave.values())
    most = max(gap.max() for _, gap in gaps.concave.values())
    line = np.array([least / 1.5, most * 1.5])
    left.plot(line, line, color="black", lw=1, ls="--", label="gap = f* - f")
    left.set(xscale="log", yscale="log", title=f"{ALPHA_SIGN} = 1: f is concave")
    left.set_xlabel("f* - f, what a mixture lacks in truth (nats)")
    left.set_ylabel("gap (nats)")
    left.legend(loc="lower right")

    both = f"gap; dashed: (1 - {ALPHA_SIGN}) (K - topics picked)"
    for values, colour, marker, label in (
        (gaps.likelihood_gap, GREEN, "^", "likelihood_gap"),
        (gaps.sharper, SKY, "D", "N ln(1 + likelihood_gap / N)"),
        (gaps.gap, BLUE, "o", both),
        (gaps.lost, RED, "s", "log likelihood lost in truth"),
    ):
        right.plot(gaps.T, values, color=colour, marker=marker, ms=3.5)
        above = label != both  # the two lines above it leave no room there
        where = (gaps.T[-1], values[-1] * (1.2 if above else 0.8))
        right.text(*where, label, ha="right", va="bottom" if above else "top")
    right.plot(gaps.T, gaps.floor, color="black", ls="--", lw=1, zorder=5)
    right.set(xscale="log", yscale="log", title=f"{ALPHA_SIGN} = 1/K: f is not concave")
    right.set_ylim(3, 5000)
    right.set_xlabel("iterations T")
    right.set_ylabel("nats, mean over the documents")
    for axes in (left, right):
        _tidy(axes)
    return figure


def print_gaps(gaps: Gaps) -> None:
    n = gaps.n_tokens
    print("alpha = 1, medians")
    print("| T | f* - f | gap | N ln(1 + gap/N) | smallest gap / (f* - f) |")
    print("|---|---|---|---|---|")
    for T, (lost, gap) in gaps.concave.items():
        medians = (np.median(v) for v in (lost, gap, n * np.log1p(gap / n)))
        cells = " | ".join(f"{v:.2f}" for v in medians)
        print(f"| {T} | {cells} | {(gap / lost).min():.1f} |")
    print(f"f* is known to within {gaps.doubt:.0e}")
    print(f"alpha = {ALPHA:g}, means")
    columns = ("gap", "floor", "likelihood_gap", "sharper", "lost")
    print("| T | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for T in (5, 10, 50, 500, 2000):
        i = int(np.flatnonzero(gaps.T == T)[0])
        print(f"| {T} | " + " | ".join(f"{getattr(gaps, c)[i]:.1f}" for c in columns) + " |")


def measure_rate(
    lengths: tuple[int, ...] = (100, 1000, 10_000, 100_000), n_seeds: int = 60
) -> dict[str, Array]:
    """Return the distance to the maximum (root mean square) and f* - f (mean) per T, concave f."""
    d, prior = np.array([12, 9, 3, 8]), 2.0
    topics = np.array([[6, 2, 1, 1], [1, 6, 2, 1], [1, 1, 2, 6]], np.float32) / 10
    table, beta = Topics(topics), topics.astype(np.float64)
    best = np.full(len(beta), 1 / len(beta))
    for _ in range(2000):
        best = best * (beta @ (d / (best @ beta))) + prior - 1
        best /= best.sum()
    f = d @ np.log(best @ beta) + (prior - 1) * np.log(best).sum()
    found = {}
    for picks in ("shared", "balanced"):
        rows = []
        for T in lengths:
            ope = OPE(n_iter=T, picks=picks)
            runs = [
                infer(d[None], table, method=ope, doc_topic_prior=prior, random_state=seed)
                for seed in range(n_seeds)
            ]
            off = [np.sum((run.theta[0] - best) ** 2) for run in runs]
            lost = [f - run.objective[0] for run in runs]
            rows.append((T, np.sqrt(np.mean(off)), np.mean(lost)))
        found[picks] = np.array(rows)
    return found


def print_rate(found: dict[str, Array]) -> None:
    print("| T | distance, coins | f* - f, coins | distance, balanced | f* - f, balanced |")
    print("|---|---|---|---|---|")
    for (T, *one), (_, *two) in zip(*found.values(), strict=True):
        print(f"| {T:.0f} | " + " | ".join(f"{v:.1e}" for v in (*one, *two)) + " |")


def _grid(first: int, last: int) -> NDArray[np.int64]:
    """Return round numbers, six per decade."""
    steps = np.multiply.outer(10 ** np.arange(1, 5), (10, 15, 20, 30, 50, 70)).ravel() // 10
    steps = np.unique(np.concatenate([np.arange(2, 10), steps]))
    return steps[(first <= steps) & (steps <= last)]


def _n_picked(found: Inference) -> NDArray[np.int64]:
    assert found.picked is not None
    return np.diff(found.picked.indptr)


def _tidy(axes: Axes) -> None:
    axes.grid(color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_formatter("{x:,g}")
    axes.spines[["top", "right"]].set_visible(False)


FIGURES = {
    "collapse": (measure_collapse, draw_collapse, print_collapse),
    "artefact": (measure_artefact, draw_artefact, print_artefact),
    "gaps": (measure_gaps, draw_gaps, print_gaps),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "figures")
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    style = {
        "svg.hashsalt": "opelda",  # the same file from run to run
        "svg.fonttype": "none",  # text stays text: smaller, and it can be searched
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
        "font.size": 10,
        "legend.frameon": False,
        "savefig.dpi": 110,
    }
    with mpl.rc_context(style):
        for name, (measure, draw, tell) in FIGURES.items():
            numbers = measure()
            path = options.out / f"{name}.{options.format}"
            metadata = {"Date": None} if options.format == "svg" else None
            draw(numbers).savefig(path, metadata=metadata)
            print(f"\n{name}")
            tell(numbers)
    print("\nrate")
    print_rate(measure_rate())
    print("\ncollapse, topics without smoothing")
    print_collapse(measure_collapse(smoothing=0.0))


if __name__ == "__main__":
    main()
