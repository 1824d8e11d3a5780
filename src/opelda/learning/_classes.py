"""Labels of documents, and the topics of each label."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.corpus._kinds import is_missing
from opelda.errors import InputError
from opelda.learning._part import Arrays, Header, Part, check_arrays

MOST_LABELS = 10_000


@dataclass(frozen=True)
class Classes:
    """Labels, and which topics are theirs; other topics are free."""

    labels: list[Any]
    topics: NDArray[np.float64]  # (L, K): 1 for the topics of a label

    @classmethod
    def of(cls, y: Any, n_topics: int, n_each: int) -> tuple["Classes", NDArray[np.bool_]]:
        """Return the labels, and which of them each document has (D, L)."""
        sets = _sets(y)
        labels = sorted(set().union(*sets), key=lambda label: (type(label).__name__, label))
        if not labels:
            raise InputError("has no label; pass labels of some documents, or use TopicModel.", "y")
        if len(labels) > MOST_LABELS:
            raise InputError(f"has {len(labels):,} labels; at most {MOST_LABELS:,} work.", "y")
        n_labelled = len(labels) * n_each
        if n_topics < n_labelled:
            raise InputError(
                f"must be at least {n_labelled}, {n_each} for each of the {len(labels)} labels, "
                f"got {n_topics}.",
                "n_components",
            )
        topics = np.zeros((len(labels), n_topics))
        topics[:, :n_labelled] = np.repeat(np.eye(len(labels)), n_each, axis=1)
        number = {label: i for i, label in enumerate(labels)}
        member = np.zeros((len(sets), len(labels)), bool)
        for row, each in enumerate(sets):
            member[row, [number[label] for label in each]] = True
        return cls(labels, topics), member

    def allowed(self, sets: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return 1 for the topics of documents with sets of labels: their own and free ones."""
        free = self.topics.sum(axis=0) == 0
        found: Any = (sets @ self.topics > 0) | free | ~sets.any(axis=1, keepdims=True)
        return np.asarray(found, np.float64)

    @property
    def names(self) -> dict[int, str]:
        """The name of each topic of a label."""
        found = {}
        for label, row in zip(self.labels, self.topics, strict=True):
            for i, topic in enumerate(np.flatnonzero(row).tolist(), 1):
                found[topic] = f"{label} {i}"[:200] if row.sum() > 1 else str(label)[:200]
        return found


def _sets(y: Any) -> list[set[Any]]:
    """Return the labels of each document."""
    if isinstance(y, np.ndarray) and y.ndim == 2:  # indicators, as scikit-learn has them
        return [set(np.flatnonzero(row).tolist()) for row in y]
    found = []
    for given in y.to_list() if hasattr(y, "to_list") else list(y):
        several = given if isinstance(given, set | frozenset | list | tuple) else [given]
        plain = [each.item() if isinstance(each, np.generic) else each for each in several]
        known = [each for each in plain if not is_missing(each) and each != ""]
        if not all(isinstance(each, str | int | float) for each in known):
            raise InputError(
                f"has {given!r}; labels are texts, numbers, sets of these, or None.", "y"
            )
        found.append(set(known))
    return found


def _from_arrays(arrays: Arrays, said: Header, shape: tuple[int, int]) -> Classes:
    labels = said.get("labels")
    if not isinstance(labels, list) or not all(isinstance(x, str | int | float) for x in labels):
        raise ValueError("its labels of documents are damaged")
    check_arrays(arrays, {"topics": (np.float64, (len(labels), shape[1]))}, "labels of documents")
    if not np.isin(arrays["topics"], (0.0, 1.0)).all() or not labels:
        raise ValueError("its labels of documents have topics out of range")
    return Classes(labels, arrays["topics"])


CLASSES = Part(
    lambda given: ({"topics": given.topics}, {"labels": given.labels}),
    _from_arrays,
    edited=lambda given, edit: replace(given, topics=edit.largest(given.topics)),
    replaced=lambda *_: None,
)
