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

from opelda.engines import Engine
from opelda.engines._documents import Documents
from opelda.engines._engine import Updated
from opelda.engines._weights import Weights
from opelda.errors import InputError
from opelda.learning._document_prior import MOST_DOCUMENTS, likelier_prior
from opelda.learning._reporting import Reporter
from opelda.learning._state import State
from opelda.learning._update import Updater

FIRST_DRAWS = 3  # tokens without topics need a few, before they are counted the first time
LEAST_SHARE = 0.1  # of a new sweep in the average, whose variance is that of a mean of 19 sweeps
BETWEEN_PRIORS = 10  # sweeps
# sum_k alpha_k to begin with where it is learned: more than documents have at the end, so that
# tokens change their topics easily at first
FIRST_PRIOR = 30.0
MOST_TOPICS = 2**16


def check_topics(n_topics: int, n_sweeps: int) -> None:
    """Refuse more topics than a token's topic can be of."""
    if n_sweeps and n_topics > MOST_TOPICS:
        raise InputError(
            f"must be 0 for more than {MOST_TOPICS} topics, and there are {n_topics}.", "n_sweeps"
        )


class Sweeps:
    """The tokens of a collection and their topics, drawn again and again.

    Parameters
    ----------
    weights : Weights
        The topics to begin with; after each sweep they are the average so far.
    documents : Documents
    alpha : float64 array (K,)
    learn_prior : bool
        Adapt alpha to the documents every few sweeps, whatever it was.
    engine, seed : Engine, int
    """

    def __init__(
        self,
        weights: Weights,
        documents: Documents,
        alpha: NDArray[np.float64],
        *,
        learn_prior: bool,
        engine: Engine,
        seed: int,
    ) -> None:
        self.weights = weights
        self.alpha = np.full(len(alpha), FIRST_PRIOR / len(alpha)) if learn_prior else alpha
        self._learn_prior = learn_prior
        self._engine, self._seed = engine, seed
        self._tokens = engine.tokens(documents)
        self._share = MOST_DOCUMENTS / max(documents.n_docs, 1)

    def run(self, n_sweeps: int) -> Iterator[Updated]:
        """Sweep so many times; yield after each."""
        engine, counts = self._engine, None
        for number in range(1, n_sweeps + 1):
            started = perf_counter()
            drawn = engine.sweep(
                counts or self.weights,
                self._tokens,
                self.alpha,
                seed=self._seed + (number << 32),
                first=counts is None,
                n_draws=FIRST_DRAWS if counts is None else 1,
            )
            swept = perf_counter()
            share = max(LEAST_SHARE, 2.0 / (number + 1))
            counts = engine.counted(drawn, self.weights.host().prior)  # of this sweep alone
            self.weights.blend(counts, share)
            if self._learn_prior and number % BETWEEN_PRIORS == 0:
                seen = engine.histogram(self._tokens, self.weights.n_topics, self._share)
                self.alpha = likelier_prior(seen, self.alpha)
            yield Updated(share, swept - started, perf_counter() - swept, np.nan)


def run_closing_sweeps(
    state: State,
    documents: Documents,
    updater: Updater,
    reporter: Reporter,
    n_pass: int,
    n_sweeps: int,
    learn_prior: bool,
) -> None:
    """Sweep through a collection after so many passes over it, and report each time."""
    if not n_sweeps:
        return
    sweeps = Sweeps(
        state.weights,
        documents,
        updater.alpha,
        learn_prior=learn_prior,
        engine=updater.engine,
        seed=state.seed,
    )
    for number, done in enumerate(sweeps.run(n_sweeps), n_pass + 1):
        state.n_updates += 1
        state.n_docs_seen += documents.n_docs
        reporter.n_docs += documents.n_docs
        if reporter.tell(done, number):
            return
