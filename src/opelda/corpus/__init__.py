"""Documents in: words to columns, mini-batches of counts with a position to resume from.

>>> from opelda.corpus import Vocabulary, mini_batches
>>> vocabulary = Vocabulary(growing=True)
>>> texts = ["the cat sat", "the dog sat", "a cat and a dog"]
>>> [batch.X.shape for batch in mini_batches(texts, batch_size=2, vocabulary=vocabulary)]
[(2, 4), (1, 5)]
"""

from opelda.corpus._batches import MiniBatch, mini_batches
from opelda.corpus._change import VocabularyChange
from opelda.corpus._synthetic import Generated, generate
from opelda.corpus._synthetic_stream import generate_stream
from opelda.corpus._vocabulary import Vocabulary

__all__ = [
    "Generated",
    "MiniBatch",
    "Vocabulary",
    "VocabularyChange",
    "generate",
    "generate_stream",
    "mini_batches",
]
