"""Fast and certified topic models.

>>> import numpy as np
>>> from opelda.inference import infer
>>> topics = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
>>> result = infer(np.array([[5, 1, 0], [0, 1, 5]]), topics, random_state=0)
>>> result.theta.argmax(axis=1)
array([0, 1])
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_SUBPACKAGES = ("engines", "errors", "inference", "optimize")

__all__ = ["__version__", *_SUBPACKAGES]


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:  # imported on first use: `import opelda` alone stays quick
        return import_module(f"opelda.{name}")
    raise AttributeError(f"module 'opelda' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
