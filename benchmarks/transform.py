"""Mixtures of new documents: how many per second and core, and how well they predict.

    python benchmarks/transform.py --data DIR [--topics 100] [--docs 20000] [--rounds 5]

Every contender has the same topics and infers on one core. Documents per second: `transform` of
the estimator (gensim: `inference`), best of several rounds in which all take their turn. LPP: 70%
of the tokens of held-out documents are observed, the mixture is inferred from them and the
remaining 30% are scored under it, five splits. On long documents (arXiv abstracts) and on short
ones (Reddit titles); generated ones without --data. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from corpora import Collection, collections, predictive, split
from scipy import sparse

from opelda import OnlineOPE, TopicModel
from opelda.engines import CPUEngine
from opelda.engines.seam import HostWeights
from opelda.inference import CGS, CVB, CVB0, EM, FW, OPE, VB, Method, Topics
from opelda.learning._state import State

METHODS: dict[str, Method] = {
    "OPE": OPE(),
    "OPE, T=20": OPE(n_iter=20),
    "OPE, best f of 5": OPE(n_restarts=5),
    "OPE, alpha=1": OPE(),
    "OPE3": OPE(variant="ope3"),
    "BOPE p=0.9": OPE(variant="bope", p=0.9),
    "EM": EM(),
    "EM, 32 topics": EM(n_kept=32),
    "VB": VB(),
    "CVB": CVB(),
    "CVB0": CVB0(),
    "CGS": CGS(),
    "FW": FW(),
}
SLOW = ("CVB", "CVB0", "CGS", "scikit-learn", "gensim")
N_SPLITS = 5

Infer = Callable[[sparse.csr_array], np.ndarray]


@dataclass
class Contender:
    name: str
    infer: Infer
    prepare: Callable[[sparse.csr_array], object] = lambda X: X  # not timed


def fitted(model: OnlineOPE | TopicModel, topics: np.ndarray) -> OnlineOPE | TopicModel:
    """Give an estimator topics of another learner."""
    rows = np.ascontiguousarray(Topics(topics).components.T, np.float32)
    weights = CPUEngine(1).weights(HostWeights(rows, 1.0))
    model._state, model.n_features_in_ = State(weights, 0), topics.shape[1]
    return model


def ours(topics: np.ndarray) -> list[Contender]:
    n_topics = len(topics)
    default = fitted(OnlineOPE(n_topics, random_state=0, n_jobs=1), topics)
    contenders = [Contender("**OnlineOPE, the default**", default.transform)]
    for name, method in METHODS.items():
        prior = 1.0 if name.endswith("alpha=1") else None
        model = TopicModel(
            n_topics,
            inference=method,
            transform_method="same",
            doc_topic_prior=prior,
            random_state=0,
            n_jobs=1,
        )
        contenders.append(Contender(name, fitted(model, topics).transform))
    return contenders


def sklearn_lda(topics: np.ndarray) -> Contender:
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(len(topics), n_jobs=1, random_state=0)
    model.partial_fit(sparse.csr_array(np.ones((1, topics.shape[1]))))  # only sets attributes
    model.components_ = model.exp_dirichlet_component_ = topics.astype(np.float64)
    return Contender("scikit-learn", model.transform)


def gensim_lda(topics: np.ndarray) -> Contender:
    from gensim.models import LdaModel

    n_topics, n_words = topics.shape
    words = {i: str(i) for i in range(n_words)}
    model = LdaModel(num_topics=n_topics, id2word=words, alpha=1 / n_topics, random_state=0)
    model.expElogbeta = topics.astype(np.float32)

    def infer(chunk: list[list[tuple[int, float]]]) -> np.ndarray:
        gamma = model.inference(chunk)[0]
        return gamma / gamma.sum(axis=1, keepdims=True)

    return Contender("gensim", infer, as_bags)


def peers(topics: np.ndarray) -> Iterator[Contender]:
    """Return the installed peers."""
    for make in (sklearn_lda, gensim_lda):
        try:
            yield make(topics)
        except ImportError as error:
            print(f"({error.name} is not installed)")


def as_bags(X: sparse.csr_array) -> list[list[tuple[int, float]]]:
    return [
        list(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


def speeds(contenders: list[Contender], X: sparse.csr_array, rounds: int) -> dict[str, float]:
    """Documents per second of each, the best of the rounds."""
    few = X[: max(1, X.shape[0] // 20)]
    given = {c.name: c.prepare(few if c.name in SLOW else X) for c in contenders}
    best = dict.fromkeys(given, 0.0)
    for _ in range(rounds):
        for contender in contenders:
            started = time.perf_counter()
            found = contender.infer(given[contender.name])
            best[contender.name] = max(
                best[contender.name], len(found) / (time.perf_counter() - started)
            )
    return best


def qualities(contenders: list[Contender], docs: Collection) -> dict[str, float]:
    """LPP of each, the mean over the splits."""
    scores: dict[str, list[float]] = {c.name: [] for c in contenders}
    for seed in range(N_SPLITS):
        observed, held_out = split(docs.held_out, seed)
        for contender in contenders:
            theta = contender.infer(contender.prepare(observed))
            scores[contender.name].append(predictive(theta, docs.topics, held_out))
    return {name: float(np.mean(found)) for name, found in scores.items()}


def measure(docs: Collection, n_docs: int, rounds: int) -> None:
    contenders = [*ours(docs.topics), *peers(docs.topics)]
    X = sparse.csr_array(docs.train[-n_docs:], dtype=np.float32)
    print(
        f"\n{docs.label}, {X.nnz / X.shape[0]:.1f} distinct words a document, "
        f"K = {len(docs.topics)}, {X.shape[0]:,} documents timed\n"
    )
    speed, quality = speeds(contenders, X, rounds), qualities(contenders, docs)
    others = [name for name in ("scikit-learn", "gensim") if name in speed]
    print("| | docs/s | us/doc | " + "".join(f"x {name} | " for name in others) + "LPP |")
    print("|---|" + "---|" * (3 + len(others)))
    for name, value in speed.items():
        ratios = "".join(f"{value / speed[peer]:,.1f}x | " for peer in others)
        print(f"| {name} | {value:,.0f} | {1e6 / value:,.2f} | {ratios}{quality[name]:.4f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with arxiv/ and reddit_titles/")
    parser.add_argument("--topics", type=int, nargs="+", default=[100])
    parser.add_argument("--docs", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    try:
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)  # one core means one, for the peers' linear algebra too
    except ImportError:
        pass
    for n_topics in options.topics:
        for docs in collections(options.data, n_topics):
            measure(docs, options.docs, options.rounds)


if __name__ == "__main__":
    main()
