"""Fits of the same documents compared: how many topics, and which of them to trust.

Examples
--------
>>> from opelda.corpus import generate
>>> from opelda.selection import choose_n_topics
>>> X = generate(600, n_words=200, n_topics=5, random_state=0).X
>>> choose_n_topics(X, [2, 5, 10], random_state=0).n_topics
5
"""

from opelda.selection._choice import Choice, choose_n_topics
from opelda.selection._choice import ChoiceRow as ChoiceRow
from opelda.selection._fits import Stability as Stability
from opelda.selection._fits import stability

__all__ = ["Choice", "choose_n_topics", "stability"]
