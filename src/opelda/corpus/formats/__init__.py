"""File formats: a module each, all of them read and written the same way.

>>> FORMATS["jsonl"].summary
'JSON Lines, the text under a key of an object a line'
"""

from opelda.corpus.formats._detect import detect, expand
from opelda.corpus.formats._files import Input
from opelda.corpus.formats._format import Format, Options
from opelda.corpus.formats._known import FORMATS
from opelda.corpus.formats._vocab import escape, unescape
from opelda.corpus.formats._vocab import read as read_vocabulary

__all__ = [
    "FORMATS",
    "Format",
    "Input",
    "Options",
    "detect",
    "escape",
    "expand",
    "read_vocabulary",
    "unescape",
]
