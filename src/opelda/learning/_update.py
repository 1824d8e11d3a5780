"""One update: the mixtures of a mini-batch (E-step), then the topics (M-step)."""

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines import Batch, ByWord, Engine, Picks, Solution, Wanted, gather
from opelda.errors import InputError
from opelda.inference import OPE, Method
from opelda.inference._inputs import SMALLEST_COUNT
from opelda.learning._rules import Rule, Step
from opelda.learning._topic_store import TopicStore


@dataclass(frozen=True)
class Documents:
    """Documents as kernels take them: CSR with sorted, distinct words."""

    indptr: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float32]

    @classmethod
    def of(cls, X: sparse.csr_array, first: int = 0, last: int | None = None) -> "Documents":
        """Take rows `first` to `last` of a checked CSR array, without copying where types agree."""
        ends = X.indptr[first : (X.shape[0] if last is None else last) + 1]
        part = slice(int(ends[0]), int(ends[-1]))
        indptr = ends.astype(np.int64) - part.start
        words = np.ascontiguousarray(X.indices[part], np.int32)
        counts = np.ascontiguousarray(X.data[part], np.float32)
        return cls._that_count(indptr, words, counts)

    @classmethod
    def gathered(
        cls, X: sparse.csr_array, documents: NDArray[np.int64], n_threads: int = 1
    ) -> "Documents":
        """Take the documents of those numbers of a checked CSR array; nothing else is copied."""
        return cls._that_count(*gather(X, documents, n_threads))

    @classmethod
    def _that_count(
        cls, indptr: NDArray[np.int64], words: NDArray[np.int32], counts: NDArray[np.float32]
    ) -> "Documents":
        if len(counts) and counts.min() <= SMALLEST_COUNT:  # stored, but no words of the document
            keep = counts > SMALLEST_COUNT
            before = np.concatenate(([0], np.cumsum(keep, dtype=np.int64)))
            indptr, words, counts = before[indptr], words[keep], counts[keep]
        return cls(indptr, words, counts)

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.indptr) - 1


@dataclass(frozen=True)
class Updated:
    """How an update went."""

    rho: float
    e_seconds: float
    m_seconds: float
    mean_gap: float


@dataclass(frozen=True)
class Worker:
    """What stays the same from update to update.

    Attributes
    ----------
    method, rule : Method, Rule
    alpha : float64 array (K,)
    decay, offset : float
        kappa and tau of rho_t = (t + tau)^-kappa.
    engine, n_threads : Engine, int
    certify : bool
        Somebody wants to know the gap.
    """

    method: Method
    rule: Rule
    alpha: NDArray[np.float64]
    decay: float
    offset: float
    engine: Engine
    n_threads: int
    certify: bool = False

    def update(
        self, store: TopicStore, docs: Documents, *, number: int, population: float, seed: int
    ) -> Updated:
        """Infer the documents' mixtures and update the topics with them."""
        started = perf_counter()
        by_word = self.by_word(store, docs)
        batch = self.batch(store, docs, by_word, learning=True)
        laid_out = perf_counter()
        solver = self.unscreened() if number == 1 else self
        solution = solver._solve(batch, seed | number << 32)
        solved = perf_counter()
        rho = float((number + self.offset) ** -self.decay) if self.rule.decays else 1.0
        step = Step(
            number=number,
            rho=rho,
            n_docs=docs.n_docs,
            population=population,
            mass=lambda: _mass(solution, by_word.tokens, store.n_topics),
        )
        try:
            self._add(store, by_word, batch, solution, step)
        except BaseException:  # interrupted: what was added stays, and is counted
            if number == 1:  # nothing is known yet, and the start must not be lost
                store.restart(seed)
            else:
                store.recount()
            raise
        ended = perf_counter()
        gap = np.nan
        if solution.certificate is not None:
            gap = float(solution.certificate.gap[np.diff(docs.indptr) > 0].mean())
        return Updated(rho, solved - laid_out, ended - solved + laid_out - started, gap)

    def _add(
        self, store: TopicStore, by_word: ByWord, batch: Batch, solution: Solution, step: Step
    ) -> None:
        store.own()
        gain = self.rule.prepare(store, step)
        rows, mean = batch.rows, batch.mean
        if batch.ids is None:  # laid out for every word
            rows, mean = rows[by_word.words], mean[by_word.words]
        store.sums = store.sums + self.engine.add(
            store.kept(),
            by_word,
            (rows, mean),
            solution,
            divide=self.rule.divide,
            gain=gain,
            n_threads=self.n_threads,
        )

    def by_word(self, store: TopicStore, docs: Documents) -> ByWord:
        """Turn documents around."""
        self.check(store, docs)
        return self.engine.by_word(
            docs.indptr, docs.words, docs.counts, store.n_words, self.n_threads
        )

    def check(self, store: TopicStore, docs: Documents) -> None:
        """Refuse words that the topics do not have; kernels must be able to trust them."""
        if len(docs.words) and int(docs.words.max()) >= store.n_words:
            raise InputError(
                f"A document holds word {int(docs.words.max())} but the topics have "
                f"{store.n_words} words; fit the model again, or count with its own words."
            )

    def batch(
        self, store: TopicStore, docs: Documents, by_word: ByWord | None, *, learning: bool = False
    ) -> Batch:
        """Lay out the topics of the documents' words; of every word for methods that need it.

        Without `by_word` those of every word as well.
        """
        if self.method.needs_every_word:
            by_word = None
        logs = learning and self.rule.divide and self.method.expects_logs
        words = None if by_word is None else by_word.words
        rows, mean = self.engine.lay_out(store.kept(), words, logs=logs, n_threads=self.n_threads)
        return Batch(
            rows=rows,
            mean=mean,
            n_topics=store.n_topics,
            indptr=docs.indptr,
            words=docs.words if by_word is None else by_word.places,
            counts=docs.counts,
            alpha=self.alpha.astype(np.float32),
            ids=words,
        )

    def unscreened(self) -> "Worker":
        """Return a worker for topics that are all but alike, which no bound tells apart."""
        if not isinstance(self.method, OPE):
            return self
        return replace(self, method=replace(self.method, screen=False))

    def _solve(self, batch: Batch, seed: int) -> Solution:
        wanted = Wanted(theta=False, certificate=self.certify, factors=self.rule.divide)
        solution = self.method.solve(batch, seed, self.engine, self.n_threads, wanted)
        if solution.theta is None:
            return solution
        # the same mixtures with a certificate and without
        theta = np.ascontiguousarray(solution.theta, np.float32)
        certificate = solution.certificate
        if self.certify and certificate is None:
            certificate = self.engine.certify(batch, theta, self.n_threads)
        return replace(solution, theta=theta, certificate=certificate)


def _mass(solution: Solution, tokens: NDArray[np.float64], n_topics: int) -> NDArray[np.float64]:
    """sum_d |d| theta_dk, in the documents' order whatever the number of threads."""
    picks = solution.picks
    if isinstance(picks, Picks):
        weights = picks.shares * np.repeat(tokens, np.diff(picks.indptr))
        mass = np.bincount(picks.topics, weights, n_topics)
        return mass + picks.start.astype(np.float64) * float((picks.rest * tokens).sum())
    full = tokens > 0  # nothing was written for the others
    theta = np.asarray(solution.theta)[full].astype(np.float64)
    total: NDArray[np.float64] = (theta * tokens[full, None]).sum(axis=0)
    return total
