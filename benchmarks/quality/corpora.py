"""Corpora of every kind, as training and held-out counts."""

from __future__ import annotations

import io
import itertools
import json
import lzma
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from opelda.corpus import read

from ..corpora import CACHE
from ..published import corpora as labelled

LEAST_TOKENS = 4  # of a held-out document whose tokens are predicted
MOST_HELD_OUT = 5000


@dataclass(frozen=True)
class Corpus:
    """A corpus of the benchmark: its kind, its number of topics, and what it is used for."""

    kind: str
    n_topics: int
    is_for_tuning: bool
    documents: Callable[[Path], Any]  # texts, or counts
    most: int | None = None  # documents

    def counts(self, name: str, data: Path) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Return training and held-out counts over the words of training; cached."""
        paths = [CACHE / f"quality-{name}-{part}.npz" for part in ("train", "test")]
        if not all(path.exists() for path in paths):
            CACHE.mkdir(exist_ok=True)
            parts = split(self.documents(data), self.most)
            for path, part in zip(paths, parts, strict=True):
                sparse.save_npz(path, part)
        train, test = (sparse.csr_array(sparse.load_npz(path)) for path in paths)
        return train, test


def split(found: Any, most: int | None) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Hold out a fifth of the documents; count words that enough training documents have."""
    if not sparse.issparse(found):
        found = read(list(found), min_df=5, max_df=0.3, n_jobs=-1).X
    counts = sparse.csr_array(found)
    counts = counts[np.asarray(counts.sum(axis=1)).ravel() >= 2]
    counts = counts[np.random.default_rng(0).permutation(counts.shape[0])[:most]]
    n_test = min(MOST_HELD_OUT, counts.shape[0] // 5)
    test, train = counts[:n_test], counts[n_test:]
    n_docs_with = np.bincount(train.indices[train.data > 0], minlength=train.shape[1])
    columns = np.flatnonzero((n_docs_with >= 2) & (n_docs_with <= 0.5 * train.shape[0]))
    train, test = (part[:, columns].astype(np.int32) for part in (train, test))
    return train[train.sum(axis=1) > 0], test


def newsgroups(data: Path) -> Iterator[str]:
    for text in members(data / "20news_bydate" / "20news-bydate.tar.xz", "latin-1"):
        yield text.partition("\n\n")[2]  # without the header


def wikinews(data: Path) -> Iterator[str]:
    for lines in members(data / "wikinews" / "wikinews-en.tar.xz"):
        yield from (json.loads(line)["text"] for line in lines.splitlines())


def reuters(data: Path) -> Iterator[str]:
    for text in members(data / "reuters21578" / "reuters21578-sgm.tar.xz", "latin-1"):
        yield from re.findall(r"<CONTENT>(.*?)</CONTENT>", text, re.DOTALL)


def tweets(data: Path) -> Iterator[str]:
    clean = re.compile(r"https?://\S+|&\w+;|@\w+|^RT ")
    folder = data / "congress_tweets_2017_07"
    for day in members(folder / "congresstweets-2017-07.tar.xz"):
        yield from (clean.sub(" ", tweet["text"]) for tweet in json.loads(day))


def packages(data: Path) -> Iterator[str]:
    path = data / "debian_descriptions" / "Translation-en.xz"
    for stanza in lzma.decompress(path.read_bytes()).decode().split("\n\n"):
        if "tion-en:" in stanza:
            yield stanza.split("Description-en:", 1)[1]


def reddit(data: Path) -> Iterator[str]:
    with lzma.open(data / "reddit_titles" / "titles-1.2M.tsv.xz", "rt", encoding="utf-8") as lines:
        yield from (line.partition("\t")[2] for line in itertools.islice(lines, 100_000))


def abstracts(data: Path) -> sparse.csr_array:
    return sparse.load_npz(data / "arxiv" / "counts-train-100k.npz")


def ap(data: Path) -> sparse.csr_array:
    return counted(data / "ap" / "ap.tgz", "ap/ap.dat")


def nyt(data: Path) -> sparse.csr_array:
    parts = [f"nyt/data_test_1_part_{part}.txt" for part in (1, 2)]
    first, second = (counted(data / "nyt_ope" / "nyt_ope.tar.xz", p, first_id=1) for p in parts)
    n_words = max(first.shape[1], second.shape[1])
    first.resize((first.shape[0], n_words))
    second.resize(first.shape)
    return sparse.csr_array(first + second)


def uci(name: str) -> Callable[[Path], sparse.csr_array]:
    return lambda data: read(data / f"uci_{name}" / f"docword.{name}.txt.gz").X


def counts_of(name: str) -> Callable[[Path], sparse.csr_array]:
    return lambda data: labelled.load(name, data).counts


def members(archive: Path, encoding: str = "utf-8") -> Iterator[str]:
    """Yield the text of each file of an archive."""
    with tarfile.open(archive) as files:
        for member in files:
            if member.isfile():
                yield io.TextIOWrapper(files.extractfile(member), encoding).read()


def counted(archive: Path, member: str, **how: Any) -> sparse.csr_array:
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive) as files:
        files.extract(member, folder, filter="data")
        return sparse.csr_array(read(Path(folder) / member, **how).X)


# Settings are chosen on the tuning half. The reporting half is for the published table only.
CORPORA = {
    "arxiv": Corpus("abstracts", 50, True, abstracts, 20_000),
    "arxiv-200": Corpus("abstracts", 200, True, abstracts, 20_000),
    "wikinews": Corpus("long articles", 50, True, wikinews),
    "ap": Corpus("news", 50, True, ap),
    "reuters": Corpus("news", 50, True, reuters),
    "reddit": Corpus("titles", 50, True, reddit),
    "debian": Corpus("package descriptions", 50, True, packages, 30_000),
    "stackoverflow": Corpus("forum titles", 20, True, counts_of("stackoverflow")),
    "biomedical": Corpus("titles", 20, True, counts_of("biomedical")),
    "pascal": Corpus("captions", 20, True, counts_of("pascal")),
    "nips": Corpus("long articles", 50, True, uci("nips")),
    "20news": Corpus("forum posts", 50, False, newsgroups),
    "nyt": Corpus("long articles", 20, False, nyt),
    "kos": Corpus("blog posts", 50, False, uci("kos")),
    "bbc": Corpus("news", 20, False, counts_of("bbc")),
    "m10": Corpus("abstracts", 20, False, counts_of("m10")),
    "dblp": Corpus("titles", 50, False, counts_of("dblp")),
    "dblp-200": Corpus("titles", 200, False, counts_of("dblp")),
    "tweets": Corpus("tweets", 50, False, tweets),
    "tweets-200": Corpus("tweets", 200, False, tweets),
    "tweet": Corpus("tweets", 50, False, counts_of("tweet")),
    "snippets": Corpus("search snippets", 50, False, counts_of("snippets")),
    "googlenews": Corpus("headlines", 50, False, counts_of("googlenews")),
}
