"""Topics to measure: an array, a `Topics` or a fitted model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda._count_matrix import counts
from opelda._validation import whole
from opelda._word_ranking import heaviest
from opelda.corpus import DocumentStream, Vocabulary
from opelda.engines.seam import Accuracy
from opelda.errors import InputError
from opelda.inference import Method, Topics
from opelda.inference._checked_topics import as_matrix, counts_over, model_topics
from opelda.inference._groups import Groups
from opelda.inference._infer import as_method

GivenTopics: TypeAlias = Any  # an array, `Topics`, a fitted model or `MeasuredTopics`


@dataclass(frozen=True, eq=False)
class MeasuredTopics:
    """Topics, and their model if one was given."""

    weights: NDArray[Any]  # a model's rows divided by their sums; whole numbers may be word ids
    model: Any = None
    given: Topics | None = None  # with its engines' handles
    inference: tuple[Method, Accuracy | None] | None = None  # of a learner's `transform`
    groups: Groups | None = None  # likewise
    # of a learner's columns: each row's prior, each document's row, and each row's topics
    rows: tuple[Any, Any, Any] | None = None

    @classmethod
    def of(cls, topics: Any, name: str = "topics", X: Any = None) -> "MeasuredTopics":
        """Resolve topics; `X` serves to detect swapped arguments."""
        if isinstance(topics, cls):
            return topics
        _check_order(topics, X, name)
        if isinstance(topics, Topics):
            return cls(topics.components, given=topics)
        if _is_model(topics):
            known = hasattr(topics, "_transform_method")
            inference = (topics._transform_method(), topics._accuracy()) if known else None
            groups = getattr(getattr(topics, "_state", None), "groups", None)
            return cls(model_topics(topics, name), topics, None, inference, groups)
        return cls(as_matrix(topics, name))

    @property
    def n_words(self) -> int:
        return int(self.weights.shape[1])

    @property
    def are_ids(self) -> bool:
        """Whether these are whole numbers: the ids of top words where words are ranked."""
        return self.model is None and self.weights.dtype.kind in "iu"

    @cached_property
    def table(self) -> Topics:
        """The topics to infer with; each row must be a distribution."""
        return Topics(self.weights) if self.given is None else self.given

    @property
    def vocabulary(self) -> Vocabulary | None:
        vocabulary = getattr(self.model, "vocabulary_", None)
        return vocabulary if isinstance(vocabulary, Vocabulary) else None

    @property
    def column_words(self) -> tuple[str, ...] | None:
        """The model's words of the columns, if it has any."""
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

    def top_words(self, n_words: int, least: int = 1) -> NDArray[np.intp]:
        """Return the ids of each topic's `heaviest` words; of ids, the first `n_words`."""
        whole("n_words", n_words, least)
        n = min(n_words, self.n_words)
        if n < least:
            raise InputError(f"must have at least {least} words each, got {n}.", "topics")
        if not self.are_ids:
            return heaviest(self.weights, n)
        ids = self.weights[:, :n].astype(np.intp)
        ordered = np.sort(ids, axis=1)
        bad = np.flatnonzero((ordered[:, 0] < 0) | (np.diff(ordered, axis=1) == 0).any(axis=1))
        if len(bad):
            raise InputError(
                f"with whole numbers must be distinct word ids, but row {bad[0]} is "
                f"{ids[bad[0]].tolist()}; pass weights as floats.",
                "topics",
            )
        return ids

    def counts(self, X: Any) -> sparse.csr_array:
        """Return documents as counts over the topics' words."""
        if hasattr(self.model, "_checked"):  # a learner of opelda: all that its transform takes
            matrix: sparse.csr_array = self.model._checked(X)
            return matrix
        if hasattr(X, "X"):  # a corpus, a mini-batch
            X = X.X
        first = X[0] if isinstance(X, list | tuple) and X else X
        if isinstance(first, str):
            raise InputError(
                "contains texts, which need a model with a vocabulary; pass that model in place "
                "of the topics, or pass counts (documents, words).",
                "X",
            )
        return counts(X) if self.are_ids else counts_over(self.n_words, X)

    def inferred_by(self, method: str | Method | None) -> tuple[Method, Accuracy | None]:
        """Return the given method; for None the model's inference, else VB."""
        if method is None and self.inference is not None:
            return self.inference
        return as_method("vb" if method is None else method), None

    def prior(self, doc_topic_prior: ArrayLike | None) -> ArrayLike | None:
        """Return the given alpha; for None the model's own."""
        if doc_topic_prior is not None:
            return doc_topic_prior
        fitted: ArrayLike | None = getattr(self.model, "doc_topic_prior_", None)  # scikit-learn's
        return getattr(self.model, "doc_topic_prior", None) if fitted is None else fitted


def chosen_topics(given: Iterable[int] | None, n_topics: int, name: str = "topics") -> list[int]:
    """Return the numbers of the requested topics, in the order requested; None is all."""
    numbers = range(n_topics) if given is None else given
    return [whole(name, number, 0, n_topics - 1) for number in numbers]


def _is_model(given: Any) -> bool:
    """Whether this is an estimator, fitted or not, or has `components_`."""
    # `fit` first: a learner computes its components_
    return callable(getattr(given, "fit", None)) or hasattr(given, "components_")


def _check_order(topics: Any, X: Any, name: str) -> None:
    """Raise for documents given as topics, and topics given as documents."""
    if isinstance(X, Topics) or _is_model(X):
        raise InputError(
            f"is a {type(X).__name__}; pass the topics first and the documents second.", "X"
        )
    texts = isinstance(topics, list | tuple) and len(topics) and isinstance(topics[0], str)
    is_documents = texts or isinstance(topics, str | DocumentStream) or hasattr(topics, "X")
    if is_documents and not _is_model(topics):
        raise InputError(
            f"must be an array (K, V), a Topics or a fitted model, got {type(topics).__name__}; "
            "pass the topics first and the documents second.",
            name,
        )
