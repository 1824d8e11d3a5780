"""Topics on Spark: a replacement of MLlib's `LDA`, with the same topics as on one machine.

It takes pyspark 4.1 or later: ``pip install 'opelda[spark]'``; docs/howto/spark.md shows how.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from opelda.errors import EngineError

if TYPE_CHECKING:
    from opelda.spark._estimator import LDA
    from opelda.spark._model import LDAEvaluator, LDAModel
    from opelda.spark._session import session
    from opelda.spark._structured_streaming import learn

__all__ = ["LDA", "LDAEvaluator", "LDAModel", "learn", "session"]
_MODULES = "_estimator", "_model", "_model", "_structured_streaming", "_session"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_MODULES[__all__.index(name)]}")
    except ModuleNotFoundError as error:
        if error.name not in ("pyspark", "pyarrow"):
            raise
        raise EngineError(
            f"opelda.spark needs {error.name}, which is not installed; run pip install "
            "'opelda[spark]'."
        ) from None
    return getattr(module, name)


def __dir__() -> list[str]:
    return __all__
