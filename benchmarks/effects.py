"""Coverage of intervals of effects on topics: how many hold the truth, over many collections.

    python -m benchmarks.effects [--collections 100] [--documents 400] [--topics 20]

Documents of two groups whose mean mixtures differ are drawn from topics, and the difference is
estimated from their words: by `estimate_effect`, and by the same regression on mixtures, as is
often done: those of `transform`'s method (EM), posterior means (collapsed Gibbs sampling under the
prior that all documents have), and draws from that posterior, pooled (the method of composition).
The intervals say 95%. With --learned the topics are those that `TopicModel` learns from the same
documents, each compared with the true one that it matches. With --prevalence the model has a prior
for each group, whose mean mixture is compared with the truth, too.
"""

import argparse
from collections import defaultdict

import numpy as np
from scipy import stats

from opelda import TopicModel
from opelda.inference import CGS, Topics, infer
from opelda.metrics import match_topics
from opelda.report import estimate_effect
from opelda.report._effects import least_squares

N_WORDS, CONCENTRATION, N_DRAWS = 1_000, 3.0, 5
LENGTHS = (10, 40, 150)


class Known:
    """A model of topics that are known."""

    def __init__(self, topics):
        self.components_ = topics

    def transform(self, X):
        raise NotImplementedError


def collection(rng, n_docs, n_topics, length):
    """Return topics, groups, counts, the prior over both groups and the true difference."""
    topics = rng.dirichlet(np.full(N_WORDS, 0.05), n_topics)
    alphas = CONCENTRATION * rng.dirichlet(np.full(n_topics, 2.0), 2) + 1e-3
    group = rng.integers(0, 2, n_docs)
    theta = np.array([rng.dirichlet(alphas[g]) for g in group])
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


def estimated(topics, group, X):
    """Return estimate and half-width by `estimate_effect`."""
    rows = estimate_effect(Known(topics), X, {"group": group})[1::2]
    return np.array([(row.estimate, (row.high - row.low) / 2) for row in rows]).T


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--collections", type=int, default=100)
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--learned", action="store_true")
    parser.add_argument("--prevalence", action="store_true")
    asked = parser.parse_args()
    print(
        "| tokens | estimated by | coverage | width | of the true effect |\n|---|---|---|---|---|"
    )
    for length in LENGTHS:
        found = defaultdict(list)
        for seed in range(asked.collections):
            rng = np.random.default_rng([length, seed])
            topics, group, X, alpha, truth = collection(rng, asked.documents, asked.topics, length)
            if asked.learned:
                columns = {"data": {"group": group}, "prevalence": "group"}
                model = TopicModel(asked.topics, random_state=0, n_jobs=1)
                model.fit(X, **(columns if asked.prevalence else {}))
                match = match_topics(topics, model)[0]
                topics = model.components_[match]
                if asked.prevalence:
                    first, last = model._state.prevalence.shares[:, match]
                    found["prior of the group"].append((last - first, 0.0 * truth, truth))
            else:
                for name, *fit in of_mixtures(rng, topics, group, X, alpha):
                    found[name].append((*fit, truth))
            found["`estimate_effect`"].append((*estimated(topics, group, X), truth))
        for name, rows in found.items():
            estimate, half, true = np.array(rows).transpose(1, 0, 2)
            covered = (np.abs(estimate - true) <= half).mean()
            slope = (estimate * true).sum() / (true**2).sum()
            print(
                f"| {length} | {name} | {covered:.1%} | {2 * half.mean():.3f} | {slope:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
