"""A stream killed at random moments resumes and ends with identical bytes."""

import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import opelda

SCRIPT = Path(__file__).with_name("kill_stream.py")
FILE = "checkpoint.opelda"
LEFT_OVER = re.compile(rf"\.{FILE}\.[0-9a-f]{{16}}\.tmp")


def start(folder, every):
    return subprocess.Popen([sys.executable, SCRIPT, folder, str(every)])


def killed(folder, every, seconds):
    """Run the stream and kill it after a delay; False if it finished first."""
    with start(folder, every) as process:
        try:
            assert process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait() != 0
    return False


def struck(folder):
    """Check that the files of a killed run are intact; return the phase it was in."""
    names = set(os.listdir(folder)) if folder.exists() else set()
    left = {name for name in names if LEFT_OVER.fullmatch(name)}
    assert names - left <= {".lock", ".times", FILE}
    assert len(left) <= 1  # each run removes leftovers of the previous run
    if FILE in names:
        model = opelda.load(folder / FILE)
        assert model.components_.sum(axis=1) == pytest.approx(1, abs=1e-4)
    if left:
        return "during a commit"
    return "between commits" if FILE in names else "before the first commit"


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("n_kills", [5, pytest.param(200, marks=pytest.mark.heavy)])
def test_randomly_killed_run_resumes_with_identical_bytes(tmp_path, n_kills):
    started = time.perf_counter()
    assert start(tmp_path / "whole", 2).wait() == 0
    duration = time.perf_counter() - started
    whole = (tmp_path / "whole" / FILE).read_bytes()
    counts = Counter()
    n_rounds = 0
    while counts.total() < n_kills:
        folder, every = tmp_path / str(n_rounds), 1 + n_rounds % 3
        n_rounds += 1
        while counts.total() < n_kills and killed(folder, every, random.uniform(0, duration)):
            counts[struck(folder)] += 1
        if not (folder / FILE).exists() or (folder / FILE).read_bytes() != whole:
            assert start(folder, every).wait() == 0
        assert (folder / FILE).read_bytes() == whole
        assert set(os.listdir(folder)) - {".times"} == {".lock", FILE}
    print(f"{counts.total()} kills in {n_rounds} streams: {dict(counts)}")
