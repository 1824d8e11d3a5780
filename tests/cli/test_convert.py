"""`opelda convert`: every word and every document is kept."""

import gzip
import json
import os
import random
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import CountVectorizer

from opelda.corpus import read
from opelda.corpus.formats import FORMATS
from tests.cases import cases

ENDS = {
    "uci": "docword.out.txt.gz",
    "ldac": "out.ldac",
    "mm": "out.mtx",
    "npz": "out.npz",
    "parquet": "out.parquet",
}
TEXTS = {kind for kind, format in FORMATS.items() if format.write is None}


def test_every_format_holds_counts_or_texts():
    assert {*ENDS} | TEXTS == set(FORMATS)


@cases("kind", sorted(TEXTS))
def test_text_formats_cannot_be_written(cli, corpus_file, kind):
    before = sorted(Path().iterdir())
    targets = [("out", "--to", kind), *((f"out{end}",) for end in FORMATS[kind].suffixes)]
    for target in targets:
        done = cli("convert", corpus_file, *target)
        assert done.code == 2
        message = (
            f"opelda: {target[0]} cannot be written as {kind}: convert writes counts, not texts; "
            "choose one of parquet, uci, ldac, mm, npz.\n"
        )
        assert done.err == message or target[0] == "out.dat"
        assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("kind", ENDS)
def test_round_trip(cli, corpus_file, texts, kind, tmp_path):
    there = cli("convert", corpus_file, ENDS[kind], "--to", kind, "--json")
    assert there.code == 0, there.err
    assert json.loads(there.out)["documents"] == 240
    back = cli("convert", ENDS[kind], "back.npz", "--format", kind)
    assert back.code == 0, back.err
    found = read("back.npz")
    expected = CountVectorizer().fit(texts)
    X = expected.transform(texts)
    order = [expected.vocabulary_[word] for word in found.words]
    assert sorted(order) == list(range(X.shape[1]))
    same = found.X.toarray() == X[:, order].toarray()
    assert same.all()


def test_format_is_detected_by_file_name(cli, corpus_file, tmp_path):
    done = cli("convert", corpus_file, "docword.t.txt.gz", "--json")
    assert json.loads(done.out)["format"] == "uci"
    content = gzip.decompress((tmp_path / "docword.t.txt.gz").read_bytes())
    assert content.split()[0] == b"240"
    assert json.loads(cli("convert", corpus_file, "t.mtx", "--json").out)["format"] == "mm"


def test_rare_and_common_words_are_kept(cli, tmp_path):
    (tmp_path / "t.txt").write_text("the usual\n" * 99 + "the unique\n")
    assert cli("convert", "t.txt", "t.npz").code == 0
    assert set(read("t.npz").words) == {"the", "usual", "unique"}


def test_word_selection_applies(cli, corpus_file):
    done = cli("convert", corpus_file, "t.npz", "--stop-words", "en", "--max-features", 5, "--json")
    assert json.loads(done.out)["words"] == 5


@pytest.mark.skipif(os.name != "posix", reason="limits of file sizes")
@pytest.mark.parametrize("kind", ENDS)
def test_failed_write_keeps_the_data_and_the_vocabulary(
    cli, corpus_file, kind, tmp_path, largest_file
):
    """The data exceeds the largest file size, the vocabulary does not."""
    chance = random.Random(0)
    words = [f"w{i}" for i in range(300)]
    big = "\n".join(" ".join(chance.choices(words, k=60)) for _ in range(3_000))
    (tmp_path / "big.txt").write_text(big)
    target = ENDS[kind]
    assert cli("convert", corpus_file, target, "--to", kind).code == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with largest_file(20 * 1024):
        done = cli("convert", "big.txt", target, "--to", kind)
    assert done.code == 2, done.err
    assert f"{target} cannot be written: File too large; choose another path" in done.err
    assert done.err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_source_is_not_overwritten(cli, tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"")
    done = cli("convert", "t.parquet", "t.parquet")
    assert done.code == 2
    assert (tmp_path / "t.parquet").read_bytes() == b""
    assert "t.parquet" in done.err
