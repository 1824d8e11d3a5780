"""The engines under test, their tolerances against the reference, and instruction sets."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest

from opelda.engines import CPUEngine, Engine, ReferenceEngine, get_engine
from opelda.errors import EngineError


@dataclass(frozen=True)
class Tested:
    """An engine and what rounding may do to it.

    Attributes
    ----------
    make : function
    rtol : float
        Of a weight or a probability after one update.
    theta : float
        Of a share of a mixture, absolute.
    gap : float
        Of a gap, relative and absolute.
    others : float
        The part of documents, or of tokens, where rounding may decide between two topics.
    n_documents : int
        Number of documents in tests of frequencies.
    """

    make: Callable[[], Engine]
    rtol: float
    theta: float
    gap: float
    others: float
    n_documents: int


SINGLE = {"rtol": 2e-6, "theta": 1e-5, "gap": 1e-3, "others": 0.07, "n_documents": 40_000}
DOUBLE = {"rtol": 1e-10, "theta": 1e-10, "gap": 1e-9, "others": 0.0, "n_documents": 600}
ENGINES = {
    "cpu, 1 thread": Tested(lambda: CPUEngine(1), **SINGLE),
    "cpu, 3 threads": Tested(lambda: CPUEngine(3), **SINGLE),
    "reference": Tested(ReferenceEngine, **DOUBLE),
    "cuda": Tested(lambda: get_engine("cuda"), **SINGLE),
}


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.cuda] * (name == "cuda")) for name in ENGINES]
)
def tested(request):
    """Run the test once for each engine."""
    if request.param == "cuda" and no_gpu() is not None:
        pytest.skip(no_gpu())
    return ENGINES[request.param]


@cache
def no_gpu():
    """Return why the CUDA engine is unavailable, or None."""
    try:
        get_engine("cuda")
    except EngineError as error:
        return str(error)
    return None


@pytest.fixture
def engine(tested):
    """The engine itself."""
    return tested.make()


@pytest.fixture(params=["base", "avx2", "avx512"])
def every_instruction_set(request):
    """Run the test once with each instruction set that this processor has."""
    engine = CPUEngine(1)
    best = engine.instruction_set
    try:
        engine.use_instruction_set(request.param)
    except EngineError:
        pytest.skip(f"this processor has no {request.param}")
    assert engine.instruction_set == request.param
    yield request.param
    engine.use_instruction_set(best)
