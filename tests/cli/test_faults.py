"""Every system call of a save fails once: the old or the new file remains, with one error."""

import errno
import random
import re

import pytest

import opelda
from tests.cli.disturbed import (
    CREATE,
    EVERY,
    FAIL,
    REMOVE,
    RENAME,
    ROWS,
    SHORTEN,
    SYNC,
    WRITE,
    Case,
)

# kinds of calls, the error, whether it lasts
FAULTS = {
    "one call fails": (EVERY, errno.EIO, False),
    "one finds the disk full": (CREATE | WRITE | SYNC | RENAME, errno.ENOSPC, False),
    "the disk is full": (CREATE | WRITE | SYNC, errno.ENOSPC, True),
    "the disk is read-only": (CREATE | WRITE | SYNC | RENAME | REMOVE, errno.EROFS, True),
}
# a file that cannot be removed, or whose folder cannot be read, stays
REMOVING = re.compile(r"unlink|unlinkat|rmdir|.* \(r\)")


def strike(case, fault, n):
    """Fail the n-th call and check the files; return its name, or None without such a call."""
    kinds, error, lasts = FAULTS[fault]
    case.restore()
    status, _, calls = case.run(kinds, n, FAIL, error, lasts)
    if len(calls) < n:
        assert status == 0
        return None
    where = f"{case.name}: {fault}, call {n}: {calls[n - 1]} of {calls}: {case.said()}"
    kept = (lasts and kinds & REMOVE) or REMOVING.fullmatch(calls[n - 1])
    found = case.finished() if kept else case.found()
    if status == 0:
        assert case.said() == "", where
        assert found == case.after, where
        return calls[n - 1]
    assert status in (1, 2), where
    assert re.fullmatch(r"opelda: .*\.\n", case.said()), where
    assert "unexpected" not in case.said(), where
    if case.name == "stream":  # committed files are complete, and the stream resumes
        for name in found:
            opelda.load(case.out / name)
        case.succeed()
        assert (case.finished() if kept else case.found()) == case.after, where
    elif kept:  # the old file cannot be restored
        assert found.items() <= case.before.items() or found.items() <= case.after.items(), where
    else:
        assert found in (case.before, case.after), where
    return calls[n - 1]


@pytest.mark.parametrize("name", ["fit", "stream", "convert to mm", "transform to npz"])
def test_some_failed_system_calls_keep_valid_files(faulty_server, tmp_path, name):
    case, chance = Case(faulty_server, tmp_path, name, replaces=True), random.Random(name)
    for fault in FAULTS:
        assert strike(case, fault, chance.randint(2, 5)) is not None


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "replaces"), ROWS)
def test_every_failed_system_call_keeps_valid_files(faulty_server, tmp_path, name, replaces):
    case, n_struck = Case(faulty_server, tmp_path, name, replaces), 0
    for fault in FAULTS:
        n = 1
        while strike(case, fault, n) is not None:
            n += 1
        n_struck += n - 1
    print(f"{name}: {n_struck} calls failed")


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "replaces"), ROWS)
def test_short_writes_are_completed(faulty_server, tmp_path, name, replaces):
    case = Case(faulty_server, tmp_path, name, replaces)
    case.restore()
    status, _, calls = case.run(WRITE, 1, SHORTEN, 0, True)
    assert status == 0, case.said()
    assert case.found() == case.after
    print(f"{name}: {len(calls)} writes")
