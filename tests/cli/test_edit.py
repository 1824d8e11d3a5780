"""`opelda edit`: topics merged, removed and split from the shell."""

import json
import shutil

import numpy as np
import pytest

import opelda
from opelda.learning.editing._edit import Edit
from opelda.learning.persistence._checkpoint import Checkpoint
from opelda.learning.persistence._stored_model import CHECKPOINT_FILE as FILE
from tests.cases import cases

OTHERS = [" ".join(f"w{j}" for j in range(k, k + 9)) for k in range(0, 180, 3)]


@pytest.fixture
def folder(tmp_path, model_file):
    """Return a folder with a model in it."""
    shutil.copy(model_file, tmp_path / "m.opelda")
    return tmp_path


def test_edits_match_python(cli, folder, corpus_file):
    before = (folder / "m.opelda").read_bytes()
    given = ("--merge", "0, 2", "--split", 1, "--into", 3)
    done = cli("edit", "m.opelda", corpus_file, *given, "-o", "new.opelda", "--json", "-q")
    assert (done.code, done.err) == (0, "")
    output = json.loads(done.out)
    assert output["numbers"] == {"0": [0], "1": [1, 2, 3], "2": [0]}
    assert [topic["topic"] for topic in output["changed_topics"]] == [0, 1, 2, 3]
    assert (folder / "m.opelda").read_bytes() == before
    expected = opelda.load("m.opelda")
    expected.split_topic(1, corpus_file.read_text().splitlines(), into=3)
    expected.merge_topics([[0, 2]])
    assert np.array_equal(opelda.load("new.opelda").components_, expected.components_)


def test_changed_topic_numbers_are_reported(cli, folder):
    done = cli("edit", "m.opelda", "--remove", 0, "--in-place")
    assert done.code == 0
    assert "changed topic numbers: 0 -> none; 1-2 -> 0-1." in done.err
    assert "2 topics saved in m.opelda." in done.err
    assert opelda.load("m.opelda").n_components == 2


def test_edits_use_the_numbers_before_any_edit(cli, folder):
    before = opelda.load("m.opelda").components_
    given = ("--merge", "0,1", "--remove", 2, "-o", "one.opelda", "--json")
    assert json.loads(cli("edit", "m.opelda", *given).out)["numbers"] == {
        "0": [0],
        "1": [0],
        "2": [],
    }
    left = opelda.load("one.opelda").components_[0]
    assert left @ before[:2].sum(axis=0) > 2 * (left @ before[2])


def test_edited_stream_resumes_and_running_stream_is_locked(cli, folder, corpus_file):
    options = ("--checkpoint", "live", "-q")
    assert cli("stream", corpus_file, *options, "-k", 3, "--limit", 100).code == 0
    with Checkpoint("live", (), None):
        done = cli("edit", "live", "--merge", "0,2", "--in-place")
        assert (done.code, "in use by another run" in done.err) == (2, True)
    assert cli("edit", "live", "--merge", "0,2", "--split", 1, "--in-place").code == 0
    assert opelda.load("live").n_components == 3
    assert cli("edit", "live", "--remove", 2, "--in-place").code == 0
    assert cli("stream", corpus_file, *options).code == 0
    again = opelda.load("live")
    assert (again.n_components, again.n_docs_seen_) == (2, 240)
    assert not (folder / "live" / FILE).with_suffix(".tmp").exists()


MISTAKES = {
    "no edit": (["-o", "x.opelda"], "No edit was requested"),
    "no output": (["--merge", "0,1"], "-o FILE or --in-place"),
    "two outputs": (["--merge", "0,1", "-o", "x.opelda", "--in-place"], "Pass either"),
    "one number": (["--merge", "0", "--in-place"], "--merge must be numbers"),
    "topic edited twice": (
        ["--merge", "0,1", "--remove", "1", "--in-place"],
        "Topic 1 is a duplicate",
    ),
    "unknown topic": (
        ["--merge", "0,3", "--in-place"],
        "Unknown topic 3; topics are numbered from 0 to 2",
    ),
    "remove all topics": (
        ["--remove", "0", "--remove", "1", "--remove", "2", "--in-place"],
        "keep at least one",
    ),
    "split without documents": (["--split", "0", "--in-place"], "stores no documents"),
    "documents without split": (["texts.txt", "--remove", "0", "--in-place"], "without --split"),
    "output is not a model": (["--remove", "0", "-o", "texts.txt"], "is not a model"),
}


@cases("name", MISTAKES)
def test_errors_write_nothing(cli, folder, name):
    (folder / "texts.txt").write_text("star galaxy\n")
    before = (folder / "m.opelda").read_bytes()
    given, message = MISTAKES[name]
    done = cli("edit", "m.opelda", *given)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert message in done.err
    assert (folder / "m.opelda").read_bytes() == before
    assert not (folder / "x.opelda").exists()


def test_tree_as_text_json_and_figure(cli, folder):
    done = cli("topics", "m.opelda", "--tree")
    assert (done.code, len(done.out.splitlines())) == (0, 5)
    output = json.loads(cli("topics", "m.opelda", "--tree", "--json").out)
    assert [row["node"] for row in output["merges"]] == [3, 4]
    assert cli("topics", "m.opelda", "--tree", "--only", 1).code == 2
    assert cli("plot", "m.opelda", "--kind", "tree", "-o", "t.svg").code == 0
    assert (folder / "t.svg").read_text().count("<text") >= 3


def test_near_duplicate_topics_are_reported(cli, folder):
    model = opelda.load("m.opelda")
    halves = np.full((model.n_features_in_, 2), 0.5)
    model._apply(Edit.splitting(1, 3, halves, np.array([0.5, 0.5])))
    opelda.save(model, "twice.opelda")
    done = cli("topics", "twice.opelda")
    assert "topics 1 and 3 are nearly identical" in done.err
    assert "opelda edit twice.opelda --merge 1,3 -o NEW" in done.err
    assert "nearly" not in cli("topics", "m.opelda").err
    assert cli("topics", "twice.opelda", "-q").err == ""


def test_near_duplicate_documents_are_reported_and_removed(cli, tmp_path):
    stub = "village in the district of gmina within county in poland near warsaw {}"
    (tmp_path / "t.txt").write_text("\n".join([stub.format(k % 7) for k in range(30)] + OTHERS))
    options = ("-k", 3, "--preset", "fast", "-o", "n.opelda")
    done = cli("fit", "t.txt", *options)
    assert done.code == 0
    assert "at least 32% of the documents are near duplicates" in done.err
    assert "document 1 is a duplicate of document 0; remove duplicates with --dedupe" in done.err
    done = cli("fit", "t.txt", *options, "--dedupe", "--json")
    assert "29 near duplicates removed." in done.err
    assert (json.loads(done.out)["documents"], json.loads(done.out)["near_copies"]) == (61, 29)
