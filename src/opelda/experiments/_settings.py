"""What an experiment is run with: the paper's settings, any of them changeable."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar

from opelda._validation import number, threads, whole
from opelda.errors import InputError
from opelda.inference import METHODS
from opelda.metrics._split import as_share

# what --quick changes: small enough for a test, large enough to draw a figure from
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

    Parameters
    ----------
    n_topics : int
        K.
    doc_topic_prior, topic_word_prior : float or None
        alpha and eta; None is 1/K.
    batch_size : int
        S, documents per update.
    learning_decay, learning_offset : float
        kappa and tau.
    n_iter : int
        Iterations of inference per document, two at least; OPE's T.
    n_passes : int
        Passes over the collection.
    n_test : int
        Documents set aside for testing.
    n_splits : int
        Random splits of the test documents into words observed and words to predict.
    held_out : float
        Share of the words to predict.
    n_words : int
        Words per topic for coherence.
    scoring : str
        What infers the test documents' mixtures; the authors score every model with VB.
    n_seeds : int
        Models per setting, of different seeds.
    seed : int
        The first of them.
    n_jobs : int or None
        Threads; None is one, -1 all cores. It changes times, not results.
    quick : bool
        Fewer points per figure, for a look at what an experiment does.

    Examples
    --------
    >>> Settings(n_topics=50).alpha
    0.02
    >>> Settings.small().n_topics
    10
    """

    n_topics: int = 100
    doc_topic_prior: float | None = None
    topic_word_prior: float | None = None
    batch_size: int = 5000
    learning_decay: float = 0.9
    learning_offset: float = 1.0
    n_iter: int = 50
    n_passes: int = 5
    n_test: int = 1000
    n_splits: int = 5
    held_out: float = 0.3
    n_words: int = 10
    scoring: str = "vb"
    n_seeds: int = 1
    seed: int = 0
    n_jobs: int | None = -1
    quick: bool = False

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
    }

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {"held_out": as_share(self.held_out)}
        for name, least in self.WHOLE.items():
            checked[name] = whole(name, getattr(self, name), least)
        for name, (low, high) in self.NUMBERS.items():
            value = getattr(self, name)
            if value is not None or not name.endswith("prior"):
                checked[name] = number(name, value, low, high)
        if self.n_jobs is not None:
            threads(self.n_jobs)
            checked["n_jobs"] = int(self.n_jobs)
        for name, value in checked.items():  # NumPy's numbers are no JSON
            object.__setattr__(self, name, value)
        if self.scoring not in METHODS:
            known = ", ".join(METHODS)
            raise InputError(f"There is no method {self.scoring!r} to score with; choose {known}.")

    @classmethod
    def small(cls, **given: Any) -> "Settings":
        """Return settings for a quick look; what is given stays as given."""
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
