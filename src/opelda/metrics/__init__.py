"""How good topics are: prediction of held-out words, coherence, diversity, agreement.

>>> from opelda.metrics import topic_diversity
>>> topic_diversity([[0.6, 0.4, 0.0], [0.0, 0.4, 0.6]], top_n=2)
0.75
"""

from opelda.metrics._coherence import npmi
from opelda.metrics._matching import match_topics
from opelda.metrics._predictive import (
    PredictiveProbability,
    log_predictive_probability,
    perplexity,
)
from opelda.metrics._split import split_tokens
from opelda.metrics._top_words import topic_diversity

__all__ = [
    "PredictiveProbability",
    "log_predictive_probability",
    "match_topics",
    "npmi",
    "perplexity",
    "split_tokens",
    "topic_diversity",
]
