"""Infer the topic mixtures of a generated corpus, with a certificate for every document.

python examples/demo.py
"""

import time

import numpy as np
from scipy import sparse

from opelda.inference import FW, OPE, VB, Topics, infer

N_TOPICS, N_WORDS, N_DOCS = 100, 5_000, 20_000


def generate(seed: int) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """Draw topics, mixtures of about two topics, and documents of 60 words from them."""
    rng = np.random.default_rng(seed)
    topics = 0.95 * rng.dirichlet(np.full(N_WORDS, 0.02), N_TOPICS) + 0.05 / N_WORDS
    theta = rng.dirichlet(np.full(N_TOPICS, 0.02), N_DOCS)
    parts = []
    for first in range(0, N_DOCS, 1000):
        words = theta[first : first + 1000] @ topics
        counts = rng.multinomial(60, words / words.sum(axis=1, keepdims=True))
        parts.append(sparse.csr_array(counts, dtype=np.float32))
    return sparse.vstack(parts, format="csr"), topics, theta


def main() -> None:
    """Print the tables."""
    print(f"Generating {N_DOCS:,} documents from {N_TOPICS} topics over {N_WORDS:,} words ...")
    X, components, truth = generate(seed=0)
    topics = Topics(components)

    print(
        "\nmethod            docs/s   error   log-likelihood      gap   could be better by at most"
    )
    for method in (OPE(), OPE(n_iter=20), VB(), FW()):
        started = time.perf_counter()
        result = infer(X, topics, method=method, random_state=0, n_jobs=-1)
        speed = N_DOCS / (time.perf_counter() - started)
        error = np.abs(result.theta - truth).sum(axis=1).mean()
        name = f"{type(method).__name__}(n_iter={method.n_iter})"
        print(
            f"{name:<14} {speed:9,.0f}   {error:5.3f}   {result.log_likelihood.mean():14.2f} "
            f"{result.gap.mean():8.4g}   {result.likelihood_loss.mean():7.2f} nats"
        )
    print(
        "\nAll numbers are means a document. error: L1 distance to the mixture that generated it;"
        "\ngap: 0 at stationary points of likelihood x prior; the last column: what any mixture"
        "\ncould gain in log-likelihood (docs/inference.md)."
    )

    result = infer(X[:6], topics, random_state=0)
    print("\nSix documents by OPE:\n")
    print(
        "document  topics (share)                       log-likelihood   could be better by at most"
    )
    for i, theta in enumerate(result.theta):
        top = [k for k in theta.argsort()[::-1][:3] if theta[k] > 0.02]
        shares = ", ".join(f"{k} ({theta[k]:.2f})" for k in top)
        print(
            f"{i:8d}  {shares:<35}  {result.log_likelihood[i]:14.2f}   "
            f"{result.likelihood_loss[i]:7.2f} nats"
        )
    print("\nNext: README.md has the Python interface, docs/inference.md what the numbers mean.")


if __name__ == "__main__":
    main()
