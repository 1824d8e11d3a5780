"""A model behind HTTP: texts in, mixtures with labels and certificates out.

Functions
---------
app               an ASGI application, for `opelda serve` or any server of your own

It needs Starlette, and `opelda serve` runs it under uvicorn: ``pip install 'opelda[serve]'``.
docs/howto/serving.md shows how.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda.serve._application import app

__all__ = ["app"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return part("_application").app


def __dir__() -> list[str]:
    return __all__


def part(module: str) -> Any:
    """Return a module of this package, or say how to install the packages that it needs."""
    try:
        return import_module(f"{__name__}.{module}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("opelda"):
            raise
        package = error.name.partition(".")[0]
        raise InputError(
            f"Serving needs {package}, which is not installed; run pip install 'opelda[serve]'."
        ) from None
