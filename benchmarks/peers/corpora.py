"""The documents every system is trained on, and the thousand it is scored on."""

from __future__ import annotations

import csv
import lzma
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from ..corpora import CACHE, generate, load_all, load_counts

NAMES = ("small", "arxiv-100k", "arxiv-250k", "reddit")


@dataclass(frozen=True)
class Corpus:
    """Training counts and held-out counts over the words that occur in training."""

    name: str
    train: sparse.csr_array
    held_out: sparse.csr_array

    @property
    def n_docs(self) -> int:
        return self.train.shape[0]

    @property
    def n_words(self) -> int:
        return self.train.shape[1]


def load(name: str, data: Path | None) -> Corpus:
    """Return a corpus by its name; without `data` there is only a generated "small" one."""
    if name == "reddit":
        train, held_out = reddit(data)
    elif data is None:
        counts = generate(9_000, n_words=10_000, n_topics=100, n_tokens=75, seed=0)
        train, held_out = counts[:8_000], counts[8_000:]
    else:
        train, held_out, _ = load_counts(data)
        if name == "small":
            train = train[:10_000]
        elif name == "arxiv-250k":
            train = load_all(data)  # the held-out documents are not among them
    return over_seen_words(name, train, held_out)


def over_seen_words(name: str, train: sparse.csr_array, held_out: sparse.csr_array) -> Corpus:
    """Drop words that no training document has: some systems give them a prior, some no place."""
    seen = np.flatnonzero(np.bincount(train.indices, minlength=train.shape[1]))
    return Corpus(name, *(counted(counts[:, seen]) for counts in (train, held_out)))


def counted(counts: sparse.csr_array) -> sparse.csr_array:
    matrix = sparse.csr_array(counts, dtype=np.int32)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def reddit(data: Path) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Count the Reddit titles, cached; the first 1,000 of at least 5 tokens are held out."""
    path = CACHE / "reddit.npz"
    if not path.exists():
        from opelda.corpus import Tokenizer, read

        source = data / "reddit_titles" / "titles-1.2M.tsv.xz"
        with lzma.open(source, "rt", encoding="utf-8", newline="\n") as lines:
            rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            titles = [row[1] for row in rows]
        tokenizer = Tokenizer(stop_words="english", keep_markup=True)
        corpus = read(titles, tokenizer=tokenizer, min_df=20, max_df=0.3)
        CACHE.mkdir(exist_ok=True)
        sparse.save_npz(path, sparse.csr_array(corpus.X))
    counts = sparse.csr_array(sparse.load_npz(path))
    tokens = np.asarray(counts.sum(axis=1)).ravel()
    hidden = np.zeros(counts.shape[0], bool)
    hidden[np.flatnonzero(tokens >= 5)[:1000]] = True
    return counts[~hidden & (tokens > 0)], counts[hidden]
