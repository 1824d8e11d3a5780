"""Documents in: files and texts to words, words to columns, mini-batches of counts.

>>> from opelda.corpus import Vocabulary, mini_batches, read
>>> read(["the cat sat", "the dog sat", "a cat and a dog"]).words
('cat', 'dog', 'sat')
>>> vocabulary = Vocabulary(growing=True)
>>> texts = ["the cat sat", "the dog sat", "a cow and a dog"]
>>> [batch.X.shape for batch in mini_batches(texts, batch_size=2, vocabulary=vocabulary)]
[(2, 3), (1, 4)]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from opelda.corpus._batches import MiniBatch, mini_batches
from opelda.corpus._change import VocabularyChange
from opelda.corpus._corpus import Corpus
from opelda.corpus._synthetic import Generated, generate
from opelda.corpus._synthetic_stream import generate_stream
from opelda.corpus._vocabulary import Vocabulary
from opelda.corpus.text import COUNT_VECTORIZER, WHITESPACE, Tokenizer, stop_words_from

if TYPE_CHECKING:
    from opelda.corpus._read import read
    from opelda.corpus._stream import Stream, stream
    from opelda.corpus.formats import FORMATS
    from opelda.corpus.packages import docstrings

# what reads files, and with it polars, is imported on first use
_LAZY = {
    "FORMATS": "formats",
    "Stream": "_stream",
    "docstrings": "packages",
    "read": "_read",
    "stream": "_stream",
}

__all__ = [
    "COUNT_VECTORIZER",
    "FORMATS",
    "WHITESPACE",
    "Corpus",
    "Generated",
    "MiniBatch",
    "Stream",
    "Tokenizer",
    "Vocabulary",
    "VocabularyChange",
    "docstrings",
    "generate",
    "generate_stream",
    "mini_batches",
    "read",
    "stop_words_from",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"opelda.corpus.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'opelda.corpus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
