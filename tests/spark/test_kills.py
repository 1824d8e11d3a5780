"""A Spark stream with killed drivers or executors ends with identical bytes."""

import json
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
    """Write a folder of files, one per micro-batch."""
    every = texts(N_DOCS)
    files = [[*every[number::N_FILES], f"novel{number}"] for number in range(N_FILES)]
    return write(tmp_path_factory.mktemp("source"), files)


def write(folder, files):
    for number, lines in enumerate(files):
        path = folder / f"{number}.txt"
        path.write_text("\n".join(lines))
        os.utime(path, (10**9 + number, 10**9 + number))
    return folder


class Stream:
    """Start the script in its own process group and wait until it learns."""

    def __init__(self, master, source, folder, *dies_after):
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", SCRIPT, master, source, folder, *dies_after],
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
        """Kill the driver, Python and Java; its executors then exit."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Undisturbed:
    """Bytes that a stream ends with that nobody kills, by its micro-batches.

    They are one file each, but for a kill after Spark noted a file and before it noted the
    micro-batch: it then puts the next file into the same one.
    """

    def __init__(self, master, source, folder):
        self.master, self.source, self.folder = master, source, folder
        self.known = {}

    def __getitem__(self, batches):
        if batches not in self.known:
            folder = self.folder / str(len(self.known))
            (folder / "source").mkdir(parents=True)
            files = [
                [line for name in names for line in (self.source / name).read_text().splitlines()]
                for names in batches
            ]
            whole = Stream(self.master, write(folder / "source", files), folder / "whole")
            ready = time.perf_counter()
            assert whole.ends_within(None)
            self.seconds = time.perf_counter() - ready
            assert opelda.load(folder / "whole").n_docs_seen_ == N_DOCS + N_FILES
            self.known[batches] = (folder / "whole" / FILE).read_bytes()
        return self.known[batches]


def micro_batches(folder):
    """Return the file names of each micro-batch in Spark's log."""
    batches = {}
    ends = {
        int(path.name): json.loads(path.read_text().splitlines()[-1])["logOffset"]
        for path in (folder / "spark" / "offsets").glob("[0-9]*")
    }
    for path in (folder / "spark" / "sources" / "0").glob("[0-9]*"):
        for entry in map(json.loads, path.read_text().splitlines()[1:]):
            number = min(number for number, end in ends.items() if entry["batchId"] <= end)
            batches.setdefault(number, set()).add(Path(entry["path"]).name)
    return tuple(tuple(sorted(batches[number])) for number in sorted(batches))


@pytest.mark.parametrize(
    ("n_kills", "master"), [(2, "local[2]"), pytest.param(100, CLUSTER, marks=pytest.mark.heavy)]
)
def test_randomly_killed_stream_resumes_without_loss(tmp_path, source, n_kills, master):
    undisturbed = Undisturbed(master, source, tmp_path / "undisturbed")
    one_each = tuple((f"{number}.txt",) for number in range(N_FILES))
    assert undisturbed[one_each]
    struck, n_rounds = Counter(), 0
    while struck.total() < n_kills:
        folder = tmp_path / str(n_rounds)
        stream = Stream(master, source, folder, str(random.randrange(N_FILES)))
        assert stream.process.wait() == -signal.SIGKILL
        struck["after the model's commit"] += 1
        n_rounds, done = n_rounds + 1, False
        seen = opelda.load(folder).n_docs_seen_
        while not done:
            stream = Stream(master, source, folder)
            while not (done := stream.ends_within(random.uniform(0, undisturbed.seconds / 2))):
                if struck.total() == n_kills:
                    continue
                if executors := random.choice([[], executors_of(stream.process.pid)]):
                    kill(random.choice(executors))
                    struck["executor"] += 1
                    continue
                stream.kill()
                struck["driver"] += 1
                before, seen = seen, opelda.load(folder).n_docs_seen_  # the file is complete,
                assert before <= seen <= N_DOCS + N_FILES  # and the number of documents never falls
                break
        assert (folder / FILE).read_bytes() == undisturbed[micro_batches(folder)]
    print(
        f"{struck.total()} kills in {n_rounds} streams, {len(undisturbed.known)} ways to cut "
        f"them: {dict(struck)}"
    )
