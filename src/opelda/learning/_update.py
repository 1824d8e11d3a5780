"""One update: the mixtures of a mini-batch (E-step), then the topics (M-step)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opelda.engines import Engine
from opelda.engines._documents import Chosen, Documents
from opelda.engines._engine import Step, Task, Updated
from opelda.engines._weights import Weights
from opelda.inference import Method
from opelda.learning._rules import Rule


@dataclass(frozen=True)
class Updater:
    """The method, rule, prior and engine of one call of `fit` or the like.

    Attributes
    ----------
    method, rule : Method, Rule
    alpha : float64 array (K,)
    decay, offset : float
        kappa and tau of rho_t = (t + tau)^-kappa.
    engine : Engine
    certify : bool
        Somebody wants to know the gap.
    """

    method: Method
    rule: Rule
    alpha: NDArray[np.float64]
    decay: float
    offset: float
    engine: Engine
    certify: bool = False

    def update(
        self,
        weights: Weights,
        documents: Documents,
        chosen: Chosen,
        *,
        number: int,
        population: float,
        seed: int,
    ) -> Updated | None:
        """Infer the documents' mixtures and update the topics; None where they hold no words."""
        rho = float((number + self.offset) ** -self.decay) if self.rule.decays else 1.0
        return self.engine.update(
            weights,
            documents,
            Task(self.method, self.alpha, seed | number << 32),
            self.rule,
            Step(number, rho, population, seed),
            chosen=chosen,
            certify=self.certify,
        )
