"""The CUDA engine on one GPU: sweeps, learning, transforming, and PyTorch beside it.

    python -m benchmarks.gpu [--docs 100000] [--pubmed 8200000] [--only sweeps best ...] [--cpu]
    python -m benchmarks.gpu --data counts-train-100k.npz counts-heldout-1k.npz --only best --cpu

Documents are drawn from topics of Zipf's kind in PubMed's shape (141,043 words, 90 tokens), so that
no data is needed, or are given: counts to learn from, and to predict. A line of JSON for
each figure. Kernels are compiled, and memory is taken, in a first run that is not counted. `copies
s` is the time of all copies between host and GPU, each waited for, in a run of its own.
"""

from __future__ import annotations

import argparse
import json
from contextlib import contextmanager
from functools import partial
from time import perf_counter

import numpy as np
from scipy import sparse

from opelda import OnlineOPE, TopicModel
from opelda.engines import get_engine
from opelda.engines.cuda import _device as _cuda_device
from opelda.engines.cuda import _sweeps as _cuda_sweeps
from opelda.metrics import coherence as npmi
from opelda.metrics import log_predictive_probability
from reproduction.generated import drawn

from .gpu_torch import mixtures

K = 100
SEEDS = (0, 1, 2)
SWEPT = {100: 40, 1000: 40, 10_000: 25}  # sweeps by topics
PRIOR = 2.0  # sum_k alpha_k, as sweeps learn it for abstracts
MAX_LOSS = 0.01  # nats a document
BANDWIDTH = 4.3e12  # bytes a second, both ways, of a copy inside an H200


def documents(n_docs: int, seed: int = 0) -> sparse.csr_array:
    parts = list(drawn("pubmed", n_docs, seed, 50_000))
    return sparse.csr_array(sparse.vstack(parts, "csr")).astype(np.float32)


def given(path: str) -> sparse.csr_array:
    return sparse.csr_array(sparse.load_npz(path)).astype(np.float32)


def held_out(options) -> sparse.csr_array:
    return given(options.data[1]) if options.data else documents(1000, seed=1)


def wait() -> None:
    import cupy

    cupy.cuda.Device().synchronize()


def timed(run) -> tuple[float, object]:
    wait()
    started = perf_counter()
    result = run()
    wait()
    return perf_counter() - started, result


@contextmanager
def copies():
    """Collect the seconds of all copies between host and GPU."""
    found = {"s": 0.0, "bytes": 0}
    kept = {name: getattr(_cuda_device.Device, name) for name in ("array", "host")}

    def watched(name):
        def copy(self, values, *more):
            moved = values is not None and (name == "host") == hasattr(values, "device")
            seconds, result = timed(lambda: kept[name](self, values, *more))
            if moved:
                found["s"] += seconds
                found["bytes"] += result.nbytes
            return result

        return copy

    for name in kept:
        setattr(_cuda_device.Device, name, watched(name))
    try:
        yield found
    finally:
        for name, function in kept.items():
            setattr(_cuda_device.Device, name, function)


def swept(engine, X, n_topics: int, n_sweeps: int):
    """Return tokens, and seconds of sweeps and of their draws alone, when topics differ."""
    import cupy

    tokens = engine.tokens(engine.documents(X), n_topics)
    weights, counts = engine.random_weights(X.shape[1], n_topics, 0.05, 0), None
    alpha, seconds, kernel = np.full(n_topics, PRIOR / n_topics), [], []
    draw = _cuda_sweeps._draw

    def watched(*given):
        begun, ended = cupy.cuda.Event(), cupy.cuda.Event()
        begun.record()
        draw(*given)
        ended.record()
        ended.synchronize()
        kernel.append(cupy.cuda.get_elapsed_time(begun, ended) / 1e3)

    for number in range(n_sweeps):
        _cuda_sweeps._draw = watched if number >= n_sweeps - 5 else draw
        wait()
        started = perf_counter()
        given = {"counts": counts, "prior": 0.05, "seed": number << 32}
        counts = engine.sweep(weights, tokens, alpha, **given)
        engine.blend(weights, counts, 0.05)
        wait()
        seconds.append(perf_counter() - started)
    _cuda_sweeps._draw = draw
    return tokens, float(np.median(seconds[-10:-5])), float(np.median(kernel))


def sweeps(X, options, say) -> None:
    for n_topics, n_sweeps in SWEPT.items():
        tokens, whole, draws = swept(get_engine("cuda"), X, n_topics, n_sweeps)
        n_tokens, z, first = len(tokens.z), tokens.topics, tokens.first
        slots = np.mean([len(set(z[first[d] : first[d + 1]].tolist())) for d in range(2000)])
        # word, topic read and written, and a sector of 32 bytes for each topic that it may go to
        moved = n_tokens * (4 + 2 + 2 + 32 * slots)
        say(
            figure="sweep",
            topics=n_topics,
            tokens=n_tokens,
            ms=1e3 * whole,
            tokens_per_s=n_tokens / whole,
            draws_ms=1e3 * draws,
            draws_per_s=n_tokens / draws,
            topics_of_a_document=float(slots),
            of_bandwidth=moved / draws / BANDWIDTH,
        )


def best(X, options, say) -> None:
    held = held_out(options)
    for name in ["cuda", *(["cpu"] if options.cpu else [])]:
        if name == "cuda":
            TopicModel(K, engine=name, random_state=9).fit(X)
        for seed in SEEDS:
            model = TopicModel(K, engine=name, random_state=seed)
            seconds, _ = timed(lambda model=model: model.fit(X))
            say(
                figure="best",
                engine=name,
                docs=X.shape[0],
                seed=seed,
                s=seconds,
                LPP=model.score(held, n_splits=1, method="vb"),
                NPMI=float(np.mean(npmi(model, X[:50_000]))),
            )
    with copies() as lost:
        seconds, _ = timed(lambda: TopicModel(K, engine="cuda", random_state=0).fit(X))
    say(figure="best, copies waited for", s=seconds, copies_s=lost["s"], GB=lost["bytes"] / 1e9)


def online(X, options, say) -> None:
    held = held_out(options)
    advice = {"batch_size": 1000, "learning_decay": 0.6, "learning_offset": 10.0, "n_iter": 20}
    for settings, given in (("paper", {}), ("advice", advice)):
        model = OnlineOPE(K, engine="cuda", random_state=0, **given)
        model.partial_fit(X[:20_000])
        model = OnlineOPE(K, engine="cuda", random_state=0, **given)
        seconds, _ = timed(lambda model=model: model.partial_fit(X))
        score = model.score(held, n_splits=1, method="vb")
        say(figure="online", settings=settings, docs=X.shape[0], s=seconds, LPP=score)


def transform(X, options, say) -> None:
    model = TopicModel(K, engine="cuda", random_state=0).fit(X[:50_000])
    exact = TopicModel(K, engine="cuda", random_state=0, max_loss=MAX_LOSS).fit(X[:50_000])
    for name, each, some in (("fast", model, X), ("guaranteed", exact, X[:20_000])):
        each.transform(some)
        seconds = min(timed(lambda each=each, some=some: each.transform(some))[0] for _ in range(3))
        with copies() as lost:
            whole, _ = timed(lambda each=each, some=some: each.transform(some))
        say(
            figure="transform",
            how=name,
            docs_per_s=some.shape[0] / seconds,
            copies=lost["s"] / whole,
        )
    from cupyx.scipy.sparse import csr_matrix

    there = csr_matrix(sparse.csr_matrix(X))
    model.transform(there)
    seconds = min(timed(lambda: model.transform(there))[0] for _ in range(3))
    say(figure="transform", how="fast, CuPy's documents", docs_per_s=X.shape[0] / seconds)


def parts(X, options, say) -> None:
    """Held-out scores, beside the processor's."""
    held, topics = X[:10_000], TopicModel(K, engine="cuda", random_state=0).fit(X[:50_000])
    for name in ("cuda", "cpu"):
        score = partial(log_predictive_probability, topics, held, random_state=0, engine=name)
        seconds, found = min((timed(score) for _ in range(2)), key=lambda pair: pair[0])
        say(figure="held-out score", engine=name, docs=held.shape[0], s=seconds, LPP=float(found))


def torch_em(X, options, say) -> None:
    model = TopicModel(K, engine="cuda", random_state=0).fit(X[:50_000])
    mixtures(model.components_, X)
    seconds = min(timed(lambda: mixtures(model.components_, X))[0] for _ in range(2))
    apart = np.abs(mixtures(model.components_, X) - model.transform(X)).sum(axis=1).mean()
    say(figure="EM in PyTorch", docs_per_s=X.shape[0] / seconds, mean_difference=float(apart))


def pubmed(X, options, say) -> None:
    started = perf_counter()
    X = documents(options.pubmed)
    say(figure="PubMed drawn", docs=X.shape[0], entries=X.nnz, s=perf_counter() - started)
    online(X, options, say)
    held = held_out(options)
    model = TopicModel(K, engine="cuda", random_state=0)
    seconds, _ = timed(lambda: model.fit(X))
    say(figure="PubMed best", s=seconds, LPP=model.score(held, n_splits=1, method="vb"))


def auto(X, options, say) -> None:
    """From how many documents on the GPU is faster, kernels compiled: what `engine="auto"` asks."""
    for n_docs in (250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000):
        some, seconds = X[:n_docs], {}
        for name in ("cuda", "cpu"):
            model = TopicModel(K, engine=name, random_state=0)
            for how in (model.fit, model.transform):
                key = f"{how.__name__}_{name}"
                seconds[key] = min(timed(partial(how, some))[0] for _ in range(2))
        say(figure="auto", docs=n_docs, entries=some.nnz, **seconds)


def huge(X, options, say) -> None:
    """More than 2^31 entries: repeated documents have the same mixtures."""
    n_topics, tile = 20, X[:10_000]
    model = TopicModel(n_topics, engine="cuda", random_state=0).fit(tile)
    times = 2**31 // tile.nnz + 20
    ends = np.concatenate(([0], np.cumsum(np.tile(np.diff(tile.indptr), times), dtype=np.int64)))
    entries = np.tile(tile.data, times), np.tile(tile.indices.astype(np.int64), times)
    whole = sparse.csr_array((*entries, ends), shape=(times * tile.shape[0], tile.shape[1]))
    say(figure="huge", docs=whole.shape[0], entries=whole.nnz)
    one = model.transform(tile)
    seconds, theta = timed(lambda: model.transform(whole))
    alike = all(np.array_equal(one, part) for part in np.split(theta, times))
    say(figure="huge, transform", s=seconds, as_one_by_one=alike)
    del theta
    engine, alpha = get_engine("cuda"), np.full(n_topics, PRIOR / n_topics)
    tokens = engine.tokens(engine.documents(whole), n_topics)
    weights = engine.random_weights(whole.shape[1], n_topics, 0.05, 0)
    seconds, counts = timed(lambda: engine.sweep(weights, tokens, alpha, seed=1))
    n_tokens, counted = float(tile.sum()) * times, float(counts.sums.sum())
    say(
        figure="huge, sweep",
        s=seconds,
        tokens=int(tokens.first[-1]),
        blocks=len(getattr(tokens, "blocks", [0])),
        none_lost=counted == n_tokens,
    )


FIGURES = (sweeps, best, online, transform, torch_em, parts, auto, pubmed, huge)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=int, default=100_000)
    parser.add_argument("--pubmed", type=int, default=8_200_000)
    names = [figure.__name__ for figure in FIGURES]
    parser.add_argument("--only", nargs="+", choices=names, default=names[:6])
    parser.add_argument("--cpu", action="store_true", help="learn by the processor too")
    parser.add_argument("--data", nargs=2, metavar="NPZ", help="counts instead of drawn ones")
    options = parser.parse_args()
    print(get_engine("cuda"))
    X = given(options.data[0]) if options.data else documents(options.docs)

    def say(**figures):
        short = {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in figures.items()}
        print(json.dumps(short), flush=True)

    for figure in FIGURES:
        if figure.__name__ in options.only:
            figure(X, options, say)


if __name__ == "__main__":
    main()
