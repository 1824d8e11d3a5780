"""The seam between engines and what runs on them: an engine's protocol, and the types it speaks.

The one module that methods, rules and learners import from; docs/architecture.md has the calls of
an engine as one table, to write an engine from.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeAlias

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
    Picks,
    Solution,
    Wanted,
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
    SMALLEST_SCALE,
    WORDS_AT_ONCE,
    HostWeights,
    Prior,
    Weights,
    extended,
    prior_sums,
)


@dataclass(frozen=True)
class OPESettings:
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
class EMSettings:
    """Iterations of EM, on the `n_kept` topics that explain most."""

    n_iter: int
    n_kept: int


@dataclass(frozen=True)
class ExactSettings:
    """The most nats that a mixture may be behind the likeliest one, a document and a token."""

    max_loss: float
    max_loss_per_token: float = float("inf")


@dataclass(frozen=True)
class VBSettings:
    """Iterations at most, when to stop, and the first gamma (K,) where it is not alpha + N/K."""

    n_iter: int
    tol: float
    start: NDArray[np.float64] | None


@dataclass(frozen=True)
class CVB0Settings:
    """Passes thrown away and averaged; the rate of visit t is scale / (offset + t)^decay."""

    burn_in: int
    n_samples: int
    scale: float
    offset: float
    decay: float


@dataclass(frozen=True)
class CVBSettings:
    """Passes at most, and when to stop."""

    n_iter: int
    tol: float


@dataclass(frozen=True)
class CGSSettings:
    """Sweeps thrown away and averaged, and the seed that documents' keys are made with."""

    burn_in: int
    n_samples: int
    seed: int


@dataclass(frozen=True)
class FWSettings:
    """The length of each step."""

    steps: NDArray[np.float64]


KernelSettings: TypeAlias = (
    OPESettings
    | EMSettings
    | ExactSettings
    | VBSettings
    | CVB0Settings
    | CVBSettings
    | CGSSettings
    | FWSettings
)


def is_concave(alpha: NDArray[np.float64]) -> bool:
    """Whether the prior bends the objective, and downwards: then f has a maximum.

    Otherwise it has none (alpha < 1) or is the likelihood's (alpha = 1), and that counts.
    """
    return bool((alpha >= 1).all() and (alpha > 1).any())


class Solver(Protocol):
    """An inference method, as far as an engine knows it."""

    expects_logs: ClassVar[bool]  # takes exp(E[log beta]) in the place of beta while learning
    needs_every_word: ClassVar[bool]  # looks at topics of words that a document does not hold
    knows_loss: ClassVar[bool]  # its kernel bounds how far mixtures are behind the likeliest

    def kernel(self, n_topics: int, seed: int) -> KernelSettings | None:
        """Return the settings of the method's kernel; None where it has none."""
        ...

    def solve(self, batch: Batch, seed: int) -> Solution:
        """Infer a batch in plain NumPy, in double precision: theta and n_iter."""
        ...


@dataclass(frozen=True)
class Accuracy:
    """The most nats that a mixture may be behind the most likely one: a document, and a token."""

    max_loss: float = np.inf
    max_loss_per_token: float = np.inf

    def limits(self, n_tokens: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each document may lose."""
        each = np.full(len(n_tokens), self.max_loss)
        if np.isfinite(self.max_loss_per_token):
            each = np.minimum(each, self.max_loss_per_token * n_tokens)
        return each

    def at_most(self, max_loss: float) -> "Accuracy":
        """Return the same, or more."""
        return replace(self, max_loss=min(self.max_loss, max_loss))


@dataclass(frozen=True)
class Task:
    """How mixtures are to be inferred."""

    method: Solver
    alpha: NDArray[np.float64]
    seed: int  # of 64 bits: the user's in the lower half, in learning the update's number above it
    accuracy: Accuracy | None = None  # that every mixture is to have
    # makes the method that finds the most likely mixtures, of an accuracy; needed for one, and for
    # bounds that are close
    exact: Callable[..., Solver] | None = None


@dataclass(frozen=True)
class Step:
    """An update, beside its documents."""

    number: int  # t, from 1, going on over all passes and calls
    rho: float  # the step's length
    population: float  # D, the number of documents that the topics are to stand for
    seed: int  # the one that the weights' random start was made with


class Rule(Protocol):
    """A way to update topics; see `opelda.learning`."""

    decays: bool  # steps are rho_t; without, every batch counts alike

    @property
    def divide(self) -> bool:
        """Statistics are sum_d d_j phi_djk, instead of sum_d d_j theta_dk."""
        ...

    def prepare(
        self, weights: Weights, step: Step, n_docs: int, mass: Callable[[], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Shrink what was learned before; return what each topic's statistics are to be times.

        `mass` answers sum_d |d| theta_dk, the tokens that each topic explains, where it is asked.
        """
        ...

    def newcomer(self, weights: Weights) -> NDArray[np.float64]:
        """Return the weights that a word seen for the first time begins with, per topic."""
        ...


@dataclass(frozen=True)
class Statistics:
    """Sums over some documents, to be applied to the weights they were inferred with.

    Those of different documents are added with ``+``.
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
    """How an update or a sweep went."""

    rho: float
    e_seconds: float
    m_seconds: float
    mean_gap: float


class Engine(Protocol):
    """A place where kernels run. Handles are made by an engine and given back to one of its name.

    A result depends on the documents, the topics, the parameters and the seed, never on the
    number of threads, on the order of calls or on what else the engine holds.
    """

    @property
    def name(self) -> str:
        """The place where its handles live: engines of one name can use each other's.

        One of several devices has its number in it.
        """
        ...

    def documents(self, X: sparse.csr_array) -> Documents:
        """Take a collection of checked counts."""
        ...

    def resident(self, X: Any) -> Documents | None:
        """Take documents that lie in the engine's own memory, unchecked, without a copy.

        None where it has no such memory, or where they need more than a look.
        """
        ...

    def weights(self, host: HostWeights) -> Weights:
        """Take weights that were read from another engine, a process or a file.

        The arrays are the engine's from then on.
        """
        ...

    def keeps(self, weights: Weights) -> bool:
        """Whether weights live here; those of other engines come by `weights`."""
        ...

    def random_weights(self, n_words: int, n_topics: int, prior: Prior, seed: int) -> Weights:
        """Make weights of 1 give or take a tenth: just enough to tell the topics apart.

        Wider, and VB, for which small weights count exponentially less, would keep every word
        where the start happened to put it. The weight of a word in a topic depends on these two
        and the seed alone (`opelda.engines.ReferenceEngine` has it in NumPy).
        """
        ...

    def topics(self, components: NDArray[Any], ids: NDArray[np.int32] | None = None) -> Any:
        """Take topics (K, V) that stay as they are, of every word or of the words `ids`."""
        ...

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
        """Infer the mixtures of some documents and update the topics with them, in one call.

        None where the documents hold no words: nothing has changed then.
        """
        ...

    def statistics(
        self,
        weights: Weights,
        documents: Documents,
        task: Task,
        *,
        divide: bool,
        chosen: Chosen = None,
    ) -> Statistics:
        """Infer the mixtures of some documents and sum up; the weights stay as they are."""
        ...

    def apply(self, weights: Weights, statistics: Statistics, rule: Rule, step: Step) -> None:
        """Update the topics with statistics that were summed here or elsewhere."""
        ...

    def tokens(
        self,
        documents: Documents,
        n_topics: int,
        *,
        copies: NDArray[np.integer] | None = None,
        shift: int | None = None,
        topics: NDArray[np.uint16] | None = None,
    ) -> Tokens:
        """Make tokens of a collection, which `sweep` gives topics, or which have them already.

        `topics` are those of the tokens, document by document. For a part of a collection give what
        concerns the whole: the number of each document among those of equal content, and the shift.
        """
        ...

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
        """Draw every token's topic, given its document's others, and count them.

        P(k) is proportional to (N_dk + alpha_k) beta_kj. Without counts the topics are those of the
        weights, and tokens have none so far. Else they are the counts, to which the tokens belong,
        and a prior, the weights' if none is given; each token is left out of its own draw. With
        counts and a prior no weights are needed.
        """
        ...

    def blend(self, weights: Weights, counts: TokenCounts, share: float) -> None:
        """Make weights (1 - share) of what they are and `share` of counts, and all of the prior."""
        ...

    def histogram(self, tokens: Any, share: float) -> SizeHistogram:
        """Count documents by their tokens per topic, on about a share of them chosen by key."""
        ...

    def infer(
        self, topics: Any, documents: Documents, task: Task, wanted: Wanted = EVERYTHING
    ) -> Solution:
        """Infer mixtures by weights or by fixed topics."""
        ...

    def certify(
        self, topics: Any, documents: Documents, theta: NDArray[Any], alpha: NDArray[np.float64]
    ) -> Certificate:
        """Compute the certificate of given mixtures."""
        ...

    def predict(
        self, components: NDArray[Any], documents: Documents, theta: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Return each document's sum_j d_j log(sum_k theta_k beta_kj), in double precision.

        The topics (K, V) are taken as they are; a word of less than 1e-30 counts as that.
        """
        ...

    def far_apart(
        self, X: sparse.csr_array, draws: NDArray[np.float64], n_begun: int = 0
    ) -> NDArray[np.int64] | None:
        """Choose rows as k-means++ does (Arthur & Vassilvitskii 2007), one for each draw of [0, 1).

        A row's chance grows with the square of its distance from those chosen before, and from the
        last `n_begun` rows, which cannot be chosen: one less the product of the two. Rows are of
        length 1, or empty. None where too few differ.
        """
        ...

    def read(self, weights: Weights, words: NDArray[np.int32] | None = None) -> NDArray[Any]:
        """Return the topics (K, V) that weights stand for, or those of some words; read only."""
        ...


def take_documents(
    X: Any,
    n_words: int,
    engine_for: Callable[[int], Engine],
    checked: Callable[[Any], sparse.csr_array],
    *,
    in_place: bool,
) -> tuple[Engine, Documents]:
    """Give documents to the engine for so many entries: `in_place` if they lie in its memory.

    Others are `checked` first, and copied where they lie elsewhere.
    """
    if in_place and on_device(X):
        engine = engine_for(int(getattr(X, "nnz", getattr(X, "size", 0))))
        resident = engine.resident(X)
        if resident is not None and resident.n_words == n_words:
            return engine, resident
    matrix = checked(X)
    engine = engine_for(matrix.nnz)
    return engine, engine.documents(matrix)


@contextmanager
def changing(engine: Engine, weights: Weights, step: Step) -> Iterator[None]:
    """Leave usable weights behind when an update is interrupted: what was added is counted.

    The first update begins by forgetting the start, which is made anew.
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
