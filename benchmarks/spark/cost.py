"""Cost model of `opelda.spark`: its constants measured here, checked on fits, then other clusters.

    python -m benchmarks.spark.cost --data DIR [--master 'local-cluster[2,1,4096]'] [--out FILE]
        [--check 20000:20:10 20000:100:10 50000:100:10 100000:100:10] [--transform 1.61e-5]
    python -m benchmarks.spark.cost --read FILE

A fit on executors takes

    F + D pack / C + v online + n (J + (T (move + draw) + P block) / C + B down + P b (up + add))

with D documents, T tokens, C cores, P partitions, B bytes of counts, b those of a partition, n
sweeps, and v documents looked at before them. Every constant is measured alone, on fewer documents
than the fits that are checked (documents:topics:sweeps), in seconds by the clock and in seconds of
processors.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks.spark.constants import Cost, constants, plain, text_cost
from benchmarks.spark.setting import FILES, Watch, counts, start, table, written
from opelda.spark import LDA
from opelda.spark._cluster import CELL_BYTES, MOST_ADDED, MOST_RANGES, RANGE_BYTES
from opelda.spark._worker import MOST_DRAWN

SAMPLE = 400_000  # documents that the driver learns from first
CALIBRATED = 8_000  # documents
CHECKED = "20000:20:10", "20000:100:10", "50000:100:10", "100000:100:10"
# Pairs of a word and a topic, a word, against tokens, a word: 1,000 to 100,000 abstracts, K = 100.
TOKENS = (2.42, 6.03, 12.0, 24.0, 60.1, 240.4)
CELLS = (1.14, 2.01, 2.85, 3.89, 5.56, 8.59)


def cells(n_tokens: float, n_words: int) -> float:
    """Return the number of pairs of a word and a topic among that number of tokens."""
    a_word = n_tokens / n_words
    if a_word > TOKENS[-1]:  # extrapolated by the last power
        power = np.log(CELLS[-1] / CELLS[-2]) / np.log(TOKENS[-1] / TOKENS[-2])
        return float(n_words * min(CELLS[-1] * (a_word / TOKENS[-1]) ** power, 100.0))
    return float(n_words * np.exp(np.interp(np.log(a_word), np.log(TOKENS), np.log(CELLS))))


def visits(n_docs: float) -> float:
    """Return how many documents the preset "best" visits before sweeps, repeated ones included."""
    return min(20 * n_docs, max(SAMPLE, n_docs))


def predicted(found: dict, n_docs: int, n_tokens: float, n_words: int, k: int, n: int) -> Cost:
    """Return the cost of a fit; CPU seconds include all shared work."""
    of, cores, tokens = found[f"K={k}"], found["cores"], found["tokens"]
    part = of["MB of counts, a part"]
    part *= cells(n_tokens / FILES, n_words) / cells(tokens / FILES, found["words"])
    shipped = of["MB of counts"] * cells(n_tokens, n_words) / cells(tokens, found["words"])
    drawn = found["move, a MB"] * (found["MB of blocks"] / tokens * n_tokens)
    drawn += of["draw, a token"] * n_tokens + of["draw, a block"] * FILES
    counts = found["down, a MB"] * shipped
    counts += (found["up, a MB"] + of["add, a MB"]) * (part * FILES)
    packing = found["pack, a document"] * n_docs
    return (
        of["fit"]
        + of["online, a visit"] * visits(n_docs)
        + Cost(packing.clock / cores, packing.cpu)
        + (of["sweep"] + Cost(drawn.clock / cores, drawn.cpu) + counts) * n
    )


# Assumed, not measured here.
NODE_CORES, NODE_MB_PER_S, TASK_S, DRIVER_CORES = 16, 1100.0, 0.002, 16
SHAPES = {  # documents, tokens, words
    "PubMed": (8.2e6, 738e6, 141_000),
    "10^9 abstracts": (1e9, 77e9, 141_000),
}


def cluster_costs(found: dict, shape: tuple, cores: int, k: int = 100) -> dict[str, float]:
    """Return the seconds of a sweep on a cluster, by kind of work; constants are pairs.

    A partition a core. Seconds of processors where cores share the work. Workers keep tokens laid
    out up to a number.
    """
    _, n_tokens, n_words = shape
    of, nodes = found[f"K={k}"], max(cores / NODE_CORES, 1.0)
    a_cell = of["MB of counts"] / cells(found["tokens"], found["words"])
    shipped, part = (a_cell * cells(n, n_words) for n in (n_tokens, n_tokens / cores))
    moved = found["MB of blocks"] / found["tokens"] * found["move, a MB"][1]
    parts_mb = cores * part
    costs = {
        "starting": of["sweep"][0] + TASK_S * cores,
        "drawing": n_tokens / cores * of["draw, a token"][1]
        + max(n_tokens / cores - MOST_DRAWN, 0.0) * of["lay out again, a token"][1],
        "moving documents": n_tokens / cores * moved,
        "sending counts out": shipped / NODE_MB_PER_S * np.log2(nodes + 1),
    }
    add = of["add, a MB"][1]
    bound = CELL_BYTES * min(cores * cells(n_tokens, n_words), n_tokens)
    if bound <= MOST_ADDED:
        costs["adding counts"] = parts_mb * (add + 1 / NODE_MB_PER_S)
    else:
        adders = min(bound / RANGE_BYTES, MOST_RANGES, cores)
        costs["adding counts"] = (
            parts_mb / adders * (add + 2 * found["move, a MB"][1])
            + parts_mb / min(adders, nodes) / NODE_MB_PER_S
            + shipped / NODE_MB_PER_S
        )
    return costs


def clusters(found: dict, transform: float, n_sweeps: int = 80) -> str:
    """Return a table of what larger clusters would take."""
    sizes = 10, 100, 1000
    rows = ["| | " + " | ".join(f"{cores:,} cores" for cores in sizes) + " |", "|---" * 4 + "|"]
    for name, shape in SHAPES.items():
        sweeps = {cores: cluster_costs(found, shape, cores) for cores in sizes}
        rows.append(row(f"a sweep, {name}", [described(sweeps[cores]) for cores in sizes]))
        fits = []
        for cores in sizes:
            parts = {"sweeps": n_sweeps * sum(sweeps[cores].values())}
            parts["the sample on the driver"] = SAMPLE * (
                found["K=100"]["online, a visit"][1] / DRIVER_CORES
                + found["MB of blocks"] / found["tokens"] * 77 * found["up, a MB"][1]
            )
            parts["packing"] = shape[0] * found["pack, a document"][1] / cores
            fits.append(described(parts))
        rows.append(row(f"{n_sweeps} sweeps and what is before them", fits))
    text = found["text, a document"][1]
    for name, each in (("`transform`", transform), ("text to counts", text)):
        rows.append(row(name, [f"{cores / each / 1e6:.2f} M docs/s" for cores in sizes]))
    return "\n".join(rows)


def described(parts: dict[str, float]) -> str:
    """Return a sum of seconds and its two largest parts."""
    total = sum(parts.values())
    most = sorted(parts, key=parts.__getitem__, reverse=True)[:2]
    shares = ", ".join(f"{name} {100 * parts[name] / total:.0f}%" for name in most)
    return f"{total:,.1f} s ({shares})" if total < 600 else f"{total / 60:,.0f} min ({shares})"


def row(name: str, values: list[str]) -> str:
    return f"| {name} | " + " | ".join(values) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--master", default="local-cluster[2,1,4096]")
    parser.add_argument("--tables", type=Path, default=Path("/tmp/opelda-spark"))
    parser.add_argument("--calibrate", type=int, default=CALIBRATED)
    parser.add_argument("--check", nargs="*", default=CHECKED, help="documents:topics:sweeps")
    parser.add_argument("--transform", type=float, default=1.61e-5, help="seconds a document, core")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--read", type=Path, help="constants of an earlier run")
    options = parser.parse_args()
    if options.read:
        lines = map(json.loads, options.read.read_text().splitlines())
        found = next(line["constants"] for line in lines if "constants" in line)
        print(clusters(found, options.transform))
        return
    checks = [tuple(int(part) for part in check.split(":")) for check in options.check]
    X, _ = counts(options.data, options.calibrate)
    spark = start(options.master)
    found = constants(spark, X, options.tables, sorted({k for _, k, _ in checks}))
    found["text, a document"] = text_cost(options.data)
    print(json.dumps(plain(found), indent=1), flush=True)
    lines = [{"master": options.master, "constants": plain(found)}]
    for n_docs, k, n in checks:
        train, _ = counts(options.data, n_docs)
        documents = table(spark, written(train, options.tables))
        expected = predicted(found, n_docs, float(train.sum()), train.shape[1], k, n)
        with Watch() as watch:
            LDA(k=k, seed=0, localDocs=0, maxIter=n).fit(documents)
        documents.unpersist()
        line = {"docs": n_docs, "k": k, "sweeps": n, "predicted": plain(expected)}
        line["measured"] = plain(Cost(watch.seconds, watch.cpu))
        pairs = zip(line["measured"], line["predicted"], strict=True)
        line["measured / predicted"] = [round(a / b, 2) for a, b in pairs]
        lines.append(line)
        print(json.dumps(line), flush=True)
    print(clusters(plain(found), options.transform))
    if options.out:
        options.out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    spark.stop()


if __name__ == "__main__":
    main()
