"""Documents with their mixtures, block by block, however they were given."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opelda.corpus import Corpus
from opelda.corpus._kinds import are_documents
from opelda.corpus._matrix import row_sums
from opelda.errors import InputError
from opelda.metrics._label_words import label_topics
from opelda.metrics._topics import MeasuredTopics

BLOCK = 4096


class Counted(NamedTuple):
    """Some consecutive documents, numbered from `first` on."""

    first: int
    X: Any  # CSR (documents, words of the model)
    names: Any  # sequences of texts, or None
    texts: Any


class Inferred(NamedTuple):
    """The same with their mixtures."""

    first: int
    theta: NDArray[np.float32]  # dense (documents, topics)
    tokens: NDArray[np.float64]  # of words that the model has
    names: Sequence[str] | None
    texts: Sequence[str] | None
    X: Any = None  # CSR, where copies are to be told


def infer_blocks(model: Any, documents: Any) -> Iterator[Inferred]:
    """Infer documents as `transform` takes them, a part of them at a time."""
    for block in count_blocks(model, documents):
        yield infer_block(model, block.X, block.first, block.names, block.texts)


def count_blocks(model: Any, documents: Any) -> Iterator[Counted]:
    """Count documents as `transform` takes them over the model's words, a part at a time."""
    check_model(model)
    words = getattr(model, "vocabulary_", None)
    if words is None or isinstance(documents, Corpus) or not are_documents(documents):
        names = getattr(documents, "names", None)
        X = MeasuredTopics.of(model).counts(documents)
        for first in range(0, X.shape[0], BLOCK):
            rows = slice(first, first + BLOCK)
            yield Counted(first, X[rows], names and names[rows], None)
        return
    from opelda.corpus import stream  # and polars, only now

    first = 0
    for batch in stream(documents, vocabulary=words, batch_size=BLOCK).batches(learn=False):
        yield Counted(first, batch.X, batch.names, batch.texts)
        first += batch.X.shape[0]


@contextmanager
def columns_without_names() -> Iterator[None]:
    """Let a model that learned from a data frame take its columns as they are, without names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        yield


def infer_block(model: Any, X: Any, first: int, names: Any = None, texts: Any = None) -> Inferred:
    """Infer counts over the model's words."""
    with columns_without_names():
        found = model.transform(X)
    theta = found.toarray() if hasattr(found, "toarray") else np.asarray(found)
    return Inferred(first, theta, row_sums(X), names, texts, X)


def check_model(model: Any) -> None:
    """Refuse what has no mixtures to give."""
    if not callable(getattr(model, "transform", None)):
        raise InputError(
            f"must be a fitted model, got {type(model).__name__}; topics alone infer nothing.",
            "model",
        )


def labels_of(model: Any) -> list[str]:
    """Return what the model's topics are called."""
    labels = getattr(model, "topic_labels_", None)
    return label_topics(model) if labels is None else list(labels)
