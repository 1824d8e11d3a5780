"""The scripts and notebooks of examples/ that use opelda run, each as it says."""

import json
import lzma
import re
import subprocess
import sys
from pathlib import Path

import pytest

from opelda.corpus import ABSTRACTS

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    lines = lzma.decompress(ABSTRACTS.read_bytes()).splitlines(keepends=True)
    (folder / "articles.jsonl").write_bytes(b"".join(lines[:500]))
    return folder


def run(folder, script, *arguments):
    command = [sys.executable, EXAMPLES / script, *arguments]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
    return ran.stdout


def test_news_to_a_page(folder):
    said = run(folder, "news_to_page.py", "articles.jsonl", "page.html")
    assert said.endswith("All 10 topics are on page.html.\n")
    assert (folder / "page.html").read_text().startswith("<!")


def test_a_stream_with_checkpoints_learns_from_each_document_once(folder):
    first = run(folder, "stream_with_checkpoints.py", "articles.jsonl", "state")
    assert "500 documents" in first
    again = run(folder, "stream_with_checkpoints.py", "articles.jsonl", "state")
    assert re.search(r"\d documents", again) is None
    assert first.endswith(again)


def test_serving(folder):
    import opelda

    texts = ["stars in a galaxy", "the judge of a court"] * 30
    opelda.save(opelda.TopicModel(2, random_state=0).fit(texts), folder / "two.opelda")
    said = run(folder, "serving_in_an_application.py", "two.opelda", "A galaxy", "zebras")
    assert said.splitlines()[1].startswith("zebras: no word is known")


def test_choosing(folder):
    said = run(folder, "choosing_topics.py", "articles.jsonl", "3", "6")
    assert "Recommended: " in said


def test_seeds(folder):
    seeds = ("sky=stars,galaxy,planets", "markets=stock,price")
    said = run(folder, "seeded_topics.py", "articles.jsonl", "category", *seeds)
    assert said.startswith("sky: ")
    assert "\nmarkets: " in said


NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_valid_and_hold_no_outputs(path):
    """The keys are those that nbformat 4.4 asks for."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 4)
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    for cell in notebook["cells"]:
        assert cell["cell_type"] in ("code", "markdown")
        assert {"metadata", "source"} <= set(cell)
        if cell["cell_type"] == "code":
            assert (cell["execution_count"], cell["outputs"]) == (None, [])


def run_cells(stem, folder):
    """Run a notebook's code in a new process and folder; return what its last lines say."""
    cells = json.loads((EXAMPLES / f"{stem}.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    (folder / f"{stem}.py").write_text("\n".join(code), encoding="utf-8")
    return run(folder, folder / f"{stem}.py")


def test_notebook_of_topics(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    assert re.search(r"^\d+% .*, loss \d\.\d{3}$", run_cells("topics", tmp_path), re.MULTILINE)
    assert (tmp_path / "topics.html").read_text().startswith("<!")


def test_notebook_of_a_stream_goes_on_where_it_was(tmp_path):
    said = re.findall(r"^(\d+) documents", run_cells("stream", tmp_path), re.MULTILINE)
    assert said == ["100", "200", "300", "400", "100", "200"]
