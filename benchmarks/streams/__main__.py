"""One pass over streams, each mini-batch scored before it is learned from, beside other systems.

    python -m benchmarks.streams --data DIR [--corpora reddit tweets arxiv wikinews]
                                 [--systems TopicModel gensim ...] [--seeds 0 1 2] [--limit DOCS]
                                 [--seconds 1800] [--threads 2] [--out FILE.jsonl] [--figures DIR]

Every run has its own process, in sequence, and only learning is timed. All systems get
the same counts over one vocabulary (words that few documents have are left out), K = 100. At about
20 points of the stream the 1,000 documents that come next are scored before they are learned from
(prequential LPP: VB, alpha = 1/K, 70:30; the mean over documents, each score standing up to the
next); at the end 1,000 documents that never are (five splits), and NPMI of ten words in the
stream's documents. A run that has learned for `--seconds` (river: 300) ends there, and its row says
how far it came. Frequencies have one seed: they are not random. "TopicModel, fit"
has the stream as a collection, and is what one pass can be held against.

A line of JSON per run goes to `--out`; runs that are there already are not repeated.
"""

from __future__ import annotations

import argparse
import os
from math import inf
from pathlib import Path

from . import corpora, tables
from .run import NAMES, Run, apart, measure, why_not

# Documents a second on a shared core, to tell how long it takes; Vowpal Wabbit's with all its runs.
PACE = {
    "frequencies": 1e6,
    "OnlineOPE": 50e3,
    "StreamingOPE": 50e3,
    "MLOPE": 50e3,
    "TopicModel": 2500,
    "TopicModel, fast": 100e3,
    "TopicModel, fit": 5000,
    "gensim": 1300,
    "scikit-learn": 2600,
    "river": 9,
    "vowpal-wabbit": 1000,
}
SCORING = 20.0  # seconds a run takes beside learning
LIMITS = {"river": 300.0}  # seconds of learning, for one that comes nowhere near the end


def main() -> None:
    options = parsed()
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(options.threads))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for system in list(options.systems):
        if reason := why_not(system):
            print(f"{system} is left out: {reason}.", flush=True)
            options.systems.remove(system)
    for name in options.corpora:
        corpus = corpora.stream(name, options.data, options.limit)
        runs = wanted(name, corpus.n_docs, options)
        seconds = sum(min(corpus.n_docs / PACE[run.system], run.seconds) + SCORING for run in runs)
        print(
            f"{name}: {corpus.n_docs:,} documents, {int(corpus.train.sum()):,} tokens, "
            f"{corpus.n_words:,} words; {len(runs)} runs, about {seconds / 60:.0f} minutes",
            flush=True,
        )
        for run in runs:
            apart(run, measure, options.data, options.out, options.threads)
    lines = [line for line in tables.read(options.out) if line["corpus"] in options.corpora]
    print(tables.markdown(lines))
    if options.figures:
        print(*tables.draw(lines, options.figures), sep="\n")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser("benchmarks.streams", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the corpora; generated if left out")
    parser.add_argument("--corpora", nargs="+", choices=corpora.NAMES, default=corpora.NAMES)
    parser.add_argument("--systems", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--limit", type=int, help="first documents of a stream; all if left out")
    parser.add_argument("--seconds", type=float, default=1800.0, help="of learning, a run's most")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("build/streams/lines.jsonl"))
    parser.add_argument("--figures", type=Path, help="folder for a figure of each stream")
    options = parser.parse_args()
    if options.data is None:
        options.corpora = [corpora.GENERATED]
    return options


def wanted(name: str, n_docs: int, options: argparse.Namespace) -> list[Run]:
    """Return the runs that have no line yet."""
    keys = "corpus", "n_docs", "system", "seed"
    done = {tuple(line[key] for key in keys) for line in tables.read(options.out)}
    return [
        Run(name, system, seed, options.limit, min(options.seconds, LIMITS.get(system, inf)))
        for system in options.systems
        for seed in (options.seeds if system != "frequencies" else options.seeds[:1])
        if (name, n_docs, system, seed) not in done
    ]


if __name__ == "__main__":
    main()
