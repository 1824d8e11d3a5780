"""Labelled collections, as lists of words: documents, their labels, and the words that count."""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy import sparse

OCTIS = {"bbc": "BBC_News", "dblp": "DBLP", "m10": "M10"}
SHORT = {
    "snippets": ("SearchSnippets", "label"),
    "stackoverflow": ("StackOverflow", "label"),
    "biomedical": ("Biomedical", "label"),
    "googlenews": ("GoogleNews", "LABEL"),
    "pascal": ("Pascal_Flickr", "LABEL"),
    "tweet": ("Tweet", "LABEL"),
}
NAMES = ("bbc", "20news", *SHORT, "m10", "dblp")


@dataclass(frozen=True)
class Labelled:
    """Documents of vocabulary words, and a label of each."""

    name: str
    documents: list[list[str]]
    labels: list[str]

    @cached_property
    def words(self) -> list[str]:
        return sorted({word for document in self.documents for word in document})

    @cached_property
    def counts(self) -> sparse.csr_array:
        column = {word: number for number, word in enumerate(self.words)}
        rows = [row for row, words in enumerate(self.documents) for _ in words]
        columns = [column[word] for words in self.documents for word in words]
        shape = (len(self.documents), len(self.words))
        found = sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)
        found.sum_duplicates()
        return found


def load(name: str, data: Path) -> Labelled:
    """Return a collection as its own files have it; 20 Newsgroups is counted as OCTIS does."""
    if name in OCTIS:
        table = _member(data / "octis_small", f"{OCTIS[name]}/corpus.tsv")
        rows = [line.split("\t") for line in table.splitlines() if line]
        return Labelled(name, [row[0].split() for row in rows], [row[2] for row in rows])
    if name == "20news":
        return _newsgroups(data)
    stem, ending = SHORT[name]
    texts = _member(data / "sttm_short", f"{stem}.txt").splitlines()
    labels = _member(data / "sttm_short", f"{stem}_{ending}.txt").splitlines()
    kept = [pair for pair in zip(texts, labels, strict=True) if pair[0].strip()]
    return Labelled(name, [text.split() for text, _ in kept], [label for _, label in kept])


def _member(folder: Path, name: str) -> str:
    with tarfile.open(next(folder.glob("*.tar.xz"))) as archive:
        found = next(one for one in archive if one.name.removeprefix("./").endswith(name))
        file = archive.extractfile(found)
        assert file is not None
        return file.read().decode("utf-8", "replace")


def _newsgroups(data: Path) -> Labelled:
    """Return the posts without headers, quotes and signatures: words of .5% to 50% of the posts."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    posts = []
    with tarfile.open(next((data / "20news_bydate").glob("*.tar.xz"))) as archive:
        for one in archive:
            if one.isfile():
                file = archive.extractfile(one)
                assert file is not None
                posts.append((one.name.split("/")[-2], file.read().decode("latin-1")))
    documents = []
    for _, text in posts:
        body = text.split("\n\n", 1)[-1].split("\n-- \n")[0]
        body = re.sub(r"(?m)^.*(writes:|wrote:|writes in).*$|^[>|:].*$", " ", body)
        words = re.findall(r"[a-z]{3,}", re.sub(r"\S+@\S+|https?\S+", " ", body.lower()))
        documents.append([word for word in words if word not in ENGLISH_STOP_WORDS])
    seen = Counter(word for words in documents for word in set(words))
    least, most = 0.005 * len(documents), 0.5 * len(documents)
    known = {word for word, times in seen.items() if least <= times <= most}
    documents = [[word for word in words if word in known] for words in documents]
    kept = [n for n, words in enumerate(documents) if len(words) >= 5]
    return Labelled("20news", [documents[n] for n in kept], [posts[n][0] for n in kept])
