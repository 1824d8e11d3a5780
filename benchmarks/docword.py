"""How fast UCI's docword files are read, against NumPy and pandas.

    python benchmarks/docword.py [--data DIR] [--entries 10000000] [--rounds 5]

KOS and NIPS from a folder that holds ``uci_kos`` and ``uci_nips``, and a generated file with the
shape of the New York Times: 232 distinct words a document out of 102,660. Every file plain and
as .gz, from the page cache, to one CSR matrix. The readers take turns; the best of the rounds
counts. NumPy reads its file once, at most a million lines.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from opelda.corpus import Corpus
from opelda.corpus.formats import Options, count_lines
from opelda.corpus.formats._input import Input

N_WORDS = 102_660
MOST_FOR_NUMPY = 1_000_000


def generate(n_entries: int, seed: int = 0) -> sparse.csr_array:
    """Draw documents of about 232 distinct words, frequent words in more documents."""
    rng = np.random.default_rng(seed)
    n_docs = max(1, n_entries // 232)
    lengths = np.maximum(1, rng.gamma(2.2, 300 / 2.2, n_docs)).astype(np.int64)
    total = int(lengths.sum())
    ranks = (N_WORDS ** rng.random(total, np.float32)).astype(np.int64) - 1  # Zipf's law
    words = rng.permutation(N_WORDS)[np.minimum(ranks, N_WORDS - 1)].astype(np.int32)
    ones = np.ones(total, np.float32)
    ends = np.concatenate(([0], np.cumsum(lengths)))
    X = sparse.csr_array((ones, words, ends), shape=(n_docs, N_WORDS))
    X.sum_duplicates()
    return X


def with_opelda(path: Path, _: int) -> sparse.csr_array:
    (block,) = count_lines.uci_blocks(Input.of(path), Options(block_size=2**31), None)
    return block.documents


def with_pandas(path: Path, _: int) -> sparse.csr_array:
    table = pd.read_csv(path, sep=" ", skiprows=3, header=None)
    return to_csr(table[0].to_numpy(), table[1].to_numpy(), table[2].to_numpy(), shape_of(path))


def with_numpy(path: Path, n_lines: int) -> sparse.csr_array:
    with unpacked(path) as file:
        table = np.loadtxt(islice(file, 3 + n_lines), dtype=np.int64, skiprows=3)
    return to_csr(*table.T, shape_of(path))


def to_csr(docs, words, counts, shape) -> sparse.csr_array:
    entries = (counts.astype(np.float32), (docs - 1, words - 1))
    return sparse.csr_array(sparse.coo_array(entries, shape=shape))


def unpacked(path: Path):
    return gzip.open(path, "rt") if path.suffix == ".gz" else open(path)


def shape_of(path: Path) -> tuple[int, int]:
    with unpacked(path) as file:
        return int(file.readline()), int(file.readline())


def best(read: Callable, path: Path, n_lines: int) -> tuple[float, sparse.csr_array]:
    started = time.perf_counter()
    X = read(path, n_lines)
    return time.perf_counter() - started, X


def measure(label: str, path: Path, rounds: int) -> None:
    """Print a line of the table."""
    with unpacked(path) as file:
        n_entries = int([next(file) for _ in range(3)][2])
    seconds = {"opelda": np.inf, "pandas": np.inf}
    for _ in range(rounds):
        for name, read in (("opelda", with_opelda), ("pandas", with_pandas)):
            took, X = best(read, path, n_entries)
            seconds[name] = min(seconds[name], took)
            if name == "opelda":
                mine = X
    assert mine.shape == X.shape
    assert (mine != X).nnz == 0
    n_lines = min(n_entries, MOST_FOR_NUMPY)
    seconds["numpy"] = best(with_numpy, path, n_lines)[0] * n_entries / n_lines
    ours = seconds["opelda"]
    print(
        f"| {label} | {path.stat().st_size / 1e6:,.1f} | {n_entries:,} | {ours:.3f} "
        f"| {n_entries / ours / 1e6:,.1f} | {seconds['pandas'] / ours:.1f}x "
        f"| {seconds['numpy'] / ours:.1f}x |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with uci_kos/ and uci_nips/")
    parser.add_argument("--entries", type=int, default=10_000_000, help="of the generated file")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(
        f"# {len(os.sched_getaffinity(0))} cores, NumPy {np.__version__}, pandas {pd.__version__}"
    )
    print("| file | MB | entries | opelda s | M entries/s | pandas takes | np.loadtxt takes |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("kos", "nips") if options.data else ():
            packed = options.data / f"uci_{name}" / f"docword.{name}.txt.gz"
            plain = Path(folder, f"docword.{name}.txt")
            with gzip.open(packed) as source, open(plain, "wb") as target:
                shutil.copyfileobj(source, target)
            measure(plain.name, plain, options.rounds)
            measure(packed.name, packed, options.rounds)
        plain = Path(folder, "docword.generated.txt")
        count_lines.write_uci(Corpus(generate(options.entries)), str(plain))
        measure("generated, plain", plain, options.rounds)
        packed = Path(f"{plain}.gz")
        with open(plain, "rb") as source, gzip.open(packed, "wb", 6) as target:
            shutil.copyfileobj(source, target)
        measure("generated, .gz", packed, options.rounds)


if __name__ == "__main__":
    main()
