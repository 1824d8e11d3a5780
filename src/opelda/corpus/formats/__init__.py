"""File formats: a module each, all of them read and written the same way.

>>> FORMATS["jsonl"].summary
'JSON Lines, the text under a key of an object a line'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from opelda.corpus.formats._registry import FORMATS, Format, Options

if TYPE_CHECKING:
    from opelda.corpus.formats._detect import detect, expand
    from opelda.corpus.formats._input import Input
    from opelda.corpus.formats._vocab import read_vocabulary

# the registry is cheap to import; what opens files comes on first use
_LAZY = {
    "Input": "_input",
    "detect": "_detect",
    "expand": "_detect",
    "read_vocabulary": "_vocab",
}

__all__ = [
    "FORMATS",
    "Format",
    "Input",
    "Options",
    "detect",
    "expand",
    "read_vocabulary",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"opelda.corpus.formats.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'opelda.corpus.formats' has no attribute {name!r}")
