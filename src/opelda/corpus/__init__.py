"""Documents in: files and texts to words, words to columns, mini-batches of counts.

Examples
--------
>>> from opelda.corpus import Vocabulary, read, stream
>>> read(["the cat sat", "the dog sat", "a cat and a dog"]).words
('cat', 'dog', 'sat')
>>> vocabulary = Vocabulary(growing=True)
>>> texts = ["the cat sat", "the dog sat", "a cow and a dog"]
>>> [batch.X.shape for batch in stream(texts, batch_size=2, vocabulary=vocabulary)]
[(2, 3), (1, 4)]
>>> from opelda.corpus import ABSTRACTS
>>> read(ABSTRACTS, limit=1_000, metadata="auto").metadata.columns
['date', 'category']
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opelda.corpus._biterms import Biterms
    from opelda.corpus._corpus import Corpus
    from opelda.corpus._corpus import DocumentStream as DocumentStream
    from opelda.corpus._corpus import MiniBatch as MiniBatch
    from opelda.corpus._read import near_duplicates, read
    from opelda.corpus._replay import NOTHING
    from opelda.corpus._stream import Stream as Stream
    from opelda.corpus._stream import mini_batches as mini_batches
    from opelda.corpus._stream import stream
    from opelda.corpus._synthetic import generate, generate_stream
    from opelda.corpus._vocabulary import Vocabulary
    from opelda.corpus.text import Tokenizer
    from opelda.corpus.text import stop_words_from as stop_words_from

# imported on first use: reading needs polars, a learner's own counts do not
_LAZY = {
    "_biterms": ("Biterms",),
    "_corpus": ("Corpus", "DocumentStream", "MiniBatch"),
    "_replay": ("NOTHING",),
    "_read": ("near_duplicates", "read"),
    "_stream": ("Stream", "mini_batches", "stream"),
    "_synthetic": ("generate", "generate_stream"),
    "_vocabulary": ("Vocabulary",),
    "text": ("Tokenizer", "stop_words_from"),
}

ABSTRACTS = Path(__file__).parent / "arxiv" / "abstracts.jsonl.xz"
"""The file of 4,000 abstracts from arXiv that opelda brings along, public domain (CC0).

JSON Lines with the keys id, date, category (ten of them), title and text, in random order.
"""

__all__ = [
    "ABSTRACTS",
    "NOTHING",
    "Biterms",
    "Corpus",
    "Tokenizer",
    "Vocabulary",
    "generate",
    "generate_stream",
    "near_duplicates",
    "read",
    "stream",
]


def __getattr__(name: str) -> Any:
    for module, names in _LAZY.items():
        if name in names:
            return getattr(import_module(f"opelda.corpus.{module}"), name)
    raise AttributeError(f"module 'opelda.corpus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
