"""Documents in: files and texts to words, words to columns, mini-batches of counts.

Examples
--------
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

if TYPE_CHECKING:
    from opelda.corpus._batches import DocumentStream, MiniBatch, mini_batches
    from opelda.corpus._corpus import Corpus
    from opelda.corpus._docstrings import docstrings
    from opelda.corpus._duplicates import near_duplicates
    from opelda.corpus._new_items import NOTHING
    from opelda.corpus._read import read
    from opelda.corpus._stream import Stream, stream
    from opelda.corpus._synthetic import Generated, generate, generate_stream
    from opelda.corpus._vocabulary import Vocabulary
    from opelda.corpus._word_columns import VocabularyChange
    from opelda.corpus.formats import FORMATS
    from opelda.corpus.formats._text_columns import group_column, time_column
    from opelda.corpus.text import COUNT_VECTORIZER, WHITESPACE, Tokenizer, stop_words_from

# imported on first use: the list of formats alone needs neither SciPy nor polars
_LAZY = {
    "_batches": ("DocumentStream", "MiniBatch", "mini_batches"),
    "_new_items": ("NOTHING",),
    "_corpus": ("Corpus",),
    "_docstrings": ("docstrings",),
    "_duplicates": ("near_duplicates",),
    "_read": ("read",),
    "_stream": ("Stream", "stream"),
    "_synthetic": ("Generated", "generate", "generate_stream"),
    "_vocabulary": ("Vocabulary",),
    "_word_columns": ("VocabularyChange",),
    "formats": ("FORMATS",),
    "formats._text_columns": ("group_column", "time_column"),
    "text": ("COUNT_VECTORIZER", "WHITESPACE", "Tokenizer", "stop_words_from"),
}

__all__ = [
    "COUNT_VECTORIZER",
    "FORMATS",
    "NOTHING",
    "WHITESPACE",
    "Corpus",
    "DocumentStream",
    "Generated",
    "MiniBatch",
    "Stream",
    "Tokenizer",
    "Vocabulary",
    "VocabularyChange",
    "docstrings",
    "generate",
    "generate_stream",
    "group_column",
    "mini_batches",
    "near_duplicates",
    "read",
    "stop_words_from",
    "stream",
    "time_column",
]


def __getattr__(name: str) -> Any:
    for module, names in _LAZY.items():
        if name in names:
            return getattr(import_module(f"opelda.corpus.{module}"), name)
    raise AttributeError(f"module 'opelda.corpus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
