"""The driver: runs, the cache of runs, and files."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import polars as pl
import pytest

from opelda.corpus import generate
from opelda.errors import InputError
from reproduction import Experiment, Run, Settings, Verdict, prepare
from reproduction import reproduce as run_experiment

SETTINGS = Settings.small(n_topics=3, n_test=20, n_passes=1)
CALLS = []


def measured(data, settings, report, *, size, seed=0):
    """Stands for what takes long; fails where a list of failures says so."""
    CALLS.append((size, seed))
    report(0.5)
    if size in FAILURES:
        raise FAILURES[size]
    return [{"size": size, "seed": seed, "tokens": float(data.train.sum()), "nothing": None}]


FAILURES = {}


def draw(rows):
    from reproduction.plots import panels

    figure, axes = panels(1)
    axes[0, 0].plot([row["size"] for row in rows])
    return figure


class Blank:
    """A figure that takes no time."""

    def savefig(self, buffer, *, format, metadata):
        buffer.write(format.encode())


def made(*sizes, measure=measured, draw=lambda rows: Blank()):
    return Experiment(
        name="made",
        title="sizes",
        place="nowhere",
        runs=lambda settings, data: [Run(f"size {n}", measure, {"size": n}) for n in sizes],
        draw=draw,
        judge=lambda rows: [Verdict("sizes are kept", "reproduced", f"{len(rows)} of them")],
    )


@pytest.fixture(autouse=True)
def fresh():
    CALLS.clear()
    FAILURES.clear()


@pytest.fixture(scope="module")
def counts():
    return generate(120, n_words=30, n_topics=3, random_state=1).X


@pytest.fixture(scope="module")
def data(counts):
    return prepare(counts, SETTINGS, label="generated")


@pytest.fixture
def reproduce(monkeypatch, data, tmp_path):
    def run(chosen, data=data, settings=SETTINGS, **options):
        monkeypatch.setattr("reproduction.running.find_experiment", lambda name: chosen)
        CALLS.clear()
        return run_experiment("made", data, tmp_path / "out", settings, **options)

    return run


def kept_files(tmp_path):
    return sorted((tmp_path / "out" / "runs").iterdir())


def test_cached_runs_are_not_repeated(reproduce, tmp_path):
    first = reproduce(made(1, 2, 3))
    assert len(CALLS) == 3
    assert (first.n_runs, first.n_cached) == (3, 0)
    written = {path.name: path.read_bytes() for path in first.files}
    again = reproduce(made(1, 2, 3))
    assert CALLS == []
    assert (again.n_runs, again.n_cached) == (3, 3)
    assert again.rows == first.rows
    assert {path.name: path.read_bytes() for path in again.files} == written
    assert len(kept_files(tmp_path)) == 3


def test_more_seeds_reuse_cached_runs(reproduce):
    per_seed = replace(
        made(),
        runs=lambda settings, data: [
            Run(f"seed {seed}", measured, {"size": 1, "seed": seed}) for seed in settings.seeds()
        ],
    )
    reproduce(per_seed, settings=SETTINGS.changed(n_seeds=2))
    found = reproduce(per_seed, settings=SETTINGS.changed(n_seeds=3))
    assert CALLS == [(1, 2)]
    assert [row["seed"] for row in found.rows] == [0, 1, 2]
    reproduce(per_seed)
    assert CALLS == []


def test_changed_code_invalidates_the_cache(reproduce, monkeypatch):
    reproduce(made(1))
    monkeypatch.setattr("reproduction.results.sources_hash", lambda package: "other")
    reproduce(made(1))
    assert len(CALLS) == 1


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), InputError("No."), ValueError("no")])
def test_runs_before_a_failure_are_kept(reproduce, tmp_path, failure):
    FAILURES[3] = failure
    with pytest.raises(type(failure)):
        reproduce(made(1, 2, 3, 4))
    assert CALLS == [(1, 0), (2, 0), (3, 0)]
    assert [path.suffix for path in kept_files(tmp_path)] == [".json"] * 2
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} == {"runs"}
    FAILURES.clear()
    found = reproduce(made(1, 2, 3, 4))
    assert CALLS == [(3, 0), (4, 0)]
    assert [row["size"] for row in found.rows] == [1, 2, 3, 4]


def test_interrupted_write_leaves_nothing(reproduce, tmp_path, monkeypatch):
    def stop(source, target):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", stop)
        with pytest.raises(KeyboardInterrupt):
            reproduce(made(1))
    assert kept_files(tmp_path) == []


def test_written_files_agree(reproduce, data):
    found = reproduce(made(1, 2, 5, draw=draw))
    files = {path.name: path for path in found.files}
    assert all(path.parent.name == "made" for path in found.files)
    table = pl.read_csv(files["data.csv"])
    assert table.drop("nothing").equals(pl.read_parquet(files["data.parquet"]).drop("nothing"))
    assert pl.read_parquet(files["data.parquet"]).to_dicts() == found.rows
    assert files["figure.png"].read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(files["figure.svg"]).getroot().tag.endswith("svg")
    assert files["verdict.txt"].read_text() == "reproduced: sizes are kept (3 of them)\n"
    about = json.loads(files["about.json"].read_text())
    assert Settings(**about["settings"]) == SETTINGS
    assert about["documents"] == data.train.shape[0]
    assert about["test_documents"] == 20
    assert about["runs"] == 3
