"""How cost grows: time per document against topics, words of a document, vocabulary and threads.

    python -m benchmarks.scaling --out FILE [--figures DIR] [--parts cost stages]
    python -m benchmarks.scaling --draw FILE --figures DIR

Online-OPE with the paper's settings on documents drawn from twenty topics. `cost`: E-step and
M-step of an update of 5,000 documents, and `transform`, in microseconds a document, the best of
three. `stages`: time and memory of a model of 10^6 words or 10^4 topics at every stage,
seconds and memory. Every measurement is a line of JSON in FILE, and the figure is drawn from the
lines alone.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse

BATCH, FIRST = 5000, 500
TOPICS = (50, 100, 200, 500, 1000, 2000, 5000, 10_000)
DISTINCT = (8, 16, 32, 64, 128, 256, 512, 1000)
WORDS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
# what stays where another grows: topics, distinct words of a document, words
USUAL = {"topics": 100, "distinct": 59, "words": 32_000}
LARGE = ({"words": 1_000_000}, {"topics": 10_000})


def documents(n_docs: int, distinct: int, words: int, seed: int = 0) -> sparse.csr_array:
    """Draw documents with that number of distinct words, on average."""
    from opelda.corpus._synthetic import draw_counts, owned_topics

    weight = (10.0 + np.arange(words)) ** -1.0
    cumulative = np.cumsum(owned_topics(weight, np.arange(words) % 20, 20), axis=1)
    n_tokens = float(distinct)
    for _ in range(6):  # tokens that give that number of words
        rng = np.random.default_rng([seed, 1])
        found = draw_counts(rng, rng.dirichlet(np.full(20, 0.1), 100), cumulative, n_tokens)
        n_tokens *= (distinct * 100 / found.nnz) ** 1.2
    rng = np.random.default_rng([seed, 2])
    return draw_counts(rng, rng.dirichlet(np.full(20, 0.1), n_docs), cumulative, n_tokens)


def learner(topics: int, threads: int):
    from opelda import OnlineOPE
    from opelda.learning import History

    return OnlineOPE(topics, random_state=0, n_jobs=threads, callbacks=History(gap=False))


def measure_cost(sweep: str, topics: int, distinct: int, words: int) -> None:
    X = documents(2 * BATCH, distinct, words)
    # topics that hardly differ yet are the worst case: the first update is not measured
    model = learner(topics, 2).partial_fit(X[-FIRST:]).partial_fit(X[BATCH:])
    for threads in (1, 2):
        model.n_jobs = threads
        steps, inference = [], []
        for _ in range(3):
            model.partial_fit(X[:BATCH])
            history = model.callbacks.to_dict()
            steps.append((history["e_seconds"][-1], history["m_seconds"][-1]))
            started = time.perf_counter()
            model.transform(X[:1000])
            inference.append((time.perf_counter() - started) / 1000)
        e, m = min(steps, key=sum)
        say(
            sweep=sweep,
            topics=topics,
            distinct=round(X.nnz / X.shape[0], 1),
            words=words,
            threads=threads,
            e_us=round(e / BATCH * 1e6, 2),
            m_us=round(m / BATCH * 1e6, 2),
            inference_us=round(min(inference) * 1e6, 2),
        )


def memory(what: str) -> float:
    """Return the MB that this process has now (VmRSS) or had at most (VmHWM)."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(what))


def measure_stages(topics: int, distinct: int, words: int) -> None:
    """Measure each stage of a model; the peak is above the memory at the start of the stage."""
    import opelda
    from opelda.metrics import coherence as npmi

    X = documents(20_000, distinct, words)
    held_out = documents(1000, distinct, words, seed=1)
    path = Path(tempfile.mkdtemp()) / "model"
    model = learner(topics, 2)
    stages = {
        "start": lambda: model.partial_fit(X[:1]),
        "first update, 500 documents": lambda: model.partial_fit(X[:FIRST]),
        "update, 5,000 documents": lambda: model.partial_fit(X[:BATCH]),
        "components_": lambda: model.components_,
        "top_words": lambda: model.top_words(10),
        "LPP, 1,000 documents": lambda: model.score(held_out, n_splits=1, method="vb"),
        "NPMI, 20,000 documents": lambda: npmi(model.components_, X),
        "save": lambda: opelda.save(model, path),
        "load": lambda: opelda.load(path),
    }
    model_size = words * topics * 4 / 2**20
    for name, stage in stages.items():
        Path("/proc/self/clear_refs").write_text("5")
        before, started = memory("VmRSS"), time.perf_counter()
        result = stage()
        say(
            stage=name,
            topics=topics,
            words=words,
            model_mb=round(model_size),
            seconds=round(time.perf_counter() - started, 3),
            peak_mb=round(memory("VmHWM") - before),
        )
        del result
    path.unlink()


def draw(lines: list[dict], folder: Path) -> None:
    """Draw the cost of learning and inference against each of three sizes."""
    from reproduction.plots import legend, panels, style, tidy

    kinds = {
        "learning": ("#0072B2", "o", lambda line: line["e_us"] + line["m_us"]),
        "its E-step": ("#56B4E9", "^", lambda line: line["e_us"]),
        "its M-step": ("#D55E00", "s", lambda line: line["m_us"]),
        "inference (transform)": ("#009E73", "D", lambda line: line["inference_us"]),
    }
    sweeps = {"topics": "topics", "distinct": "distinct words a document", "words": "vocabulary"}
    with style():
        figure, axes = panels(3)
        for panel, (sweep, label) in zip(axes[0], sweeps.items(), strict=True):
            for name, (colour, marker, cost) in kinds.items():
                for threads, dash in ((1, "-"), (2, ":")):
                    chosen = [
                        line
                        for line in lines
                        if line.get("sweep") == sweep and line["threads"] == threads
                    ]
                    chosen.sort(key=lambda line: line[sweep])
                    panel.plot(
                        [line[sweep] for line in chosen],
                        [cost(line) for line in chosen],
                        dash,
                        color=colour,
                        marker=marker,
                        ms=4,
                        lw=1.5,
                        label=f"{name}, {threads} thread{'s' * (threads > 1)}",
                    )
            panel.set(xscale="log", yscale="log", xlabel=label)
            tidy(panel)
        axes[0][0].set_ylabel("microseconds a document")
        legend(figure, axes, 4)
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(folder / "scaling.svg", metadata={"Date": None})


def say(**line) -> None:
    print(json.dumps(line), flush=True)
    if OUT is not None:
        with OUT.open("a") as file:
            file.write(json.dumps(line) + "\n")


def apart(target, *arguments) -> None:
    """Run a function in a separate process, with separate memory."""
    process = multiprocessing.get_context("fork").Process(target=target, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(process.exitcode)


def main() -> None:
    global OUT
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="file of JSON lines, overwritten")
    parser.add_argument(
        "--parts", nargs="+", choices=("cost", "stages"), default=("cost", "stages")
    )
    parser.add_argument("--figures", type=Path, help="folder for the figure")
    parser.add_argument("--draw", type=Path, help="draw the lines of this file without measuring")
    options = parser.parse_args()
    if options.draw is None:
        OUT = options.out
        if OUT is not None:
            OUT.unlink(missing_ok=True)
        if "cost" in options.parts:
            sweeps = {"topics": TOPICS, "distinct": DISTINCT, "words": WORDS}
            for sweep, sizes in sweeps.items():
                for size in sizes:
                    apart(measure_cost, sweep, *(USUAL | {sweep: size}).values())
        if "stages" in options.parts:
            for large in LARGE:
                apart(measure_stages, *(USUAL | large).values())
    source = options.draw or options.out
    if options.figures is not None and source is not None:
        draw([json.loads(line) for line in source.read_text().splitlines()], options.figures)


OUT: Path | None = None

if __name__ == "__main__":
    main()
