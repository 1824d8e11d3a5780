"""`opelda topics --label` and `--docs`: topic labels and typical documents."""

import json
import shutil

import numpy as np
import pytest

import opelda
from opelda.learning.persistence._checkpoint import Checkpoint
from opelda.learning.persistence._stored_model import CHECKPOINT_FILE as FILE
from opelda.report import top_documents
from tests.cases import cases


@pytest.fixture
def folder(tmp_path, model_file):
    """Return a folder with a model in it."""
    shutil.copy(model_file, tmp_path / "m.opelda")
    return tmp_path


def labels(path):
    return opelda.load(path).topic_labels_


def test_labels_are_saved_and_the_model_is_unchanged(cli, folder, texts):
    before = opelda.load("m.opelda")
    done = cli("topics", "m.opelda", "--label", "1=health care", "--label", "0= a=b <b> ")
    assert done.code == 0
    assert "2 labels saved in m.opelda" in done.err
    assert "health care" in done.out
    assert labels("m.opelda")[:2] == ["a=b <b>", "health care"]
    after = opelda.load("m.opelda")
    assert np.array_equal(after.components_, before.components_)
    assert after.n_docs_seen_ == before.n_docs_seen_
    assert cli("topics", "m.opelda", "--label", "1=", "-q").err == ""
    assert labels("m.opelda") == ["a=b <b>", *before.topic_labels_[1:]]


def test_tables_show_labels(cli, folder, corpus_file):
    cli("topics", "m.opelda", "--label", "2==1+1 \U0001f600")
    shown = json.loads(cli("topics", "m.opelda", "--json", "--sort", "number").out)
    assert shown["topics"][2]["label"] == "=1+1 \U0001f600"
    assert cli("transform", "m.opelda", corpus_file, "-o", "t.csv").code == 0
    lines = (folder / "t.csv").read_text().splitlines()
    assert any(",'=1+1 \U0001f600," in line for line in lines)  # no formula
    assert not any(",=1+1" in line for line in lines)


MISTAKES = {
    "no number": ("health care", "--label must be"),
    "no topic": ("3=x", "No topic 3"),
    "negative": ("-1=x", "--label must be"),
    "too long": ("0=" + "x" * 201, "201 characters"),
    "a control character": ("0=a\x1b[31m", "character '\\x1b'"),
    "a line break": ("0=a\nb", "character '\\n'"),
}


@cases("name", MISTAKES)
def test_invalid_labels_are_rejected(cli, folder, name):
    before = (folder / "m.opelda").read_bytes()
    given, message = MISTAKES[name]
    done = cli("topics", "m.opelda", "--label", "1=good", "--label", given)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert message in done.err
    assert "\x1b" not in done.err
    assert (folder / "m.opelda").read_bytes() == before


def test_one_topic_has_one_label(cli, folder):
    done = cli("topics", "m.opelda", "--label", "1=a", "--label", "1=b")
    assert (done.code, "duplicate" in done.err) == (2, True)


@pytest.mark.parametrize("given", ["live", f"live/{FILE}"])
def test_resumed_stream_keeps_labels(cli, folder, corpus_file, given):
    options = ("--checkpoint", "live", "-k", 3, "-q")
    assert cli("stream", corpus_file, *options, "--limit", 100).code == 0
    assert cli("topics", given, "--label", "1=health care").code == 0
    assert labels("live")[1] == "health care"
    seen = opelda.load("live").n_docs_seen_
    assert cli("stream", corpus_file, *options).code == 0
    again = opelda.load("live")
    assert again.n_docs_seen_ == seen + 140  # from its last position
    assert again.topic_labels_[1] == "health care"


def test_labels_of_a_running_stream_are_locked(cli, folder, corpus_file):
    assert cli("stream", corpus_file, "--checkpoint", "live", "-k", 3, "-q").code == 0
    before = (folder / "live" / FILE).read_bytes()
    with Checkpoint("live", (), None):
        done = cli("topics", "live", "--label", "1=x")
        assert done.code == 2
        assert "in use by another run" in done.err
        assert cli("topics", "live").code == 0
    assert (folder / "live" / FILE).read_bytes() == before


def test_failed_label_write_keeps_the_model(cli, folder, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    before = (folder / "m.opelda").read_bytes()
    monkeypatch.setattr("os.replace", full)
    done = cli("topics", "m.opelda", "--label", "1=x")
    monkeypatch.undo()
    assert done.code == 2
    assert "No space left on device" in done.err
    assert (folder / "m.opelda").read_bytes() == before
    assert len([*folder.iterdir()]) == 1


def test_typical_documents_match_top_documents(cli, folder, corpus_file, texts):
    done = cli("topics", "m.opelda", corpus_file, "--docs", 2, "--json", "--sort", "number")
    shown = json.loads(done.out)["topics"]
    expected = top_documents(opelda.load("m.opelda"), texts, 2)
    assert [topic["topic"] for topic in shown] == [0, 1, 2]
    found = [(t["topic"], d["rank"], d["document"]) for t in shown for d in t["documents"]]
    assert found == [(row.topic, row.rank, row.document) for row in expected]


def test_block_size_does_not_change_typical_documents(cli, folder, corpus_file, monkeypatch):
    whole = cli("topics", "m.opelda", corpus_file, "--docs", 3).out
    monkeypatch.setattr("opelda.cli._inputs.BLOCK", 7)
    assert cli("topics", "m.opelda", corpus_file, "--docs", 3).out == whole


def test_typical_documents_are_printable_below_their_topic(cli, folder):
    names = ["sky \x1b[31m", "=food\u202e", "<law>\n"]
    words = ("star galaxy orbit", "bread flour oven", "court judge jury")
    rows = [{"id": n, "text": f"{w} " * 9} for n, w in zip(names, words, strict=True)]
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = cli("topics", "m.opelda", "t.jsonl", "--docs", 1, "--name-column", "id")
    assert done.code == 0, done.err
    assert all(line.isprintable() for line in done.out.splitlines())
    blocks = done.out.split("\n\n")[:3]
    assert len(blocks) == 3
    first = opelda.load("m.opelda").transform([row["text"] for row in rows]).argmax(axis=0)
    for block in blocks:
        title, _, document = block.splitlines()
        named = ("sky \\x1b[31m", "=food\\u202e", "<law>")[first[int(title.split()[0])]]
        assert named in document
    only = cli("topics", "m.opelda", "t.jsonl", "--docs", 1, "--only", 1).out
    assert only.startswith("1 ")
    assert only.count("\n\n") == 1


@cases(
    ("args", "message"),
    [
        (["--docs", 3], "add a CORPUS after the model"),
        (["t.txt"], "needs --docs"),
        (["--text-column", "a"], "no effect"),
        (["gone.txt", "--docs", 3], "not a file or folder"),
        (["--docs", 0], "--docs"),
        (["t.txt", "--docs", 3, "--since", "1h"], "--since"),
    ],
)
def test_errors_are_one_sentence(cli, folder, args, message):
    (folder / "t.txt").write_text("star\n")
    done = cli("topics", "m.opelda", *args)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1
