"""The streams: counts over one fixed vocabulary in the documents' order, and held-out documents."""

from __future__ import annotations

import itertools
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from ..corpora import CACHE, generate, load_all, load_counts
from ..peers.corpora import Corpus, load, over_seen_words
from ..quality.corpora import wikinews

NAMES = ["reddit", "tweets", "arxiv", "wikinews"]
GENERATED = "generated"
HELD_OUT = 1000
LEAST_TOKENS = 5  # of a held-out document


def stream(name: str, data: Path | None, limit: int | None = None) -> Corpus:
    """Return a stream by its name, or its first documents.

    Reddit's titles have no dates; wikinews' articles come in the order in which their pages were
    made. Words that few documents have are left out by looking ahead, the same for all systems.
    """
    if name == GENERATED:
        counts = generate(4000, n_words=1000, n_topics=20, n_tokens=12, seed=0)
        train, held_out = hidden(sparse.csr_array(counts), 200)
    elif name == "reddit":
        whole = load(name, data)
        train, held_out = whole.train, whole.held_out
    elif name == "arxiv":
        import polars

        dates = polars.read_parquet(data / "arxiv" / "abstracts-250k.parquet", columns=["date"])
        order = np.argsort(dates["date"].to_numpy(), kind="stable")
        train, held_out = load_all(data)[order], load_counts(data)[1]
    else:
        texts = tweets(data) if name == "tweets" else wikinews(data)
        train, held_out = hidden(counted(name, texts), HELD_OUT)
    return over_seen_words(name, train[:limit], held_out)


def tweets(data: Path) -> list[str]:
    """Return the tweets in the order of their times."""
    folder = data / "congress_tweets_2017_07"
    with tarfile.open(folder / "congresstweets-2017-07.tar.xz") as files:
        days = [json.load(files.extractfile(member)) for member in files if member.isfile()]
    found = sorted(itertools.chain(*days), key=lambda tweet: tweet["time"])
    return [tweet["text"] for tweet in found]


def counted(name: str, texts: Iterator[str] | list[str]) -> sparse.csr_array:
    """Count the words that five documents have, but no third of all; cached."""
    path = CACHE / f"stream-{name}.npz"
    if not path.exists():
        from opelda.corpus import read

        CACHE.mkdir(exist_ok=True)
        sparse.save_npz(path, sparse.csr_array(read(list(texts), min_df=5, max_df=0.3).X))
    return sparse.csr_array(sparse.load_npz(path))


def hidden(counts: sparse.csr_array, n_docs: int) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Take documents from all over a stream; the rest, and these, without the empty ones."""
    tokens = np.asarray(counts.sum(axis=1)).ravel()
    long_enough = np.flatnonzero(tokens >= LEAST_TOKENS)
    chosen = np.zeros(len(tokens), bool)
    chosen[np.random.default_rng(0).choice(long_enough, n_docs, replace=False)] = True
    return counts[~chosen & (tokens > 0)], counts[chosen]
