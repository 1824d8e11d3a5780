"""Commands under limits of memory, far too low to enough: a sentence or a success.

Of the address space (``ulimit -v``), and of what a container may have.
"""

import contextlib
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from opelda.cli._ending import sentence
from opelda.cli._memory import watched
from tests.cli.conftest import make_texts

resource = pytest.importorskip("resource")

COMMANDS = {
    "read": "convert texts.txt corpus.mtx",
    "fit": "fit texts.txt -k 5 -o new.opelda",
    "transform": "transform {model} texts.txt -o mixtures.parquet",
    "stream": "stream texts.txt -k 5 --checkpoint state",
    "look": "topics {model}",
    "report": "report {model} texts.txt -o page.html --no-stability",
}
CONTAINERS = [*range(20, 240, 20), 300, 400, 600, 1_000]
FEW, ENOUGH = [30, 100, 150, 250, 500, 900], 16_000
MANY = [*range(20, 400, 20), *range(400, 3_000, 50), 4_000, ENOUGH]


def run(process, tmp_path, model_file, name, megabytes, group=None):
    """Run a command that may have so much; return whether it succeeded."""

    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if group is None:
            resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, resource.RLIM_INFINITY))
        else:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    (tmp_path / "texts.txt").write_text("\n".join(make_texts(3_000)))
    words = COMMANDS[name].format(model=model_file).split()
    done = process(*words, preexec_fn=limit)
    where = f"{name} with {megabytes} MB: {done.stderr[-2000:]}"
    assert done.returncode in (0, 2), where  # a signal is a negative number, a surprise 1
    assert done.returncode == 0 or re.fullmatch(
        r"opelda: .*memory.*\.\n|opelda: .*address "
        r"space.*\.\n",
        done.stderr,
    ), where
    return done.returncode == 0


@pytest.mark.parametrize("megabytes", FEW)
def test_too_little_is_said_in_a_sentence(process, tmp_path, model_file, megabytes):
    assert not run(process, tmp_path, model_file, "fit", megabytes)


@pytest.mark.parametrize(("limit", "is_memory"), [(20 << 20, True), (8 << 30, False), (-1, False)])
def test_what_python_says_under_a_hopeless_limit_is_of_memory(monkeypatch, limit, is_memory):
    """Its parser, when nothing is left, finds fields missing that are there."""
    monkeypatch.setattr("opelda.corpus._address_space._limit", lambda: limit)
    said = sentence(ValueError("field 'target' is required for AnnAssign"))
    assert ("memory" in said) is is_memory
    assert "memory" not in sentence(FileNotFoundError(2, "No such file", "a.txt"))


@pytest.mark.heavy
@pytest.mark.parametrize("name", COMMANDS)
def test_every_limit_ends_in_a_sentence_or_a_success(process, tmp_path, model_file, name):
    say(name, {limit: run(process, tmp_path, model_file, name, limit) for limit in MANY})


@pytest.mark.heavy
@pytest.mark.parametrize("name", COMMANDS)
def test_every_limit_of_a_container_does_too(process, tmp_path, model_file, name):
    ends = {}
    with control_group() as (group, file):
        for limit in CONTAINERS:
            file.write_text(str(limit << 20))
            ends[limit] = run(process, tmp_path, model_file, name, limit, group)
    say(name, ends)


@contextlib.contextmanager
def control_group():
    """Make a control group, of either version, where we may; yield it and the file of its limit."""
    for root, name in ((".", "memory.max"), ("memory", "memory.limit_in_bytes")):
        group = Path("/sys/fs/cgroup", root, f"opelda-{os.getpid()}")
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if (group / name).exists():
                yield group, group / name
                return
        finally:
            group.rmdir()
    pytest.skip("no control groups can be made here")


def say(name, ends):
    assert ends[max(ends)]
    print(
        f"{name}: {len(ends)} limits, {sum(ends.values())} successes, from "
        f"{min(limit for limit, success in ends.items() if success)} MB on"
    )


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux has containers")
@pytest.mark.parametrize(("megabytes", "enough"), [(30, False), (100, False), (10_000, True)])
def test_a_container_s_limit_is_seen_before_it_is_reached(tmp_path, megabytes, enough):
    """With a limit that is made up, in place of what the system would say."""
    (tmp_path / "texts.txt").write_text("\n".join(make_texts(3_000)))
    code = (
        "import sys, opelda.cli._memory as memory; from opelda.cli import main; "
        f"memory.memory_limit = lambda: {megabytes << 20}; "
        "sys.exit(main('fit texts.txt -k 5 -o new.opelda --quiet'.split()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == (0 if enough else 2), done.stderr
    assert (tmp_path / "new.opelda").exists() == enough
    said = rf"opelda: The memory of {megabytes} MB that this container may have .*\.\n"
    assert re.fullmatch("" if enough else said, done.stderr)


def test_nobody_looks_when_the_command_has_ended(monkeypatch):
    monkeypatch.setattr("opelda.cli._memory.memory_limit", lambda: 2**59)
    before = set(threading.enumerate())
    with watched():
        looking = set(threading.enumerate()) - before
        assert len(looking) == Path("/proc/self/statm").exists()
    for thread in looking:
        thread.join(60)
        assert not thread.is_alive()
