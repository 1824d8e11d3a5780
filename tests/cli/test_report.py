"""`opelda report`, and `opelda stream --serve`: pages from the shell."""

import json
import shutil
import sys
import time
from contextlib import closing
from http.client import HTTPConnection

import pytest

import opelda
from opelda.cli.commands import stream as stream_command
from tests.cases import cases
from tests.report.page_data import element


@pytest.fixture
def folder(tmp_path, model_file, texts):
    shutil.copy(model_file, tmp_path / "m.opelda")
    records = [
        {
            "title": f"<b>{i}</b>",
            "text": text,
            "date": f"{2001 + i % 5}-02-03",
            "party": "ab"[i % 2],
        }
        for i, text in enumerate(texts)
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return tmp_path


def facts(path):
    return json.loads(element(path.read_text(), "meta"))


def test_report_of_a_model_and_documents(cli, folder, texts):
    done = cli("report", "m.opelda", "t.jsonl", "--text-column", "text", "-o", "r.html")
    assert (done.code, done.out) == (0, ""), done.err
    assert "r.html (" in done.err
    meta = facts(folder / "r.html")
    assert meta["title"] == meta["corpus"]["name"] == "t.jsonl"
    assert meta["model"]["name"] == "m.opelda"
    assert meta["corpus"]["n_docs"] == len(texts)
    assert len(meta["topics"]) == len(opelda.load(folder / "m.opelda").components_)
    assert meta["time"]["column"] == "date"
    assert not meta["score"]["held_out"]


def test_unused_time_column_is_reported(cli, folder):
    records = (folder / "t.jsonl").read_text().replace('"date": "200', '"month": "')
    (folder / "t.jsonl").write_text(records.replace("-02-03", ""))
    done = cli("report", "m.opelda", "t.jsonl", "-o", "r.html", "--no-stability")
    assert done.code == 0, done.err
    line = "opelda: The column 'month' is not used for topics over time: '1' is not a supported "
    assert done.err.count(line) == 1
    assert facts(folder / "r.html")["time"] is None


def test_report_with_groups_comparison_and_held_out_documents(cli, folder):
    given = (
        "report",
        "m.opelda",
        "t.jsonl",
        "-t",
        "text",
        "--title",
        "<i>T</i>",
        "--by",
        "party",
    )
    more = ("--compare", "m.opelda", "--valid", "t.jsonl", "--no-stability", "--max-loss", "0.01")
    done = cli(*given, *more, "-o", "r.html")
    assert done.code == 0, done.err
    meta = facts(folder / "r.html")
    assert meta["title"] == "<i>T</i>"
    assert meta["groups"]["names"] == ["a", "b"]
    assert [similarity for _, _, similarity in meta["compare"]["matches"]] == pytest.approx(
        [1.0] * 3
    )
    assert meta["score"]["held_out"]
    assert meta["stability"] is None
    assert meta["guarantee"]["within"][0][1] == 1.0


@cases(
    ("args", "message"),
    [
        (("t.jsonl", "-o", "r.txt"), "must end in .html"),
        (("no.jsonl",), "not a file or folder"),
        (("t.jsonl", "--time", "when"), "'when'"),
        (("t.jsonl", "-t", "text", "--time", "party"), "not a supported time"),
        (("t.jsonl", "-o", "no/r.html"), "does not exist"),
        (("t.jsonl", "--compare", "t.jsonl"), "t.jsonl"),
    ],
)
def test_errors_write_no_page(cli, folder, args, message):
    done = cli("report", "m.opelda", *args)
    assert done.code != 0
    assert message in done.err
    assert "Traceback" not in done.err
    assert not list(folder.glob("**/*.html"))


def test_folder_of_texts_has_no_columns(cli, folder, texts):
    (folder / "texts").mkdir()
    for i, text in enumerate(texts):
        (folder / "texts" / f"{i}.txt").write_text(text)
    done = cli("report", "m.opelda", "texts", "--by", "folder", "-o", "r.html")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "texts has no column 'folder'; available: 'title', 'date', 'path'." in done.err
    assert "metadata" not in done.err


def test_running_stream_serves_a_page(process, folder, texts):
    (folder / "s.txt").write_text("".join(f"{' '.join(text.split())}\n" for text in texts * 5))
    args = ("--follow", "--checkpoint", "state", "-k", "3", "--batch-size", "100", "--every", "1s")
    stream = process("stream", "s.txt", *args, "--serve", "127.0.0.1:0", wait=False)
    try:
        line = next(line for line in stream.stderr if "http://" in line)
        port = int(line.rsplit(":", 1)[1].strip().rstrip("/"))
        for _ in range(600):
            with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
                connection.request("GET", "/meta.json")
                meta = json.loads(connection.getresponse().read())
            if meta["stream"]["n_docs"] and meta["topics"]:
                break
            time.sleep(0.1)
        assert len(meta["topics"]) == 3
        assert meta["title"] == "s.txt"
        assert meta["live"]["every"] > 0
        with closing(connection):
            connection.request("GET", "/")
            assert '<div id="app">' in connection.getresponse().read().decode()
    finally:
        stream.terminate()
        stream.communicate()


def test_invalid_address_is_rejected_before_learning(cli, folder):
    done = cli("stream", "t.jsonl", "--checkpoint", "state", "--serve", "nowhere")
    assert done.code != 0
    assert "HOST:PORT" in done.err
    assert not (folder / "state").exists()


def test_missing_serve_extra_is_one_error(cli, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    for name in ("_server", "_site"):
        monkeypatch.delitem(sys.modules, f"opelda.serve.{name}", raising=False)
    done = cli("stream", "t.jsonl", "--checkpoint", "state", "--serve", "127.0.0.1:0")
    assert done.code == 2
    assert done.err.endswith("which is not installed; run pip install 'opelda[serve]'.\n")
    assert not (folder / "state").exists()


def test_held_out_documents_are_not_overwritten(cli, folder):
    shutil.copy("t.jsonl", "t.html")
    before = (folder / "t.html").read_bytes()
    done = cli("report", "m.opelda", "t.jsonl", "--valid", "t.html", "-o", "t.html")
    assert done.code != 0
    assert (folder / "t.html").read_bytes() == before


@cases(
    ("source", "title"), [(["-"], "Standard input"), (["a/b.txt", "c/"], "b.txt, c"), (["/"], "/")]
)
def test_stream_page_is_titled_by_its_sources(source, title):
    assert stream_command._title(source) == title
