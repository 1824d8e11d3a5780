"""The settings that all experiments share: the paper's, each changeable."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from opelda.errors import InputError
from opelda.inference import METHODS

# changed by --quick: small enough for a test, large enough to draw a figure from
QUICK = {
    "n_topics": 10,
    "batch_size": 250,
    "n_passes": 2,
    "n_test": 100,
    "n_splits": 2,
}


@dataclass(frozen=True)
class Settings:
    """The parameters that all experiments share, the paper's by default.

    >>> Settings(n_topics=50).alpha
    0.02
    >>> Settings.small().n_topics
    10
    """

    n_topics: int = 100  # K
    doc_topic_prior: float | None = None  # alpha; None is 1/K
    topic_word_prior: float | None = None  # eta; None is 1/K
    batch_size: int = 5000  # S, documents per update
    learning_decay: float = 0.9  # kappa
    learning_offset: float = 1.0  # tau
    n_iter: int = 50  # iterations of inference per document; OPE's T
    n_passes: int = 5
    n_test: int = 1000  # documents set aside for testing
    n_splits: int = 5  # random splits of test documents into words observed and words to predict
    held_out: float = 0.3  # share of the words to predict
    n_words: int = 10  # per topic, for coherence
    scoring: str = "vb"  # infers the test documents' mixtures; the authors score all with VB
    n_seeds: int = 1  # models per setting
    seed: int = 0  # of the first of them
    n_jobs: int | None = -1  # threads, -1 all cores: it changes times, not results
    quick: bool = False  # fewer points per figure, for a look

    # the least of each whole number
    WHOLE: ClassVar[dict[str, int]] = {
        "n_topics": 1,
        "batch_size": 1,
        "n_iter": 2,
        "n_passes": 1,
        "n_test": 1,
        "n_splits": 1,
        "n_words": 2,
        "n_seeds": 1,
        "seed": 0,
    }
    # the limits that learning sets
    NUMBERS: ClassVar[dict[str, tuple[float, float]]] = {
        "doc_topic_prior": (1e-30, 1e6),
        "topic_word_prior": (1e-30, 1e6),
        "learning_decay": (0.0, 1.0),
        "learning_offset": (0.0, 1e12),
        "held_out": (1e-9, 1 - 1e-9),
    }

    def __post_init__(self) -> None:
        for name, least in self.WHOLE.items():
            self._check(name, int, least, 2**62)
        for name, (low, high) in self.NUMBERS.items():
            if getattr(self, name) is not None or not name.endswith("prior"):
                self._check(name, float, low, high)
        if self.n_jobs is not None:
            self._check("n_jobs", int, -4096, 4096)
        if self.n_jobs == 0:
            raise InputError("must be a whole number other than 0, got 0.", "n_jobs")
        if self.scoring not in METHODS:
            known = ", ".join(METHODS)
            raise InputError(f"There is no method {self.scoring!r} to score with; choose {known}.")

    def _check(self, name: str, kind: type[int] | type[float], low: float, high: float) -> None:
        value = getattr(self, name)
        allowed = int | np.integer if kind is int else int | float | np.number
        if not isinstance(value, allowed) or isinstance(value, bool) or not low <= value <= high:
            what = "a whole number" if kind is int else "a number"
            limits = f"at least {low:g}" if high >= 2**31 else f"from {low:g} to {high:g}"
            raise InputError(f"must be {what}, {limits}, got {value!r}.", name)
        object.__setattr__(self, name, kind(value))  # NumPy's numbers are no JSON

    @classmethod
    def small(cls, **given: Any) -> "Settings":
        """Return settings for a quick look; given settings are kept."""
        return cls(**(QUICK | {"quick": True} | given))

    @property
    def alpha(self) -> float:
        """The prior of mixtures, as a number."""
        return 1.0 / self.n_topics if self.doc_topic_prior is None else self.doc_topic_prior

    def seeds(self) -> range:
        """The seeds to run with."""
        return range(self.seed, self.seed + self.n_seeds)

    def changed(self, **given: Any) -> "Settings":
        """Return these settings with some replaced."""
        return replace(self, **given)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings by name, fit for JSON."""
        return asdict(self)

    @classmethod
    def names(cls) -> list[str]:
        """The names of all settings."""
        return [field.name for field in fields(cls)]
