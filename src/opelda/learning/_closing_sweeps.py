"""Closing sweeps: collapsed Gibbs sampling of a whole collection, beginning with learned topics.

Mini-batches find good topics fast, but then noise keeps them from settling. A sweep draws the topic
of every token anew, given all the others (Griffiths & Steyvers 2004), with the topics' counts
standing still meanwhile (as in Newman et al. 2009, with every document a processor of its own), and
counts again. Tokens keep their topics from sweep to sweep. The topics are an average over the last
sweeps.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from opelda.engines import Engine
from opelda.engines.seam import SizeHistogram, TokenCounts, Updated, Weights
from opelda.errors import InputError
from opelda.learning._plan import Plan
from opelda.learning._seeds import Anchors
from opelda.learning._state import State

# eta while tokens are drawn, where it is learned; half of it where there are fewer tokens than
# cells, else topics starve
DRAWN_WORD_PRIOR = 0.1
MOST_DOCUMENTS = 20_000  # that alpha is learned from: plenty for K numbers

Array = NDArray[np.float64]


@dataclass(frozen=True)
class HeldCollection:
    """Documents whose tokens are swept by an engine of this process.

    Sweeps ask for no more than these methods: a collection may as well lie in a cluster.
    """

    engine: Engine
    tokens: Any

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return int(self.tokens.rows.n_docs)

    @property
    def n_tokens(self) -> int:
        """Number of tokens that are drawn."""
        return int(self.tokens.first[-1])

    @property
    def total(self) -> float:
        """Their weight."""
        return float(self.tokens.total)

    def sweep(self, weights: Weights, alpha: Array, **how: Any) -> TokenCounts:
        """Draw every token's topic and count them; see `Engine.sweep`."""
        return self.engine.sweep(weights, self.tokens, alpha, **how)

    def histogram(self, share: float) -> SizeHistogram:
        """Count documents as last drawn by their tokens per topic; see `Engine.histogram`."""
        return self.engine.histogram(self.tokens, share)


@dataclass
class Sweeps:
    """Sweeps over tokens, one after another; the weights are the topics' average over the last.

    `outside` counts tokens that are not drawn any more, `counts` these and those as last drawn.
    """

    plan: Plan
    state: State
    collection: Any  # a `HeldCollection`, or one of the same form
    alpha: Array
    outside: TokenCounts | None = None
    counts: TokenCounts | None = None
    n_made: int = 0

    def __post_init__(self) -> None:
        plan, n_docs, n_tokens = self.plan, self.collection.n_docs, self.collection.n_tokens
        if n_tokens and not self.collection.total:
            raise too_small()
        self.weight = min(self.collection.total / max(n_tokens, 1), 1.0)  # a token's
        # A document of ten tokens says half as much of which topics are frequent: by alpha of short
        # texts alone a topic that is large by chance grows.
        self.trust = n_tokens / max(n_tokens + 10.0 * n_docs, 1.0)
        self.looked_at = MOST_DOCUMENTS / max(n_docs, 1)
        self.drawn_prior = None
        if plan.learns_word_prior:
            per_cell = n_tokens / max(plan.n_topics * self.state.weights.n_words, 1)
            self.drawn_prior = DRAWN_WORD_PRIOR * self.weight * min(max(per_cell, 0.5), 1.0)
        pull = plan.pull(self.state)
        self.pull = None if pull is None else replace(pull, firm=self.outside is not None)
        self.anchors: Anchors | None = None
        if pull is not None and isinstance(self.collection, HeldCollection):
            self.anchors = Anchors.of(pull, self.collection.tokens)
            if self.counts is not None and self.outside is not None:
                self.counts = self.anchors.limit(self.counts - self.outside) + self.outside

    def sweep(self, seed: int, *, find_word_prior: bool) -> Updated:
        """Draw all tokens and average the topics; the weights' prior may be found anew."""
        engine, state, started = self.plan.engine, self.state, perf_counter()
        counts, pull = self.counts, self.pull
        if counts is not None and pull is not None:  # (weights have it already)
            counts = pull.on_counts(counts)
        drawn = self.collection.sweep(
            state.weights, self.alpha, counts=counts, prior=self.drawn_prior, seed=seed
        )
        if self.anchors is not None:
            drawn = self.anchors.limit(drawn)
        self.counts = counts = drawn if self.outside is None else drawn + self.outside
        swept = perf_counter()
        self.n_made += 1
        # in the running average: in the end its variance is a mean of 39 sweeps'
        share, prior = max(0.05, 2.0 / (self.n_made + 1)), state.weights.prior
        if find_word_prior and self.plan.learns_word_prior:
            prior = by_frequency(likelier_word_prior(counts, self.weight), counts)
        if pull is not None and pull.firm:
            counts = pull.at_least(counts)
        with state.lock.writing():
            engine.blend(state.weights, counts, share)
            state.weights.prior = prior
        return Updated(share, swept - started, perf_counter() - swept, np.nan)

    def find_prior(self) -> None:
        """Adapt alpha to the documents, where it is learned."""
        if self.plan.learns_prior:
            seen = self.collection.histogram(self.looked_at)
            alpha = likelier_prior(seen, self.alpha)
            self.alpha = self.trust * alpha + (1.0 - self.trust) * alpha.mean()

    def anneal(self, n_sweeps: int) -> Iterator[Updated]:
        """Sweep so often, beginning with the weights' topics and an alpha that falls.

        Where alpha is learned its sum begins with a document's length, at most 50, and may fall to
        1 only as the first half of the sweeps goes on: tokens change their topics easily at first,
        and topics come to differ. Meanwhile the smallest topic has a share of alpha, and takes the
        words that documents of all kinds have, which would be spread over many.
        """
        plan, state = self.plan, self.state
        first = min(max(self.collection.total / max(self.collection.n_docs, 1), 1.0), 50.0)
        n_seeded = 0 if plan.seeds is None else len(plan.seeds)
        # (topics that were given words keep to them)
        own_words = np.ndim(state.weights.prior) == 2 or n_seeded == plan.n_topics
        share, common = 0.0 if own_words else 0.15 * self.trust, plan.n_topics - 1
        if plan.learns_prior:
            self.alpha = np.full(plan.n_topics, first / plan.n_topics)
        for number in range(1, n_sweeps + 1):
            is_due = number % 10 == 0 or number == n_sweeps
            done = self.sweep(state.seed + (number << 32), find_word_prior=is_due)
            if number == 1 and plan.learns_prior:
                assert self.counts is not None
                if share:
                    common = n_seeded + int(np.argmin(self.counts.sums[n_seeded:]))
                self.alpha = with_share(self.alpha, common, share)
            if plan.learns_prior and number % 2 == 0:
                self.find_prior()
                least = first ** (1.0 - 2.0 * number / n_sweeps)
                if least > 1.0:
                    alpha = with_share(self.alpha, common, share)
                    self.alpha = alpha * max(least / self.alpha.sum(), 1.0)
            yield done


def run_closing_sweeps(plan: Plan, state: State, collection: Any) -> Iterator[Updated]:
    """Sweep through a collection, beginning with the topics learned so far; yield after each.

    The weights are the average so far at any time, so that an interruption loses one sweep.
    """
    for done in Sweeps(plan, state, collection, plan.alpha).anneal(plan.schedule.n_sweeps):
        state.n_updates += 1
        state.n_docs_seen += collection.n_docs
        yield done


def too_small() -> InputError:
    """Return the error for counts that are rounded to 0."""
    return InputError(
        "holds counts that are mostly below 2**-17, which are rounded to 0; multiply all counts by "
        "one number, so that most are 1 or more.",
        "X",
    )


def likelier_word_prior(counts: TokenCounts, weight: float) -> float:
    """Return the eta that predicts each token best from all others (Minka 2000).

    It maximises sum_kj n_kj log((n_kj - w + eta) / (n_k - w + V eta)), w being what a token weighs:
    drawing by more makes topics differ more, but the topics that were found need less.
    """
    cells, times = counts.sizes()
    n, n_words = np.ldexp(cells.astype(np.float64), -counts.shift), counts.n_words
    others, totals = np.maximum(n - weight, 0.0), counts.sums
    eta, least, most = (weight * bound for bound in (DRAWN_WORD_PRIOR, 1e-4, 1.0))
    for _ in range(30):
        found = (times * n / (others + eta)).sum()
        expected = n_words * (totals / (np.maximum(totals - weight, 0.0) + n_words * eta)).sum()
        if not expected > 0:
            break
        eta = min(max(eta * float(found / expected), least), most)
    return eta


def by_frequency(eta: float, counts: TokenCounts) -> NDArray[np.float32]:
    """Return an eta per word of the same mean: half of it alike for all, half as words occur."""
    seen = counts.word_sums + 1e-9
    spread: NDArray[np.float32] = (0.5 * eta * (1.0 + seen / seen.mean())).astype(np.float32)
    return spread


def with_share(alpha: Array, topic: int, share: float) -> Array:
    """Return an alpha of the same sum in which a topic has at least that share."""
    total, own = alpha.sum(), alpha[topic]
    if own >= share * total or own == total:
        return alpha
    alpha = alpha * ((1.0 - share) * total / (total - own))
    alpha[topic] = share * total
    return alpha


def likelier_prior(seen: SizeHistogram, alpha: Array) -> Array:
    """Improve alpha by a few steps of Minka's fixed point (2000).

    alpha_k <- alpha_k * sum_d [psi(N_dk + alpha_k) - psi(alpha_k)]
                       / sum_d [psi(N_d + sum alpha) - psi(sum alpha)]
    """
    topics, n_topics = seen.topics, len(alpha)
    for _ in range(5):
        total = alpha.sum()
        found = seen.times * (psi(seen.sizes + alpha[topics]) - psi(alpha[topics]))
        expected = (seen.n_alike * (psi(seen.lengths + total) - psi(total))).sum()
        if expected <= 0:
            break
        alpha = np.maximum(alpha * np.bincount(topics, found, n_topics) / expected, 1e-5)
    return alpha
