"""Invariants of the kernels are checked in builds for the sanitizers (native/checked.hpp)."""

import subprocess
import sys

import pytest

from opelda import _native

BROKEN = """
import numpy as np
from scipy import sparse
from opelda.engines import CPUEngine

engine, alpha = CPUEngine(1), np.full(50, 0.1)
X = sparse.csr_array(np.random.default_rng(0).poisson(1.0, (30, 20)).astype(np.float32))
tokens = engine.tokens(engine.documents(X), 50)
counts = engine.sweep(engine.random_weights(20, 50, 0.1, 0), tokens, alpha, seed=1)
counts = engine.sweep(None, tokens, alpha, counts=counts, prior=0.1, seed=2)
tokens.z[:] = (tokens.z + 7) % 50  # topics that are not among the documents' slots
engine.sweep(None, tokens, alpha, counts=counts, prior=0.1, seed=3)
"""


@pytest.mark.skipif(not getattr(_native, "checked", False), reason="invariants are not checked")
def test_invariant_violation_aborts_with_its_file():
    run = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True)
    assert run.returncode != 0
    assert "slots.hpp" in run.stderr
    assert "broken: n_slots" in run.stderr
