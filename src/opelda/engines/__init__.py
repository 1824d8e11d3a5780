"""Where kernels run. The only package that knows native code; see docs/architecture.md."""

from opelda.engines._cpu import MANY_TOPICS, CPUEngine, aligned_empty, coarse_rows, gather
from opelda.engines._engine import (
    EVERYTHING,
    Batch,
    ByWord,
    Certificate,
    Engine,
    Kept,
    Picks,
    Solution,
    Wanted,
    row_width,
)
from opelda.engines._tokens import Tokens
from opelda.errors import EngineError

__all__ = [
    "EVERYTHING",
    "MANY_TOPICS",
    "Batch",
    "ByWord",
    "CPUEngine",
    "Certificate",
    "Engine",
    "Kept",
    "Picks",
    "Solution",
    "Tokens",
    "Wanted",
    "aligned_empty",
    "coarse_rows",
    "gather",
    "get_engine",
    "row_width",
]


def get_engine(name: str = "cpu") -> Engine:
    """Return the engine of that name.

    >>> get_engine("cpu").name
    'cpu'
    """
    if name == "cpu":
        return CPUEngine()
    raise EngineError(f"There is no engine {name!r}; choose 'cpu'.")
