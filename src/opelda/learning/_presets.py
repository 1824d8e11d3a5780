"""Settings for what users leave out, as measured: docs/learning.md has the curves."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from opelda.inference import OPE

A_STREAM = 10**9  # documents: more than any collection for which presets choose otherwise


@dataclass(frozen=True)
class Preset:
    """Values of the parameters that `TopicModel` was given as None.

    Attributes
    ----------
    n_iter : int
        OPE's T.
    learning_decay, learning_offset : float
    n_sweeps : int
    init : str
    topic_word_prior : float or None
        None is 1/K.
    batch_size, n_passes : function of a number of documents to int
        Small collections are gone through more often and in smaller steps.
    """

    n_iter: int
    learning_decay: float
    learning_offset: float
    n_sweeps: int
    init: str
    topic_word_prior: float | None
    batch_size: Callable[[int], int]
    n_passes: Callable[[int], int]

    def settings(self, n_docs: int | None = None) -> dict[str, Any]:
        """Return parameters and their values for so many documents, or for a stream.

        >>> chosen = PRESETS["fast"].settings(10_000)
        >>> chosen["inference"].n_iter, chosen["batch_size"], chosen["n_passes"]
        (20, 500, 10)
        """
        n_docs = A_STREAM if n_docs is None else n_docs
        return {
            "inference": OPE(n_iter=self.n_iter),
            "learning": "online",
            "topic_word_prior": self.topic_word_prior,
            "batch_size": self.batch_size(n_docs),
            "learning_decay": self.learning_decay,
            "learning_offset": self.learning_offset,
            "n_passes": self.n_passes(n_docs),
            "n_sweeps": self.n_sweeps,
            "init": self.init,
        }


def documents_per_update(n_docs: int) -> int:
    """Return 1000 documents per update, fewer where a pass would have less than 20 updates.

    >>> documents_per_update(400), documents_per_update(10_000), documents_per_update(1_000_000)
    (50, 500, 1000)
    """
    return min(1000, max(50, n_docs // 20))


def passes_to_see(n_docs_to_see: int) -> Callable[[int], int]:
    """Return a function that chooses from 1 to 20 passes, to see so many documents in all.

    >>> passes = passes_to_see(200_000)
    >>> passes(1000), passes(100_000), passes(1_000_000)
    (20, 2, 1)
    """
    return lambda n_docs: min(20, max(1, round(n_docs_to_see / max(n_docs, 1))))


FAST = Preset(
    n_iter=20,
    learning_decay=0.6,
    learning_offset=10.0,
    n_sweeps=0,
    init="documents",
    topic_word_prior=None,
    batch_size=documents_per_update,
    n_passes=passes_to_see(100_000),
)
PRESETS = {
    "best": replace(FAST, n_sweeps=150, topic_word_prior=0.05, n_passes=passes_to_see(1_000_000)),
    "fast": FAST,
    "paper": Preset(
        n_iter=50,
        learning_decay=0.9,
        learning_offset=1.0,
        n_sweeps=0,
        init="random",
        topic_word_prior=None,
        batch_size=lambda n_docs: 5000,
        n_passes=lambda n_docs: 1,
    ),
}
