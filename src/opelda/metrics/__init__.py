"""Measures of topics: prediction of held-out words, coherence, intrusion, diversity, stability."""

from opelda.metrics._coherence import coherence, windows
from opelda.metrics._intrusion import Intrusion as Intrusion
from opelda.metrics._intrusion import IntrusionAnswer as IntrusionAnswer
from opelda.metrics._intrusion import IntrusionQuestion as IntrusionQuestion
from opelda.metrics._intrusion import topic_intrusion, word_intrusion
from opelda.metrics._matching import match_topics, topic_stability
from opelda.metrics._mixture_measures import InferenceSpread as InferenceSpread
from opelda.metrics._mixture_measures import effective_topics, inference_spread
from opelda.metrics._predictive import PredictiveProbability as PredictiveProbability
from opelda.metrics._predictive import log_predictive_probability, predict_held_out, split_tokens
from opelda.metrics._top_words import topic_diversity, topic_exclusivity

__all__ = [
    "coherence",
    "effective_topics",
    "inference_spread",
    "log_predictive_probability",
    "match_topics",
    "predict_held_out",
    "split_tokens",
    "topic_diversity",
    "topic_exclusivity",
    "topic_intrusion",
    "topic_stability",
    "windows",
    "word_intrusion",
]
