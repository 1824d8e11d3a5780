"""Topics to measure, whatever they were given as: an array, a `Topics` or a fitted model."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda import _validation
from opelda.corpus import Vocabulary
from opelda.engines import Engine, get_engine
from opelda.engines._engine import Task
from opelda.engines._solutions import MIXTURES
from opelda.errors import InputError
from opelda.inference import Method, Topics
from opelda.inference._infer import as_method, as_prior
from opelda.metrics._order import check_order, is_model

# single-precision sums over many words are off by 1e-4
OFF_ONE = 1e-3


class FittedModel(Protocol):
    """Anything that has learned topics: a learner of opelda, or one of scikit-learn's."""

    @property
    def components_(self) -> Any:
        """The topics, K x V."""


GivenTopics: TypeAlias = Topics | ArrayLike | sparse.sparray | sparse.spmatrix | FittedModel


@dataclass(frozen=True, eq=False)
class MeasuredTopics:
    """Topics, and the model they are of where one was given.

    Attributes
    ----------
    weights : array (K, V)
        As they were given, single precision staying what it is; a model's rows divided by their
        sums. An array of whole numbers may be word ids.
    model : fitted model or None
    laid_out : Topics or None
        What was given, if it was that.

    Examples
    --------
    >>> MeasuredTopics.of([[0.9, 0.1]]).weights
    array([[0.9, 0.1]])
    >>> from opelda import OnlineOPE
    >>> model = OnlineOPE(2, random_state=0).fit([[4, 4, 0], [0, 0, 4]])
    >>> MeasuredTopics.of(model).words()
    ('x0', 'x1', 'x2')
    """

    weights: NDArray[Any]
    model: Any = None
    laid_out: Topics | None = None

    @classmethod
    def of(cls, topics: Any, name: str = "topics", X: Any = None) -> "MeasuredTopics":
        """Resolve what was given; X is looked at for nothing but a wrong order of the two."""
        if isinstance(topics, cls):
            return topics
        check_order(topics, X, name)
        if isinstance(topics, Topics):
            return cls(topics.components, laid_out=topics)
        if is_model(topics):
            return cls(_components(topics, name), topics)
        return cls(as_weights(topics, name))

    @property
    def n_words(self) -> int:
        """Number of columns."""
        return int(self.weights.shape[1])

    @property
    def are_ids(self) -> bool:
        """Whether these are whole numbers, which where words are ranked are ids of top words."""
        return self.model is None and self.weights.dtype.kind in "iu"

    @cached_property
    def table(self) -> Topics:
        """The topics to infer with; each row must be a distribution.

        >>> MeasuredTopics.of([[0.9, 0.1]]).table
        Topics(n_topics=1, n_words=2)
        """
        if self.laid_out is not None:
            return self.laid_out
        try:
            return Topics(self.weights)
        except InputError as error:
            if (self.weights == np.floor(self.weights)).all():
                raise InputError(f"{error} If these are documents: topics come first.") from None
            raise

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The vocabulary of the model, where it has one."""
        vocabulary = getattr(self.model, "vocabulary_", None)
        return vocabulary if isinstance(vocabulary, Vocabulary) else None

    @property
    def column_words(self) -> tuple[str, ...] | None:
        """The words of the columns as far as the model knows."""
        if self.vocabulary is not None:
            return self.vocabulary.words
        names = getattr(self.model, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    def words(self, feature_names: Sequence[str] | None = None) -> Sequence[str]:
        """Return the words of the columns: those given, the model's own, or x0, x1, ..."""
        if feature_names is None:
            return self.column_words or tuple(f"x{j}" for j in range(self.n_words))
        if len(feature_names) != self.n_words:
            raise InputError(
                f"has {len(feature_names)} words but the topics have {self.n_words} columns.",
                "feature_names",
            )
        return feature_names

    def counts(self, X: Any) -> sparse.csr_array:
        """Return documents as counts over the topics' words.

        A learner of opelda is asked itself: it takes what its `transform` takes.

        >>> MeasuredTopics.of([[0.9, 0.1]]).counts([[2, 0]]).toarray()
        array([[2, 0]])
        """
        if hasattr(self.model, "_checked"):
            matrix: sparse.csr_array = self.model._checked(X, reset=False)
            return matrix
        if hasattr(X, "X"):  # a corpus, a mini-batch
            X = X.X
        first = X[0] if isinstance(X, list | tuple) and X else X
        if isinstance(first, str):
            raise InputError(
                "holds texts, which take a model with a vocabulary to be counted by; give that "
                "model in place of the topics, or counts (documents, words).",
                "X",
            )
        matrix = _validation.counts(X)
        if matrix.shape[1] != self.n_words and not self.are_ids:
            raise InputError(
                f"has {matrix.shape[1]} columns but the topics have {self.n_words} words; "
                "count the documents with the topics' own vocabulary.",
                "X",
            )
        return matrix

    def prior(self, doc_topic_prior: ArrayLike | None) -> ArrayLike | None:
        """Return alpha as it was given, else the model's own."""
        if doc_topic_prior is not None:
            return doc_topic_prior
        fitted: ArrayLike | None = getattr(self.model, "doc_topic_prior_", None)  # scikit-learn's
        return getattr(self.model, "doc_topic_prior", None) if fitted is None else fitted

    def mixtures(
        self,
        X: sparse.csr_array,
        *,
        doc_topic_prior: ArrayLike | None,
        method: str | Method,
        random_state: Any,
        n_jobs: int | None,
        engine: str | Engine,
    ) -> NDArray[Any]:
        """Infer theta (D, K), in the precision of the engine."""
        place = get_engine(engine, n_jobs)
        alpha = as_prior(self.prior(doc_topic_prior), self.table.n_topics)
        task = Task(as_method(method), alpha, _validation.seed(random_state))
        found = place.infer(self.table.on(place), place.documents(X), task, MIXTURES)
        return np.asarray(found.theta)


def as_weights(values: Any, name: str) -> NDArray[Any]:
    """Return a matrix of finite numbers; single precision, double and whole numbers stay so."""
    if hasattr(values, "toarray"):  # sparse
        values = values.toarray()
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iu" and array.dtype != np.float32:
            array = array.astype(np.float64, copy=False)  # fractions and texts of numbers, too
    except (TypeError, ValueError) as error:
        told = str(error).rstrip(".")
        raise InputError(f"must be a numeric array of shape (K, V): {told}.", name) from None
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(
            "must be a numeric array of shape (K, V), at least one row and one column, got "
            f"{array.dtype} of shape {array.shape}.",
            name,
        )
    with np.errstate(all="ignore"):  # a sum says enough, and makes no array of the topics' shape
        total = array.sum(dtype=np.float64)
    if not np.isfinite(total) and not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise InputError(f"must be finite, but row {bad} holds a NaN or infinite value.", name)
    return array


def _components(model: Any, name: str) -> NDArray[Any]:
    """Return a model's topics as distributions; a row of zeros stays one."""
    found = getattr(model, "components_", None)  # not fitted is an AttributeError, too
    if found is None:
        from sklearn.base import BaseEstimator
        from sklearn.utils.validation import check_is_fitted

        if isinstance(model, BaseEstimator):
            check_is_fitted(model)
        raise InputError(
            f"is a {type(model).__name__}, which has no components_; give a fitted topic model, "
            "such as the last step of a pipeline.",
            name,
        )
    weights = as_weights(found, name)
    if (weights < 0).any():
        raise InputError(
            f"is a {type(model).__name__} with negative components_, which are no topics.", name
        )
    sums = weights.sum(axis=1, dtype=np.float64)
    if np.abs(sums - 1.0).max() <= OFF_ONE:
        return weights
    return weights / np.where(sums > 0, sums, 1.0)[:, None]
