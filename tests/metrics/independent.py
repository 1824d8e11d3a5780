"""Held-out prediction and NPMI in double precision, independent of the package.

By hand, on matrices saved with `scipy.sparse.save_npz` and topics saved with `numpy.save`:

    python tests/metrics/independent.py --topics T.npy --counts X.npz
    python tests/metrics/independent.py --topics T.npy --alpha 0.01 --splits SEEN.npz HELD.npz ...
"""

import argparse
import math
from itertools import combinations

import numpy as np
from scipy import sparse

LEAST_IN_A_TOPIC = 1e-15  # a word that every topic gives less is not looked at in inference
LEAST_IN_A_MIXTURE = 1e-30  # a word that a mixture gives less counts as this


def digamma(x):
    """Return the derivative of log Gamma: up by recurrence, then Stirling's series."""
    x = np.array(x, float)
    below = np.zeros_like(x)
    while (x < 10).any():
        below -= np.where(x < 10, 1 / x, 0)
        x = np.where(x < 10, x + 1, x)
    series = sum(
        b / x**n
        for n, b in ((2, -1 / 12), (4, 1 / 120), (6, -1 / 252), (8, 1 / 240), (10, -1 / 132))
    )
    series += 691 / 32760 / x**12 - 1 / 12 / x**14
    return below + np.log(x) - 1 / (2 * x) + series


def vb_mixture(counts, beta, alpha, n_iter=50, tol=1e-4):
    """Return the mean of q(theta) for one document.

    counts (n,), beta (K, n): its words alone; alpha (K,). gamma begins at alpha + N/K, every phi is
    the best for gamma, every gamma the best for phi, until the bound gains less than tol of itself.
    """
    n_topics = len(alpha)
    gamma = alpha + sum(counts) / n_topics
    previous = None
    for iteration in range(n_iter + 1):
        log_theta = digamma(gamma) - digamma(gamma.sum())
        top = log_theta.max()
        joint = np.exp(log_theta - top)[:, None] * beta  # phi_kj, not yet divided by its sum
        phinorm = np.maximum(joint.sum(axis=0), 1e-300)
        bound = math.lgamma(sum(alpha)) - math.lgamma(sum(gamma))
        for j in range(len(counts)):
            bound += counts[j] * (math.log(phinorm[j]) + top)
        for k in range(n_topics):
            bound += (alpha[k] - gamma[k]) * log_theta[k]
            bound += math.lgamma(gamma[k]) - math.lgamma(alpha[k])
        if previous is not None and bound - previous < tol * abs(bound):
            break
        if iteration < n_iter:
            gamma = alpha + (joint * (counts / phinorm)).sum(axis=1)
        previous = bound
    return gamma / gamma.sum()


def lpp(splits, topics, alpha=None):
    """Return the log predictive probability: its mean over documents, and over tokens."""
    topics = np.asarray(topics, float)
    n_topics = len(topics)
    alpha = np.full(n_topics, 1 / n_topics) if alpha is None else np.broadcast_to(alpha, n_topics)
    known = (topics >= LEAST_IN_A_TOPIC).any(axis=0)
    means, total, mass = {}, 0.0, 0.0
    for observed, held in splits:
        for d, (seen, hidden) in enumerate(zip(rows(observed), rows(held), strict=True)):
            if not seen or not hidden:
                continue
            words = [j for j in seen if known[j]]
            theta = alpha / sum(alpha)
            if words:
                counts = np.array([seen[j] for j in words], float)
                theta = vb_mixture(counts, topics[:, words], alpha)
            score = 0.0
            for j, count in hidden.items():
                x = math.fsum(theta[k] * topics[k, j] for k in range(n_topics))
                score += count * math.log(max(x, LEAST_IN_A_MIXTURE))
            tokens = sum(hidden.values())
            means.setdefault(d, []).append(score / tokens)
            total, mass = total + score, mass + tokens
    return math.fsum(sum(m) / len(m) for m in means.values()) / len(means), total / mass


def npmi(topics, X, n_words=10):
    """Return each topic's mean NPMI, from the sets of documents that hold its words."""
    holding = {}
    n_docs = 0
    for d, row in enumerate(rows(X)):
        n_docs = d + 1
        for j in row:
            holding.setdefault(j, set()).add(d)
    found = []
    for topic in np.asarray(topics):
        words = sorted(range(len(topic)), key=lambda j: (-topic[j], j))[:n_words]
        scores = []
        for i, j in combinations(words, 2):
            a, b = holding.get(i, set()), holding.get(j, set())
            both = len(a & b)
            if both in (0, n_docs):
                scores.append(1.0 if both else -1.0)
            else:
                surprise = math.log(both * n_docs / (len(a) * len(b)))
                scores.append(surprise / math.log(n_docs / both))
        found.append(math.fsum(scores) / len(scores))
    return np.array(found)


def rows(X):
    """Yield each document as a dictionary from word to count."""
    X = sparse.csr_array(X)
    for d in range(X.shape[0]):
        part = slice(X.indptr[d], X.indptr[d + 1])
        words, counts = X.indices[part].tolist(), X.data[part].tolist()
        yield {j: count for j, count in zip(words, counts, strict=True) if count > 0}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", required=True, metavar="T.npy")
    parser.add_argument("--counts", metavar="X.npz", help="documents for NPMI")
    parser.add_argument("--n-words", type=int, default=10, metavar="N")
    parser.add_argument(
        "--splits", nargs="+", default=[], metavar="FILE", help="SEEN.npz HELD.npz, a pair a split"
    )
    parser.add_argument("--alpha", type=float, metavar="A", help="default: 1/K")
    given = parser.parse_args(arguments)
    if len(given.splits) % 2:
        parser.error("--splits takes pairs of files")
    topics = np.load(given.topics)
    if given.splits:
        parts = [sparse.load_npz(name) for name in given.splits]
        macro, micro = lpp(list(zip(parts[::2], parts[1::2], strict=True)), topics, given.alpha)
        print(f"LPP {macro:.15g} (mean over documents) {micro:.15g} (mean over tokens)")
    if given.counts:
        found = npmi(topics, sparse.load_npz(given.counts), given.n_words)
        print(f"NPMI {found.mean():.15g}")


if __name__ == "__main__":
    main()
