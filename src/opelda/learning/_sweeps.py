"""Closing sweeps: collapsed Gibbs sampling of a whole collection, beginning with learned topics.

Mini-batches find good topics fast, but then noise keeps them from settling. A sweep draws the topic
of every token anew, given all the others (Griffiths & Steyvers 2004), with the topics' counts
standing still meanwhile (as in Newman et al. 2009, with every document a processor of its own), and
counts again. Tokens keep their topics from sweep to sweep. The topics are an average over the last
sweeps.
"""

from collections.abc import Iterator
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from opelda.engines._documents import Documents
from opelda.engines._engine import Updated
from opelda.engines._tokens import SizeHistogram, TokenCounts
from opelda.learning._plan import Plan
from opelda.learning._state import State

LEAST_SHARE = 0.05  # of a new sweep in the running average: its variance is a mean of 39 sweeps'
BETWEEN_PRIORS = 2  # sweeps
BETWEEN_WORD_PRIORS = 10
# Where alpha is learned its sum begins with a document's length, but no more than that, and may
# fall to 1 only as the first sweeps go on: tokens change their topics easily at first, and topics
# come to differ. Meanwhile the smallest topic has a share of it, and takes the words that documents
# of all kinds have, which would be spread over many.
FIRST_PRIOR = 50.0
ANNEALED = 0.5
COMMON_SHARE = 0.15
# A document of so many tokens says half as much of which topics are frequent: by alpha of short
# texts alone a topic that is large by chance grows.
FEW_TOKENS = 10.0
# eta while tokens are drawn, where it is learned; half of it where there are fewer tokens than
# cells, else topics starve
DRAWN_WORD_PRIOR = 0.1

# of the prior that is learned: so many documents are plenty for K numbers
MOST_DOCUMENTS = 20_000
PRIOR_STEPS = 5
SMALLEST_PRIOR = 1e-5
WORD_PRIOR_STEPS = 30
WORD_PRIORS = 1e-4, 1.0  # the smallest and the largest


def run_closing_sweeps(plan: Plan, state: State, documents: Documents) -> Iterator[Updated]:
    """Sweep through a collection, beginning with the topics learned so far; yield after each.

    The weights are the average so far at any time, so that an interruption loses one sweep.
    """
    engine, weights, n_sweeps = plan.engine, state.weights, plan.schedule.n_sweeps
    tokens = engine.tokens(documents, plan.n_topics)
    alpha, counts = plan.alpha, None
    n_tokens = int(tokens.first[-1])
    weight = min(float(tokens.lengths.sum()) / max(n_tokens, 1), 1.0)  # a token's
    first = min(max(float(tokens.lengths.mean()), 1.0), FIRST_PRIOR)
    trust = n_tokens / (n_tokens + FEW_TOKENS * documents.n_docs)
    # (topics that were given words keep to them)
    share = COMMON_SHARE * trust if np.ndim(weights.prior) < 2 else 0.0
    common = 0
    if plan.learns_prior:
        alpha = np.full(plan.n_topics, first / plan.n_topics)
    drawn_prior = None
    if plan.learns_word_prior:
        per_cell = n_tokens / (plan.n_topics * weights.n_words)
        drawn_prior = DRAWN_WORD_PRIOR * weight * min(max(per_cell, 0.5), 1.0)
    for number in range(1, n_sweeps + 1):
        started = perf_counter()
        seed = state.seed + (number << 32)
        counts = engine.sweep(weights, tokens, alpha, counts=counts, prior=drawn_prior, seed=seed)
        swept = perf_counter()
        if number == 1 and plan.learns_prior:
            common = int(np.argmin(counts.sums))
            alpha = with_share(alpha, common, share)
        new = max(LEAST_SHARE, 2.0 / (number + 1))
        likelier = weights.prior
        is_due = number % BETWEEN_WORD_PRIORS == 0 or number == n_sweeps
        if plan.learns_word_prior and is_due:
            likelier = by_frequency(likelier_word_prior(counts, weight), counts)
        with state.lock.writing():
            engine.blend(weights, counts, new)
            weights.prior = likelier
            state.n_updates += 1
            state.n_docs_seen += documents.n_docs
        if plan.learns_prior and number % BETWEEN_PRIORS == 0:
            looked_at = MOST_DOCUMENTS / max(documents.n_docs, 1)
            alpha = likelier_prior(engine.histogram(tokens, looked_at), alpha)
            alpha = trust * alpha + (1.0 - trust) * alpha.mean()
            least = first ** (1.0 - number / (ANNEALED * n_sweeps))
            if least > 1.0:
                alpha = with_share(alpha, common, share) * max(least / alpha.sum(), 1.0)
        yield Updated(new, swept - started, perf_counter() - swept, np.nan)


def likelier_word_prior(counts: TokenCounts, weight: float) -> float:
    """Return the eta that predicts each token best from all others (Minka 2000).

    It maximises sum_kj n_kj log((n_kj - w + eta) / (n_k - w + V eta)), w being what a token weighs:
    drawing by more makes topics differ more, but the topics that were found need less.
    """
    cells, times = np.unique(counts.cells.data, return_counts=True)
    n, n_words = np.ldexp(cells.astype(np.float64), -counts.shift), counts.cells.shape[0]
    others, totals = np.maximum(n - weight, 0.0), counts.sums
    eta, least, most = (weight * bound for bound in (DRAWN_WORD_PRIOR, *WORD_PRIORS))
    for _ in range(WORD_PRIOR_STEPS):
        found = (times * n / (others + eta)).sum()
        expected = n_words * (totals / (np.maximum(totals - weight, 0.0) + n_words * eta)).sum()
        if not expected > 0:
            break
        eta = min(max(eta * float(found / expected), least), most)
    return eta


def by_frequency(eta: float, counts: TokenCounts) -> NDArray[np.float32]:
    """Return an eta per word of the same mean: half of it alike for all, half as words occur."""
    seen = counts.cells.sum(axis=1) + 1e-9
    spread: NDArray[np.float32] = (0.5 * eta * (1.0 + seen / seen.mean())).astype(np.float32)
    return spread


def with_share(alpha: NDArray[np.float64], topic: int, share: float) -> NDArray[np.float64]:
    """Return an alpha of the same sum in which a topic has that share, or more if it had more."""
    total, own = alpha.sum(), alpha[topic]
    if own >= share * total or own == total:
        return alpha
    alpha = alpha * ((1.0 - share) * total / (total - own))
    alpha[topic] = share * total
    return alpha


def likelier_prior(seen: SizeHistogram, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Improve alpha by a few steps of Minka's fixed point (2000).

    alpha_k <- alpha_k * sum_d [psi(N_dk + alpha_k) - psi(alpha_k)]
                       / sum_d [psi(N_d + sum alpha) - psi(sum alpha)]
    """
    topics, n_topics = seen.topics, len(alpha)
    for _ in range(PRIOR_STEPS):
        total = alpha.sum()
        found = seen.times * (psi(seen.sizes + alpha[topics]) - psi(alpha[topics]))
        expected = (seen.n_alike * (psi(seen.lengths + total) - psi(total))).sum()
        if expected <= 0:
            break
        alpha = np.maximum(alpha * np.bincount(topics, found, n_topics) / expected, SMALLEST_PRIOR)
    return alpha
