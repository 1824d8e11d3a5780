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
from opelda.engines._tokens import SizeHistogram
from opelda.learning._plan import Plan
from opelda.learning._state import State

FIRST_DRAWS = 3  # tokens without topics need a few, before they are counted the first time
LEAST_SHARE = 0.1  # of a new sweep in the running average: its variance is a mean of 19 sweeps'
BETWEEN_PRIORS = 10  # sweeps
# sum_k alpha_k to begin with where it is learned: more than documents have at the end, so that
# tokens change their topics easily at first
FIRST_PRIOR = 30.0

# of the prior that is learned: so many documents are plenty for K numbers
MOST_DOCUMENTS = 20_000
PRIOR_STEPS = 5
SMALLEST_PRIOR = 1e-5


def run_closing_sweeps(plan: Plan, state: State, documents: Documents) -> Iterator[Updated]:
    """Sweep through a collection, beginning with the topics learned so far; yield after each.

    The weights are the average so far at any time, so that an interruption loses one sweep.
    """
    engine, alpha, counts = plan.engine, plan.alpha, None
    if plan.learns_prior:
        alpha = np.full(plan.n_topics, FIRST_PRIOR / plan.n_topics)
    tokens = engine.tokens(documents, plan.n_topics)
    for number in range(1, plan.schedule.n_sweeps + 1):
        started = perf_counter()
        counts = engine.sweep(
            state.weights,
            tokens,
            alpha,
            counts=counts,
            seed=state.seed + (number << 32),
            n_draws=FIRST_DRAWS if counts is None else 1,
        )
        swept = perf_counter()
        share = max(LEAST_SHARE, 2.0 / (number + 1))
        with state.lock.writing():
            engine.blend(state.weights, counts, share)
            state.n_updates += 1
            state.n_docs_seen += documents.n_docs
        if plan.learns_prior and number % BETWEEN_PRIORS == 0:
            looked_at = MOST_DOCUMENTS / max(documents.n_docs, 1)
            alpha = likelier_prior(engine.histogram(tokens, looked_at), alpha)
        yield Updated(share, swept - started, perf_counter() - swept, np.nan)


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
