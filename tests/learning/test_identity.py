"""Generated jobs: threads, processes, hash seeds, splits and stops change no byte."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from opelda.engines import CPUEngine
from opelda.errors import EngineError
from opelda.inference import infer
from tests.learning.identity import METHODS, drawn

ROOT = Path(__file__).parents[2]


def digests(way, hash_seed, n_jobs):
    command = [sys.executable, "-m", "tests.learning.identity", way, "0", str(n_jobs)]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def check_jobs(n_jobs):
    ways = [digests("first", "1", n_jobs), digests("second", "271828", n_jobs)]
    (first, said), (second, also_said) = (way.communicate() for way in ways)
    assert [way.returncode for way in ways] == [0, 0], (said + also_said).decode()[-3000:]
    first, second = first.decode().splitlines(), second.decode().splitlines()
    assert len(first) == n_jobs
    assert [(a, b) for a, b in zip(first, second, strict=True) if a != b] == []
    assert len({line.split()[2] for line in first}) == n_jobs


def test_threads_parts_and_stops_give_identical_bytes():
    check_jobs(20)


@pytest.mark.heavy
def test_threads_parts_and_stops_give_identical_bytes_at_length():
    check_jobs(1000)


def apart(n_jobs):
    """Return by how much mixtures differ between instruction sets, for each document."""
    engine = CPUEngine(1)
    best, found = engine.instruction_set, []
    try:
        for number in range(n_jobs):
            X, options, _, rng = drawn(number)
            topics = rng.dirichlet(np.full(X.shape[1], 0.1), options["n_components"])
            mixtures = []
            for name in ("base", "avx2", "avx512"):
                try:
                    engine.use_instruction_set(name)
                except EngineError:  # the processor lacks this instruction set
                    continue
                method = METHODS[number % len(METHODS)](20)
                mixtures.append(infer(X, topics, method=method, random_state=0).theta)
            found += [np.ptp(mixtures, axis=0).max(axis=1)]
    finally:
        engine.use_instruction_set(best)
    return np.concatenate(found)


def check_instruction_sets(n_jobs):
    """docs/inference.md: within 1e-5 but where topics tie, which then are as good."""
    assert (apart(n_jobs) < 1e-5).mean() > 0.99


def test_instruction_sets_agree_within_the_tolerance():
    check_instruction_sets(16)


@pytest.mark.heavy
def test_instruction_sets_agree_within_the_tolerance_at_length():
    check_instruction_sets(1000)
