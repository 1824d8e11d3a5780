"""A Spark stream whose driver or executors are killed ends with the bytes of one that was not."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import opelda

from .made import texts
from .processes import executors_of, kill

SCRIPT = Path(__file__).with_name("kill_stream.py")
FILE = "checkpoint.opelda"
N_FILES, N_DOCS = 12, 600
CLUSTER = "local-cluster[2,1,1024]"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A folder of files, one for each micro-batch."""
    folder = tmp_path_factory.mktemp("source")
    every = texts(N_DOCS)
    for number in range(N_FILES):
        path = folder / f"{number}.txt"
        path.write_text("\n".join([*every[number::N_FILES], f"novel{number}"]))
        os.utime(path, (10**9 + number, 10**9 + number))
    return folder


class Stream:
    """The script, in a process group of its own, begun to learn."""

    def __init__(self, master, source, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", SCRIPT, master, source, folder],
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"

    def ends_within(self, seconds):
        try:
            assert self.process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self):
        """Kill the driver, Python and Java; executors end without it."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.mark.parametrize(
    ("n_kills", "master"), [(3, "local[2]"), pytest.param(100, CLUSTER, marks=pytest.mark.heavy)]
)
def test_killed_at_random_and_started_again(tmp_path, source, n_kills, master):
    started = Stream(master, source, tmp_path / "whole"), time.perf_counter()
    assert started[0].ends_within(None)
    duration = time.perf_counter() - started[1]
    whole = (tmp_path / "whole" / FILE).read_bytes()
    assert opelda.load(tmp_path / "whole").n_docs_seen_ == N_DOCS + N_FILES
    struck, n_rounds, seen = Counter(), 0, 0
    while struck.total() < n_kills:
        folder = tmp_path / str(n_rounds)
        n_rounds, done, seen = n_rounds + 1, False, 0
        while not done:
            stream = Stream(master, source, folder)
            while not (done := stream.ends_within(random.uniform(0, duration / 2))):
                if struck.total() == n_kills:
                    continue
                if executors := random.choice([[], executors_of(stream.process.pid)]):
                    kill(random.choice(executors))
                    struck["executor"] += 1
                    continue
                stream.kill()
                struck["driver"] += 1
                if (folder / FILE).exists():  # it is whole, and nothing is ever unlearned
                    before, seen = seen, opelda.load(folder).n_docs_seen_
                    assert before <= seen <= N_DOCS + N_FILES
                break
        assert (folder / FILE).read_bytes() == whole
    print(f"{struck.total()} kills in {n_rounds} streams: {dict(struck)}")
