"""Engines, where kernels run: they own documents and topics and are asked in coarse steps.

The only package that knows native code; docs/architecture.md has the seam in one table.

Examples
--------
>>> from opelda.engines import CPUEngine, get_engine
>>> get_engine("cpu", n_jobs=1)
CPUEngine(n_threads=1)
"""

from typing import Any

from opelda._names import ENGINES
from opelda._validation import threads
from opelda.engines._cpu import CPUEngine
from opelda.engines._engine import Engine
from opelda.engines._reference import ReferenceEngine
from opelda.errors import EngineError, InputError

__all__ = ["CPUEngine", "Engine", "ReferenceEngine", "get_engine"]


def get_engine(engine: str | Engine = "cpu", n_jobs: int | None = None) -> Any:
    """Return the engine of that name, made for so many threads; an engine object as it is.

    Parameters
    ----------
    engine : {"cpu", "reference"} or Engine
        "cpu": native kernels on this machine's processor; "reference": plain NumPy in double
        precision, slow, what the others are tested against.
    n_jobs : int or None
        Threads of an engine that is given by name; an object has its own.

    Examples
    --------
    >>> get_engine("reference").name
    'reference'
    """
    if not isinstance(engine, str):
        if isinstance(engine, type) or not callable(getattr(engine, "random_weights", None)):
            raise InputError(f"must be a name or an engine, got {engine!r}.", "engine")
        return engine
    if n_jobs is not None:
        threads(n_jobs)  # complains of it by its own name
    if engine == "cpu":
        return CPUEngine(n_jobs)
    if engine == "reference":
        return ReferenceEngine()
    raise EngineError(f"There is no engine {engine!r}; choose {' or '.join(map(repr, ENGINES))}.")
