"""Learn the topics of a generated corpus, then infer its documents with a certificate for each.

python examples/demo.py
"""

import time

import numpy as np

from opelda import MLOPE, OnlineOPE, OnlineVB, StreamingOPE
from opelda.corpus import generate
from opelda.inference import FW, OPE, VB, Topics, infer
from opelda.metrics import log_predictive_probability, match_topics

N_TOPICS, N_WORDS, N_DOCS = 50, 5_000, 21_000


def main() -> None:
    """Print the tables."""
    print(f"Generating {N_DOCS:,} documents from {N_TOPICS} topics over {N_WORDS:,} words ...")
    corpus = generate(
        N_DOCS, n_words=N_WORDS, n_topics=N_TOPICS, doc_topic_prior=0.03, random_state=0
    )
    X, held_out = corpus.X[:-1000], corpus.X[-1000:]

    print("\nlearner        docs/s   topics found   held-out log probability of a token")
    for cls in (OnlineOPE, MLOPE, StreamingOPE, OnlineVB):
        model = cls(
            N_TOPICS, batch_size=500, learning_decay=0.6, n_passes=3, n_jobs=-1, random_state=0
        )
        started = time.perf_counter()
        model.fit(X)
        speed = model.n_docs_seen_ / (time.perf_counter() - started)
        found = (match_topics(corpus.topics, model.components_)[1] > 0.9).sum()
        score = model.score(held_out, n_splits=1)
        print(f"{cls.__name__:<12} {speed:8,.0f}   {found:3d} of {N_TOPICS}      {score:8.3f}")
    truth = float(log_predictive_probability(held_out, corpus.topics, n_splits=1, random_state=0))
    print(f"{'the truth':<38} {truth:8.3f}")

    topics = Topics(corpus.topics)
    print(
        "\nmethod            docs/s   error   log-likelihood      gap   could be better by at most"
    )
    for method in (OPE(), OPE(n_iter=20), VB(), FW()):
        started = time.perf_counter()
        result = infer(X, topics, method=method, random_state=0, n_jobs=-1)
        speed = X.shape[0] / (time.perf_counter() - started)
        error = np.abs(result.theta - corpus.mixtures[: X.shape[0]]).sum(axis=1).mean()
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
    print("\nNext: README.md has the Python interface, docs/learning.md what the settings do.")


if __name__ == "__main__":
    main()
