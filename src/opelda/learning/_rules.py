"""Update rules: how the statistics of a mini-batch change the topics (Than & Doan, section 4).

S is the number of documents of the mini-batch, rho_t = (t + tau)^-kappa the step of update t, D the
number of documents that the topics represent, and phi_djk, proportional to theta_dk beta_kj, the
probability of topic k for a token of word j in document d.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from time import perf_counter
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from opelda._validation import choice, flag, number, whole
from opelda.engines.seam import (
    Chosen,
    Documents,
    Engine,
    Rule,
    Step,
    Task,
    TokenCounts,
    Updated,
    Weights,
    changing,
    prior_sums,
)
from opelda.inference import Method
from opelda.learning._tps import TPS, as_word_vectors

Mass: TypeAlias = Callable[[], NDArray[np.float64]]
Start: TypeAlias = Literal["random", "documents"]

LEAST_SHARE = 1e-15  # of a batch's tokens; topics with less stay unchanged


@runtime_checkable
class Updater(Protocol):
    """A rule that updates the weights itself."""

    decays: bool
    infers: bool  # by the inference method
    update: Callable[..., Updated | None]  # of the weights; see `Engine.update`
    newcomer: Callable[[Weights], NDArray[np.float64]]  # as of `Rule`


@dataclass(frozen=True, kw_only=True)
class ML:
    """Regularised online learning: topics move towards the batch's own maximum likelihood.

    beta^_kj proportional to sum_d d_j theta_dk;  beta <- (1 - rho) beta + rho beta^

    Parameters
    ----------
    decay, offset : float or None
        kappa and tau: update t moves the topics by rho_t = (t + tau)^-kappa. None: the preset's.
    init : {None, "random", "documents"}
        The start of `fit`: nearly equal random topics, or the words of a document per topic, far
        from each other (at most 1,000 topics). None: the preset's.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> model = TopicModel(5, learning=ML(decay=0.7))
    """

    decay: float | None = None
    offset: float | None = None
    init: Start | None = None
    divide = False
    decays = True

    def prepare(self, weights: Weights, step: Step, n_docs: int, mass: Mass) -> NDArray[np.float64]:
        """Keep the sum of every topic's weights: beta is weights over that sum."""
        if weights.prior_weight:  # from sweeps; topics without tokens consist of it
            weights.remake(lambda words, before: before)
        weights.normalise()
        totals = weights.totals
        # At rho = 1 the equation keeps 0; 1e-16 is negligible as a probability, but a valid divisor
        # for topics that no document of the batch uses.
        weights.shrink(max(1.0 - step.rho, 1e-16))
        tokens = mass()
        used = tokens > LEAST_SHARE * tokens.sum()
        gain: NDArray[np.float64] = step.rho * totals / weights.scale
        return gain / np.where(used, tokens, np.inf)

    def newcomer(self, weights: Weights) -> NDArray[np.float64]:
        """Return the mean probability of the known words."""
        return weights.totals / max(weights.n_words, 1)


@dataclass(frozen=True, kw_only=True)
class Online:
    """Stochastic variational inference's update (Hoffman et al. 2010, 2013).

    lambda^_kj = eta + (D / S) sum_d d_j phi_djk;  lambda <- (1 - rho) lambda + rho lambda^.

    Parameters
    ----------
    decay, offset, init
        See `ML`.
    population : float or None
        D, the number of documents that the topics represent (population VB, McInerney et al. 2015).
        None: the collection's size in `fit`, the number of seen documents in streams.
    bound_start : bool or None
        After the first batch, limit the weight of the random start to the tokens of D documents.
        D is small early in a stream: a heavier start would hide the documents for many updates, and
        topics would die. None: True, but False for methods with expected logarithms (VB, CGS).

    Examples
    --------
    >>> from opelda import TopicModel
    >>> model = TopicModel(5, learning=Online(decay=0.7, offset=64, population=1e6))
    """

    decay: float | None = None
    offset: float | None = None
    population: float | None = None
    init: Start | None = None
    bound_start: bool | None = None
    divide = True
    decays = True

    def prepare(self, weights: Weights, step: Step, n_docs: int, mass: Mass) -> NDArray[np.float64]:
        """Shrink rows and prior; the prior has its share of lambda^."""
        if step.number == 1 and self.bound_start in (None, True):
            start = float((weights.scale * weights.sums).sum())
            weights.shrink(min(1.0, step.population / n_docs * float(mass().sum()) / start))
        weights.shrink(1.0 - step.rho)
        weights.prior_weight = (1.0 - step.rho) * weights.prior_weight + step.rho
        gain = step.rho * step.population / n_docs / weights.scale
        return np.full(weights.n_topics, gain)

    def newcomer(self, weights: Weights) -> NDArray[np.float64]:
        """Return 0: the prior adds eta."""
        return np.zeros(weights.n_topics)


@dataclass(frozen=True, kw_only=True)
class Streaming:
    """Streaming Bayes (Broderick et al. 2013): the posterior so far is the next batch's prior.

    lambda <- lambda + sum_d d_j phi_djk, beginning with lambda = eta; the random start serves the
    first batch only.

    Parameters
    ----------
    keep_start : bool
        Keep the random start in lambda, as the paper writes it. For comparison only.
    keep_prior : bool
        Keep prior knowledge in streams (KPS, Anh et al. 2017): add eta in every update, so that
        documents do not outweigh it.
    init
        See `ML`.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> model = TopicModel(5, learning=Streaming(keep_start=True))
    """

    keep_start: bool = False
    keep_prior: bool = False
    init: Start | None = None
    divide = True
    decays = False

    def prepare(self, weights: Weights, step: Step, n_docs: int, mass: Mass) -> NDArray[np.float64]:
        """Replace the random start by the prior after the first batch."""
        if step.number == 1 and not self.keep_start:
            weights.clear()
            weights.prior_weight = 1.0
        elif self.keep_prior:
            weights.prior_weight += 1.0
        return np.full(weights.n_topics, 1.0 / weights.scale)

    def newcomer(self, weights: Weights) -> NDArray[np.float64]:
        """Return 0, or the mean eta with `keep_start`: lambda includes eta otherwise."""
        if not self.keep_start:
            return np.zeros(weights.n_topics)
        return np.full(weights.n_topics, float(np.mean(weights.host().prior)))


@dataclass(frozen=True, kw_only=True)
class SCVB0(Online):
    """Stochastic CVB0's update of the expected counts N (Foulds et al. 2013).

    N_kj <- (1 - rho) N_kj + rho (D / S) sum_d d_j phi_djk;  beta_kj proportional to N_kj + eta_kj.

    Counts fade; the prior does not. Inference of a mini-batch uses the counts before it.

    Parameters
    ----------
    decay, offset, population, init, bound_start
        See `Online`.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> model = TopicModel(5, learning=SCVB0(offset=100))
    """

    def prepare(self, weights: Weights, step: Step, n_docs: int, mass: Mass) -> NDArray[np.float64]:
        """Shrink the rows, which are N, but not the prior."""
        gain = super().prepare(weights, step, n_docs, mass)
        weights.prior_weight = 1.0
        return gain


@dataclass(frozen=True, kw_only=True)
class SGRLD:
    """Stochastic gradient Riemannian Langevin dynamics (Patterson & Teh 2013), expanded mean.

    theta_kj <- |theta_kj + eps/2 (eta_kj - theta_kj + (D / S) sum_d (n_djk - beta_kj n_dk))
                 + sqrt(eps theta_kj) xi_kj|,   beta_kj = theta_kj / sum_j theta_kj.

    The weights are theta, a draw from the posterior in the long run; xi is standard normal. n_djk
    counts the tokens of word j in document d whose topic is k, and n_dk all tokens of topic k,
    drawn by Gibbs sampling given beta. The rule needs no inference method.

    The documents do not determine sum_j theta_kj, which is about sum_j eta_kj; so is the start. The
    step eps_k = 2 rho / (1 + (D / S) n_k / min(sum_j eta_kj, sum_j theta_kj)) keeps at least
    1 - rho of a topic.

    Parameters
    ----------
    n_draws : int
        Sweeps of Gibbs sampling for each mini-batch.
    decay, offset, population, init
        See `Online`.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> model = TopicModel(5, learning=SGRLD(n_draws=20))
    """

    n_draws: int = 50
    decay: float | None = None
    offset: float | None = None
    population: float | None = None
    init: Start | None = None
    decays = True
    infers = False

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
        """Draw theta given the topics of a mini-batch's tokens."""
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
        """Return the mean eta, the mean of theta without documents."""
        return np.full(weights.n_topics, float(np.mean(weights.host().prior)))


RULES: dict[str, type] = {
    rule.__name__.lower(): rule for rule in (ML, Online, Streaming, SCVB0, SGRLD, TPS)
}
CHECKS: dict[str, Callable[[str, Any], object]] = {
    "decay": lambda name, value: number(name, value, 0.0, 1.0),
    "offset": lambda name, value: number(name, value, 0.0, 1e12),
    "population": lambda name, value: number(name, value, 1.0, 1e15),
    "init": lambda name, value: choice(name, value, ("random", "documents")),
    "keep_start": flag,
    "keep_prior": flag,
    "n_draws": whole,
    "vectors": as_word_vectors,
    "deviation": lambda name, value: number(name, value, 1e-6, 1e6),
}


def rule_of(given: Any) -> Rule | Updater:
    """Return the rule of a name, or a rule object, and validate its parameters."""
    is_rule = hasattr(given, "prepare") or isinstance(given, Updater)
    rule: Rule | Updater = given
    if isinstance(given, type) or not is_rule:
        rule = RULES[choice("learning", given, RULES)]()
    if type(rule) in RULES.values():
        for field in fields(rule):  # type: ignore[arg-type]
            value = getattr(rule, field.name)
            if value is not field.default and field.name in CHECKS:
                CHECKS[field.name](field.name, value)
    return rule


def bounded(rule: Rule | Updater, method: Method) -> Rule | Updater:
    """Return the rule with its defaults for an inference method."""
    if isinstance(rule, Online) and rule.bound_start is None:
        return replace(rule, bound_start=not method.expects_logs)
    return rule
