"""`TopicModel()` beside tomotopy, and beside another build: seconds, LPP, NPMI and diversity.

    python benchmarks/best.py --data DIR [--corpora newsgroups wikinews ...] [--seeds 0 1 2]
                              [--before OLD/bin/python] [--iterations 50 200 500] [--topics 100]
                              [--threads 2]

Every fit has its own process, in sequence; only learning is timed, not
reading, nor what tomotopy needs to take documents over. LPP is of 1,000 held-out documents or fewer
(VB, five splits of 70:30), NPMI of ten words a topic in the training documents, diversity the share
of distinct words among 25 a topic. Settings of `TopicModel` were chosen on arXiv abstracts, Reddit
titles and Debian's descriptions; the other corpora serve this table only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

CACHE = Path(__file__).parent / ".cache"
CORPORA = ["arxiv-100k", "arxiv-250k", "reddit", "newsgroups", "wikinews", "reuters"]


def counted(name: str, data: Path) -> None:
    """Write the counts of a corpus to the cache, training and held-out, over words of training."""
    if (CACHE / f"best-{name}-train.npz").exists():
        return
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from benchmarks.peers.corpora import load, over_seen_words

    if name in ("arxiv-100k", "arxiv-250k", "reddit"):
        corpus = load(name, data)
    else:
        from opelda.corpus import read

        counts = read(list(texts(name, data)), min_df=5, max_df=0.3, n_jobs=-1).X
        counts = sparse.csr_array(counts)[np.random.default_rng(0).permutation(counts.shape[0])]
        long_enough = np.flatnonzero(counts.sum(axis=1) >= 10)
        hidden = np.isin(np.arange(counts.shape[0]), long_enough[:1000])
        corpus = over_seen_words(name, counts[~hidden], counts[hidden])
    CACHE.mkdir(exist_ok=True)
    sparse.save_npz(CACHE / f"best-{name}-test.npz", corpus.held_out)
    sparse.save_npz(CACHE / f"best-{name}-train.npz", corpus.train)


def texts(name: str, data: Path) -> Iterator[str]:
    """Yield the documents of an archive."""
    import re
    import tarfile

    path, encoding = {
        "newsgroups": (data / "20news_bydate" / "20news-bydate.tar.xz", "latin-1"),
        "wikinews": (data / "wikinews" / "wikinews-en.tar.xz", "utf-8"),
        "reuters": (data / "reuters21578" / "reuters21578-sgm.tar.xz", "latin-1"),
    }[name]
    with tarfile.open(path) as files:
        for member in files:
            if not member.isfile():
                continue
            content = files.extractfile(member).read().decode(encoding)
            if name == "newsgroups":
                yield content.partition("\n\n")[2]  # without the header
            elif name == "wikinews":
                yield from (json.loads(line)["text"] for line in content.splitlines())
            else:
                yield from re.findall(r"<CONTENT>(.*?)</CONTENT>", content, re.DOTALL)


def fit(
    system: str, name: str, n_topics: int, seed: int, iterations: list[int], n_threads: int
) -> None:
    """Learn topics and print a line of figures, or one for each number of iterations."""
    train, test = (
        sparse.csr_array(sparse.load_npz(CACHE / f"best-{name}-{part}.npz"))
        for part in ("train", "test")
    )
    if system != "tomotopy":
        from opelda import TopicModel

        started = time.perf_counter()
        model = TopicModel(n_topics, random_state=seed, n_jobs=n_threads).fit(train)
        seconds = time.perf_counter() - started
        print(json.dumps(figures(model.components_, seconds, train, test)), flush=True)
        return
    import tomotopy

    model = tomotopy.LDAModel(k=n_topics, alpha=0.1, eta=0.01, seed=seed)  # its own defaults
    words = np.arange(train.shape[1]).astype(str).astype(object)
    for a, b in zip(train.indptr[:-1], train.indptr[1:], strict=True):
        model.add_doc(words[np.repeat(train.indices[a:b], train.data[a:b])].tolist())
    model.train(0, workers=n_threads)
    columns = [int(word) for word in model.used_vocabs]
    seconds = 0.0
    for done, target in zip([0, *iterations], iterations, strict=False):
        started = time.perf_counter()
        model.train(target - done, workers=n_threads)
        seconds += time.perf_counter() - started
        topics = np.zeros((n_topics, train.shape[1]))
        topics[:, columns] = [model.get_topic_word_dist(k) for k in range(n_topics)]
        found = figures(topics, seconds, train, test) | {"iterations": target}
        print(json.dumps(found), flush=True)


def figures(
    topics: np.ndarray, seconds: float, train: sparse.csr_array, test: sparse.csr_array
) -> dict[str, float]:
    from opelda.metrics import coherence as npmi
    from opelda.metrics import log_predictive_probability, topic_diversity

    beta = np.maximum(np.array(topics, np.float64), 1e-12)
    beta /= beta.sum(axis=1, keepdims=True)
    lpp = log_predictive_probability(
        beta, test.astype(np.float32), method="vb", n_splits=5, random_state=0, n_jobs=-1
    )
    return {
        "seconds": seconds,
        "lpp": float(lpp),
        "npmi": float(npmi(beta, train.astype(np.float32), n_words=10).mean()),
        "diversity": float(topic_diversity(beta, n_words=25)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=CORPORA)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--before", help="a Python with another build")
    parser.add_argument("--iterations", type=int, nargs="*", default=[50, 200, 500])
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--worker", nargs=3, metavar=("SYSTEM", "CORPUS", "SEED"))
    options = parser.parse_args()
    if options.worker:
        system, name, seed = options.worker
        fit(system, name, options.topics, int(seed), options.iterations, options.threads)
        return
    systems = {"opelda": sys.executable}
    if options.before:
        systems = {"before": options.before} | systems
    if options.iterations:
        systems["tomotopy"] = sys.executable
    columns = "LPP | NPMI | diversity | seconds"
    print(f"| corpus | system | {columns} |\n|---|---|---|---|---|---|")
    for name in options.corpora:
        counted(name, options.data)
        for system, python in systems.items():
            lines: dict[str, list[dict[str, float]]] = {}
            for seed in options.seeds:
                command = [python, __file__, "--worker", system, name, str(seed)]
                command += ["--topics", str(options.topics), "--threads", str(options.threads)]
                command += ["--iterations"]
                command += map(str, options.iterations)
                answer = subprocess.run(command, check=True, capture_output=True, text=True)
                for line in map(json.loads, answer.stdout.splitlines()):
                    label = f"{system}, {line['iterations']}" if "iterations" in line else system
                    lines.setdefault(label, []).append(line)
            for label, found in lines.items():
                mean = {key: np.mean([line[key] for line in found]) for key in found[0]}
                print(
                    f"| {name} | {label} | {mean['lpp']:.3f} | {mean['npmi']:.3f} | "
                    f"{mean['diversity']:.3f} | {mean['seconds']:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
