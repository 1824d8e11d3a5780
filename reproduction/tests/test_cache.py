"""Cached runs are used only if intact and made by the same code."""

import json

import pytest

from opelda.corpus import generate
from reproduction import Run, Settings, prepare
from reproduction.results import RunCache, sources_hash
from tests.cases import cases

SETTINGS = Settings.small(n_topics=3, n_test=20)
ROWS = [{"size": 2, "tokens": 0.1 + 0.2, "nothing": None}, {"size": 2, "tokens": 1e300}]


def measured():
    """Stands for what takes long."""


@pytest.fixture(scope="module")
def data():
    return prepare(generate(60, n_words=30, n_topics=3).X, SETTINGS, label="generated")


DAMAGE = {
    "empty": lambda whole: b"",
    "half": lambda whole: whole[: len(whole) // 2],
    "no rows": lambda whole: json.dumps(
        {k: v for k, v in json.loads(whole).items() if k != "rows"}
    ).encode(),
    "odd rows": lambda whole: json.dumps(json.loads(whole) | {"rows": [3]}).encode(),
    "a number": lambda whole: b"3",
    "a list": lambda whole: b"[]",
    "no text": lambda whole: b"\xff\xfe\x00",
    "a key renamed": lambda whole: whole.replace(b'"tokens"', b'"token"'),
    "another value": lambda whole: whole.replace(b'"nothing": null', b'"nothing": 3'),
    "NaN": lambda whole: whole.replace(b'"nothing": null', b'"nothing": NaN'),
    "no checksum": lambda whole: whole.replace(b'"checksum"', b'"sum"'),
    "nested": lambda whole: b"[" * 100_000,
    "another run's": lambda whole: whole.replace(b'"size": 2', b'"size": 4'),
}


@cases("kind", DAMAGE)
def test_damaged_cache_entries_are_not_used(data, tmp_path, kind):
    kept = RunCache(tmp_path, data, SETTINGS)
    run = Run("", measured, {"size": 2})
    kept.write(run, ROWS)
    assert kept.read(run) == ROWS
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(DAMAGE[kind](whole))
    assert path.read_bytes() != whole
    assert kept.read(run) is None
    kept.write(run, ROWS)
    assert path.read_bytes() == whole


def test_nan_is_never_cached(data, tmp_path):
    kept = RunCache(tmp_path / "runs", data, SETTINGS)
    run = Run("", measured, {"size": 1})
    with pytest.raises(ValueError, match="JSON"):
        kept.write(run, [{"size": float("nan")}])
    assert kept.read(run) is None


def test_source_hash_covers_names_and_contents(tmp_path):
    packages = {
        "one": {"a.py": "x", "b/c.py": "y"},
        "same": {"b/c.py": "y", "a.py": "x", "notes.txt": "z"},
        "content": {"a.py": "x", "b/c.py": "z"},
        "name": {"a.py": "x", "b/d.py": "y"},
        "folder": {"a.py": "x", "c.py": "y"},
        "border": {"a.py": "xy", "b/c.py": ""},
        "fewer": {"a.py": "x"},
    }
    for package, files in packages.items():
        for name, content in files.items():
            path = tmp_path / package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
    marks = {package: sources_hash(tmp_path / package) for package in packages}
    assert marks.pop("same") == marks["one"]
    assert len(set(marks.values())) == len(marks)
