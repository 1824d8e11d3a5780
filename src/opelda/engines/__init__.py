"""Engines, where kernels run: they own documents and topics, and answer a few large requests.

The only package that knows native code; docs/architecture.md has the seam in one table.

Examples
--------
>>> from opelda.engines import get_engine
>>> get_engine("cpu", n_jobs=1)
CPUEngine(n_threads=1)
"""

from typing import Any

from opelda._names import ENGINES
from opelda._native import watched as watched  # interruptible native calls: `serve` bounds them
from opelda._validation import threads
from opelda.engines._reference import ReferenceEngine as ReferenceEngine
from opelda.engines.cpu._engine import CPUEngine as CPUEngine
from opelda.engines.seam import Engine as Engine
from opelda.engines.seam import Weights
from opelda.errors import EngineError, InputError

__all__ = ["get_engine"]


# Work from which on "auto" takes a GPU: some 1,700 abstracts by `preset="best"`, for which 16 cores
# take 1.2 s and an H200 0.4 s, and 0.4 s to start (python -m benchmarks.gpu --only auto).
LEAST_WORK = 1e7
# The sweeps that a pass of updates counts as, and one inference: copies take most of its time.
A_PASS, AN_INFERENCE = 10, 0.1


def get_engine(
    engine: str | Engine = "cpu",
    n_jobs: int | None = None,
    work: float = 0.0,
    weights: Weights | None = None,
) -> Any:
    """Return the engine of a name, or an engine object unchanged.

    Parameters
    ----------
    engine : {"cpu", "cuda", "auto", "reference"} or Engine
        "cpu": native kernels on the CPU; "cuda": an NVIDIA GPU through CuPy ("cuda:1" is the second
        GPU); "auto": a GPU if one is present and the work is large enough, else the CPU;
        "reference": plain NumPy in double precision, slow, the oracle of the tests.
    n_jobs : int or None
        Number of threads of an engine selected by name.
    work : float
        The known amount of work: entries of the documents times sweeps.
    weights : Weights or None
        The topics of the work: "auto" leaves topics on a GPU there.

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
        threads(n_jobs)  # the error names the parameter
    if engine == "auto":
        stays = weights is not None and weights.owner.startswith("cuda")
        return _found(n_jobs) if stays or work >= LEAST_WORK else CPUEngine(n_jobs)
    if engine == "cpu":
        return CPUEngine(n_jobs)
    if engine == "reference":
        return ReferenceEngine()
    name, _, number = engine.partition(":")
    if name == "cuda" and (engine == name or number.isdecimal()):
        return _cuda_engine(int(number or 0), n_jobs)
    *names, last = map(repr, ENGINES)
    raise EngineError(f"Unknown engine {engine!r}; choose {', '.join(names)} or {last}.")


def _cuda_engine(number: int, n_jobs: int | None) -> Any:
    from opelda.engines.cuda._engine import CudaEngine  # a large import

    return CudaEngine(number, n_jobs)


def _found(n_jobs: int | None) -> Any:
    """Return the first GPU's engine, or the processor's, and log once which."""
    from opelda.engines.cuda._device import tell

    try:
        engine = _cuda_engine(0, n_jobs)
    except EngineError as error:
        tell(f"engine='auto' selects the CPU. {error}")
        return CPUEngine(n_jobs)
    tell(f"engine='auto' selects the GPU {engine.device.title}.")
    return engine
