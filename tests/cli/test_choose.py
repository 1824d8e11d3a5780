"""`opelda choose`: a table, a figure and advice, or the finished rows."""

import json
import re
import signal

import pytest

from opelda.cli import main
from opelda.corpus import generate
from opelda.selection import _fits, choose_n_topics
from tests.cases import cases

HOW = ("--preset", "fast", "-j", "1", "--runs", "2")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    X = generate(150, n_words=60, n_topics=3, n_tokens=20, separated=True, random_state=0).X
    lines = (" ".join(f"w{j}" for j in row.indices.repeat(row.data.astype(int))) for row in X)
    (tmp_path / "texts.txt").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_choose_matches_choose_n_topics(folder, capsys):
    from opelda import TopicModel
    from opelda.corpus import read

    files = ("-o", "t.csv", "-o", "t.png")
    assert main(["choose", "texts.txt", "-k", "3,2,6", *HOW, *files, "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    model = TopicModel(preset="fast", random_state=0, n_jobs=1)
    found = choose_n_topics(read("texts.txt"), [2, 3, 6], model=model, n_runs=2)
    assert output["n_topics"] == found.n_topics
    assert output["advice"] == found.advice
    kept = ("n_topics", "lpp", "quality", "stability", "coherence")
    for row, told in zip(found.table, output["tried"], strict=True):
        assert {name: told[name] for name in kept} == {name: getattr(row, name) for name in kept}
    assert (folder / "t.csv").read_text("utf-8-sig").startswith("n_topics,lpp,")
    assert (folder / "t.png").read_bytes()[:4] == b"\x89PNG"


def test_interrupted_choose_shows_finished_rows(folder, capsys, monkeypatch):
    real, called = _fits._measured, []

    def measured(model, documents, seed):
        called.append(model.n_components)
        if called.count(3) == 2:  # the first fit with 3 topics measures the time
            signal.raise_signal(signal.SIGINT)
        return real(model, documents, seed)

    monkeypatch.setattr(_fits, "_measured", measured)
    assert main(["choose", "texts.txt", "-k", "2,3", *HOW, "-o", "t.tsv"]) == 130
    printed = capsys.readouterr()
    first = printed.err.splitlines()[0]
    assert re.fullmatch(r"opelda: 2, 3 topics, 2 runs each: about [0-9]+ s\.", first)
    assert "Only 2 topics were tried" in printed.out
    assert "1 of 2 numbers of topics" in printed.err
    assert len((folder / "t.tsv").read_text().splitlines()) == 2
    called.clear()
    assert main(["choose", "texts.txt", "-k", "3,4", *HOW]) == 130
    assert "during the first number" in capsys.readouterr().err


@cases(
    ("options", "message"),
    [
        (("-k", "5"), "--topics must be at least two numbers"),
        (("-k", "5,x"), "-k must be numbers such as"),
        (("-o", "t.txt"), "must end in .csv, .tsv, .xlsx, .png, .svg or .pdf"),
        (("-o", "texts.csv/t.csv"), "does not exist"),
        (("--runs", "1"), "--runs"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("folder")
def test_errors_precede_reading(options, message, capsys, monkeypatch):
    monkeypatch.setattr("opelda.cli.commands.choose.read_corpus", None)
    assert main(["choose", "texts.txt", *options]) == 2
    assert message in capsys.readouterr().err
