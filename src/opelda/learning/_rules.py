"""The ways to update topics from a mini-batch (Than & Doan, section 4), and two that it names.

S is the number of documents of the mini-batch, rho_t = (t + tau)^-kappa the step of update t, D the
number of documents that the topics are to stand for, phi_djk, proportional to theta_dk beta_kj, the
probability that a token of word j in document d is of topic k.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from opelda._validation import choice, flag
from opelda.engines import seam
from opelda.engines.seam import (
    Chosen,
    Documents,
    Engine,
    Step,
    Task,
    TokenCounts,
    Updated,
    Weights,
    changing,
    prior_sums,
)
from opelda.inference import Method

Mass: TypeAlias = Callable[[], NDArray[np.float64]]

RULES = ("ml", "online", "streaming", "scvb0", "sgrld")

# The share of a topic's weights that ML keeps at rho = 1, where the equation keeps none: too little
# to count as a probability, and enough to divide by where no document of the batch uses the topic.
LEAST_KEPT = 1e-16

# Of a batch's tokens; a topic that has less of them was not used, and stays as it is.
LEAST_SHARE = 1e-15


class Rule(seam.Rule, Protocol):
    """A way to update topics, as learners know it."""

    decays: bool  # steps are rho_t; without, every batch counts alike

    def newcomer(self, weights: Weights) -> NDArray[np.float64]:
        """Return the weights that a word seen for the first time begins with, per topic."""
        ...


@runtime_checkable
class Sampler(Protocol):
    """A rule that needs no mixtures, and makes updates itself of what it asks of an engine."""

    decays: bool

    def update(
        self,
        engine: Engine,
        weights: Weights,
        documents: Documents,
        task: Task,
        step: Step,
        *,
        chosen: Chosen = None,
    ) -> Updated | None:
        """Update the weights; see `Engine.update`."""
        ...

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
        if weights.prior_weight:  # sweeps gave one; a topic without tokens is nothing else
            weights.remake(lambda words, before: before)
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


@dataclass(frozen=True)
class SCVB0(Online):
    """Stochastic CVB0's update of the expected counts N (Foulds et al. 2013).

    N_kj <- (1 - rho) N_kj + rho (D / S) sum_d d_j phi_djk;  beta_kj proportional to N_kj + eta_kj.

    Counts fade, the prior never does. A mini-batch is inferred with counts that it is not in yet.
    """

    def prepare(self, weights: Weights, step: Step, n_docs: int, mass: Mass) -> NDArray[np.float64]:
        """Shrink the rows, which are N, and leave the prior whole."""
        gain = super().prepare(weights, step, n_docs, mass)
        weights.prior_weight = 1.0
        return gain


@dataclass(frozen=True)
class SGRLD:
    """Stochastic gradient Riemannian Langevin dynamics (Patterson & Teh 2013), expanded mean.

    theta_kj <- |theta_kj + eps/2 (eta_kj - theta_kj + (D / S) sum_d (n_djk - beta_kj n_dk))
                 + sqrt(eps theta_kj) xi_kj|,   beta_kj = theta_kj / sum_j theta_kj.

    The weights are theta, a draw from the posterior in the long run; xi is standard normal, for
    every topic and word. n_djk counts the tokens of word j in document d whose topic is k, and n_dk
    all tokens of topic k, drawn by `n_draws` sweeps of Gibbs sampling given beta.

    The documents tell nothing of sum_j theta_kj, which is about that of eta; gradients must be
    measured by it. The step eps_k = 2 rho / (1 + (D / S) n_k / min(sum_j eta_kj, sum_j theta_kj))
    keeps at least 1 - rho of a topic, and the start is made as large as eta.
    """

    n_draws: int = 50
    decays = True

    def update(
        self,
        engine: Engine,
        weights: Weights,
        documents: Documents,
        task: Task,
        step: Step,
        *,
        chosen: Chosen = None,
    ) -> Updated | None:
        """Draw the topics of the documents' tokens, then theta; see `Engine.update`."""
        started = perf_counter()
        if chosen is not None:
            documents = engine.documents(documents.matrix[chosen])
        tokens = engine.tokens(documents, weights.n_topics)
        if not tokens.first[-1]:
            return None
        counts = engine.sweep(weights, tokens, task.alpha, seed=task.seed, n_draws=self.n_draws)
        drawn = perf_counter()
        with changing(engine, weights, step):
            self.move(weights, counts, step, documents.n_docs)
        return Updated(step.rho, drawn - started, perf_counter() - drawn, np.nan)

    def move(self, weights: Weights, counts: TokenCounts, step: Step, n_docs: int) -> None:
        """Draw theta anew, given the topics of a mini-batch's tokens."""
        times = step.population / n_docs
        found = times * counts.sums
        prior = prior_sums(weights.prior, weights.n_words, weights.n_topics)
        if step.number == 1:
            weights.shrink(float((prior / weights.totals).mean()))
        eps = 2.0 * step.rho / (1.0 + found / np.minimum(prior, weights.totals))
        kept = 1.0 - 0.5 * eps * (1.0 + found / weights.totals)
        unit = times * 2.0**-counts.shift
        rng = np.random.default_rng([step.seed, 6, step.number])

        def make(words: slice, theta: NDArray[np.float64]) -> NDArray[np.float64]:
            gained = weights.prior_of(words) + unit * counts.cells[words].toarray()
            noise = np.sqrt(eps * theta) * rng.standard_normal(theta.shape, np.float32)
            moved: NDArray[np.float64] = np.abs(kept * theta + 0.5 * eps * gained + noise)
            return moved

        weights.remake(make)

    def newcomer(self, weights: Weights) -> NDArray[np.float64]:
        """A word begins with eta, the mean of theta where no document says anything."""
        return np.full(weights.n_topics, float(np.mean(weights.host().prior)))


def rule_of(name: Any, method: Method, keep_start: Any = False) -> Rule | Sampler:
    """Return the rule of a name, as it is with a method; a rule of the user's own as it is."""
    if not isinstance(name, type) and (hasattr(name, "prepare") or isinstance(name, Sampler)):
        own: Rule | Sampler = name
        return own
    name = choice("learning", name, RULES)
    if name == "ml":
        return ML()
    if name == "sgrld":
        return SGRLD()
    if name in ("online", "scvb0"):
        return (Online if name == "online" else SCVB0)(bound_start=not method.expects_logs)
    return Streaming(keep_start=flag("keep_start", keep_start))
