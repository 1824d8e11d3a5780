"""`opelda convert`: every word and every document arrive."""

import gzip
import json

import pytest
from sklearn.feature_extraction.text import CountVectorizer

from opelda.cli._choices import FORMATS
from opelda.corpus import read

ENDS = {
    "lines": "out.txt",
    "jsonl": "out.jsonl.gz",
    "csv": "out.csv",
    "tsv": "out.tsv",
    "parquet": "out.parquet",
    "mallet": "out.mallet",
    "vw": "out.vw",
    "uci": "docword.out.txt.gz",
    "ldac": "out.ldac",
    "mm": "out.mtx",
    "npz": "out.npz",
    "files": "out",
}


def test_every_format_has_a_name_here():
    assert set(ENDS) == set(FORMATS)


@pytest.mark.parametrize("kind", ENDS)
def test_there_and_back(cli, corpus_file, texts, kind, tmp_path):
    there = cli("convert", corpus_file, ENDS[kind], "--to", kind, "--json")
    assert there.code == 0, there.err
    assert json.loads(there.out)["documents"] == 240
    back = cli("convert", ENDS[kind], "back.npz", "--from", kind)
    assert back.code == 0, back.err
    found = read("back.npz")
    expected = CountVectorizer().fit(texts)
    X = expected.transform(texts)
    order = [expected.vocabulary_[word] for word in found.words]
    assert sorted(order) == list(range(X.shape[1]))
    same = found.X.toarray() == X[:, order].toarray()
    assert same.all()


def test_the_format_is_found_by_the_name(cli, corpus_file, tmp_path):
    done = cli("convert", corpus_file, "docword.t.txt.gz", "--json")
    assert json.loads(done.out)["format"] == "uci"
    content = gzip.decompress((tmp_path / "docword.t.txt.gz").read_bytes())
    assert content.split()[0] == b"240"
    assert json.loads(cli("convert", corpus_file, "t.mtx", "--json").out)["format"] == "mm"


def test_neither_rare_nor_common_words_are_lost(cli, tmp_path):
    (tmp_path / "t.txt").write_text("the usual\n" * 99 + "the unique\n")
    assert cli("convert", "t.txt", "t.npz").code == 0
    assert set(read("t.npz").words) == {"the", "usual", "unique"}


def test_texts_can_be_cut_down_on_the_way(cli, corpus_file):
    done = cli("convert", corpus_file, "t.npz", "--stop-words", "en", "--max-features", 5, "--json")
    assert json.loads(done.out)["words"] == 5
