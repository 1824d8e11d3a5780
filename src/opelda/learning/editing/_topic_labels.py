"""Labels that people give to topics."""

from collections.abc import Iterable, Mapping
from typing import Any
from unicodedata import category

import numpy as np

from opelda._validation import whole
from opelda.corpus._word_columns import pack_words, unpack_words
from opelda.errors import InputError
from opelda.learning._part import Arrays, Header, Part
from opelda.learning.editing._edit import Edit


def changed_labels(former: Mapping[int, str], given: Any, n_topics: int) -> dict[int, str]:
    """Return labels updated by those given; None or a blank removes one."""
    if not isinstance(given, Mapping):
        raise InputError(
            f'must map numbers of topics to texts, as {{17: "health care"}}, got {given!r:.60}.',
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
                f"The label of topic {number} has {len(text):,} characters; give 200 at most."
            )
        # control characters, lone surrogates, and ends of lines and paragraphs
        odd = next((each for each in text if category(each) in ("Cc", "Cs", "Zl", "Zp")), None)
        if odd is not None:
            raise InputError(
                f"The label of topic {number} has the character {odd!a}, which cannot be shown in "
                "a line; leave it out."
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
            f"There is no topic {topic!r:.60} to {to}; topics have the numbers 0 to "
            f"{n_topics - 1:,}."
        ) from None


def _to_arrays(labels: Mapping[int, str]) -> tuple[Arrays, Header]:
    letters, offsets = pack_words(labels.values())
    topics = np.array(list(labels), np.int64)
    return {"topics": topics, "bytes": letters, "offsets": offsets} if labels else {}, {}


def _from_arrays(arrays: Arrays, _: Header, shape: tuple[int, int]) -> dict[int, str]:
    topics, texts = arrays.get("topics"), unpack_words(arrays)
    if topics is None or topics.dtype != np.int64 or topics.shape != (len(texts),):
        raise ValueError("its labels have no topics")
    labels = changed_labels({}, dict(zip(topics.tolist(), texts, strict=True)), shape[1])
    if list(labels) != topics.tolist() or list(labels.values()) != texts:
        raise ValueError("its labels are out of order or blank")
    return labels


def _edited(labels: Mapping[int, str], edit: Edit) -> dict[int, str]:
    """Keep the labels of topics; of several that are one, the heaviest's that has one."""
    found = {
        number: labels[former]
        for number, former in enumerate(edit.origin.tolist())
        if former in labels and number not in edit.parts
    }
    for former, number in edit.joins:
        if former in labels:
            found.setdefault(number, labels[former])
    return dict(sorted(found.items()))


def _without(labels: Mapping[int, str], topics: Iterable[int]) -> dict[int, str]:
    gone = set(topics)
    return {number: label for number, label in labels.items() if number not in gone}


LABELS = Part(_to_arrays, _from_arrays, edited=_edited, replaced=_without, has_header=False)
