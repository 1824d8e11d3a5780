"""Documents like one: how many of the ten nearest have its label; by words, mixtures, both.

    python -m benchmarks.nearest --data DIR [--queries 300] [--documents 4000] [--topics 50]

DIR holds octis_small/, 20news_bydate/, reuters21578/ and arxiv/. How much mixtures count was chosen
on BBC News and 20 Newsgroups; Reuters and arXiv report. Beside it, titles of Reuters and arXiv are
searched for among texts without them: the mean of 1 / rank of their own.
"""

import argparse
import re
import tarfile
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.feature_extraction.text import TfidfVectorizer

from opelda import TopicModel
from opelda.corpus import read
from opelda.report import _retrieval
from opelda.report._document_blocks import DocumentBlock

PARTS = {"words": 0.0, "both": _retrieval.OF_MIXTURES, "mixtures": 1.0}


def members(path, pattern):
    """Yield names and texts of an archive's files."""
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and re.search(pattern, member.name):
                yield member.name, archive.extractfile(member).read().decode("latin-1")


def bbc(data):
    ((_, table),) = members(data / "octis_small/octis-BBC-DBLP-M10.tar.xz", "BBC_News/corpus.tsv")
    rows = [line.split("\t") for line in table.splitlines()]
    return [(row[0], row[2], None) for row in rows]


def newsgroups(data):
    found = members(data / "20news_bydate/20news-bydate.tar.xz", "bydate-test/")
    return [(text.partition("\n\n")[2], name.split("/")[-2], None) for name, text in found]


def reuters(data):
    rows = []
    for _, text in members(data / "reuters21578/reuters21578-sgm.tar.xz", r"\.sgm$"):
        for article in re.findall(r"<REUTERS.*?</REUTERS>", text, re.DOTALL):
            labels = re.findall("<D>(.*?)</D>", re.search(r"<TOPICS>(.*?)</TOPICS>", article)[1])
            found = re.search(r"<TITLE>(.*?)</TITLE>(.*?)</TEXT>", article, re.DOTALL)
            if len(labels) == 1 and found:
                rows.append((re.sub("<.*?>|&.*?;", " ", found[2]), labels[0], found[1]))
    return rows


def arxiv(data):
    table = pl.read_parquet(data / "arxiv" / "abstracts-250k.parquet")[100_000:104_000]
    return list(table.select("abstract", "category", "title").iter_rows())


def scores(model, X, texts):
    """Return the scores (queries, documents) by how much mixtures count."""
    found = {}
    for name, part in PARTS.items():
        _retrieval.OF_MIXTURES = part
        score = _retrieval.like_texts(model, texts)
        found[name] = np.concatenate([rows for _, rows in score(DocumentBlock(0, X))])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--topics", type=int, default=50)
    asked = parser.parse_args()
    for load in (bbc, newsgroups, reuters, arxiv):
        rng = np.random.default_rng(0)
        rows = [row for row in load(asked.data) if len(row[0].split()) >= 20]
        rows = [rows[i] for i in rng.permutation(len(rows))[: asked.documents]]
        texts, labels, titles = ([*column] for column in zip(*rows, strict=True))
        corpus = read(texts)
        model = TopicModel(asked.topics, random_state=0).fit(corpus)
        queries, labels = np.arange(asked.queries), np.array(labels)
        found = scores(model, corpus.X, corpus.X[queries])
        weighed = TfidfVectorizer(stop_words="english").fit_transform(texts)
        found["TF-IDF"] = (weighed[queries] @ weighed.T).toarray()
        said = []
        for name, table in found.items():
            table[queries, queries] = -1.0
            best = np.argsort(-table, axis=1)[:, :10]
            said.append(f"{name} {(labels[best] == labels[queries, None]).mean():.1%}")
        print(f"{load.__name__} ({len(texts):,}): {', '.join(said)}", flush=True)
        if titles[0] is None:
            continue
        known = [i for i in queries if model.vocabulary_.count([titles[i]]).nnz]
        found = scores(model, corpus.X, [titles[i] for i in known])
        own = np.arange(len(known)), known
        ranks = {name: (t > t[own][:, None]).sum(axis=1) + 1 for name, t in found.items()}
        said = [f"{name} {(1 / rank).mean():.3f}" for name, rank in ranks.items()]
        print(f"    its titles: {', '.join(said)}", flush=True)


if __name__ == "__main__":
    main()
