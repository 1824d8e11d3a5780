"""Files of arrays that are hostile, newer or damaged."""

import json
import os
import random
import struct
from pathlib import Path

import pytest

from opelda.errors import ModelFileError
from tests.cases import cases
from tests.test_store import KIND, load, small_file


def made(header="{}", kind=KIND, version="1", parts=b"1234", **changes):
    said = {"kind": kind, "version": version, "header": header}
    array = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4], **changes}
    table = json.dumps({"__metadata__": said, "a": array}).encode()
    return struct.pack("<Q", len(table)) + table + parts


HOSTILE = {
    "empty": b"",
    "text": b"Just some words, and then a few more of them.",
    "pickle": b"cbuiltins\nopen\n(S'ran'\nS'w'\ntR.",  # makes a file when it is loaded
    "header longer than the file": struct.pack("<Q", 10**7) + b"{}",
    "nested table": struct.pack("<Q", 10**5) + b"[" * 10**5,
    "nothing known": struct.pack("<Q", 2) + b"{}",
    "another kind": made(kind="opelda other"),
    "negative version": made(version="-1"),
    "cut data": made(parts=b"123"),
    "beyond the end": made(data_offsets=[0, 2**62], shape=[2**60]),
    "shape": made(shape=[2**63, 2**63]),
    "empty shape": made(shape=[2**64 - 1, 0], data_offsets=[0, 0], parts=b""),
    "many dimensions": made(shape=[1] * 1000),
    "brain floats": made(dtype="BF16", shape=[2]),
    "JSON list": made("[]"),
    "NaN": made('{"a": NaN}'),
    "infinity in disguise": made('{"a": 1e999}'),
    "very large number": made('{"a": ' + "1" * 10**5 + "}"),
    "deeply nested": made('{"a": ' + "[" * 10**6 + "]" * 10**6 + "}"),
}


@cases("name", HOSTILE)
def test_hostile_files_are_rejected_in_one_sentence(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("m").write_bytes(HOSTILE[name])
    said = r"^'m' is (corrupted or )?not an opelda test file( \(.*|; pass the path of .*)\.$"
    with pytest.raises(ModelFileError, match=said):
        load("m")
    assert os.listdir() == ["m"]


def test_newer_file_version_asks_for_an_upgrade(tmp_path):
    (tmp_path / "m").write_bytes(made(version="2", dtype="BF16", shape=[2]))
    with pytest.raises(ModelFileError, match=r"newer opelda .*upgrade"):
        load(tmp_path / "m")


@pytest.mark.parametrize("n_cases", [600, pytest.param(100_000, marks=pytest.mark.heavy)])
def test_damaged_files_are_rejected_or_plausible(tmp_path, n_cases):
    path, whole = tmp_path / "m", small_file(tmp_path / "m")
    for case in range(n_cases):
        data = bytearray(whole[:case])  # first cut at every place, then changed here and there
        for _ in range(random.randint(1, 3) if case >= len(whole) else 0):
            at = random.randrange(len(data))
            data[at : at + random.choice([0, 1, 1, 8])] = random.randbytes(random.choice([0, 1, 8]))
        path.write_bytes(data)
        try:
            arrays, header, version = load(path)
        except ModelFileError:
            continue
        assert case >= len(whole)
        assert sum(array.nbytes for array in arrays.values()) <= len(data)
        assert (type(header), version) == (dict, 1)
