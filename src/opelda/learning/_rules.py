"""The three ways to update topics from a mini-batch (Than & Doan, section 4).

S is the number of documents of the mini-batch, rho_t = (t + tau)^-kappa the step of update t, D the
number of documents that the topics are to stand for, phi_djk, proportional to theta_dk beta_kj, the
probability that a token of word j in document d is of topic k.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opelda._validation import choice, flag
from opelda.engines import _engine as engine
from opelda.engines._engine import Step
from opelda.engines._weights import Weights
from opelda.inference import Method

Mass: TypeAlias = Callable[[], NDArray[np.float64]]

# The share of a topic's weights that ML keeps at rho = 1, where the equation keeps none: too little
# to count as a probability, and enough to divide by where no document of the batch uses the topic.
LEAST_KEPT = 1e-16

# Of a batch's tokens; a topic that has less of them was not used, and stays as it is.
LEAST_SHARE = 1e-15


class Rule(engine.Rule, Protocol):
    """A way to update topics, as learners know it."""

    decays: bool  # steps are rho_t; without, every batch counts alike

    def newcomer(self, weights: Weights) -> NDArray[np.float64]:
        """Return the weights that a word seen for the first time begins with, per topic."""
        ...


@dataclass(frozen=True)
class ML:
    """Regularised online learning: topics move towards the batch's own maximum likelihood.

    beta^_kj proportional to sum_d d_j theta_dk;  beta <- (1 - rho) beta + rho beta^.
    """

    divide = False
    decays = True

    def prepare(self, weights: Weights, step: Step, n_docs: int, mass: Mass) -> NDArray[np.float64]:
        """Keep the sum of every topic's weights: beta is weights over that sum."""
        weights.normalise()
        totals = weights.totals
        weights.shrink(max(1.0 - step.rho, LEAST_KEPT))
        tokens = mass()
        used = tokens > LEAST_SHARE * tokens.sum()
        gain: NDArray[np.float64] = step.rho * totals / weights.scale
        return gain / np.where(used, tokens, np.inf)

    def newcomer(self, weights: Weights) -> NDArray[np.float64]:
        """A word begins with the mean probability of the words known so far."""
        return weights.totals / max(weights.n_words, 1)


@dataclass(frozen=True)
class Online:
    """Stochastic variational inference's update (Hoffman et al. 2010, 2013).

    lambda^_kj = eta + (D / S) sum_d d_j phi_djk;  lambda <- (1 - rho) lambda + rho lambda^.

    The random start tells the topics apart for the first batch. From then on, with ``bound_start``,
    it counts for no more tokens than the D documents have: at the beginning of a stream D is small,
    and a start that weighs more would hide the documents for many updates, in which topics die.
    """

    bound_start: bool = True
    divide = True
    decays = True

    def prepare(self, weights: Weights, step: Step, n_docs: int, mass: Mass) -> NDArray[np.float64]:
        """Shrink rows and prior alike, and give the prior its share of lambda^."""
        if step.number == 1 and self.bound_start:
            start = float((weights.scale * weights.sums).sum())
            weights.shrink(min(1.0, step.population / n_docs * float(mass().sum()) / start))
        weights.shrink(1.0 - step.rho)
        weights.prior_weight = (1.0 - step.rho) * weights.prior_weight + step.rho
        gain = step.rho * step.population / n_docs / weights.scale
        return np.full(weights.n_topics, gain)

    def newcomer(self, weights: Weights) -> NDArray[np.float64]:
        """A word begins with what the prior gives it."""
        return np.zeros(weights.n_topics)


@dataclass(frozen=True)
class Streaming:
    """Streaming Bayes (Broderick et al. 2013): the posterior so far is the next batch's prior.

    lambda <- lambda + sum_d d_j phi_djk, beginning with lambda = eta. The random start that tells
    the topics apart serves the first batch only; as the paper writes it (``keep_start``), it stays
    in lambda for ever.
    """

    keep_start: bool = False
    divide = True
    decays = False

    def prepare(self, weights: Weights, step: Step, n_docs: int, mass: Mass) -> NDArray[np.float64]:
        """Replace the random start by the prior once it has served."""
        if step.number == 1 and not self.keep_start:
            weights.clear()
            weights.prior_weight = 1.0
        return np.full(weights.n_topics, 1.0 / weights.scale)

    def newcomer(self, weights: Weights) -> NDArray[np.float64]:
        """A word begins with eta, where lambda does not hold that already."""
        if not self.keep_start:
            return np.zeros(weights.n_topics)
        return np.full(weights.n_topics, float(np.mean(weights.host().prior)))


def rule_of(name: Any, method: Method, keep_start: Any = False) -> Rule:
    """Return the rule of a name, as it is with a method; a rule of the user's own as it is."""
    if not isinstance(name, str | type) and hasattr(name, "prepare"):
        own: Rule = name
        return own
    name = choice("learning", name, ("ml", "online", "streaming"))
    if name == "ml":
        return ML()
    if name == "online":
        return Online(bound_start=not method.expects_logs)
    return Streaming(keep_start=flag("keep_start", keep_start))
