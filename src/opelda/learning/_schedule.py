"""How learning goes about a collection: in which steps, how often, and how it ends."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opelda._validation import choice, number, whole


@dataclass(frozen=True)
class Schedule:
    """A plan's settings of steps and passes, checked."""

    batch_size: int
    decay: float  # kappa of rho_t = (t + tau)^-kappa
    offset: float  # tau
    n_passes: int
    n_sweeps: int  # of Gibbs sampling, after the passes
    init: str  # "random" or "documents", the start of `fit`

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Schedule":
        """Check a learner's parameters; those of closing sweeps and starts may be missing."""
        return cls(
            batch_size=whole("batch_size", settings["batch_size"]),
            decay=number("learning_decay", settings["learning_decay"], 0.0, 1.0),
            offset=number("learning_offset", settings["learning_offset"], 0.0, 1e12),
            n_passes=whole("n_passes", settings["n_passes"]),
            n_sweeps=whole("n_sweeps", settings.get("n_sweeps", 0), 0),
            init=choice("init", settings.get("init", "random"), ("random", "documents")),
        )
