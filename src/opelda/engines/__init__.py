"""Where kernels run. The only package that knows native code; see docs/architecture.md."""

from opelda.engines._cpu import CPUEngine
from opelda.engines._engine import Batch, Certificate, Engine, Solution
from opelda.errors import EngineError

__all__ = ["Batch", "CPUEngine", "Certificate", "Engine", "Solution", "get_engine"]


def get_engine(name: str = "cpu") -> Engine:
    """Return the engine of that name.

    >>> get_engine("cpu").name
    'cpu'
    """
    if name == "cpu":
        return CPUEngine()
    raise EngineError(f"There is no engine {name!r}; choose 'cpu'.")
