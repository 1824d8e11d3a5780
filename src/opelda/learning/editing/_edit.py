"""How tables and labels of topics follow a merger, removal or split of topics."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from opelda._validation import whole
from opelda.corpus._word_columns import pack_words, unpack_words
from opelda.errors import InputError
from opelda.learning._part import Arrays, Header, Part

GONE = -1


@dataclass(frozen=True)
class Edit:
    """A change of topics.

    `origin` has the heaviest former topic of each new one, `joins` pairs of any other former topic
    and its new one; all other former topics are gone. The `parts` of a split topic have the same
    origin.
    """

    origin: NDArray[np.int64]  # (K',)
    joins: tuple[tuple[int, int], ...]
    n_before: int
    parts: tuple[int, ...] = ()
    shares: NDArray[np.float64] | None = None  # (V, parts) of each word's weight; rows sum to 1
    sizes: NDArray[np.float64] | None = None  # (parts,) of the topic; they sum to 1
    tokens: NDArray[np.integer] | None = None  # new topics of a window's tokens

    @classmethod
    def merging(cls, groups: Iterable[Sequence[int]], weights: NDArray[np.float64]) -> "Edit":
        """Join each group in its lowest number; later topics move up."""
        goes_to = np.arange(len(weights))
        for group in groups:
            goes_to[list(group)] = min(group)
        return cls._of(goes_to, weights)

    @classmethod
    def removing(cls, topics: Sequence[int], weights: NDArray[np.float64]) -> "Edit":
        """Remove topics; later topics move up."""
        goes_to = np.arange(len(weights))
        goes_to[list(topics)] = GONE
        return cls._of(goes_to, weights)

    @classmethod
    def _of(cls, goes_to: NDArray[np.int64], weights: NDArray[np.float64]) -> "Edit":
        order = np.argsort(-weights, kind="stable")
        order = order[goes_to[order] != GONE]
        _, first, numbers = np.unique(goes_to[order], return_index=True, return_inverse=True)
        pairs, origin = zip(order.tolist(), numbers.tolist(), strict=True), order[first]
        joins = tuple((former, number) for former, number in pairs if former != origin[number])
        return cls(origin, joins, len(weights))

    @classmethod
    def splitting(
        cls, topic: int, n_before: int, shares: NDArray[np.float64], sizes: NDArray[np.float64]
    ) -> "Edit":
        """Split a topic: the first part keeps its number, other parts come last."""
        more = len(sizes) - 1
        origin = np.concatenate((np.arange(n_before), np.full(more, topic)))
        parts = (topic, *range(n_before, n_before + more))
        return cls(origin, (), n_before, parts, shares, sizes)

    @property
    def n_topics(self) -> int:
        return len(self.origin)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The new number of each former topic; of a split one, its first part's."""
        numbers = np.full(self.n_before, GONE)
        numbers[self.origin[::-1]] = np.arange(self.n_topics)[::-1]
        for former, number in self.joins:
            numbers[former] = number
        return numbers

    @property
    def mapping(self) -> dict[int, int]:
        numbers = enumerate(self.numbers.tolist())
        return {former: number for former, number in numbers if number != GONE}

    @property
    def changed(self) -> NDArray[np.int64]:
        return np.array(sorted({number for _, number in self.joins} | set(self.parts)), np.int64)

    def added(self, table: NDArray[Any], parts: NDArray[np.float64] | None = None) -> Any:
        """Return a table (..., K) with columns joined by sums, and divided by shares of parts."""
        found = np.ascontiguousarray(table[..., self.origin])
        for former, number in self.joins:
            found[..., number] += table[..., former]
        if self.parts:
            shares = self.sizes if parts is None else parts
            found[..., list(self.parts)] *= np.asarray(shares, found.dtype)
        return found

    def largest(self, table: NDArray[Any]) -> Any:
        """Return a table (..., K) with columns joined by maxima."""
        found = np.ascontiguousarray(table[..., self.origin])
        for former, number in self.joins:
            found[..., number] = np.maximum(found[..., number], table[..., former])
        return found


def changed_labels(former: Mapping[int, str], given: Any, n_topics: int) -> dict[int, str]:
    """Return labels updated by those given; None or a blank removes one."""
    if not isinstance(given, Mapping):
        raise InputError(
            f'must map topic numbers to labels, such as {{17: "health care"}}, got {given!r:.60}.',
            "labels",
        )
    labels = dict(former)
    for topic, label in given.items():
        number = topic_number(topic, n_topics, "label")
        if label is not None and not isinstance(label, str):
            raise InputError(f"The label of topic {number} must be text, got {label!r:.60}.")
        text = "" if label is None else label.strip()
        if len(text) > 200:
            raise InputError(
                f"The label of topic {number} has {len(text):,} characters; use at most 200."
            )
        # control characters, lone surrogates, and ends of lines and paragraphs
        odd = next((each for each in text if category(each) in ("Cc", "Cs", "Zl", "Zp")), None)
        if odd is not None:
            raise InputError(
                f"The label of topic {number} has the character {odd!a}, which cannot be printed "
                "on one line; remove this character."
            )
        labels.pop(number, None)
        if text:
            labels[number] = text
    return dict(sorted(labels.items()))


def topic_number(topic: Any, n_topics: int, to: str) -> int:
    """Return the number of a topic to do something to."""
    try:
        return whole("topic", topic, 0, n_topics - 1)
    except InputError:
        raise InputError(
            f"No topic {topic!r:.60} to {to}; topic numbers are 0 to {n_topics - 1:,}."
        ) from None


def _to_arrays(labels: Mapping[int, str]) -> tuple[Arrays, Header]:
    letters, offsets = pack_words(labels.values())
    topics = np.array(list(labels), np.int64)
    return {"topics": topics, "bytes": letters, "offsets": offsets} if labels else {}, {}


def _from_arrays(arrays: Arrays, _: Header, shape: tuple[int, int]) -> dict[int, str]:
    topics, texts = arrays.get("topics"), unpack_words(arrays)
    if topics is None or topics.dtype != np.int64 or topics.shape != (len(texts),):
        raise ValueError("its labels lack topic numbers")
    labels = changed_labels({}, dict(zip(topics.tolist(), texts, strict=True)), shape[1])
    if list(labels) != topics.tolist() or list(labels.values()) != texts:
        raise ValueError("its labels are unsorted or blank")
    return labels


def _edited(labels: Mapping[int, str], edit: Edit) -> dict[int, str]:
    """Keep the labels of topics; of several that are one, the heaviest's that has one."""
    found: dict[int, str] = {}
    pairs = zip(edit.origin.tolist(), range(edit.n_topics), strict=True)
    for former, number in (*pairs, *edit.joins):
        if former in labels and number not in edit.parts:
            found.setdefault(number, labels[former])
    return dict(sorted(found.items()))


def _without(labels: Mapping[int, str], topics: Iterable[int]) -> dict[int, str]:
    gone = set(topics)
    return {number: label for number, label in labels.items() if number not in gone}


LABELS = Part(_to_arrays, _from_arrays, edited=_edited, replaced=_without, has_header=False)
