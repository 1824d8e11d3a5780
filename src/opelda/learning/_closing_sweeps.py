"""Closing sweeps: collapsed Gibbs sampling of a collection, from the learned topics.

Mini-batches find good topics fast, but their noise keeps topics from converging. A sweep draws the
topic of every token given all other tokens (Griffiths & Steyvers 2004), by the counts of the sweep
before (as in Newman et al. 2009, with a processor per document). Tokens keep their topics between
sweeps. The topics are a running average over the last sweeps.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from opelda.engines import Engine
from opelda.engines.seam import SizeHistogram, TokenCounts, Updated, Weights
from opelda.errors import InputError
from opelda.learning._plan import Plan
from opelda.learning._prevalence import RowPriors
from opelda.learning._seeds import Anchors
from opelda.learning._state import State
from opelda.learning._uncertainty import MOST_PAIRS, SPACING, Differences

# eta while tokens are drawn, if learned; half of it for fewer tokens than cells: topics starve
DRAWN_WORD_PRIOR = 0.1
MOST_DOCUMENTS = 20_000  # for learning alpha: enough for K numbers
MOST_ALPHA = 50.0  # in sum, with priors of rows

Array = NDArray[np.float64]


class HeldCollection:
    """Documents whose tokens an engine of this process sweeps; a cluster has the same methods."""

    def __init__(self, engine: Engine, tokens: Any) -> None:
        self.engine, self.tokens = engine, tokens
        self.n_docs, self.n_tokens = int(tokens.rows.n_docs), int(tokens.first[-1])
        self.total = float(tokens.total)  # weight of all tokens

    def sweep(self, weights: Weights, alpha: Array, **how: Any) -> TokenCounts:
        """Draw and count the topics of all tokens; see `Engine.sweep`."""
        return self.engine.sweep(weights, self.tokens, alpha, **how)

    def histogram(self, share: float, row: int | None = None) -> SizeHistogram:
        """Count documents by their tokens per topic; see `Engine.histogram`."""
        return self.engine.histogram(self.tokens, share, row)


@dataclass
class Sweeps:
    """Successive sweeps over tokens; the weights are the running average of the topics.

    `outside` counts tokens that are no longer drawn; `counts` includes `outside`.
    """

    plan: Plan
    state: State
    collection: Any  # a `HeldCollection` or a cluster
    alpha: Array
    outside: TokenCounts | None = None
    counts: TokenCounts | None = None
    n_made: int = 0
    priors: RowPriors | None = None  # of documents by rows, relative to alpha
    differences: Differences = field(default_factory=Differences)  # between late sweeps

    def __post_init__(self) -> None:
        plan, n_docs, n_tokens = self.plan, self.collection.n_docs, self.collection.n_tokens
        if n_tokens and not self.collection.total:
            raise too_small()
        self.weight = min(self.collection.total / max(n_tokens, 1), 1.0)  # of a token
        # A document of ten tokens carries half the information about frequent topics.
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
            self.anchors = Anchors(pull, self.collection.tokens)
            if self.counts is not None and self.outside is not None:
                self.counts = self.anchors.limit(self.counts - self.outside) + self.outside

    def sweep(self, seed: int, *, find_word_prior: bool) -> Updated:
        """Draw all tokens and average the topics; update eta if it is learned and due."""
        engine, state, started = self.plan.engine, self.state, perf_counter()
        counts, pull = self.counts, self.pull
        if counts is not None and pull is not None:  # (weights include the pull)
            counts = pull.on_counts(counts)
        alpha = self.alpha if self.priors is None else self.priors.alphas(self.alpha)
        drawn = self.collection.sweep(
            state.weights, alpha, counts=counts, prior=self.drawn_prior, seed=seed
        )
        if self.anchors is not None:
            drawn = self.anchors.limit(drawn)
        self.counts = counts = drawn if self.outside is None else drawn + self.outside
        swept = perf_counter()
        self.n_made += 1
        # the running average converges to a variance of 39 averaged sweeps
        share, prior = max(0.05, 2.0 / (self.n_made + 1)), state.weights.prior
        if find_word_prior and self.plan.learns_word_prior:
            prior = likelier_word_prior(counts, self.weight)
        if pull is not None and pull.firm:
            counts = pull.on_counts(counts, at_least=True)
        with state.lock.writing():
            engine.blend(state.weights, counts, share)
            state.weights.prior = prior
        return Updated(share, swept - started, perf_counter() - swept, np.nan)

    def find_prior(self) -> None:
        """Adapt alpha to the documents, if it is learned, and the ratios of rows."""
        if self.priors is not None:
            self.find_ratios()
        elif self.plan.learns_prior:
            alpha = likelier_prior([self.collection.histogram(self.looked_at)], self.alpha)
            # a wholly learned alpha enlarges topics that are large by accident
            learned = min(self.trust, 0.5)
            self.alpha = learned * alpha + (1.0 - learned) * alpha.mean()

    def find_ratios(self) -> None:
        """Adapt alpha and the ratios of rows to the documents."""
        assert self.priors is not None
        n_rows = len(self.priors.ratios)
        seen = [self.collection.histogram(self.looked_at, row) for row in range(n_rows)]
        if self.plan.learns_prior:
            alpha = likelier_prior(seen, self.alpha, self.priors.ratios)
            self.alpha = alpha * min(1.0, MOST_ALPHA / alpha.sum())
        self.priors.adapt(seen, self.alpha)

    def anneal(self, n_sweeps: int) -> Iterator[Updated]:
        """Sweep from the weights' topics, with an alpha that decreases; yield after each sweep.

        The sum of a learned alpha starts at the mean document length, at most 50, and may fall to 1
        after half of the sweeps for short texts, after most of them for long ones: tokens change
        topics easily at first, and topics diverge. Meanwhile the smallest topic has a fixed share
        of alpha and attracts the words that documents of all themes share.
        """
        plan, state = self.plan, self.state
        first = min(max(self.collection.total / max(self.collection.n_docs, 1), 1.0), 50.0)
        n_seeded = 0 if plan.seeds is None else len(plan.seeds)
        # (no such topic among topics with words of their own)
        own_words = np.ndim(state.weights.prior) == 2 or n_seeded == plan.n_topics
        share, common = 0.0 if own_words else 0.15 * self.trust, plan.n_topics - 1
        if plan.learns_prior:
            self.alpha = np.full(plan.n_topics, first / plan.n_topics)
        for number in range(1, n_sweeps + 1):
            is_due = number % 10 == 0 or number == n_sweeps
            done = self.sweep(state.seed + (number << 32), find_word_prior=is_due)
            assert self.counts is not None
            left = n_sweeps - number
            if left % SPACING == 0 and left <= SPACING * MOST_PAIRS:
                self.differences.add(self.counts, self.weight)
            if number == 1 and plan.learns_prior:
                if share:
                    common = n_seeded + int(np.argmin(self.counts.sums[n_seeded:]))
                self.alpha = with_share(self.alpha, common, share)
            # (a histogram per row takes time)
            if plan.learns_prior and number % (2 if self.priors is None else 8) == 0:
                self.find_prior()
                least = first ** (1.0 - (2.0 - self.trust) * number / n_sweeps)
                if least > 1.0:
                    alpha = with_share(self.alpha, common, share)
                    self.alpha = alpha * max(least / self.alpha.sum(), 1.0)
            yield done
        if self.priors is not None:
            self.find_ratios()


def too_small() -> InputError:
    """Return the error for counts that round to 0."""
    return InputError(
        "has counts mostly below 2**-17, which are rounded to 0; multiply all counts by a "
        "constant, so that most are at least 1.",
        "X",
    )


def likelier_word_prior(counts: TokenCounts, weight: float) -> NDArray[np.float32]:
    """Return an eta per word, whose mean predicts each token best from all others (Minka 2000).

    The mean maximises sum_kj n_kj log((n_kj - w + eta) / (n_k - w + V eta)), where w is the weight
    of a token. Half of eta is uniform, half proportional to word frequency. A larger eta while
    drawing separates topics better, but the final topics need less.
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
    seen = counts.word_sums + 1e-9
    spread: NDArray[np.float32] = (0.5 * eta * (1.0 + seen / seen.mean())).astype(np.float32)
    return spread


def with_share(alpha: Array, topic: int, share: float) -> Array:
    """Return an alpha of the same sum in which a topic has at least a share."""
    total, own = alpha.sum(), alpha[topic]
    if own >= share * total or own == total:
        return alpha
    alpha = alpha * ((1.0 - share) * total / (total - own))
    alpha[topic] = share * total
    return alpha


def likelier_prior(seen: list[SizeHistogram], alpha: Array, ratios: Array | None = None) -> Array:
    """Improve alpha by five steps of Minka's fixed point (2000), with ratios r_d of documents.

    alpha_k <- alpha_k * sum_d r_dk [psi(N_dk + alpha_k r_dk) - psi(alpha_k r_dk)]
                       / sum_d r_dk [psi(N_d + alpha . r_d) - psi(alpha . r_d)]
    """
    rows = np.ones((1, len(alpha))) if ratios is None else ratios
    for _ in range(5):
        found, expected = np.zeros(len(alpha)), np.zeros(len(alpha))
        for each, row in zip(seen, rows, strict=True):
            own, topics = alpha * row, each.topics
            total = own.sum()
            terms = each.times * (psi(each.sizes + own[topics]) - psi(own[topics]))
            found += row * np.bincount(topics, terms, len(alpha))
            expected += row * (each.n_alike * (psi(each.lengths + total) - psi(total))).sum()
        if not (expected > 0).all():
            break
        alpha = np.maximum(alpha * found / expected, 1e-5)
    return alpha
