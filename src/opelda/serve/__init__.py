"""A model behind HTTP: texts in, mixtures with labels and certificates out.

Functions
---------
app               an ASGI application, for `opelda serve` or any server of your own

It needs nothing but the package; `opelda serve` runs it under uvicorn: ``pip install
'opelda[serve]'``. docs/serving.md shows how.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opelda.serve._application import app

__all__ = ["app"]


def __getattr__(name: str) -> Any:
    if name == "app":
        from opelda.serve._application import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
