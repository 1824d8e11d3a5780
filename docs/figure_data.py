"""What the figures and tables of docs/inference.md show: generated documents, measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opelda.inference import OPE, Inference, Topics, infer

Array = NDArray[np.float64]

N_TOPICS = 100
ALPHA = 1 / N_TOPICS
LENGTHS = (8, 65, 330)
SCHEDULES = (
    "practical",
    "literal, ε = 1e-3",
    "literal, ε = 1e-10",
    "literal, ε = 1e-10, random start",
)


class Corpus(NamedTuple):
    """Generated documents with the mixtures and topics they were drawn from."""

    counts: NDArray[np.int64]
    theta: Array
    topics: Array


def generate(n_docs: int, n_tokens: int, seed: int) -> Corpus:
    """Draw documents of a given length from LDA's own model.

    Topics are sparse (Dirichlet 0.02), but a share of 5% of each is spread over all words: the
    topics of a trained model usually give every word some probability.
    """
    rng = np.random.default_rng([seed, n_tokens])
    n_words = 2000
    topics = 0.95 * rng.dirichlet(np.full(n_words, 0.02), N_TOPICS)
    topics += 0.05 / n_words
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


def measure_collapse(n_docs: int = 300, n_seeds: int = 5) -> dict[str, Array]:
    """Return each schedule's mean L1 error to the true mixture, per length and seed."""
    errors = {name: np.zeros((len(LENGTHS), n_seeds)) for name in SCHEDULES}
    for i, n_tokens in enumerate(LENGTHS):
        for seed in range(n_seeds):
            corpus = generate(n_docs, n_tokens, seed)
            table = Topics(corpus.topics)

            def error(theta: Array, corpus: Corpus = corpus) -> float:
                return float(np.abs(theta - corpus.theta).sum(axis=1).mean())

            walks = (OPE(), *(OPE(schedule="literal", epsilon=e) for e in (1e-3, 1e-10)))
            mixtures = [
                infer(corpus.counts, table, method=ope, random_state=seed).theta for ope in walks
            ]
            mixtures.append(printed_algorithm(corpus, 1e-10, 50, seed))
            for name, theta in zip(SCHEDULES, mixtures, strict=True):
                errors[name][i, seed] = error(theta)
    return errors


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
        ope = OPE(n_iter=int(T), coins="shared")
        found = infer(corpus.counts, table, method=ope, random_state=0)
        rows.append((found.log_likelihood.mean(), found.log_prior.mean(), _n_picked(found).mean()))
    g1, g2, picked = np.array(rows).T
    return Artefact(lengths, g1, g2, picked)


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
            ope = OPE(n_iter=T, coins=picks)
            runs = [
                infer(d[None], table, method=ope, doc_topic_prior=prior, random_state=seed)
                for seed in range(n_seeds)
            ]
            off = [np.sum((run.theta[0] - best) ** 2) for run in runs]
            lost = [f - run.objective[0] for run in runs]
            rows.append((T, np.sqrt(np.mean(off)), np.mean(lost)))
        found[picks] = np.array(rows)
    return found


def _grid(first: int, last: int) -> NDArray[np.int64]:
    """Return round numbers, six per decade."""
    steps = np.multiply.outer(10 ** np.arange(1, 5), (10, 15, 20, 30, 50, 70)).ravel() // 10
    steps = np.unique(np.concatenate([np.arange(2, 10), steps]))
    return steps[(first <= steps) & (steps <= last)]


def _n_picked(found: Inference) -> NDArray[np.int64]:
    assert found.picked is not None
    return np.diff(found.picked.indptr)
