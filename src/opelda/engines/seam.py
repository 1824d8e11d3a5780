"""The seam between engines and methods, rules and learners: settings, tasks, results, `Engine`.

Methods, rules and learners import from no other module of engines.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import on_device
from opelda.engines._documents import (
    GOLDEN,
    Chosen,
    Documents,
    Rows,
    content_keys,
    copies_by_row,
    copy_numbers,
    mix,
    numbered,
    ordering,
    ranked,
    seeded,
    uniforms,
)
from opelda.engines._solutions import (
    EVERYTHING,
    FEW_TOPICS,
    MIXTURES,
    SPARSE,
    Batch,
    Certificate,
    Intervals,
    Picks,
    Solution,
    Wanted,
    interleaved,
    where_it_was,
)
from opelda.engines._tokens import (
    FRACTION_SHIFT,
    SizeHistogram,
    TokenCounts,
    Tokens,
    enlarged,
    looked_at,
    tokens_of,
    unit_of,
)
from opelda.engines._weights import (
    WORDS_AT_ONCE,
    HostWeights,
    Prior,
    Weights,
    extended,
    prior_sums,
)
from opelda.errors import InputError

SMALLEST_PROBABILITY = 1e-15  # of a topic; smaller ones are zero, which avoids denormals
SMALLEST = 1e-30  # of a word's probability under a mixture, and of a share, as logarithms take it
PREDICTED_AT_ONCE = 2**22  # probabilities


class KernelSettings:
    """The parameters of a kernel."""


@dataclass(frozen=True)
class OPESettings(KernelSettings):
    """A walk of OPE of S moves, by one of R sequences; see `opelda.inference.ope`."""

    a: NDArray[np.float32]  # (R, S): the weight of the likelihood's gradient at each move
    b: NDArray[np.float32]  # (R, S): of the prior's
    a2: NDArray[np.float32] | None  # (R, S): the second sequence of OPE2, OPE3 and BOPE
    b2: NDArray[np.float32] | None
    coin: NDArray[np.float32] | None  # (S,): OPE2's uniform numbers
    # (S + 1,): after s moves the mixture is proportional to base[s] * start + (times picked)
    base: NDArray[np.float32]
    start: NDArray[np.float32]  # (K,)
    first_t: int  # the t of the first move: the step of move s is 1/(s + first_t)
    n_restarts: int
    # with a document's content it chooses the sequence; None: the first for all
    seed: int | None = None
    tol: float = 0.0
    screen: bool = True  # skip topics that provably cannot be picked


@dataclass(frozen=True)
class EMSettings(KernelSettings):
    """Iterations of EM, on the `n_kept` topics that explain most."""

    n_iter: int
    n_kept: int


@dataclass(frozen=True)
class Accuracy:
    """The largest loss against the most likely mixture, in nats a document and a token."""

    max_loss: float = np.inf
    max_loss_per_token: float = np.inf

    def limits(self, n_tokens: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest loss of each document."""
        each = np.full(len(n_tokens), self.max_loss)
        if np.isfinite(self.max_loss_per_token):
            each = np.minimum(each, self.max_loss_per_token * n_tokens)
        return each


class ExactSettings(Accuracy, KernelSettings):
    """The accuracy at which Exact stops."""


@dataclass(frozen=True)
class VBSettings(KernelSettings):
    """Iterations at most, when to stop, and the first gamma (K,) where it is not alpha + N/K."""

    n_iter: int
    tol: float
    start: NDArray[np.float64] | None


@dataclass(frozen=True)
class CVB0Settings(KernelSettings):
    """Passes thrown away and averaged; the rate of visit t is scale / (offset + t)^decay."""

    burn_in: int
    n_samples: int
    scale: float
    offset: float
    decay: float


@dataclass(frozen=True)
class CVBSettings(KernelSettings):
    """Passes at most, and when to stop."""

    n_iter: int
    tol: float


@dataclass(frozen=True)
class CGSSettings(KernelSettings):
    """Sweeps thrown away and averaged, and the seed that documents' keys are made with."""

    burn_in: int
    n_samples: int
    seed: int


@dataclass(frozen=True)
class FWSettings(KernelSettings):
    """The length of each step."""

    steps: NDArray[np.float64]


def is_concave(alpha: NDArray[np.float64]) -> bool:
    """Return whether the prior makes f strictly concave, so that f has a maximum.

    Otherwise f has no maximum (alpha < 1) or f is the likelihood (alpha = 1).
    """
    return bool((alpha >= 1).all() and (alpha > 1).any())


class Solver(Protocol):
    """An inference method, as far as an engine knows it."""

    expects_logs: ClassVar[bool]  # learns with exp(E[log beta]) instead of beta
    needs_every_word: ClassVar[bool]  # reads the topics of words beside the document's
    knows_loss: ClassVar[bool]  # its kernel bounds the loss of each mixture

    def kernel(self, n_topics: int, seed: int) -> KernelSettings | None:
        """Return the settings of the method's kernel; None for a method without a kernel."""

    def solve(self, batch: Batch, seed: int) -> Solution:
        """Infer a batch in plain NumPy, in double precision: theta and n_iter."""


@dataclass(frozen=True)
class Task:
    """How to infer mixtures."""

    method: Solver
    alpha: NDArray[np.float64]
    seed: int  # of 64 bits: the user's in the lower half, in learning the update's number above it
    accuracy: Accuracy | None = None  # of every mixture
    # makes `Exact` of an accuracy; needed for an accuracy and for close bounds
    exact: Callable[..., Solver] | None = None


@dataclass(frozen=True)
class Step:
    """An update, beside its documents."""

    number: int  # t, from 1, over all passes and calls
    rho: float  # the step's length
    population: float  # D, the number of documents of the collection
    seed: int  # of the weights' random start


class Rule(Protocol):
    """A way to update topics; see `opelda.learning`."""

    decays: bool  # steps are rho_t; without, every batch counts alike

    @property
    def divide(self) -> bool:
        """Statistics are sum_d d_j phi_djk, instead of sum_d d_j theta_dk."""

    def prepare(
        self, weights: Weights, step: Step, n_docs: int, mass: Callable[[], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Shrink the weights; return the factor of each topic's new statistics.

        `mass` computes sum_d |d| theta_dk, the tokens that each topic explains.
        """

    def newcomer(self, weights: Weights) -> NDArray[np.float64]:
        """Return the initial weights (K,) of a new word."""


@dataclass(frozen=True)
class Statistics:
    """Sums over some documents, to be applied to the weights they were inferred with.

    ``+`` adds the statistics of different documents.
    """

    words: NDArray[np.int32]  # ascending
    values: NDArray[np.float64]  # (n, K): sum_d d_j phi_djk or, undivided, sum_d d_j theta_dk
    mass: NDArray[np.float64]  # (K,): sum_d |d| theta_dk
    n_docs: int

    def __add__(self, other: "Statistics") -> "Statistics":
        words = np.union1d(self.words, other.words).astype(np.int32)
        values = np.zeros((len(words), self.values.shape[1]))
        for part in (self, other):
            values[np.searchsorted(words, part.words)] += part.values
        return Statistics(words, values, self.mass + other.mass, self.n_docs + other.n_docs)


@dataclass(frozen=True)
class Updated:
    """The step and the duration of an update or a sweep, and the mean gap of its mixtures."""

    rho: float
    e_seconds: float
    m_seconds: float
    mean_gap: float


class Explained(Protocol):
    """Documents with inferred mixtures, whose statistics an engine has or can add up."""

    e_seconds: float  # of inference
    mean_gap: float  # NaN without certificates

    def mass(self) -> NDArray[np.float64]:
        """sum_d |d| theta_dk."""

    def add_to(self, weights: Weights, gain: NDArray[np.float64]) -> None:
        """Add the statistics, times a number per topic, to weights."""

    def statistics(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the words of the documents, ascending, and their statistics (n, K)."""


class Engine(Protocol):
    """A place where kernels run; docs/architecture.md has its calls as one table.

    An engine makes handles of documents, weights, topics and tokens, which engines of the same name
    can use. A result depends on the documents, the topics, the parameters and the seed, never on
    the number of threads or the order of calls. Calls that have a body here can be inherited.
    """

    name: str  # engines with equal names share handles

    def documents(self, X: sparse.csr_array) -> Documents:
        """Return the handle of a collection of checked counts."""

    def resident(self, X: Any) -> Documents | None:
        """Return the handle of unchecked documents in the engine's memory; None to copy them."""
        return None

    def weights(self, host: HostWeights) -> Weights:
        """Copy weights of another engine, a process or a file."""

    def keeps(self, weights: Weights) -> bool:
        """Return whether the engine owns the weights; `weights` copies other engines' weights."""
        return weights.owner == self.name

    def random_weights(self, n_words: int, n_topics: int, prior: Prior, seed: int) -> Weights:
        """Draw weights of mean 1 and deviation 0.1, each a function of word, topic and seed.

        That is just enough to tell the topics apart: from wider ones VB, for which small weights
        count exponentially less, would keep every word where the start put it.
        """

    def topics(self, components: NDArray[Any], ids: NDArray[np.int32] | None = None) -> Any:
        """Return the handle of fixed topics (K, V), of every word or of the words `ids`."""

    def update(
        self,
        weights: Weights,
        documents: Documents,
        task: Task,
        rule: Rule,
        step: Step,
        *,
        chosen: Chosen = None,
        certify: bool = False,
    ) -> Updated | None:
        """Infer the mixtures of some documents and update the topics with them.

        Return None, without any change, if the documents have no words.
        """
        started = perf_counter()
        # inference is slow and precedes the first change, so an interruption changes no weights
        wanted = Wanted(theta=False, certificate=certify, factors=rule.divide)
        found = self._explain(weights, documents, chosen, task, wanted)
        if found is None:
            return None
        n_docs = documents.n_docs if chosen is None else len(chosen)
        with changing(self, weights, step):
            found.add_to(weights, rule.prepare(weights, step, n_docs, found.mass))
        m_seconds = perf_counter() - started - found.e_seconds
        return Updated(step.rho, found.e_seconds, m_seconds, found.mean_gap)

    def statistics(
        self,
        weights: Weights,
        documents: Documents,
        task: Task,
        *,
        divide: bool,
        chosen: Chosen = None,
    ) -> Statistics:
        """Infer the mixtures of some documents and sum up their statistics."""
        wanted = Wanted(theta=False, certificate=False, factors=divide)
        found = self._explain(weights, documents, chosen, task, wanted)
        n_docs = documents.n_docs if chosen is None else len(chosen)
        if found is None:
            none = np.zeros((0, weights.n_topics))
            return Statistics(np.zeros(0, np.int32), none, none.sum(axis=0), n_docs)
        mass = found.mass()
        return Statistics(*found.statistics(), mass, n_docs)

    def _explain(
        self, weights: Weights, documents: Documents, chosen: Chosen, task: Task, wanted: Wanted
    ) -> Explained | None:
        """Infer mixtures for learning, with factors if the rule divides; None for no words."""

    def apply(self, weights: Weights, statistics: Statistics, rule: Rule, step: Step) -> None:
        """Update the topics with given statistics."""
        with changing(self, weights, step):
            gain = rule.prepare(weights, step, statistics.n_docs, lambda: statistics.mass)
            before = weights.rows[statistics.words, : weights.n_topics]
            after = before + (gain * statistics.values).astype(before.dtype)
            weights.rows[statistics.words, : weights.n_topics] = after
            weights.sums = weights.sums + (after.astype(np.float64) - before).sum(axis=0)

    def tokens(
        self,
        documents: Documents,
        n_topics: int,
        *,
        copies: NDArray[np.integer] | None = None,
        shift: int | None = None,
        topics: NDArray[np.uint16] | None = None,
        prior_rows: NDArray[np.uint16] | None = None,
    ) -> Tokens:
        """Make tokens of a collection, which `sweep` gives topics, or which have `topics`.

        `prior_rows` are the documents' rows in the alpha of `sweep`, if priors differ.

        For a part of a collection, pass `copies` (the number of each document among those of equal
        content) and `shift` of the whole collection.
        """

    def sweep(
        self,
        weights: Weights | None,
        tokens: Any,
        alpha: NDArray[np.float64],
        *,
        counts: TokenCounts | None = None,
        prior: Prior | None = None,
        seed: int,
        n_draws: int = 1,
    ) -> TokenCounts:
        """Draw every token's topic, P(k) ~ (N_dk + alpha_k) beta_kj, and count the tokens.

        alpha is (K,), or (rows, K) for tokens with `prior_rows`.

        Without counts, the weights define beta, and the tokens begin without topics. With counts of
        these tokens, the counts and the prior (by default the weights') define beta, and the counts
        exclude the drawn token.
        """

        if counts is None:
            return self._sweep(tokens, alpha, seed, n_draws, weights, None)
        if prior is None:
            assert weights is not None
            prior = weights.prior
        return self._sweep(tokens, alpha, seed, n_draws, counts, prior)

    def _sweep(
        self, tokens: Any, alpha: NDArray[np.float64], seed: int, n_draws: int, by: Any, prior: Any
    ) -> TokenCounts:
        """Draw topics by weights, or by counts and a prior, and count them."""

    def blend(self, weights: Weights, counts: TokenCounts, share: float) -> None:
        """Make weights (1 - share) of what they are, `share` of counts, and all of the prior."""

    def histogram(self, tokens: Any, share: float, row: int | None = None) -> SizeHistogram:
        """Count documents by their tokens per topic, on about a share of them chosen by key.

        With a `row`, count only documents with this row of `prior_rows`.
        """

    def infer(
        self, topics: Any, documents: Documents, task: Task, wanted: Wanted = EVERYTHING
    ) -> Solution:
        """Infer mixtures by weights or by fixed topics."""

    def certify(
        self, topics: Any, documents: Documents, theta: NDArray[Any], alpha: NDArray[np.float64]
    ) -> Certificate:
        """Compute the certificate of given mixtures."""

    def predict(
        self, components: NDArray[Any], documents: Documents, theta: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Return each document's sum_j d_j log(sum_k theta_k beta_kj), in double precision.

        The topics (K, V) are taken as they are; a probability below 1e-30 counts as 1e-30.
        """
        X = documents.matrix
        document = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        logs, topics = np.zeros(X.nnz), components.T
        if X.nnz > len(topics):  # then it pays to have each word's probabilities side by side
            topics = np.ascontiguousarray(topics)
        n_at_once = max(1, PREDICTED_AT_ONCE // len(components))
        for first in range(0, X.nnz, n_at_once):
            part = slice(first, first + n_at_once)
            # x_j = sum_k theta_k beta_kj for the words of each document alone
            beta = topics[X.indices[part]]
            x = np.multiply(beta, theta[document[part]], dtype=np.float64).sum(axis=1)
            logs[part] = np.log(np.maximum(x, SMALLEST))
        return np.bincount(document, X.data * logs, X.shape[0]).astype(np.float64)

    def read(self, weights: Weights, words: NDArray[np.int32] | None = None) -> NDArray[Any]:
        """Return the topics (K, V) of weights, or the columns of some words; read only."""
        if words is not None:
            check_words(words, weights.n_words)
        topics: NDArray[Any] = self._table(weights, words).rows[:, : weights.n_topics].T
        topics.flags.writeable = False
        return topics

    def _table(self, topics: Any, words: NDArray[np.int32] | None = None) -> Any:
        """Return fixed topics, or the table of weights: of some words, or of all, then cached."""


def take_documents(
    X: Any,
    n_words: int,
    engine_for: Callable[[int], Engine],
    checked: Callable[[Any], sparse.csr_array],
    *,
    in_place: bool,
) -> tuple[Engine, Documents]:
    """Return the engine for the number of entries, and its handle of the documents.

    Documents in the engine's memory are used `in_place`; others are `checked` and copied.
    """
    if in_place and on_device(X):
        engine = engine_for(int(getattr(X, "nnz", getattr(X, "size", 0))))
        resident = engine.resident(X)
        if resident is not None and resident.n_words == n_words:
            return engine, resident
    matrix = checked(X)
    engine = engine_for(matrix.nnz)
    return engine, engine.documents(matrix)


def check_words(words: NDArray[np.int32], n_words: int) -> None:
    """Raise an `InputError` for words beyond the topics: kernels do not check them."""
    if len(words) and int(words.max()) >= n_words:
        raise InputError(
            f"A document contains word {int(words.max())}, but the topics have {n_words} words; "
            "count the documents with the model's vocabulary, or fit the model again."
        )


def known(documents: Documents, n_words: int) -> Rows:
    """Return all documents, after a check that the topics have their words."""
    rows = documents.part()
    if documents.n_words > n_words:
        check_words(rows.words, n_words)
    return rows


@contextmanager
def changing(engine: Engine, weights: Weights, step: Step) -> Iterator[None]:
    """Leave consistent weights behind when an update is interrupted.

    The first update discards the random start, which is therefore drawn again.
    """
    weights.begin_change()
    try:
        yield
        weights.n_updates += 1
        weights.touch()
    except BaseException:
        if step.number == 1:
            prior = weights.host().prior
            start = engine.random_weights(weights.n_words, weights.n_topics, prior, step.seed)
            weights.become(start)
        else:
            weights.recount()
        raise
