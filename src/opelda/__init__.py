"""Fast and certified topic models.

>>> from opelda import OnlineOPE
>>> from opelda.corpus import generate
>>> X = generate(500, n_words=60, n_topics=3, separated=True).X
>>> model = OnlineOPE(n_components=3, batch_size=100, random_state=0).fit(X)
>>> model.transform(X).shape
(500, 3)
"""

import logging
from importlib import import_module
from typing import Any

from opelda._names import LEARNERS

# a library writes to its log and leaves it to the program what becomes of that
logging.getLogger("opelda").addHandler(logging.NullHandler())

# imported on first use: `import opelda` alone stays quick
_SUBPACKAGES = (
    "corpus", "engines", "errors", "inference", "learning", "metrics", "optimize", "report",
    "selection", "serve", "spark",
)  # fmt: skip
_PLACES = dict.fromkeys((*LEARNERS, "TopicModel", "TopicClassifier"), "opelda.learning")
_PLACES |= dict.fromkeys(("follow", "load", "save"), "opelda.model_file")

__all__ = [*_SUBPACKAGES, *_PLACES]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("opelda")
    if name in _SUBPACKAGES:
        return import_module(f"opelda.{name}")
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'opelda' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
