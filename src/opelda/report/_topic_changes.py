"""How the topics of a stream moved: their shares and words at one time and now."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.errors import InputError


@dataclass(frozen=True)
class TopicMove:
    """A topic then and now: its share of the tokens of new documents, rho, and its words."""

    topic: int
    share_before: float
    share: float
    rho: float  # the smallest meanwhile
    words: list[str]
    came: list[str]
    went: list[str]


def topic_moves(model: Any, since: float) -> tuple[int, list[TopicMove]]:
    """Return the point of the history that is taken for `since` documents, and how topics moved.

    Topics that moved most come first.
    """
    watch = model._state.watch
    if watch is None or not len(watch.points):
        raise InputError(
            "This model has no history: streams that are learned by sweeps have one, after some "
            "2,000 documents."
        )
    points, names = watch.points, model._words()
    first = points.before(since)
    tokens = watch.sums[1, 0]  # since the last point
    shares = tokens / tokens.sum() if tokens.any() else points.shares[-1]
    moves = []
    for topic, now in enumerate(model.top_words(points.words.shape[2], by="probability")):
        then = _named(points.words[first, topic], names)
        moves.append(
            TopicMove(
                topic,
                float(points.shares[first, topic]),
                float(shares[topic]),
                float(points.rho[first:, topic].min()),
                now,
                [word for word in now if word not in then],
                [word for word in then if word not in now],
            )
        )
    moves.sort(key=lambda move: -abs(np.log((move.share + 1e-4) / (move.share_before + 1e-4))))
    return int(points.documents[first]), moves


def _named(words: NDArray[np.int32], names: Any) -> list[str]:
    return [str(names[j]) for j in words.tolist() if j >= 0]
