"""There and back: what is written as text comes back as the same counts, words and names."""

import io
import os
import sys
import tempfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.corpus import Vocabulary, read
from opelda.corpus._corpus import Corpus
from opelda.corpus._matrix import Counted
from opelda.corpus._problems import Problems
from opelda.corpus.formats import FORMATS, Input, Options, _writing, folder, parquet, unescape
from opelda.errors import InputError

ENDS = {
    "lines": ".txt",
    "jsonl": ".jsonl",
    "csv": ".csv",
    "tsv": ".tsv",
    "parquet": ".parquet",
    "mallet": ".mallet",
    "vw": ".vw",
    "files": "",
}
formats = pytest.mark.parametrize("name", ENDS)
letters = st.characters(exclude_categories=["Cs"])
odd = st.sampled_from(
    ["new york", "a:b", "50%", "%41", "|", "'", '"', ",", ";", "\t", "", "\ufeff", "\u2028", "\0"]
)
words = st.one_of(st.text(letters, max_size=4), odd).filter(lambda w: not {*"\n\r"} & {*w})
names = st.one_of(st.text(letters, max_size=4), st.sampled_from(["a/b.txt", "x.gz", "..", "a b"]))


@st.composite
def corpora(draw, fractions=False):
    vocabulary = draw(st.lists(words, unique=True, max_size=5))
    n_docs = draw(st.integers(0, 5))
    counts = [0, 0, 1, 2, 13, *((0.5, 1e-7, 123456.7) if fractions else ())]
    shape = (n_docs, len(vocabulary))
    X = np.zeros(shape, np.float32)
    for i in np.ndindex(shape):
        X[i] = draw(st.sampled_from(counts))
    called = draw(st.one_of(st.none(), st.lists(names, min_size=n_docs, max_size=n_docs)))
    return Corpus(sparse.csr_array(X), Vocabulary(vocabulary), called)


def back(name, path, block_size):
    """Read what was written with no more than the reader and the vocabulary beside it."""
    format, source = FORMATS[name], Input.of(path)
    options = Options(block_size=block_size, name_column="name" if has_names(name, path) else None)
    columns = {word: i for i, word in enumerate(format.words(source, options))}
    rows, found = [], []
    for block in format.blocks(source, options, None):
        documents = block.documents
        if isinstance(documents, Counted):
            counts = documents.counts.toarray()
            bags = [dict(zip(documents.words, row, strict=True)) for row in counts]
        else:
            bags = [
                {word: text.split(" ").count(word) for word in text.split()} for text in documents
            ]
        for bag in bags:
            rows.append(np.zeros(len(columns), np.float32))
            for word, count in bag.items():
                if count:
                    rows[-1][columns[unescape(word)]] += count
        found += block.names or []
    return np.array(rows).reshape(len(rows), len(columns)), list(columns), found


def has_names(name, path):
    if name not in ("jsonl", "csv", "tsv", "parquet"):
        return False
    with open(path, "rb") as file:
        return b"name" in file.read(1000)


@formats
@given(data=st.data(), block_size=st.integers(1, 4))
def test_the_same_counts(name, data, block_size):
    corpus = data.draw(corpora(fractions=name == "vw"))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/docs{ENDS[name]}"
        FORMATS[name].write(corpus, path)
        X, vocabulary, found = back(name, path, block_size)
    np.testing.assert_array_equal(X, corpus.X.toarray())
    assert vocabulary == list(corpus.words)
    if corpus.names is None:
        return
    if name in ("jsonl", "csv", "parquet"):
        assert found == corpus.names[: len(found)]
    if name == "vw":
        assert [unescape(tag) if tag else "" for tag in found] == corpus.names
    if name == "mallet":
        assert [unescape(tag) for tag in found] == corpus.names


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2", ".zst"])
@formats
def test_every_compression_through_read(name, suffix, tmp_path):
    X = sparse.csr_array(np.array([[2, 0, 1], [0, 0, 0], [0, 3, 1]], np.float32))
    corpus = Corpus(X, Vocabulary(["new york", "tea", "a:b"]), ["a", "b", "c"])
    path = f"{tmp_path}/docs{ENDS[name]}{suffix}"
    if suffix and name == "parquet":
        with pytest.raises(InputError, match="compressed within already; leave that suffix out"):
            FORMATS[name].write(corpus, path)
        return
    FORMATS[name].write(corpus, path)
    again = read(path, format=name)
    np.testing.assert_array_equal(again.X.toarray(), X.toarray())
    assert again.words == corpus.words
    assert sorted(os.listdir(tmp_path)) == sorted(
        [os.path.basename(path), f"docs{ENDS[name]}.vocab"]
    )


@formats
def test_what_fails_leaves_nothing(name, tmp_path):
    X = sparse.csr_array(np.array([[1], [0.5]], np.float32))
    corpus = Corpus(X, Vocabulary(["tea"]))
    path = f"{tmp_path}/docs{ENDS[name]}"
    if name == "vw":
        corpus = Corpus(X, Vocabulary(["te\na"]))
    with pytest.raises(InputError, match=r"whole numbers only|line break"):
        FORMATS[name].write(corpus, path)
    with pytest.raises(InputError, match="names no words"):
        FORMATS[name].write(Corpus(X), path)
    with pytest.raises(InputError, match="folder"):
        FORMATS[name].write(Corpus(X[:1], Vocabulary(["tea"])), f"{tmp_path}/none/docs")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("at", ["the disk", "the data's name", "the vocabulary's name"])
@formats
def test_data_and_vocabulary_appear_together(name, at, tmp_path, monkeypatch):
    def corpus(*words):
        return Corpus(sparse.csr_array(np.ones((3, 2), np.float32)), Vocabulary(words))

    def fail(*_):
        raise OSError(28, "No space left on device")

    def replace(source, target):
        if str(target).endswith(".vocab") == (at == "the vocabulary's name"):
            fail()
        rename(source, target)

    path, rename = f"{tmp_path}/docs{ENDS[name]}", os.replace
    if name != "files":
        FORMATS[name].write(corpus("tea", "cup"), path)
    before = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}
    with monkeypatch.context() as patched:
        patched.setattr(os, *(("fsync", fail) if at == "the disk" else ("replace", replace)))
        with pytest.raises(InputError, match="cannot be written: No space left on device"):
            FORMATS[name].write(corpus("new", "words"), path)
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == before


@formats
def test_more_documents_than_are_written_at_a_time(name, tmp_path, monkeypatch):
    monkeypatch.setattr(_writing, "LINES_AT_ONCE", 3)
    monkeypatch.setattr(parquet, "ROWS", 3)
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.7, (20, 4)).astype(np.float32))
    corpus = Corpus(X, Vocabulary(list("abcd")), [f"d{i}" for i in range(20)])
    path = f"{tmp_path}/docs{ENDS[name]}"
    FORMATS[name].write(corpus, path)
    np.testing.assert_array_equal(back(name, path, 6)[0], X.toarray())


def test_files_keep_names_that_keep_the_order(tmp_path):
    def written(names):
        path = tmp_path / str(len(os.listdir(tmp_path)))
        X = sparse.csr_array(np.ones((len(names), 1), np.float32))
        folder.write(Corpus(X, Vocabulary(["tea"]), names), str(path))
        found = [(os.path.relpath(where, path), inner) for where, _, inner in os.walk(path)]
        return sorted(
            os.path.normpath(f"{where}/{name}") for where, inner in found for name in inner
        )

    assert written(["a", "b/c.txt", "b/d"]) == ["a", "b/c.txt", "b/d"]
    numbered = ["1.txt", "2.txt"]
    for bad in (["b", "a"], ["a", "a"], ["A", "a"], ["a", "a/b"], ["../a", "b"], ["/a", "b"]):
        assert written(bad) == numbered
    for bad in (
        [".a", "b"],
        ["a", "b.gz"],
        ["a", "b\n"],
        ["", "a"],
        ["a", "b" * 300],
        ["a", "b//c"],
    ):
        assert written(bad) == numbered
    with pytest.raises(InputError, match="exists already; give the name of a new folder"):
        folder.write(Corpus(sparse.csr_array((0, 0)), Vocabulary()), str(tmp_path))


def test_standard_output(capfdbinary):
    corpus = Corpus(sparse.csr_array(np.array([[2.0]])), Vocabulary(["tea"]))
    FORMATS["lines"].write(corpus, "-")
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == b"tea tea\n"
    with pytest.raises(InputError, match="cannot be written to standard output"):
        folder.write(corpus, "-")


def test_weights_and_namespaces_of_vowpal_wabbit():
    data = b"""1 'a |x tea:2 cup |y:3 tea:0.5
-1 2.0 tag|z cup
| tea:1e1 tea tea:0|w pot
|w
no features

1 |x tea:-1
1 |x tea:nan
1 |x:two tea
1 |x tea: |y cup
"""
    problems = Problems("skip")
    options = Options(problems=problems)
    (block,) = FORMATS["vw"].blocks(Input.of(io.BytesIO(data)), options, None)
    assert block.documents.words == ["tea", "cup", "pot"]
    assert block.documents.counts.toarray().tolist() == [
        [3.5, 1, 0],
        [0, 1, 0],
        [11, 0, 1],
        [0] * 3,
    ]
    assert block.names == ["a", "tag", "", ""]
    assert problems.first == [
        "the file, line 5 has no | before its words.",
        *(
            f"the file, line {line} has {token!r}, whose weight is no number from 0 to 1e+13."
            for line, token in ((7, "tea:-1"), (8, "tea:nan"), (9, "|x:two"), (10, "tea:"))
        ),
    ]
