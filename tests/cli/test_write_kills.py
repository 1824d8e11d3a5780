"""Commands killed at every writing system call, and randomly: complete files, no loss."""

import random

import pytest

import opelda
from tests.cli.disturbed import (
    CREATE,
    KILL,
    REMOVE,
    RENAME,
    ROWS,
    SYNC,
    TEAR,
    WRITE,
    Case,
)
from tests.cli.forking import KILLED

# before each changing call, and halfway through each write
STRIKES = {"before": (CREATE | WRITE | SYNC | RENAME | REMOVE, KILL), "within": (WRITE, TEAR)}


def check(case, where):
    """Check the files after a kill; run the command again if needed, and check its files."""
    found = case.finished()
    documents = {name for name in case.before if not name.endswith(".vocab")}
    assert documents <= set(found), where
    if case.name == "stream":
        for name in found:
            opelda.load(case.out / name)
    else:  # documents never get the vocabulary of other documents
        assert found.items() <= case.before.items() or found.items() <= case.after.items(), where
    if found != case.after:
        case.succeed()
        assert case.finished() == case.after, where


def strike(case, when, n):
    """Kill the command at its n-th call and check; return whether the call happened."""
    kinds, action = STRIKES[when]
    case.restore()
    status, _, calls = case.run(kinds, n, action, 0, False)
    if status != KILLED:
        assert (status, case.finished()) == (0, case.after), case.said()
        return False
    check(case, f"{case.name}: {when} call {n}: {calls}")
    return True


@pytest.mark.parametrize("name", ["stream", "convert to mm"])
def test_command_killed_at_some_system_calls(faulty_server, tmp_path, name):
    case, chance = Case(faulty_server, tmp_path, name, replaces=True), random.Random(name)
    assert strike(case, "within", 1)
    for _ in range(3):
        assert strike(case, "before", chance.randint(2, 12))


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "replaces"), ROWS)
def test_command_killed_at_every_system_call(faulty_server, tmp_path, name, replaces):
    case, n_kills = Case(faulty_server, tmp_path, name, replaces), 0
    for when in STRIKES:
        n = 1
        while strike(case, when, n):
            n += 1
        n_kills += n - 1
    print(f"{name}: {n_kills} kills")


def killed_at_random(case, n_kills, chance):
    case.restore()
    duration, n_killed = case.run()[1], 0
    while n_killed < n_kills:
        case.restore()
        status, seconds, _ = case.run(kill_after=chance.uniform(0, duration))
        if status == KILLED:
            n_killed += 1
            check(case, f"{case.name} after {seconds} s")
        else:  # most runs are killed, even if the first run was slow
            duration = min(duration, seconds)


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "replaces"), ROWS)
def test_command_killed_at_random(faulty_server, tmp_path, name, replaces):
    case = Case(faulty_server, tmp_path, name, replaces)
    killed_at_random(case, 20, random.Random(f"{name} {replaces}"))
