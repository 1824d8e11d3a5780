"""How learning goes about a collection: in which steps, how often, and how it ends."""

from dataclasses import dataclass
from typing import Any

from opelda.errors import InputError
from opelda.learning._parameters import check_number, check_whole


@dataclass(frozen=True)
class Schedule:
    """A learner's settings of that kind, checked.

    Attributes
    ----------
    batch_size : int
    decay, offset : float
        kappa and tau of rho_t = (t + tau)^-kappa.
    n_passes : int
    n_sweeps : int
        Of Gibbs sampling, after the passes.
    init : {"random", "documents"}
        What the topics begin with.
    """

    batch_size: int
    decay: float
    offset: float
    n_passes: int
    n_sweeps: int
    init: str

    @classmethod
    def of(
        cls,
        *,
        batch_size: Any,
        learning_decay: Any,
        learning_offset: Any,
        n_passes: Any,
        n_sweeps: Any = 0,
        init: Any = "random",
    ) -> "Schedule":
        """Check what a learner was given."""
        if not isinstance(init, str) or init not in ("random", "documents"):
            raise InputError(f"init must be 'random' or 'documents', got {init!r}.")
        return cls(
            batch_size=check_whole("batch_size", batch_size),
            decay=check_number("learning_decay", learning_decay, 0.0, 1.0),
            offset=check_number("learning_offset", learning_offset, 0.0, 1e12),
            n_passes=check_whole("n_passes", n_passes),
            n_sweeps=check_whole("n_sweeps", n_sweeps, 0),
            init=init,
        )
