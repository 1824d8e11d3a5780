"""Topics from documents: update rules, and the estimators that combine them with inference.

Examples
--------
>>> from opelda.corpus import generate
>>> from opelda.learning import OnlineOPE
>>> X = generate(500, n_words=60, n_topics=3, separated=True).X
>>> OnlineOPE(n_components=3, batch_size=100, random_state=0).fit(X).components_.shape
(3, 60)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from opelda import _names

if TYPE_CHECKING:
    from opelda.learning._seed_words import SeedWarning
    from opelda.learning.callbacks import (
        BatchReport,
        Callback,
        EarlyStopping,
        Event,
        History,
        OnEvent,
    )
    from opelda.learning.learners import (
        MLOPE,
        OnlineCGS,
        OnlineCVB0,
        OnlineOPE,
        OnlineVB,
        StreamingOPE,
        StreamingVB,
    )
    from opelda.learning.topic_model import TopicModel

    LEARNERS: dict[str, type]

# imported on first use: model files are read without scikit-learn, which takes a second or two
_LAZY = {
    "_seed_words": ("SeedWarning",),
    "callbacks": ("BatchReport", "Callback", "EarlyStopping", "Event", "History", "OnEvent"),
    "learners": _names.LEARNERS,
    "topic_model": ("TopicModel",),
}

__all__ = [
    "LEARNERS",
    "MLOPE",
    "BatchReport",
    "Callback",
    "EarlyStopping",
    "Event",
    "History",
    "OnEvent",
    "OnlineCGS",
    "OnlineCVB0",
    "OnlineOPE",
    "OnlineVB",
    "SeedWarning",
    "StreamingOPE",
    "StreamingVB",
    "TopicModel",
]


def __getattr__(name: str) -> Any:
    if name == "LEARNERS":
        return {each: __getattr__(each) for each in (*_names.LEARNERS, "TopicModel")}
    for module, names in _LAZY.items():
        if name in names:
            return getattr(import_module(f"opelda.learning.{module}"), name)
    raise AttributeError(f"module 'opelda.learning' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
