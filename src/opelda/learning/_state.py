"""Everything a model has learned and needs to go on learning."""

from dataclasses import dataclass

from opelda.corpus import Vocabulary
from opelda.engines._weights import Weights


@dataclass
class State:
    """All that changes while a model learns.

    Attributes
    ----------
    weights : Weights
        The topics, owned by the engine that learned them last.
    seed : int
        Drawn once; everything random follows from it.
    n_updates : int
        t, from the first `fit` or `partial_fit` on.
    n_docs_seen : int
        Documents learned from, each as often as it was seen.
    population : float
        D of the Online rule: documents that the topics stand for, each counted once.
    vocabulary : Vocabulary or None
    n_unknown_tokens : float
        Tokens of streams whose words the model has no column for.
    """

    weights: Weights
    seed: int
    n_updates: int = 0
    n_docs_seen: int = 0
    population: float = 0.0
    vocabulary: Vocabulary | None = None
    n_unknown_tokens: float = 0.0
