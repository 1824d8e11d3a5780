"""Topics from documents: six update rules, seed words and callbacks for `opelda.TopicModel`.

>>> from opelda import TopicModel
>>> from opelda.corpus import generate
>>> from opelda.learning import Online
>>> X = generate(500, n_words=60, n_topics=3, separated=True).X
>>> TopicModel(3, learning=Online(decay=0.7), random_state=0).fit(X).components_.shape
(3, 60)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from opelda import _names

if TYPE_CHECKING:
    from opelda.learning._rules import ML, SCVB0, SGRLD, Online, Streaming
    from opelda.learning._seeds import Seeds
    from opelda.learning._tps import TPS, word_vectors
    from opelda.learning.callbacks import EarlyStopping, History, OnEvent

# imported on first use: model files are read without scikit-learn, which takes a second or two
_LAZY = {
    "_rules": ("ML", "Online", "SCVB0", "SGRLD", "Streaming"),
    "_tps": ("TPS", "word_vectors"),
    "_seeds": ("SeedWarning", "Seeds"),
    "classifier": ("TopicClassifier",),
    "callbacks": ("BatchReport", "EarlyStopping", "Event", "History", "OnEvent"),
    "learners": _names.LEARNERS,
    "topic_model": ("TopicModel",),
}

__all__ = [
    "ML",
    "SCVB0",
    "SGRLD",
    "TPS",
    "EarlyStopping",
    "History",
    "OnEvent",
    "Online",
    "Seeds",
    "Streaming",
    "word_vectors",
]


def __getattr__(name: str) -> Any:
    if name == "LEARNERS":
        return {each: __getattr__(each) for each in (*_names.LEARNERS, "TopicModel")}
    if name == "MODELS":
        return __getattr__("LEARNERS") | {"TopicClassifier": __getattr__("TopicClassifier")}
    for module, names in _LAZY.items():
        if name in names:
            return getattr(import_module(f"opelda.learning.{module}"), name)
    raise AttributeError(f"module 'opelda.learning' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
