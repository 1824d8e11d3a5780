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
from scipy import sparse

from opelda.engines import Engine, aligned_empty
from opelda.errors import InputError
from opelda.learning._document_prior import likelier_prior
from opelda.learning._reporting import Reporter
from opelda.learning._state import State
from opelda.learning._topic_store import TopicStore
from opelda.learning._update import Documents, Updated, Worker

FIRST_SWEEPS = 3  # tokens without topics need a few, before they are counted the first time
LEAST_WEIGHT = 0.1  # of a new sweep in the average: 19 sweeps count, as far as noise goes
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
    store : TopicStore
        The topics to begin with; after each sweep they are the average so far.
    docs : Documents
    alpha : float64 array (K,)
    learn_prior : bool
        Adapt alpha to the documents every few sweeps, whatever it was.
    engine, n_threads, seed : Engine, int, int
    """

    def __init__(
        self,
        store: TopicStore,
        docs: Documents,
        alpha: NDArray[np.float64],
        *,
        learn_prior: bool,
        engine: Engine,
        n_threads: int,
        seed: int,
    ) -> None:
        self.store = store
        self.alpha = np.full(len(alpha), FIRST_PRIOR / len(alpha)) if learn_prior else alpha
        self._learn_prior = learn_prior
        self._engine, self._n_threads, self._seed = engine, n_threads, seed
        self._tokens = engine.tokens(docs.indptr, docs.words, docs.counts)
        self._counts: TopicStore | None = None  # of the last sweep alone

    def run(self, n_sweeps: int) -> Iterator[Updated]:
        """Sweep so many times; yield after each."""
        for number in range(1, n_sweeps + 1):
            started = perf_counter()
            self._draw(number)
            drawn = perf_counter()
            weight = max(LEAST_WEIGHT, 2.0 / (number + 1))
            self._count()
            self._average(weight)
            if self._learn_prior and number % BETWEEN_PRIORS == 0:
                self.alpha = likelier_prior(self._tokens, self.alpha)
            yield Updated(weight, drawn - started, perf_counter() - drawn, np.nan)

    def _draw(self, number: int) -> None:
        fresh = self._counts is None
        kept = (self._counts or self.store).kept()
        rows, _ = self._engine.lay_out(kept, None, n_threads=self._n_threads)
        self._engine.draw(
            self._tokens,
            rows,
            self.alpha,
            own=np.zeros(kept.n_topics) if fresh else 1.0 / kept.totals,
            n_sweeps=FIRST_SWEEPS if fresh else 1,
            fresh=fresh,
            seed=self._seed + (number << 32),
            n_threads=self._n_threads,
        )

    def _count(self) -> None:
        store = self.store
        if self._counts is None:
            rows = aligned_empty(store.n_words, store.rows.shape[1])
            self._counts = TopicStore(rows, store.n_topics, store.prior, prior_weight=1.0)
        self._counts.clear()
        self._counts.sums = self._engine.count(
            self._tokens, self._counts.rows, store.n_topics, self._n_threads
        )

    def _average(self, weight: float) -> None:
        assert self._counts is not None
        self.store.move_to(self._counts, weight)


def close(
    state: State,
    matrix: sparse.csr_array,
    worker: Worker,
    reporter: Reporter,
    n_pass: int,
    n_sweeps: int,
    learn_prior: bool,
) -> None:
    """Sweep through a collection after so many passes over it, and report each time."""
    if not n_sweeps:
        return
    sweeps = Sweeps(
        state.store,
        Documents.of(matrix),
        worker.alpha,
        learn_prior=learn_prior,
        engine=worker.engine,
        n_threads=worker.n_threads,
        seed=state.seed,
    )
    for number, done in enumerate(sweeps.run(n_sweeps), n_pass + 1):
        state.n_updates += 1
        state.n_docs_seen += matrix.shape[0]
        reporter.n_docs += matrix.shape[0]
        if reporter.tell(done, number):
            return
