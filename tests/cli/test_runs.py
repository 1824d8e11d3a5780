"""`opelda fit --runs`: stability of topics in the model and in every table."""

import json

import numpy as np
import pytest

import opelda
from opelda.cli import main
from opelda.report import topic_table, write_report

TEXTS = ["cats chase dogs", "dogs chase cats", "bonds rise again", "bonds fall again"] * 20
FIT = ("--preset", "fast", "--passes", "2", "-k", "3", "-j", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs")
    (path / "texts.txt").write_text("\n".join(TEXTS))
    for name, runs in (("one", ()), ("three", ("--runs", "3"))):
        sources = (str(path / "texts.txt"), "-o", str(path / name), "-q")
        assert main(["fit", *sources, *FIT, *runs]) == 0
    return path


def test_tables_show_stability_after_several_runs(folder, capsys):
    for name, known in (("one", False), ("three", True)):
        model = opelda.load(folder / name)
        assert (model.topic_stability_ is not None) == known
        assert ("stability" in model._topics_html()) == known
        table = topic_table(model)
        assert ("stability" in table.columns) == known
        assert table.to_polars().columns == table.columns
        assert ("stability" in repr(table)) == ("stability" in table._repr_html_()) == known
        assert main(["topics", str(folder / name)]) == 0
        assert ("stability" in capsys.readouterr().out) == known
        assert main(["topics", str(folder / name), "--json", "--sort", "number"]) == 0
        topics = json.loads(capsys.readouterr().out)["topics"]
        if known:
            np.testing.assert_array_equal([t["stability"] for t in topics], model.topic_stability_)
            assert [row.stability for row in table] == model.topic_stability_.tolist()
        assert main(["info", str(folder / name), "--json"]) == 0
        output = json.loads(capsys.readouterr().out)
        assert output.get("stability") == (model.topic_stability_.mean() if known else None)


def test_report_has_the_stability_of_the_model(folder, tmp_path):
    model = opelda.load(folder / "three")
    page = write_report(model, TEXTS, tmp_path / "r.html", stability=False).read_text()
    meta = json.loads(page.split('id="meta">')[1].split("</script>")[0])
    found = [topic["stability"] for topic in meta["topics"]]
    np.testing.assert_allclose(found, model.topic_stability_, atol=1e-4)
    assert "a mean over the runs" in meta["stability"]


def test_summary_has_the_number_of_runs(folder, tmp_path, capsys):
    where = (str(folder / "texts.txt"), "-o", str(tmp_path / "m"))
    assert main(["fit", *where, *FIT, "--runs", "2", "-v"]) == 0
    printed = capsys.readouterr()
    assert "2 runs" in printed.err
    assert "run 2/2" in printed.err
    assert "stability" in printed.out


@pytest.mark.parametrize(
    "options",
    [("--learner", "ml-ope"), ("--continue", "three")],
    ids=str,
)
def test_runs_without_effect_are_rejected(folder, tmp_path, options, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    before = (folder / "three").read_bytes()
    assert main(["fit", "texts.txt", "--runs", "2", *options, "-o", "three"]) == 2
    assert "--runs has no effect" in capsys.readouterr().err
    assert (folder / "three").read_bytes() == before
