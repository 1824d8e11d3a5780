"""Checkpoint folders: locking, damaged files and unusable paths."""

import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

import opelda
from opelda import _store
from opelda.errors import InputError, ModelFileError
from opelda.learning.persistence._stored_model import FORMAT, KIND, checksum
from tests.learning.test_checkpoints import FILE, MATRICES, X, made, run


def test_second_run_in_a_folder_is_rejected(tmp_path):
    code = (
        "import sys, opelda, numpy as np\n"
        "opelda.OnlineOPE(3).fit_stream([np.ones((2, 20))], checkpoint=sys.argv[1])"
    )

    def source():
        yield from MATRICES[:3]
        with pytest.raises(ModelFileError, match="in use by another run"):
            made().fit_stream(MATRICES, checkpoint=tmp_path)
        other = subprocess.run(
            [sys.executable, "-c", code, tmp_path], capture_output=True, text=True
        )
        assert "in use by another run" in other.stderr
        yield from MATRICES[3:]

    made().fit_stream(source(), checkpoint=tmp_path, every=1)
    assert (tmp_path / FILE).read_bytes() == run(tmp_path / "whole", MATRICES, [])


def test_leftovers_of_a_killed_run_are_removed(tmp_path):
    (tmp_path / f".{FILE}.0123456789abcdef.tmp").write_bytes(b"half")
    run(tmp_path, MATRICES, [4])


def test_damaged_checkpoints_are_rejected(tmp_path):
    whole = run(tmp_path, MATRICES, [])
    path = tmp_path / FILE
    for data in (b"", whole[:100], whole[:-1], whole[:-400] + whole[:400]):
        path.write_bytes(data)
        with pytest.raises(ModelFileError):
            made().fit_stream(MATRICES, checkpoint=tmp_path)
    path.write_bytes(whole)
    arrays, header, _ = _store.read(path, kind=KIND, newest=FORMAT)
    for name, value in (
        ("stream", None),
        ("stream", {"position": 3}),
        ("stream", {"position": 3, "seeks": 0}),
        ("parameters", []),
        ("parameters", {}),
        ("n_topics", 4),
    ):
        changed = header | {name: value}
        changed["checksum"] = checksum(arrays, changed)
        _store.write(path, arrays, changed, kind=KIND, version=FORMAT)
        with pytest.raises(ModelFileError):
            made().fit_stream(MATRICES, checkpoint=tmp_path)
    opelda.save(made().fit(X), path)
    with pytest.raises(ModelFileError, match="not a checkpoint"):
        made().fit_stream(MATRICES, checkpoint=tmp_path)


@contextmanager
def nobody():
    """Without the administrator's rights, who may write anywhere."""
    old = os.geteuid()
    if old == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(old)


@pytest.mark.skipif(os.name != "posix", reason="file modes")
def test_unusable_folders_are_rejected(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "locked").mkdir(mode=0o555)
    for place, why in (("file", "File exists"), ("file/x", "Not a directory")):
        with pytest.raises(ModelFileError, match=f"cannot be used: {why}; choose another folder"):
            made().fit_stream(MATRICES, checkpoint=tmp_path / place)
    with nobody(), pytest.raises(ModelFileError, match="cannot be used: Permission denied"):
        made().fit_stream(MATRICES, checkpoint=tmp_path / "locked")
    for place in (5, "a\0b", ["x"]):
        with pytest.raises(InputError, match="checkpoint"):
            made().fit_stream(MATRICES, checkpoint=place)


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links")
@pytest.mark.parametrize("there", [True, False])
def test_the_lock_is_never_a_link(tmp_path, there):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "state"
    if there:
        elsewhere.write_bytes(b"precious")
    folder.mkdir()
    (folder / ".lock").symlink_to(elsewhere)
    with pytest.raises(ModelFileError, match=r"cannot be used: \.lock is a symbolic link; choose"):
        made().fit_stream(MATRICES, checkpoint=folder)
    assert elsewhere.exists() == there
    assert os.listdir(folder) == [".lock"]
