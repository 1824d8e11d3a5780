"""Mixtures within a stated distance of the best: how many, how fast, how well they predict.

    python benchmarks/guarantee.py --data DIR [--topics 20 100 1000] [--docs 5000] [--rounds 3]
    python benchmarks/guarantee.py --data DIR --figure docs/figures/guarantee.svg

For each collection and number of topics: the share of documents certified at 1, 0.1 and 0.01 nats,
documents per second and core beside EM, VB, scikit-learn, gensim and a general solver of convex
problems, the bound against the best mixture that an independent solver in double precision finds,
and held-out prediction. With --figure: the methods' losses and their bounds against time.
Everything has the same topics and one core; best of several rounds in which all take their turn.
"""

from __future__ import annotations

import argparse
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from corpora import CACHE, Collection, collections, predictive, split, trained_topics
from scipy import sparse
from scipy.optimize import minimize
from transform import Contender, peers

from opelda.corpus import read
from opelda.inference import CGS, CVB0, EM, FW, OPE, VB, Exact, Method, Topics, infer

LOSSES = (1.0, 0.1, 0.01)
N_CHECKED = 300  # documents for the independent solver; a tenth with many topics
N_SOLVED = 20  # documents that the general solver gets the time for


def all_collections(data: Path | None, n_topics: int) -> Iterator[Collection]:
    """Give abstracts, titles and, where there are any, long articles and posts."""
    yield from collections(data, n_topics)
    if data is None:
        return
    for label, load in (("NYT articles", load_articles), ("20 Newsgroups", load_posts)):
        train, test = load(data)
        test = sparse.csr_array(test[test.sum(axis=1) >= 3], dtype=np.float32)
        yield Collection(label, train, test, trained_topics(train, n_topics, label))


def load_articles(data: Path) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return the paper's 1,000 New York Times articles, both halves of each put together."""
    with unpacked(data / "nyt_ope" / "nyt_ope.tar.xz") as folder:
        parts = [
            read(folder / "nyt" / f"data_test_1_part_{i}.txt", first_id=1, n_jobs=-1).X
            for i in (1, 2)
        ]
    n_words = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize((part.shape[0], n_words))
    whole = sparse.csr_array(parts[0] + parts[1])
    return whole[:800], whole[800:]


def load_posts(data: Path) -> tuple[sparse.csr_array, sparse.csr_array]:
    with unpacked(data / "20news_bydate" / "20news-bydate.tar.xz") as folder:
        train = read(folder / "20news-bydate-train", encoding="latin-1", min_df=5, n_jobs=-1)
        test = read(
            folder / "20news-bydate-test",
            encoding="latin-1",
            vocabulary=train.vocabulary,
            n_jobs=-1,
        )
    return sparse.csr_array(train.X), sparse.csr_array(test.X)


@contextmanager
def unpacked(archive: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as files:
            files.extractall(folder, filter="data")
        yield Path(folder)


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def general_solver(X: sparse.csr_array, topics: np.ndarray) -> None:
    """Maximise the likelihood of each document by SLSQP, as a user without this package might."""

    def negative(theta: np.ndarray, d: np.ndarray, beta: np.ndarray) -> tuple[float, np.ndarray]:
        x = np.maximum(theta @ beta, 1e-300)
        return -d @ np.log(x), -beta @ (d / x)

    for i in range(X.shape[0]):
        words, d = X[[i]].indices, X[[i]].data.astype(np.float64)
        minimize(
            negative,
            np.full(len(topics), 1.0 / len(topics)),
            args=(d, topics[:, words].astype(np.float64)),
            jac=True,
            bounds=[(0, 1)] * len(topics),
            constraints={"type": "eq", "fun": lambda theta: theta.sum() - 1, "jac": np.ones_like},
            method="SLSQP",
            options={"maxiter": 100, "ftol": 1e-6},
        )


def measure(docs: Collection, n_docs: int, rounds: int) -> None:
    topics, table = docs.topics, Topics(docs.topics)
    X = sparse.csr_array(sparse.vstack([docs.held_out, docs.train[-n_docs:]]), dtype=np.float32)
    X = X[:n_docs]
    print(
        f"\n{docs.label}, K = {len(topics)}: {X.shape[0]:,} documents of "
        f"{X.sum() / X.shape[0]:.0f} tokens, {X.nnz / X.shape[0]:.0f} distinct words\n"
    )

    def ours(method: Method, sparse_output: bool = False) -> Callable[[], object]:
        return lambda: transform(X, table, method, sparse_output)

    contenders: dict[str, tuple[int, Callable[[], object]]] = {
        f"Exact, {nats} nats": (X.shape[0], ours(Exact(nats), True)) for nats in LOSSES
    }
    contenders |= {"EM": (X.shape[0], ours(EM())), "VB": (X.shape[0], ours(VB()))}
    for peer in peers(topics):
        few = X[:500] if len(topics) <= 100 else X[:100]
        contenders[peer.name] = (few.shape[0], of_peer(peer, few))
    speed = dict.fromkeys(contenders, 0.0)
    for _ in range(rounds):
        for name, (n, work) in contenders.items():
            speed[name] = max(speed[name], n / timed(work))
    if len(topics) <= 100:
        few = X[: min(N_SOLVED, X.shape[0])]
        speed["SLSQP (scipy)"] = few.shape[0] / timed(lambda: general_solver(few, topics))
    others = [name for name in ("scikit-learn", "gensim") if name in speed]
    print("| | docs/s | " + "".join(f"x {name} | " for name in others) + "certified | topics |")
    print("|---|---|" + "---|" * len(others) + "---|---|")
    for name, value in speed.items():
        ratios = "".join(f"{value / speed[peer]:,.1f} | " for peer in others)
        certified = n_nonzero = ""
        if name.startswith("Exact"):
            nats = float(name.split()[1])
            found = infer(X, table, method=Exact(nats), sparse_output=True, n_jobs=-1)
            certified = f"{(found.loss <= nats).mean():.2%}"
            n_nonzero = f"{found.theta.nnz / X.shape[0]:.1f}"
        print(f"| {name} | {value:,.0f} | {ratios}{certified} | {n_nonzero} |")
    check_bounds(X[: N_CHECKED if len(topics) <= 100 else N_CHECKED // 10], table)
    predict(docs, table)


def transform(X: sparse.csr_array, table: Topics, method: Method, sparse_output: bool) -> object:
    """Infer mixtures as an estimator's `transform` does: without certificates."""
    from opelda._count_matrix import counts
    from opelda.engines import CPUEngine
    from opelda.engines.seam import FEW_TOPICS, MIXTURES
    from opelda.inference._infer import as_prior, as_task

    engine = CPUEngine(1)
    task = as_task(method, as_prior(None, table.n_topics), 0, None)
    wanted = FEW_TOPICS if sparse_output else MIXTURES
    found = engine.infer(table.on(engine), engine.documents(counts(X)), task, wanted)
    return found.as_csr() if sparse_output else found.theta


def of_peer(peer: Contender, X: sparse.csr_array) -> Callable[[], object]:
    given = peer.prepare(X)
    return lambda: peer.infer(given)


def check_bounds(X: sparse.csr_array, table: Topics) -> None:
    """Compare bounds with the optimum that the NumPy interior path finds in double precision."""
    best = infer(X, table, method="exact", engine="reference")
    rows = []
    for name, method in {"Exact, 0.01": Exact(), "OPE": OPE(), "EM": EM()}.items():
        found = infer(X, table, method=method, random_state=0, n_jobs=-1)
        behind = best.log_likelihood - found.log_likelihood
        tokens = np.maximum(found.n_tokens, 1)
        jensen = tokens * np.log1p(found.likelihood_gap / tokens)
        wrong = int((behind > found.loss + 1e-7 * tokens).sum())
        rows.append(
            f"{name}: truth {behind.mean():.4f}, bound {found.loss.mean():.4f} (of the mixture "
            f"alone {jensen.mean():.2f}), {wrong} violations"
        )
    print(f"\nAgainst an independent solver, {X.shape[0]} documents. " + "; ".join(rows) + ".")


def predict(docs: Collection, table: Topics) -> None:
    """Print how well mixtures of 70% of the tokens predict the remaining 30%, over three splits."""
    methods: dict[str, dict] = {
        "EM": {"method": EM()},
        "VB": {"method": VB()},
        "CVB0": {"method": CVB0()},
        "Exact, 0.01": {"method": Exact()},
        "Exact, 0.1": {"method": Exact(0.1)},
    }
    n_topics = len(docs.topics)
    scores: dict[str, list[float]] = {}
    for seed in range(3):
        observed, held_out = split(docs.held_out[:1000], seed)
        for name, options in methods.items():
            theta = infer(observed, table, n_jobs=-1, random_state=0, **options).theta
            scores.setdefault(name, []).append(predictive(floored(theta), docs.topics, held_out))
            if name == "Exact, 0.01":
                tokens = observed.sum(axis=1)[:, None]
                smooth = (tokens * theta + 1 / n_topics) / (tokens + 1)
                key = "Exact, smoothed by the prior"
                scores.setdefault(key, []).append(predictive(smooth, docs.topics, held_out))
    print("\nLPP: " + ", ".join(f"{name} {np.mean(v):.4f}" for name, v in scores.items()))


def floored(theta: np.ndarray) -> np.ndarray:
    """Give every topic a trace, so that no word is impossible."""
    return (theta + 1e-9) / (1 + 1e-9 * theta.shape[1])


CURVES: dict[str, list[Method]] = {
    "OPE": [OPE(n_iter=n) for n in (5, 10, 20, 50, 100, 200)],
    "EM": [EM(n_iter=n) for n in (1, 3, 6, 12, 25, 50, 100)],
    "VB": [VB(n_iter=n, tol=0) for n in (2, 5, 10, 20, 50, 100)],
    "CVB0": [CVB0(burn_in=n, n_samples=n) for n in (1, 2, 5, 10, 25)],
    "CGS": [CGS(burn_in=n, n_samples=n) for n in (1, 2, 5, 10, 25)],
    "FW": [FW(n_iter=n) for n in (5, 10, 20, 50, 100, 200)],
    "Exact": [Exact(nats) for nats in (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.001)],
}


def figure(data: Path | None, n_docs: int, path: Path) -> None:
    """Draw the mean loss, and the mean bound of the mixture alone, against time a document."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    sys.path.insert(0, str(Path(__file__).parents[1]))  # scripts find what lies beside them only
    from reproduction.plots import LOOKS, STYLE

    matplotlib.rcParams.update(STYLE)
    _, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True)
    for axis, docs in zip(axes, collections(data, 100), strict=True):
        X = sparse.csr_array(docs.train[-n_docs:], dtype=np.float32)
        table = Topics(docs.topics)
        best = infer(X, table, method=Exact(1e-4), n_jobs=-1).log_likelihood
        for name, methods in CURVES.items():
            seconds, truth, bound = [], [], []
            for method in methods:
                few = X if not isinstance(method, CVB0 | CGS) else X[: n_docs // 5]
                work = partial(transform, few, table, method, False)
                spent = min(timed(work) for _ in range(3))
                found = infer(X, table, method=method, random_state=0, n_jobs=-1)
                tokens = np.maximum(found.n_tokens, 1)
                seconds.append(1e6 * spent / few.shape[0])
                truth.append(np.maximum(best - found.log_likelihood, 0).mean() + 1e-4)
                bound.append((tokens * np.log1p(found.likelihood_gap / tokens)).mean())
            look = LOOKS[name]
            axis.plot(seconds, truth, marker=look.marker, ms=5, color=look.colour, label=name)
            axis.plot(seconds, bound, "--", lw=0.9, color=look.colour)
        axis.set(xscale="log", yscale="log", xlabel="microseconds a document, one core")
        axis.set_title(f"{docs.label}, {X.sum() / X.shape[0]:.0f} tokens, K = 100", fontsize=10)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("nats a document: lost (solid), bound (dashed)")
    axes[0].legend(fontsize=8)
    plt.tight_layout()
    plt.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with arxiv/, reddit_titles/, ...")
    parser.add_argument("--topics", type=int, nargs="+", default=[20, 100, 1000])
    parser.add_argument("--docs", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    CACHE.mkdir(exist_ok=True)
    try:
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)  # one core means one, for the peers' linear algebra too
    except ImportError:
        pass
    if options.figure:
        figure(options.data, options.docs, options.figure)
        return
    for n_topics in options.topics:
        for docs in all_collections(options.data, n_topics):
            measure(docs, options.docs, options.rounds)


if __name__ == "__main__":
    main()
