"""Topics from documents: three update rules, the estimators that combine them with inference.

Examples
--------
>>> from opelda.corpus import generate
>>> from opelda.learning import OnlineOPE
>>> X = generate(500, n_words=60, n_topics=3, separated=True).X
>>> OnlineOPE(n_components=3, batch_size=100, random_state=0).fit(X).components_.shape
(3, 60)
"""

from opelda import _names
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

LEARNERS: dict[str, type] = {name: globals()[name] for name in (*_names.LEARNERS, "TopicModel")}

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
