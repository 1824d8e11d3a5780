"""What the tests of engines share."""

import pytest

from opelda.engines import CPUEngine
from opelda.errors import EngineError


@pytest.fixture(params=["base", "avx2", "avx512"])
def every_instruction_set(request):
    """Run the test once with each instruction set that this processor has."""
    engine = CPUEngine()
    best = engine.instruction_set
    try:
        engine.use_instruction_set(request.param)
    except EngineError:
        pytest.skip(f"this processor has no {request.param}")
    assert engine.instruction_set == request.param
    yield request.param
    engine.use_instruction_set(best)
