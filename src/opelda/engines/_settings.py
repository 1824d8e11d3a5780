"""The settings of each kernel, typed: all that a method tells an engine about itself.

Nothing here depends on the documents or on the topics; what does (the words' probabilities under a
start, the keys of documents) an engine computes for itself.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class OPESettings:
    """A walk of OPE of S moves, by one of R sequences; see `opelda.inference._ope_walk`."""

    a: NDArray[np.float32]  # (R, S): the weight of the likelihood's gradient at each move
    b: NDArray[np.float32]  # (R, S): of the prior's
    a2: NDArray[np.float32] | None  # (R, S): the second sequence of OPE2, OPE3 and BOPE
    b2: NDArray[np.float32] | None
    coin: NDArray[np.float32] | None  # (S,): OPE2's uniform numbers
    # (S + 1,): after s moves the mixture is proportional to base[s] * start + (times picked)
    base: NDArray[np.float32]
    start: NDArray[np.float32]  # (K,)
    first_t: int  # the t of the first move: the step of move s is 1/(s + first_t)
    n_restarts: int
    # with a document's content it chooses the sequence; None: the first for all
    seed: int | None = None
    tol: float = 0.0
    screen: bool = True  # skip topics that provably cannot be picked


@dataclass(frozen=True)
class EMSettings:
    """Iterations of EM, on the `n_kept` topics that explain most."""

    n_iter: int
    n_kept: int


@dataclass(frozen=True)
class ExactSettings:
    """The most nats that a mixture may be behind the likeliest one, a document and a token."""

    max_loss: float
    max_loss_per_token: float = float("inf")


@dataclass(frozen=True)
class VBSettings:
    """Iterations at most, when to stop, and the first gamma (K,) where it is not alpha + N/K."""

    n_iter: int
    tol: float
    start: NDArray[np.float64] | None


@dataclass(frozen=True)
class CVB0Settings:
    """Passes thrown away and averaged; the rate of visit t is scale / (offset + t)^decay."""

    burn_in: int
    n_samples: int
    scale: float
    offset: float
    decay: float


@dataclass(frozen=True)
class CVBSettings:
    """Passes at most, and when to stop."""

    n_iter: int
    tol: float


@dataclass(frozen=True)
class CGSSettings:
    """Sweeps thrown away and averaged, and the seed that documents' keys are made with."""

    burn_in: int
    n_samples: int
    seed: int


@dataclass(frozen=True)
class FWSettings:
    """The length of each step."""

    steps: NDArray[np.float64]


KernelSettings: TypeAlias = (
    OPESettings
    | EMSettings
    | ExactSettings
    | VBSettings
    | CVB0Settings
    | CVBSettings
    | CGSSettings
    | FWSettings
)
