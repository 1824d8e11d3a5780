"""Log predictive probability: how well topics predict words of a document from its others."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import exp, fsum, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda._count_matrix import counts
from opelda._validation import seed, whole
from opelda.corpus import Corpus
from opelda.engines import Engine, get_engine
from opelda.engines.seam import GOLDEN, MIXTURES, Documents, content_keys, mix, numbered, seeded
from opelda.errors import InputError
from opelda.inference import Method
from opelda.inference._groups import infer_members
from opelda.inference._infer import as_prior, as_task, missed
from opelda.metrics._topics import GivenTopics, MeasuredTopics

TOKENS_AT_ONCE = 2**21
MOST_TOKENS = 2**24  # single precision counts whole tokens up to here


@dataclass(frozen=True)
class PredictiveProbability:
    """Log probability per held-out token, in nats; as a float it is `macro`.

    Attributes
    ----------
    macro, micro : float
        Mean over documents, and splits, of the mean of a document's held-out tokens; mean over all
        held-out tokens.
    standard_error : float
        Of `macro`, from the spread between documents; infinite for a single document.
    n_documents, n_left_out : int
        Documents scored, and documents of fewer than 2 tokens or with no usable split.
    splits : tuple of float
        Mean over documents for each split.
    per_document : float64 array (n_documents,)
        Mean over the splits for each document scored.
    """

    macro: float
    micro: float
    standard_error: float
    n_documents: int
    n_left_out: int
    splits: tuple[float, ...]
    per_document: NDArray[np.float64] = field(
        default_factory=lambda: np.zeros(0), repr=False, compare=False
    )

    def __float__(self) -> float:
        return self.macro

    @property
    def perplexity(self) -> float:
        """exp(-macro)."""
        return exp(-self.macro)


def log_predictive_probability(
    topics: GivenTopics,
    X: Any,
    *,
    doc_topic_prior: ArrayLike | None = None,
    method: str | Method | None = "vb",
    held_out: float = 0.3,
    n_splits: int = 5,
    random_state: Any = None,
    n_jobs: int | None = None,
    engine: str | Engine = "cpu",
) -> PredictiveProbability:
    """Split each document's tokens at random, and predict the held-out part.

    `split_tokens` makes the splits, and `predict_held_out` scores them.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
        A model is any learner of opelda, or one with `components_` such as scikit-learn's, whose
        rows are divided by their sums.
    X : array or sparse matrix (D, V), Corpus, or texts
        New documents. Documents of fewer than 2 tokens are left out
        and counted. Texts, and the words of a corpus, take a model with a vocabulary.
    doc_topic_prior : number, vector (K,) or None
        alpha; None is the model's own, and 1/K for topics without a model.
    method : str, Method or None
        None: the inference of the model's `transform`, `max_loss` included. Scores are comparable
        only between equal methods and priors.
    held_out : float
        Share of the tokens to predict.
    n_splits : int
        Random splits to average over. Same seed, same splits, for any topics and method.
    random_state, n_jobs, engine
        As for `opelda.inference.infer`.

    Examples
    --------
    >>> topics = [[0.45, 0.45, 0.05, 0.05], [0.05, 0.05, 0.45, 0.45]]
    >>> X = [[5, 5, 0, 0], [0, 0, 5, 5]]
    >>> good = log_predictive_probability(topics, X, random_state=0)
    >>> blind = log_predictive_probability([[0.25] * 4], X, random_state=0)
    >>> good.macro > blind.macro, round(blind.perplexity, 3)
    (True, 4.0)
    """
    measured = MeasuredTopics.of(topics, X=X)
    share = as_share(held_out)
    n_splits = whole("n_splits", n_splits)
    matrix = positive_counts(measured.counts(X))
    if measured.rows is None and doc_topic_prior is None and hasattr(measured.model, "_rows_of"):
        measured = replace(measured, rows=measured.model._rows_of(X, None, matrix.shape[0]))
    n_tokens = tokens_per_document(matrix)
    long_enough = n_tokens >= 2
    if not long_enough.any():
        raise InputError(
            "has no document with at least 2 tokens to split; pass longer documents.", "X"
        )
    matrix = matrix[long_enough]
    if measured.rows is not None:
        alphas, member, tables = measured.rows
        measured = replace(measured, rows=(alphas, member[long_enough], tables))
    rng = np.random.default_rng(seed(random_state))
    # Split lazily: inference takes seeds from the same generator between splits.
    splits = (split_tokens(matrix, held_out=share, random_state=rng) for _ in range(n_splits))
    found = _predicted(splits, measured, doc_topic_prior, method, rng, n_jobs, engine)
    return replace(found, n_left_out=found.n_left_out + int((~long_enough).sum()))


def predict_held_out(
    topics: GivenTopics,
    splits: Iterable[tuple[Any, Any]],
    *,
    doc_topic_prior: ArrayLike | None = None,
    method: str | Method | None = "vb",
    random_state: Any = None,
    n_jobs: int | None = None,
    engine: str | Engine = "cpu",
) -> PredictiveProbability:
    """Predict the held-out words of split documents.

    theta is inferred on a document's observed part; the score of the held-out part is sum_j d_j
    log(sum_k theta_k beta_kj) / sum_j d_j, in double precision, probabilities being at least 1e-30.

    Parameters
    ----------
    splits : iterable of pairs (observed, held_out)
        Each as X of `log_predictive_probability`, all of the same documents. A split
        leaves out documents without observed or held-out words.
    topics, doc_topic_prior, method, random_state, n_jobs, engine
        As for `log_predictive_probability`.

    Examples
    --------
    >>> topics = [[0.5, 0.4, 0.1, 0.0], [0.0, 0.1, 0.4, 0.5]]
    >>> observed, held_out = [[9, 8, 0, 0], [1, 0, 0, 0]], [[1, 0, 0, 0], [0, 0, 0, 0]]
    >>> found = predict_held_out(topics, [(observed, held_out)])
    >>> round(found.macro, 1), found.n_documents, found.n_left_out
    (-0.7, 1, 1)
    """
    measured = MeasuredTopics.of(topics, X=splits)
    rng = np.random.default_rng(seed(random_state))
    return _predicted(splits, measured, doc_topic_prior, method, rng, n_jobs, engine)


def _predicted(
    splits: Iterable[tuple[Any, Any]],
    topics: MeasuredTopics,
    doc_topic_prior: ArrayLike | None,
    method: str | Method | None,
    rng: np.random.Generator,
    n_jobs: int | None,
    engine: str | Engine,
) -> PredictiveProbability:
    """Infer and score all splits."""
    resolved, (how, accuracy) = get_engine(engine, n_jobs), topics.inferred_by(method)
    alpha = as_prior(topics.prior(doc_topic_prior), topics.table.n_topics)
    handle = topics.table.on(resolved)
    # a given alpha replaces the model's own prior, groups included
    groups = topics.groups if doc_topic_prior is None or topics.model is None else None
    scores: list[NDArray[np.float64]] = []
    masses: list[NDArray[np.float64]] = []
    for number, pair in enumerate(splits):
        observed, held = _as_pair(topics, pair, number)
        if scores and observed.shape[0] != len(scores[0]):
            raise InputError(
                f"Split {number} has {observed.shape[0]} documents but the first has "
                f"{len(scores[0])}; pass splits of the same documents."
            )
        usable = (np.diff(observed.indptr) > 0) & (np.diff(held.indptr) > 0)
        if not usable.any():
            raise InputError(f"Split {number} has no document with words observed and held out.")
        scores.append(np.zeros(len(usable)))
        masses.append(np.zeros(len(usable)))
        task = as_task(how, alpha, seed(rng), accuracy)
        seen = resolved.documents(observed[usable])
        alphas, member, tables = None, None, None
        if topics.rows is not None:
            alphas, member, tables = topics.rows
            member = member[usable]
        elif groups is not None:
            alphas, member = groups.alphas(alpha), groups.members(seen.matrix)
        found = infer_members(resolved, handle, seen, task, MIXTURES, alphas, member, tables)
        missed(found, task.accuracy, f"of the observed parts of split {number}")
        hidden = resolved.documents(held[usable])
        theta = np.asarray(found.theta)
        scores[-1][usable] = predicted(resolved, topics.weights, hidden, theta, member, tables)
        masses[-1][usable] = hidden.matrix.sum(axis=1)
    if not scores:
        raise InputError("has no pair of observed and held-out counts.", "splits")
    return _summary(np.array(scores), np.array(masses))


def predicted(
    engine: Engine, topics: Any, held: Documents, theta: Any, member: Any, tables: Any
) -> NDArray[np.float64]:
    """Return the log probability of each document by the topics, or by those of its row."""
    score = engine.predict(topics, held, theta)
    for row, table in enumerate(tables or ()):
        of = member == row
        own = engine.documents(held.matrix[of])
        score[of] = engine.predict(table.components, own, theta[of])
    return score


def _as_pair(
    topics: MeasuredTopics, pair: Any, number: int
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return the two parts of a split, without explicit zeros."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InputError(
            f"must have pairs of observed and held-out counts, but item {number} is "
            f"{type(pair).__name__}; for one split pass [(observed, held_out)].",
            "splits",
        )
    observed, held = (topics.counts(part).astype(np.float64) for part in pair)
    if observed.shape != held.shape:
        raise InputError(
            f"Split {number} has observed counts of shape {observed.shape} and held-out counts "
            f"of shape {held.shape}; both must have a row per document and a column per word."
        )
    observed.eliminate_zeros()
    held.eliminate_zeros()
    return observed, held


def _summary(scores: NDArray[np.float64], masses: NDArray[np.float64]) -> PredictiveProbability:
    """Average over splits and documents; scores of mass 0 are left out."""
    scored = masses > 0
    means = np.divide(scores, masses, out=np.zeros_like(scores), where=scored)
    # over the splits first: a document counts once, however often it was scored
    n_times = scored.sum(axis=0)
    per_document = means.sum(axis=0)[n_times > 0] / n_times[n_times > 0]
    n_docs = len(per_document)
    micro = fsum(scores.flat) / fsum(masses.flat)
    splits = tuple(_mean(split[known]) for split, known in zip(means, scored, strict=True))
    return PredictiveProbability(
        _mean(per_document), micro, standard_error(per_document), n_docs,
        len(n_times) - n_docs, splits, per_document,
    )  # fmt: skip


def standard_error(values: NDArray[np.float64]) -> float:
    """Return the standard error of the mean; infinite for one value."""
    n = len(values)
    return sqrt(fsum((values - _mean(values)) ** 2) / (n - 1) / n) if n > 1 else np.inf


def _mean(values: NDArray[np.float64]) -> float:
    return fsum(values) / len(values)


def split_tokens(
    X: Any, *, held_out: float = 0.3, random_state: Any = None
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split every document's tokens at random into an observed and a held-out part.

    Of a document's N tokens, ``round(held_out * N)``, but at least 1 and at most N - 1, are held
    out, chosen uniformly without replacement. A document of fewer than 2 tokens is all observed. A
    count of 2.5 is three tokens of weights 1, 1 and 0.5. The choice depends on the document's words
    and counts, its number among equal documents and the seed, never on its row or other documents.

    Parameters
    ----------
    X : array or sparse matrix (D, V), or Corpus
        Word counts, up to 2**24 tokens a document.
    held_out : float
        Share of the tokens, above 0 and below 1.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    observed, held_out : CSR arrays (D, V), float32
        They add up to X exactly (in single precision).

    Examples
    --------
    >>> observed, held_out = split_tokens([[6, 4, 0], [0, 0, 1]], random_state=0)
    >>> held_out.sum(axis=1)
    array([3., 0.], dtype=float32)
    """
    return split_numbered(X, as_share(held_out), seed(random_state))


def split_numbered(
    X: Any, share: float, seed: int, copies: NDArray[np.integer] | None = None
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split as `split_tokens` does; `copies` numbers equal documents, if given."""
    matrix = positive_counts(X)
    n_tokens = tokens_per_document(matrix)
    n_held = np.clip(np.rint(share * n_tokens), 1, np.maximum(n_tokens - 1, 1)).astype(np.int64)
    n_held[n_tokens < 2] = 0
    # A document's draws are a function of its content and the seed; equal ones are numbered, or
    # a title that occurs a thousand times would be split one way a thousand times.
    content = content_keys(matrix.indptr.astype(np.int64), matrix.indices, matrix.data)
    keys = seeded(numbered(content, copies), seed)
    held = np.zeros(matrix.nnz)
    for first, last in _ranges(n_tokens):
        entries = slice(int(matrix.indptr[first]), int(matrix.indptr[last]))
        some = slice(first, last)
        held[entries] = _held_mass(matrix.data[entries], keys[some], n_tokens[some], n_held[some])
    return _with_data(matrix, matrix.data - held), _with_data(matrix, held)


def can_be_split(X: Any) -> bool:
    """Whether a document has at least two tokens."""
    return bool((tokens_per_document(positive_counts(X)) >= 2).any())


def as_share(held_out: Any) -> float:
    """Return a share above 0 and below 1."""
    if isinstance(held_out, float | np.floating) and 0 < held_out < 1:
        return float(held_out)
    raise InputError(
        f"must be a share of the tokens, above 0 and below 1, got {held_out!r}.", "held_out"
    )


def positive_counts(X: Any) -> sparse.csr_array:
    """Return documents as CSR in single precision and without explicit zeros."""
    matrix = counts(X.X if isinstance(X, Corpus) else X).astype(np.float32)
    matrix.eliminate_zeros()
    return matrix


def tokens_per_document(matrix: sparse.csr_array) -> NDArray[np.int64]:
    """Return each document's number of tokens; a fraction counts 1."""
    before = np.zeros(matrix.nnz + 1)
    np.cumsum(np.ceil(matrix.data), dtype=np.float64, out=before[1:])
    tokens: NDArray[np.int64] = np.diff(before[matrix.indptr]).astype(np.int64)
    if len(tokens) and tokens.max() > MOST_TOKENS:
        raise InputError(
            f"Document {tokens.argmax()} has {tokens.max()} tokens, more than the limit of "
            f"{MOST_TOKENS}; scale its counts down."
        )
    return tokens


def _ranges(n_tokens: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Cut the documents into ranges of bounded memory, a long document alone."""
    part = np.cumsum(n_tokens) // TOKENS_AT_ONCE
    cuts = np.flatnonzero(np.diff(part)) + 1
    return list(pairwise([0, *cuts.tolist(), len(n_tokens)]))


def _held_mass(
    counted: NDArray[np.float32],
    keys: NDArray[np.uint64],
    n_tokens: NDArray[np.int64],
    n_held: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the held-out part of each entry."""
    pieces = np.ceil(counted).astype(np.int64)
    entry = np.repeat(np.arange(len(counted)), pieces)
    document = np.repeat(np.arange(len(n_tokens)), n_tokens)
    weight = np.ones(len(entry))
    last = np.cumsum(pieces) - 1  # an entry's last token carries its fraction
    weight[last] = counted - (pieces - 1)
    rank = np.arange(len(entry)) - np.repeat(np.cumsum(n_tokens) - n_tokens, n_tokens)
    # Tokens in the order of their draws, document by document: the first n_held are held out. Where
    # there are several documents, their numbers take the highest bits; a long one, which comes
    # alone, has all 64 for its draws, for of 24 it would have many ties.
    draws = mix(keys[document] + (rank.astype(np.uint64) + np.uint64(1)) * GOLDEN)
    n_bits = (len(n_tokens) - 1).bit_length()
    if n_bits:
        draws = document.astype(np.uint64) << np.uint64(64 - n_bits) | draws >> np.uint64(n_bits)
    order = np.argsort(draws, kind="stable")
    chosen = order[rank < n_held[document]]
    held = np.bincount(entry[chosen], weights=weight[chosen], minlength=len(counted))
    return held.astype(np.float64)


def _with_data(matrix: sparse.csr_array, data: NDArray[np.float64]) -> sparse.csr_array:
    part = matrix.copy()
    part.data = data.astype(np.float32)
    part.eliminate_zeros()
    return part
