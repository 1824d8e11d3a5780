"""Files of arrays and a header: round trips and failures."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load_file, save_file

from opelda import _store
from opelda._replacing import remove_leftovers
from opelda.errors import InputError, ModelFileError
from tests.cases import cases

KIND = "opelda test"
TYPES = [np.dtype(name) for name in ("f4", "f8", "i4", "i8", "u1", "?", ">f4", ">i8")]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBER = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(TEXT, part, max_size=3),
    max_leaves=10,
)
ARRAYS = st.dictionaries(
    TEXT.filter(lambda name: name not in ("", "__metadata__")),
    hnp.arrays(st.sampled_from(TYPES), hnp.array_shapes(min_dims=0, min_side=0, max_side=4)),
    max_size=5,
)


def save(path, arrays=None, header=None):
    _store.write(path, arrays or {}, header or {}, kind=KIND, version=1)


def load(path):
    return _store.read(path, kind=KIND, newest=1)


def small_file(path):
    save(path, {"a": np.arange(4.0), "mask": np.array([True, False])}, {"k": [1, "é", 2.5]})
    return path.read_bytes()


def same(read, arrays):
    return set(read) == set(arrays) and all(
        read[name].dtype == array.dtype.newbyteorder("=")
        and read[name].shape == array.shape
        and read[name].tobytes() == np.ascontiguousarray(array, read[name].dtype).tobytes()
        for name, array in arrays.items()
    )


@given(arrays=ARRAYS, header=st.dictionaries(TEXT, JSON, max_size=4))
def test_written_arrays_and_header_round_trip(tmp_path, arrays, header):
    save(tmp_path / "m", arrays, header)
    found, said, version = load(tmp_path / "m")
    assert same(found, arrays)
    assert (said, version) == (header, 1)
    assert json.dumps(said) == json.dumps(header)  # 1 is not 1.0 and not True
    for array in found.values():
        assert array.dtype.isnative
        assert array.flags.carray  # contiguous, aligned, writable
    assert same(load_file(tmp_path / "m"), arrays)  # others of the format agree
    save_file(found, tmp_path / "n", {"kind": KIND, "version": "1", "header": json.dumps(header)})
    assert load(tmp_path / "n")[1] == header
    assert same(load(tmp_path / "n")[0], arrays)


def test_strided_arrays_and_separate_results(tmp_path):
    grid = np.arange(24).reshape(4, 6)
    arrays = {"t": grid.T, "s": grid[::2, ::-3], "f": np.asfortranarray(grid), "0d": np.array(7)}
    save(tmp_path / "m", arrays)
    load(tmp_path / "m")[0]["t"][:] = 0
    assert same(load(tmp_path / "m")[0], arrays)


def test_equal_content_gives_identical_bytes(tmp_path):
    code = f"""
import sys, numpy as np
from opelda import _store
from opelda._replacing import remove_leftovers
pairs = [(n, np.full(3, i, ['f4', 'f8', 'u1', '?'][i % 4])) for i, n in enumerate('abcdefghijkl')]
pairs.sort(key=lambda pair: hash(pair[0]))  # another order in each process
_store.write(sys.argv[1], dict(pairs), {{'x': 1}}, kind={KIND!r}, version=1)
"""
    for name in "mno":
        subprocess.run([sys.executable, "-c", code, tmp_path / name], check=True)
    assert len({(tmp_path / name).read_bytes() for name in "mno"}) == 1


@pytest.mark.skipif(os.name != "posix", reason="file modes")
def test_replaced_file_keeps_its_mode_and_links_are_followed(tmp_path):
    for mask, mode in ((0o022, 0o644), (0o077, 0o600)):
        old = os.umask(mask)
        save(tmp_path / f"m{mode:o}")
        save(tmp_path / "m")
        os.umask(old)
        assert (tmp_path / f"m{mode:o}").stat().st_mode & 0o777 == mode  # of a new file
    for mode in (0o600, 0o640, 0o644, 0o666):
        (tmp_path / "m").chmod(mode)
        save(tmp_path / "m")
        assert (tmp_path / "m").stat().st_mode & 0o7777 == mode
    (tmp_path / "link").symlink_to("m")
    save(tmp_path / "link", header={"by": "link"})
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "m")[1] == {"by": "link"}


@cases("error", [OSError(28, "No space"), KeyboardInterrupt(), MemoryError()])
@cases("step", ["open", "asarray", "fsync", "replace"])
def test_failed_write_leaves_only_the_old_file(tmp_path, monkeypatch, step, error):
    before = small_file(tmp_path / "m")

    def fail(*_):
        raise error

    # asarray is halfway through the writing: the table is in the file, the data is not
    place = {"open": "builtins.open", "asarray": "numpy.asarray"}.get(step, f"os.{step}")
    monkeypatch.setattr(place, fail)
    with pytest.raises(ModelFileError if isinstance(error, OSError) else type(error)):
        save(tmp_path / "m", {"a": np.ones(9)})
    monkeypatch.undo()
    assert (tmp_path / "m").read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]


def test_unwritable_and_unreadable_paths_are_reported(tmp_path):
    (tmp_path / "file").write_text("x")
    places = {
        tmp_path: "is not a file",
        Path("/"): "is not a file",
        tmp_path / "no" / "m": "the folder .* does not exist",
        tmp_path / "file" / "m": "Not a directory",
        tmp_path / ("x" * 300): "name too long",
        Path(os.devnull): "is not a file",
    }
    for path, why in places.items():
        with pytest.raises(ModelFileError, match=why):
            save(path)
        with pytest.raises(ModelFileError, match=why if "file" in why else "be read"):
            load(path)
    for path in ("", "a\0b", 3, None):
        for use in (save, load):
            with pytest.raises(InputError, match="path"):
                use(path)
    assert os.listdir(tmp_path) == ["file"]
    (tmp_path / "file").chmod(0)
    with pytest.raises(ModelFileError, match="Permission denied" if os.geteuid() else "corrupted"):
        load(tmp_path / "file")


@cases("letter", ["x", "é", "😀"])
def test_longest_file_name(tmp_path, monkeypatch, letter):
    longest = os.pathconf(tmp_path, "PC_NAME_MAX")
    name = letter * (longest // len(letter.encode()))
    save(tmp_path / name, header={"a": 1})
    assert load(tmp_path / name)[1] == {"a": 1}
    monkeypatch.setattr(os, "fsync", lambda _: pytest.fail("it was written first"))
    with pytest.raises(ModelFileError, match="name too long"):
        save(tmp_path / (name + letter))
    assert os.listdir(tmp_path) == [name]


CHILD = f"""
import os, signal, sys, numpy as np
from opelda import _store
from opelda._replacing import remove_leftovers
path, step = sys.argv[1:]
replace = os.replace
def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)
if step == "asarray":
    np.asarray = kill
elif step == "after":
    os.replace = lambda *args: (replace(*args), kill())
elif step != "random":
    setattr(os, step, kill)
print("ready", flush=True)
for number in range(1, 10**9):
    data = {{"a": np.full(500_000, number)}}, {{"number": number}}
    _store.write(path, *data, kind={KIND!r}, version=1)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("step", ["asarray", "fsync", "replace", "after", *["random"] * 3])
def test_killed_writer_leaves_a_whole_file(tmp_path, step):
    save(tmp_path / "m", {"a": np.zeros(3)}, {"number": 0})
    command = [sys.executable, "-c", CHILD, tmp_path / "m", step]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        if step == "random":
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(random.uniform(0, 0.1))
            child.kill()
        assert child.wait() == -signal.SIGKILL
    arrays, header, _ = load(tmp_path / "m")
    assert (arrays["a"] == header["number"]).all()
    left = len(os.listdir(tmp_path)) - 1
    if step != "random":
        assert (header["number"], left) == ((1, 0) if step == "after" else (0, 1))
    assert remove_leftovers(tmp_path, "m") == left
    assert os.listdir(tmp_path) == ["m"]


def test_sweep_rejects_other_arguments(tmp_path, monkeypatch):
    stale, folder = ".m.0123456789abcdef.tmp", ".m.0000000000000000.tmp"
    kept = ["m", ".m.tmp", ".m.x.0123456789abcdef.tmp", ".mm.0123456789abcdef.tmp", stale + "x"]
    for name in [*kept, stale]:
        (tmp_path / name).touch()
    (tmp_path / folder).mkdir()
    assert remove_leftovers(tmp_path, "m") == 1
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, folder])
    assert remove_leftovers(tmp_path / "none", "m") == 0
    swept = []

    def fsync(_):
        swept.append(remove_leftovers(tmp_path, "m"))
        if len(swept) > 1:
            raise OSError(22, "folders cannot be synced here")

    monkeypatch.setattr(os, "fsync", fsync)
    save(tmp_path / "m", header={"a": 1})
    assert load(tmp_path / "m")[1] == {"a": 1}
    assert swept == [0, 0]  # a living writer's file stays


@cases(
    ("arrays", "header", "why"),
    [
        ({}, {"a": [0, {"b": np.nan}]}, "cannot be written as JSON: Out of range"),
        ({}, {"a": (1, 2)}, "sequences must be lists"),
        ({}, {"a": {1: 2}}, "keys must be strings"),
        ({}, {"a": {1}}, "cannot be written as JSON: .*set"),
        ({}, {"a": "\ud800"}, "surrogates"),
        ({}, {"a": "x" * 10**7}, "store large values in an array"),
        ({"a": np.zeros(1, "f2")}, {}, "'a' has type float16"),
        ({"a": np.array([None])}, {}, "'a' has type object"),
    ],
)
def test_unsupported_values_are_rejected(tmp_path, arrays, header, why):
    with pytest.raises(InputError, match=why):
        save(tmp_path / "m", arrays, header)
    assert os.listdir(tmp_path) == []
