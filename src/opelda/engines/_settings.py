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
    """A walk of OPE; see `opelda.inference._plan`.

    Attributes
    ----------
    a, b : float32 arrays (R, S)
        For each of R sequences and S moves the weights of the likelihood's and the prior's
        gradient.
    a2, b2 : float32 arrays (R, S) or None
        The second sequence of OPE2, OPE3 and BOPE.
    coin : float32 array (S,) or None
        OPE2's uniform numbers.
    base : float32 array (S + 1,)
        After s moves the mixture is proportional to base[s] * start + (times each was picked).
    start : float32 array (K,)
    first_t : int
        The t of the first move: the step of move s is 1/(s + first_t).
    seed : int or None
        A document's content and this choose its sequence; None: all follow the first.
    n_restarts : int
    tol : float
    screen : bool
        Skip topics that provably cannot be picked.
    """

    a: NDArray[np.float32]
    b: NDArray[np.float32]
    a2: NDArray[np.float32] | None
    b2: NDArray[np.float32] | None
    coin: NDArray[np.float32] | None
    base: NDArray[np.float32]
    start: NDArray[np.float32]
    first_t: int
    seed: int | None
    n_restarts: int
    tol: float
    screen: bool


@dataclass(frozen=True)
class EMSettings:
    """Iterations of EM, on the `n_kept` topics that explain most."""

    n_iter: int
    n_kept: int


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
    OPESettings | EMSettings | VBSettings | CVB0Settings | CVBSettings | CGSSettings | FWSettings
)
