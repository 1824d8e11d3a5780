"""Coverage of intervals of effects on topics: how many hold the truth, over many collections.

    python -m benchmarks.effects [--collections 100] [--documents 400] [--topics 20]

Documents of two groups whose mean mixtures differ are drawn from topics, and the difference is
estimated from their words: by `estimate_effect`, and by the same regression on mixtures, as is
often done: those of `transform`'s method (EM), posterior means (collapsed Gibbs sampling under the
prior that all documents have), and draws from that posterior, pooled (the method of composition).
The intervals say 95%. With --learned the topics are those that `TopicModel` learns from the same
documents, each compared with the true one that it matches; --splits 3 adds cross-fitting. With
--prevalence the model has a prior for each group, whose mean mixture is compared with the truth,
too. With --number the column is a number from 0 to 1, in which mean mixtures are linear. With
--abstracts the documents are half of opelda's abstracts, whole or with a fifth of their words, and
the truth is estimated from the other half by the same topics; intervals are of the difference.
"""

import argparse
from collections import defaultdict

import numpy as np
from scipy import stats

from opelda import TopicModel
from opelda.corpus import ABSTRACTS, read
from opelda.inference import CGS, Topics, infer
from opelda.metrics import match_topics
from opelda.report import estimate_effect
from opelda.report._effects import least_squares

N_WORDS, N_DRAWS = 1_000, 5
LENGTHS = (10, 40, 150)


class Known:
    """A model of topics that are known."""

    def __init__(self, topics):
        self.components_ = topics

    def transform(self, X):
        raise NotImplementedError


def collection(rng, n_docs, n_topics, length, concentration=3.0, is_number=False):
    """Return topics, groups, counts, the prior over both groups and the true difference."""
    topics = rng.dirichlet(np.full(N_WORDS, 0.05), n_topics)
    alphas = concentration * rng.dirichlet(np.full(n_topics, 2.0), 2) + 1e-3
    group = rng.random(n_docs) if is_number else rng.integers(0, 2, n_docs)
    theta = np.array([rng.dirichlet((1 - g) * alphas[0] + g * alphas[1]) for g in group])
    lengths = 1 + rng.poisson(length - 1, n_docs)
    X = np.array([rng.multinomial(n, t @ topics) for n, t in zip(lengths, theta, strict=True)])
    means = alphas / alphas.sum(axis=1, keepdims=True)
    return topics, group, X, alphas.mean(axis=0), means[1] - means[0]


def of_mixtures(rng, topics, group, X, alpha):
    """Yield the name, estimate and half-width of regressions on mixtures."""
    A = np.column_stack([np.ones(len(group)), group])
    quantile = stats.t.ppf(0.975, len(group) - 2)
    table, names = Topics(topics), ["", ""]
    for name, how in (
        ("mixtures, EM", {"method": "em"}),
        ("mixtures, posterior means", {"method": "cgs", "doc_topic_prior": alpha}),
    ):
        fit = least_squares(names, A, infer(X, table, random_state=0, n_jobs=1, **how).theta)
        yield name, fit.estimates[1], quantile * fit.errors[1]
    fits, n = [], X.sum(axis=1, keepdims=True) + alpha.sum()
    for seed in range(N_DRAWS):
        method = CGS(burn_in=20, n_samples=1)
        found = infer(X, table, doc_topic_prior=alpha, method=method, random_state=seed, n_jobs=1)
        drawn = rng.gamma(np.maximum(found.theta * n, 1e-9))
        fits.append(least_squares(names, A, drawn / drawn.sum(axis=1, keepdims=True)))
    estimates = np.array([fit.estimates[1] for fit in fits])
    within = np.mean([fit.errors[1] ** 2 for fit in fits], axis=0)
    pooled = np.sqrt(within + (1 + 1 / N_DRAWS) * estimates.var(axis=0, ddof=1))
    yield "draws of mixtures, pooled", estimates.mean(axis=0), quantile * pooled


def estimated(model, group, X, n_splits=0):
    """Return estimate and half-width by `estimate_effect`."""
    rows = estimate_effect(model, X, {"group": group}, n_splits=n_splits)[1::2]
    return np.array([(row.estimate, (row.high - row.low) / 2) for row in rows]).T


def of_abstracts(seed, n_topics, n_splits, kept):
    """Yield names, effects of categories, half-widths, effects on others and their variances."""
    corpus, rng = read(ABSTRACTS, metadata=["category"]), np.random.default_rng(seed)
    X, is_seen = corpus.X.copy(), rng.permutation(len(corpus)) < len(corpus) // 2
    X.data = rng.binomial(X.data.astype(int), kept).astype(float)
    groups = np.array(corpus.metadata["category"])
    model = TopicModel(n_topics, random_state=seed, n_jobs=1).fit(X[is_seen])
    found = []
    for rows, splits in ((~is_seen, 0), (is_seen, 0), (is_seen, n_splits)):
        columns = {name: (groups[rows] == name) * 1.0 for name in np.unique(groups)[1:]}
        effects = estimate_effect(model, X[rows], columns, n_splits=splits)
        found.append([(e.estimate, (e.high - e.low) / 2) for e in effects if e.term in columns])
    (truth, error), *others = np.array(found).transpose(0, 2, 1)
    for name, (estimate, half) in zip(("", f", {n_splits} splits"), others, strict=True):
        variance = (error / stats.norm.ppf(0.975)) ** 2
        yield f"`estimate_effect`{name}", estimate, np.hypot(half, error), truth, variance


def show(size, found) -> None:
    """Print the coverage of each method."""
    for name, rows in found.items():
        estimate, half, true, *variance = np.array(rows).transpose(1, 0, 2)
        covered = (np.abs(estimate - true) <= half).mean()
        slope = (estimate * true).sum() / ((true**2).sum() - np.sum(variance))
        print(
            f"| {size} | {name} | {covered:.1%} | {2 * half.mean():.3f} | {slope:.0%} |", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--collections", type=int, default=100)
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--concentration", type=float, default=3.0)
    parser.add_argument("--number", action="store_true")
    parser.add_argument("--learned", action="store_true")
    parser.add_argument("--splits", type=int, default=0)
    parser.add_argument("--abstracts", action="store_true")
    parser.add_argument("--prevalence", action="store_true")
    asked = parser.parse_args()
    print(
        "| tokens | estimated by | coverage | width | of the true effect |\n|---|---|---|---|---|"
    )
    for kept in (1.0, 0.2) if asked.abstracts else ():
        found = defaultdict(list)
        for seed in range(asked.collections):
            for name, *fit in of_abstracts(seed, asked.topics, asked.splits, kept):
                found[name].append(fit)
        show(f"{kept:.0%}", found)
    for length in () if asked.abstracts else LENGTHS:
        found = defaultdict(list)
        for seed in range(asked.collections):
            rng = np.random.default_rng([length, seed])
            topics, group, X, alpha, truth = collection(
                rng, asked.documents, asked.topics, length, asked.concentration, asked.number
            )
            if asked.learned:
                found["with the true topics"].append((*estimated(Known(topics), group, X), truth))
                columns = {"data": {"group": group}, "prevalence": "group"}
                model = TopicModel(asked.topics, random_state=0, n_jobs=1)
                model.fit(X, **(columns if asked.prevalence else {}))
                match = match_topics(topics, model)[0]
                topics = model.components_[match]
                if asked.prevalence:
                    first, last = model._state.prevalence.shares[:, match]
                    found["prior of the group"].append((last - first, 0.0 * truth, truth))
                if asked.splits:
                    fit = estimated(model, group, X, asked.splits)[:, match]
                    found[f"`estimate_effect`, {asked.splits} splits"].append((*fit, truth))
            else:
                for name, *fit in of_mixtures(rng, topics, group, X, alpha):
                    found[name].append((*fit, truth))
            found["`estimate_effect`"].append((*estimated(Known(topics), group, X), truth))
        show(length, found)


if __name__ == "__main__":
    main()
