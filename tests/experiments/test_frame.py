"""The driver: what is run, what is kept and used again, and what is written."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from opelda.corpus import generate
from opelda.errors import InputError
from opelda.experiments import Experiment, Run, Settings, Verdict, prepare
from opelda.experiments import reproduce as run_experiment

pytest.importorskip("matplotlib")

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
    from opelda.experiments._plots import panels

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
        monkeypatch.setattr("opelda.experiments._reproduce.experiment", lambda name: chosen)
        CALLS.clear()
        return run_experiment("made", data, tmp_path / "out", settings, **options)

    return run


def kept_files(tmp_path):
    return sorted((tmp_path / "out" / "runs").iterdir())


def test_what_is_done_is_not_done_again(reproduce, tmp_path):
    first = reproduce(made(1, 2, 3))
    assert len(CALLS) == 3
    assert (first.n_runs, first.n_kept) == (3, 0)
    written = {path.name: path.read_bytes() for path in first.files}
    again = reproduce(made(1, 2, 3))
    assert CALLS == []
    assert (again.n_runs, again.n_kept) == (3, 3)
    assert again.rows == first.rows
    assert {path.name: path.read_bytes() for path in again.files} == written
    assert len(kept_files(tmp_path)) == 3


def test_new_parameters_are_run_and_old_ones_are_not(reproduce):
    reproduce(made(1, 2))
    found = reproduce(made(2, 3))
    assert CALLS == [(3, 0)]
    assert [row["size"] for row in found.rows] == [2, 3]


CHANGED = {
    "n_topics": 4,
    "doc_topic_prior": 0.5,
    "topic_word_prior": 0.5,
    "batch_size": 7,
    "learning_decay": 0.7,
    "learning_offset": 2.0,
    "n_iter": 9,
    "n_passes": 3,
    "n_test": 21,
    "n_splits": 3,
    "held_out": 0.4,
    "n_words": 5,
    "scoring": "ope",
    "n_seeds": 2,
    "seed": 1,
    "n_jobs": 1,
    "quick": False,
}


def test_every_setting_counts(reproduce):
    assert set(CHANGED) == set(Settings.names())
    reproduce(made(1))
    for name, value in CHANGED.items():
        reproduce(made(1), settings=SETTINGS.changed(**{name: value}))
        assert len(CALLS) == (name != "n_seeds"), name


def test_more_seeds_use_the_runs_of_fewer(reproduce):
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


def other_data(X):
    one_more = X.copy()
    one_more.data[0] += 1
    other_word = X.copy()
    other_word.indices[0] = next(w for w in range(30) if w not in X[[0]].indices)
    return {"count": one_more, "word": other_word, "order": X[::-1]}


@pytest.mark.parametrize("change", ["count", "word", "order"])
def test_other_documents_are_other_data(reproduce, counts, data, change):
    splits = data.splits
    reproduce(made(1), prepare(counts, SETTINGS, label="", splits=splits))
    reproduce(made(1), prepare(other_data(counts)[change], SETTINGS, label="", splits=splits))
    assert len(CALLS) == 1


def test_borders_between_documents_count():
    one, other = ([[1, 0, 0], [0, 1, 1]], [[1, 1, 0], [0, 0, 1]])  # the same words in one order
    splits = [([[1, 0, 0]], [[0, 1, 0]])]
    marks = {prepare(X, SETTINGS, label="", splits=splits).fingerprint for X in (one, other)}
    assert len(marks) == 2


def test_other_splits_are_other_data(reproduce, counts, data):
    reproduce(made(1), prepare(counts, SETTINGS, label="", splits=data.splits))
    reproduce(made(1), prepare(counts, SETTINGS, label="", splits=data.splits[::-1]))
    assert len(CALLS) == 1


def test_the_kind_of_numbers_does_not_matter(counts):
    wide = counts.astype(np.float64)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    marks = {
        prepare(matrix, SETTINGS, label="").fingerprint
        for matrix in (counts, wide, counts.toarray())
    }
    assert len(marks) == 1


def test_measures_of_one_name_are_told_apart(reproduce):
    def other(data, settings, report, *, size):
        return [{"size": -size}]

    other.__name__ = "measured"
    other.__qualname__ = "measured"
    other.__module__ = "elsewhere"
    reproduce(made(1))
    assert reproduce(made(1, measure=other)).rows == [{"size": -1}]


def test_a_new_version_runs_anew(reproduce, monkeypatch):
    reproduce(made(1))
    monkeypatch.setattr("opelda.__version__", "99.0")
    reproduce(made(1))
    assert len(CALLS) == 1


def test_other_code_runs_anew(reproduce, monkeypatch):
    reproduce(made(1))
    monkeypatch.setattr("opelda.experiments._results.sources_hash", lambda package: "other")
    reproduce(made(1))
    assert len(CALLS) == 1


def test_a_damaged_run_is_done_again(reproduce, tmp_path):
    first = reproduce(made(1, 2))
    damaged = next(p for p in kept_files(tmp_path) if b'"size": 2' in p.read_bytes())
    damaged.write_bytes(damaged.read_bytes()[:-9])
    again = reproduce(made(1, 2))
    assert CALLS == [(2, 0)]
    assert again.rows == first.rows
    reproduce(made(1, 2))
    assert CALLS == []


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), InputError("No."), ValueError("no")])
def test_what_was_done_before_a_failure_is_kept(reproduce, tmp_path, failure):
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


def test_an_interrupted_write_leaves_nothing(reproduce, tmp_path, monkeypatch):
    def stop(source, target):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", stop)
        with pytest.raises(KeyboardInterrupt):
            reproduce(made(1))
    assert kept_files(tmp_path) == []


def test_the_files_say_the_same(reproduce, data):
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


def test_progress_goes_from_run_to_run(reproduce):
    told = []

    def progress(run, number, total, share):
        told.append((run.label, number, total, share))

    reproduce(made(1, 2), progress=progress)
    assert told == [(f"size {n + 1}", n, 2, share) for n in range(2) for share in (0.0, 0.5, 1.0)]
    told.clear()
    reproduce(made(1, 2), progress=progress)
    assert told == [(f"size {n + 1}", n, 2, 1.0) for n in range(2)]


def test_rows_of_different_kinds_make_one_table(reproduce, monkeypatch):
    def odd(data, settings, report, *, size):
        return [{"size": size, "score": None}, {"size": size + 0.5, "score": 2, "more": "x"}]

    found = reproduce(made(1, measure=odd))
    table = pl.read_parquet(next(path for path in found.files if path.suffix == ".parquet"))
    assert table["size"].to_list() == [1.0, 1.5]
    assert table["more"].to_list() == [None, "x"]
