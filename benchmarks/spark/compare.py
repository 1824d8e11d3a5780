"""opelda.spark beside MLlib's LDA: the same table, the same session, the same measures.

    python -m benchmarks.spark.compare --data DIR [--docs 100000] [--topics 100]
        [--master 'local-cluster[2,1,4096]'] [--skip mllib ...] [--out FILE]

MLlib has its defaults (online optimizer, subsamplingRate .05) and 20 iterations: it sees the
documents once. The table is in executors' memory before any clock runs. LPP and NPMI are taken of
the topics that each returns; "a tenth" learns from a random tenth of the table. Fits of seconds are
made four times: JVMs compile during the first, whose seconds are reported separately, and the
median of the rest stands. `transform` writes all columns to nowhere; opelda's
runs on copies of the documents, because one pass would be shorter than the start of a job.
"""

from __future__ import annotations

import argparse
import json
from functools import reduce
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from pyspark.ml import clustering
from pyspark.sql import DataFrame

from benchmarks.spark.setting import Watch, counts, quality, start, table, timed, written
from opelda.spark import LDA

COPIES = 10  # of the documents, that opelda's transform goes over
MLLIB_TRANSFORMED = 10_000


def contenders(k: int) -> dict[str, tuple[float, int, Any]]:
    """Return a share of the table, a number of fits and an estimator, by name."""
    return {
        "fast, a twentieth, once": (0.05, 4, LDA(k=k, seed=0, preset="fast", maxIter=1)),
        "fast, a tenth, once": (0.1, 4, LDA(k=k, seed=0, preset="fast", maxIter=1)),
        "fast, a tenth": (0.1, 4, LDA(k=k, seed=0, preset="fast")),
        "fast": (1.0, 4, LDA(k=k, seed=0, preset="fast")),
        "best": (1.0, 1, LDA(k=k, seed=0)),
        "mllib": (1.0, 1, clustering.LDA(k=k, seed=0, maxIter=20)),
        "best, on executors": (1.0, 1, LDA(k=k, seed=0, localDocs=0)),
    }


def topics_of(model: Any) -> np.ndarray:
    """Return the topics, K x V."""
    if hasattr(model, "toLocal") and not isinstance(model, clustering.LDAModel):
        return np.asarray(model.toLocal().components_, np.float64)
    return model.topicsMatrix().toArray().T


def transformed(model: Any, documents: DataFrame) -> tuple[float, float]:
    """Return the elapsed and CPU seconds of inferring all mixtures of a table."""
    made = model.transform(documents)
    with Watch() as watch:
        made.write.format("noop").mode("overwrite").save()
    return watch.seconds, watch.cpu


def rates(model: Any, documents: DataFrame, n_docs: int, n_cores: int) -> dict:
    """Return documents a second and core of `transform`, and a second of a processor."""
    copies = COPIES
    if isinstance(model, clustering.LDAModel):
        copies, n_docs = 1, min(n_docs, MLLIB_TRANSFORMED)
        documents = documents.where(f"id < {n_docs}")
        transformed(model, documents.where("id < 100"))
    else:
        transformed(model, documents)
    more = reduce(DataFrame.unionAll, [documents] * copies)
    seconds, cpu = min(transformed(model, more) for _ in range(1 if copies == 1 else 3))
    n_docs *= copies
    return {
        "transformed": n_docs,
        "transform_s": round(seconds, 3),
        "docs_per_s_core": round(n_docs / seconds / n_cores),
        "docs_per_cpu_s": round(n_docs / cpu),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--docs", type=int, default=100_000)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--master", default="local-cluster[2,1,4096]")
    parser.add_argument("--tables", type=Path, default=Path("/tmp/opelda-spark"))
    parser.add_argument("--skip", nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    train, held_out = counts(options.data, options.docs)
    path = written(train, options.tables)
    spark, seconds = timed(lambda: start(options.master))
    documents = table(spark, path)
    n_cores = spark.sparkContext.defaultParallelism
    print(
        f"{options.master}, {n_cores} cores; session {seconds:.1f} s; {train.shape[0]:,} documents"
    )
    for _ in range(3):  # the first jobs start Python on executors, and JVMs compile
        LDA(k=2, seed=0, preset="fast").fit(documents.where("id < 1000"))
    found: dict[str, dict] = {}
    for name, (share, n_fits, estimator) in contenders(options.topics).items():
        if name in options.skip:
            continue
        watches = []
        for _ in range(n_fits):
            with Watch() as watch:
                some = documents.sample(share, seed=0) if share < 1 else documents
                model = estimator.fit(some)
            watches.append(watch)
        line = {"name": name, "docs": train.shape[0], "k": options.topics, "master": options.master}
        line |= {"first_s": round(watches[0].seconds, 2), "first_cpu_s": round(watches[0].cpu, 1)}
        rest = watches[1:] or watches
        line |= {"fit_s": round(median(watch.seconds for watch in rest), 2)}
        line |= {"fit_cpu_s": round(median(watch.cpu for watch in rest), 1)}
        line |= quality(topics_of(model), train, held_out)
        line |= {f"{group} MB": round(peak) for group, peak in watch.peak.items()}
        if name in ("best", "mllib"):
            line |= rates(model, documents, train.shape[0], n_cores)
        found[name] = line
        print(json.dumps(line), flush=True)
        if options.out:
            with open(options.out, "a") as out:
                out.write(json.dumps(line) + "\n")
    print(as_table(list(found.values())))
    spark.stop()


def as_table(lines: list[dict]) -> str:
    """Return lines as a table, with ratios to MLlib where that is among them."""
    peer = next((line for line in lines if line["name"] == "mllib"), None)
    names = (
        "first_s",
        "first_cpu_s",
        "fit_s",
        "fit_cpu_s",
        "lpp",
        "npmi",
        "docs_per_s_core",
        "docs_per_cpu_s",
    )
    rows = ["| | " + " | ".join(names) + " | fit against MLlib | memory, MB |", "|---" * 11 + "|"]
    for line in lines:
        ratio = ""
        if peer:
            ratio = ", ".join(f"{peer[of] / line[of]:.0f}x" for of in ("fit_s", "fit_cpu_s"))
        if peer and line["lpp"] < peer["lpp"]:
            ratio += " (worse LPP)"
        memory = " + ".join(str(line[f"{group} MB"]) for group in Watch.GROUPS)
        cells = [str(line.get(name, "")) for name in names]
        rows.append(f"| {line['name']} | " + " | ".join(cells) + f" | {ratio} | {memory} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
