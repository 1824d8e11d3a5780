"""Sources are files: folders, patterns and pipes, never texts."""

import json
import os

import numpy as np
import pytest
from scipy import sparse

import opelda
from tests.cases import cases


@pytest.fixture
def split(tmp_path, texts):
    """Write the corpus to three files, and to two folders."""
    for number in range(3):
        part = "\n".join(texts[number::3]) + "\n"
        (tmp_path / f"d{number + 1}.txt").write_text(part)
    for number, name in enumerate(("fa", "fb")):
        (tmp_path / name).mkdir()
        for i, text in enumerate(texts[number::2][:30]):
            (tmp_path / name / f"{i:02}.txt").write_text(text)
    return tmp_path


def documents(done):
    assert done.code == 0, done.err
    return json.loads(done.out)["documents"]


def test_several_folders_are_one_corpus(cli, split, model_file):
    assert documents(cli("fit", "fa", "fb", "-k", 2, "--json")) == 60
    assert documents(cli("evaluate", model_file, "fa", "fb", "--json")) == 60
    assert cli("transform", model_file, "fa", "fb").out.count("\n") == 60


def test_text_columns_are_reported(cli, tmp_path):
    rows = "1,tea cup,on tea,2001,x\n2,pot of tea,on pots,2002,y\n"
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(f"id,Body,summary,date,author\n{rows * 10}")
    line = "opelda: a.csv, line 1: the text is read from 'Body', not from 'summary'; name each "
    done = cli("fit", "a.csv", "b.csv", "-k", 2)
    assert (done.code, done.err.count(line), done.err.count("'summary'")) == (0, 1, 1), done.err
    assert "summary" not in cli("fit", "a.csv", "-k", 2, "-t", "Body").err
    done = cli("info", "a.csv", "--json")
    assert done.err.count(line) == 1
    assert json.loads(done.out)["columns"] == {
        "text": ["Body"],
        "name": "id",
        "time": "date",
        "group": "author",
    }
    (tmp_path / "t.txt").write_text("tea\n")
    assert json.loads(cli("info", "t.txt", "--json").out)["columns"] is None


def test_several_patterns_are_one_corpus(cli, split, model_file):
    assert documents(cli("fit", "d[12].txt", "d3*", "-k", 2, "--json")) == 240
    assert documents(cli("fit", "d1.txt", "d[23].txt", "-k", 2, "--json")) == 240
    assert cli("transform", model_file, "d[12].txt", "d3*").out.count("\n") == 240
    args = ("-k", 2, "--batch-size", 20, "--json")
    assert documents(cli("stream", "d[12].txt", "d3*", "--checkpoint", "c", *args)) == 240


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="pipes have no names here")
def test_process_substitution(cli, split, model_file):
    """As in `opelda fit <(cat d1.txt) <(cat d2.txt)`."""
    for command in (("fit", "-k", 2), ("evaluate", model_file)):
        ends = []
        for name in ("d1.txt", "d2.txt"):  # a pipe holds 64 KiB, each file has 8 KiB
            reading, writing = os.pipe()
            os.write(writing, (split / name).read_bytes())
            os.close(writing)
            ends.append(reading)
        assert documents(cli(*command, *(f"/dev/fd/{end}" for end in ends), "--json")) == 160
        for end in ends:
            os.close(end)


def test_file_named_like_a_pattern_is_read(cli, split):
    (split / "d[1].txt").write_text("star galaxy\n" * 60)
    done = cli("fit", "d[1].txt", "-k", 2, "--json", "--max-df", "1.0")
    assert documents(done) == 60


@cases("sources", [["d1.txt", "d2.txt"], ["fa", "fb"], ["d*.txt"], ["-"]])
def test_only_one_source_can_be_followed(cli, split, sources):
    done = cli("stream", *sources, "--follow", "--checkpoint", "c")
    assert done.code == 2
    assert done.err.startswith("opelda: --follow requires one file or one folder")
    assert done.err.count("\n") == 1
    assert not (split / "c").exists()


def numbered(n_words):
    chance = np.random.default_rng(n_words)
    return sparse.csr_array(chance.poisson(1.0, (40, n_words)).astype(np.float32))


@pytest.mark.parametrize("more", [-1, 1])
@pytest.mark.parametrize("command", ["transform", "evaluate", "continue", "valid"])
def test_mismatched_columns_are_rejected(cli, model_file, corpus_file, command, more, tmp_path):
    n_words = opelda.load(model_file).n_features_in_
    (tmp_path / "m.opelda").write_bytes(model_file.read_bytes())
    commands = {
        "transform": ("transform", "m.opelda", "x.npz"),
        "evaluate": ("evaluate", "m.opelda", "x.npz"),
        "continue": ("fit", "x.npz", "--continue", "m.opelda"),
        "valid": ("fit", corpus_file, "--valid", "x.npz", "-k", 2),
    }
    sparse.save_npz(tmp_path / "x.npz", numbered(n_words + more))
    refused = cli(*commands[command])
    assert refused.code == 2
    assert f"x.npz has {n_words + more} columns" in refused.err
    assert refused.err.count("\n") == 1
    assert refused.out == ""
    sparse.save_npz(tmp_path / "x.npz", numbered(n_words))
    done = cli(*commands[command])
    assert done.code == 0, done.err


def test_ldac_width_may_be_smaller_than_the_model(cli, model_file, tmp_path):
    n_words = opelda.load(model_file).n_features_in_
    (tmp_path / "x.ldac").write_text("2 0:1 3:2\n" * 9)
    assert cli("transform", model_file, "x.ldac").code == 0
    (tmp_path / "x.ldac").write_text(f"2 0:1 {n_words}:2\n" * 9)
    assert f"has {n_words + 1} columns" in cli("transform", model_file, "x.ldac").err


def test_model_without_words_rejects_texts(cli, tmp_path, corpus_file):
    opelda.save(opelda.OnlineOPE(2, random_state=0).fit(numbered(21)), tmp_path / "plain.opelda")
    # the texts have 21 words, too, so the number of columns fits
    for args in (
        ("transform", "plain.opelda", corpus_file),
        ("evaluate", "plain.opelda", corpus_file),
        ("fit", corpus_file, "--continue", "plain.opelda"),
    ):
        done = cli(*args)
        assert done.code == 2
        assert "has numbered columns and no words" in done.err


def test_evaluate_reads_with_the_vocabulary_of_the_model(cli, model_file, corpus_file, texts):
    """Documents are counted like `read` with the vocabulary of the model."""
    from opelda.corpus import read

    found = json.loads(cli("evaluate", model_file, corpus_file, "--json").out)
    words = opelda.load(model_file).vocabulary_
    expected = read([*texts], vocabulary=words)
    assert found["tokens"] == expected.X.sum()
    assert found["unknown_tokens"] == expected.n_unknown_tokens
