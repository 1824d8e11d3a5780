"""Texts to counts of words.

>>> from opelda.corpus.text import Tokenizer
>>> Tokenizer(stop_words="en").count(["The cat sat.", "A cat, a hat!"]).words
['cat', 'sat', 'hat']
"""

from opelda.corpus.text._languages import stop_words_from
from opelda.corpus.text._splitters import COUNT_VECTORIZER, WHITESPACE
from opelda.corpus.text.tokenizer import Tokenizer

__all__ = ["COUNT_VECTORIZER", "WHITESPACE", "Tokenizer", "stop_words_from"]
