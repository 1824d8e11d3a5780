"""Online-OPE on a stream of PubMed's shape: 8.2 million documents, 141,043 words, 100 topics.

    python -m benchmarks.pubmed [--docs 8200000] [--jobs 2] [--out FILE]

The documents are drawn from topics of Zipf's kind, part by part, and are gone when the part has
been learned from. Drawing stops while learning continues; each has its own clock. A line of
JSON at every mark: seconds of both, documents per second of learning (all of `partial_fit`), the
process's peak memory, and the log predictive probability of 1,000 documents of another seed.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from opelda import OnlineOPE
from opelda.learning import History
from reproduction.generated import SHAPES, drawn

AT_ONCE = 50_000  # documents drawn, then learned from
N_MARKS = 10
ADVICE = {"batch_size": 1000, "learning_decay": 0.6, "learning_offset": 10.0, "n_iter": 20}
SETTINGS: dict[str, dict] = {"paper": {}, "advice": ADVICE}  # the paper's are the defaults


def memory(what: str) -> float:
    """Return the MB that this process has now (VmRSS) or had at most (VmHWM)."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(what))


def run(options: argparse.Namespace, say) -> None:
    before = memory("VmRSS")
    shape = SHAPES["pubmed"]
    held_out = next(drawn("pubmed", 1000, seed=options.seed + 1))
    history = History(gap=False)
    model = OnlineOPE(
        options.topics,
        random_state=options.seed,
        n_jobs=options.jobs,
        callbacks=history,
        **SETTINGS[options.settings],
    )
    parts = iter(drawn("pubmed", options.docs, options.seed, AT_ONCE))
    drawing = learning = scoring = 0.0
    n_docs = n_entries = mark = 0
    while n_docs < options.docs:
        started = time.perf_counter()
        part = next(parts)
        drawn_at = time.perf_counter()
        model.partial_fit(part)
        learned = time.perf_counter()
        drawing, learning = drawing + drawn_at - started, learning + learned - drawn_at
        n_docs, n_entries = n_docs + part.shape[0], n_entries + part.nnz
        if n_docs * N_MARKS < (mark + 1) * options.docs:
            continue
        mark = n_docs * N_MARKS // options.docs
        score = model.score(held_out, n_splits=1, method="vb")
        scoring += time.perf_counter() - learned
        columns = history.to_dict()
        say(
            {
                "documents": n_docs,
                "distinct words a document": round(n_entries / n_docs, 1),
                "learning s": round(learning, 2),
                "E s": round(sum(columns["e_seconds"]), 2),
                "M s": round(sum(columns["m_seconds"]), 2),
                "docs/s": round(n_docs / learning),
                "drawing s": round(drawing, 1),
                "scoring s": round(scoring, 2),
                "peak MB": round(memory("VmHWM")),
                "peak above start MB": round(memory("VmHWM") - before),
                "LPP": round(score, 4),
                "words": shape.n_words,
                "topics": options.topics,
                "settings": options.settings,
                "jobs": options.jobs,
            }
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=int, default=SHAPES["pubmed"].n_docs)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--settings", choices=SETTINGS, default="paper")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="JSON lines, beside those printed")
    options = parser.parse_args()
    lines = []

    def say(line: dict) -> None:
        print(json.dumps(line), flush=True)
        lines.append(line)
        if options.out is not None:
            options.out.write_text("".join(json.dumps(line) + "\n" for line in lines))

    run(options, say)


if __name__ == "__main__":
    main()
