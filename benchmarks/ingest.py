"""From raw text to counts: documents per second and memory.

    python benchmarks/ingest.py --data DIR [--documents 250000] [--peers 20000]

DIR holds arXiv's abstracts-250k.parquet. Every contender has its own process, one at a time, in
the same run: `opelda.corpus.read` on the Parquet file and on the same texts as lines, JSON lines
and gzipped lines; `stream` in constant memory; scikit-learn's CountVectorizer and gensim's
simple_preprocess + doc2bow on the first documents, texts in memory before their clock starts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

COLUMNS = ("title", "abstract")
BASE = "CountVectorizer"


def peak() -> float:
    """Megabytes that this process had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def texts(path: Path, n_docs: int) -> list[str]:
    import polars as pl

    frame = pl.read_parquet(path, columns=list(COLUMNS), n_rows=n_docs)
    return frame.select(pl.concat_str(COLUMNS, separator=" ")).to_series().to_list()


def write_forms(path: Path, n_docs: int, folder: Path) -> float:
    """Write the texts as lines, JSON lines and gzipped lines; return their megabytes."""
    documents = [" ".join(text.split()) for text in texts(path, n_docs)]
    lines = "\n".join(documents).encode() + b"\n"
    (folder / "lines.txt").write_bytes(lines)
    (folder / "lines.txt.gz").write_bytes(gzip.compress(lines, 6))
    with (folder / "lines.jsonl").open("w") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in documents)
    return len(lines) / 1e6


def with_read(path: Path, n_docs: int, options: dict[str, Any]) -> dict[str, Any]:
    from opelda.corpus import read

    read(["the tea"], **{name: options[name] for name in options if name != "text"})  # imports
    before, started = peak(), time.perf_counter()
    corpus = read(path, limit=n_docs, **options)
    seconds = time.perf_counter() - started
    return {
        "docs": len(corpus),
        "seconds": seconds,
        "memory": peak() - before,
        "words": corpus.X.shape[1],
        "entries": corpus.X.nnz,
    }


def with_stream(path: Path, n_docs: int, options: dict[str, Any]) -> dict[str, Any]:
    from opelda.corpus import stream

    list(stream(["the tea"], **options))  # imports
    before, started = peak(), time.perf_counter()
    done, marks = 0, []
    for batch in stream(path, limit=n_docs, max_features=50_000, **options):
        done += batch.X.shape[0]
        marks.append(peak() - before)
    seconds = time.perf_counter() - started
    third = marks[len(marks) // 3]
    return {"docs": done, "seconds": seconds, "memory": marks[-1], "memory_after_third": third}


def with_scikit_learn(path: Path, n_docs: int, options: dict[str, Any]) -> dict[str, Any]:
    from sklearn.feature_extraction.text import CountVectorizer

    documents = texts(path, n_docs)
    before, started = peak(), time.perf_counter()
    X = CountVectorizer(**options).fit_transform(documents)
    seconds = time.perf_counter() - started
    return {"docs": n_docs, "seconds": seconds, "memory": peak() - before, "words": X.shape[1]}


def with_gensim(path: Path, n_docs: int, options: dict[str, Any]) -> dict[str, Any]:
    from gensim.corpora import Dictionary
    from gensim.utils import simple_preprocess

    documents = texts(path, n_docs)
    before, started = peak(), time.perf_counter()
    dictionary = Dictionary()
    bags = [dictionary.doc2bow(simple_preprocess(text), allow_update=True) for text in documents]
    seconds = time.perf_counter() - started
    return {
        "docs": len(bags),
        "seconds": seconds,
        "memory": peak() - before,
        "words": len(dictionary),
    }


def apart(target: Any, *arguments: Any) -> dict[str, Any]:
    """Run in a fresh process, so that the peak of memory is its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(target, *arguments).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=250_000)
    parser.add_argument("--peers", type=int, default=20_000, help="documents for the peers")
    parser.add_argument("--rounds", type=int, default=2, help="everybody's best counts")
    parser.add_argument("--jobs", type=int, nargs="+", default=[2, 1])
    options = parser.parse_args()
    path = options.data / "abstracts-250k.parquet"
    with tempfile.TemporaryDirectory() as folder:
        size = apart(write_forms, path, options.documents, Path(folder))
        print(f"{options.documents:,} documents, {size:.0f} MB of text\n")
        print("threads: those of counting; reading and polars have their own\n")
        best: dict[str, dict[str, Any]] = {}
        for _ in range(options.rounds):
            for name, target, file, n_docs, how in contenders(path, Path(folder), options):
                row = apart(target, file, n_docs, how)
                print(json.dumps({"name": name, **row}), flush=True)
                if name not in best or row["seconds"] < best[name]["seconds"]:
                    best[name] = row
    report(best, size / options.documents)


def contenders(path: Path, folder: Path, options: argparse.Namespace) -> list[tuple[Any, ...]]:
    """Return all systems with their inputs, the peers between ours."""
    everything, part = options.documents, options.peers
    ours: list[tuple[Any, ...]] = []
    for jobs in options.jobs:
        same = {"n_jobs": jobs, "tokenizer": _count_vectorizers(), "min_df": 1, "max_df": 1.0}
        usual, columns = {"n_jobs": jobs}, {"text": COLUMNS}
        lines = folder / "lines.txt"
        ours += [
            (f"{name}, {jobs} threads", target, file, everything, how)
            for name, target, file, how in (
                ("read Parquet, as CountVectorizer", with_read, path, same | columns),
                ("read Parquet, defaults", with_read, path, usual | columns),
                ("read lines", with_read, lines, usual),
                ("read lines, gzip", with_read, folder / "lines.txt.gz", usual),
                ("read JSON lines", with_read, folder / "lines.jsonl", usual),
                ("stream lines", with_stream, lines, usual),
            )
        ]
    stop_words = {"stop_words": "english"}
    peers = [
        (BASE, with_scikit_learn, path, part, {}),
        (f"{BASE}, stop words", with_scikit_learn, path, part, stop_words),
        ("gensim", with_gensim, path, part, {}),
    ]
    return [*peers, *ours]


def report(best: dict[str, dict[str, Any]], size: float) -> None:
    """Print the best of everybody; `size` is megabytes per document."""
    base = best[BASE]["docs"] / best[BASE]["seconds"]
    print(f"\n| | docs/s | MB/s | x {BASE} | memory, MB | / text |\n|---|---|---|---|---|---|")
    for name, row in best.items():
        speed, text = row["docs"] / row["seconds"], row["docs"] * size
        print(
            f"| {name} | {speed:,.0f} | {text / row['seconds']:.0f} | {speed / base:.1f}x "
            f"| {row['memory']:.0f} | {row['memory'] / text:.2f} |"
        )


def _count_vectorizers() -> Any:
    from opelda.corpus import Tokenizer

    return Tokenizer(pattern=r"(?u)\b\w\w+\b", stop_words=None, keep_markup=True)


if __name__ == "__main__":
    main()
