"""The number of topics, and the stability of topics, from several fits of the same documents."""

from opelda.selection._choice import Choice as Choice
from opelda.selection._choice import choose_n_topics
from opelda.selection._fits import ChoiceRow as ChoiceRow
from opelda.selection._fits import Stability as Stability
from opelda.selection._fits import stability

__all__ = ["choose_n_topics", "stability"]
