"""Watching a stream that is learned by sweeps: shares and fit of its topics, its new words.

Fed with the topics drawn for new documents, which learning needs anyway. Everything follows from
the documents, so that a stream that goes on from a checkpoint has the same history and events.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._validation import flag, whole
from opelda.learning._part import Arrays, Header, Part, check_arrays
from opelda.learning.editing._edit import GONE, Edit
from opelda.learning.streaming._cusum import Lanes, LevelLanes, ShareLanes
from opelda.learning.streaming._events import Event
from opelda.learning.streaming._observations import WORDS_OF_EVENT, Drawn

BLOCK = 2000  # documents at least, of one step of the lanes
FALSE_ALARMS = 1e-6  # a document, of all lanes together; counted in benchmarks.streams.drift
MOST_EVENTS = 256  # that are kept
MOST_POINTS = 64
TOP_WORDS = 10
# Times as much, or as little, of a topic: while topics are still being learned, and then. They
# wander by a fifth on their own, and half of a change is borne.
UNSETTLED, SETTLED = 2.0, 1.4
CHANGED, DROPPED = 0.5, 0.1  # nats a token: a topic's fit, prediction
# New words: so many documents, such a share of those since the first, and so many in as many
# documents as came before it, had they been in there, too.
NEW_DOCS, NEW_SHARE, UNSEEN = 20, 0.002, 40
# In a full vocabulary words that have no column may have come before, but not the frequent ones:
# a new one is so many times as frequent as the mean column.
FREQUENT = 3.0
YOUNG = 10  # blocks
LANES = "shares", "fits", "score"
COUNTERS = "n_words", "n_judged", "n_blocks"

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Points:
    """Shares, rho and first words of all topics, at some numbers of documents."""

    documents: NDArray[np.int64]  # (P,) that were learned from by then
    shares: NDArray[np.float32]  # (P, K) of the tokens since the point before
    rho: NDArray[np.float32]  # (P, K)
    words: NDArray[np.int32]  # (P, K, 10) columns, the likeliest first; -1 for none
    spacing: int = 1  # blocks from one point to the next, doubled when there are too many

    @classmethod
    def none(cls, n_topics: int) -> "Points":
        """Begin without points."""
        shape = 0, n_topics
        shares, rho = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        return cls(np.zeros(0, np.int64), shares, rho, np.zeros((*shape, TOP_WORDS), np.int32))

    def __len__(self) -> int:
        return len(self.documents)

    def to_arrays(self) -> Arrays:
        """Return all but the spacing."""
        return {name: getattr(self, name) for name in ("documents", "shares", "rho", "words")}

    def edited(self, edit: Edit) -> "Points":
        """Return the points of the topics that there are after an edit."""
        return replace(
            self,
            shares=edit.added(self.shares),
            rho=-edit.largest(-self.rho),
            words=self.words[:, edit.origin],
        )

    def added(
        self,
        document: int,
        shares: NDArray[np.float64],
        rho: NDArray[np.float64],
        words: NDArray[np.int32],
    ) -> "Points":
        """Return these and one more; of too many, every second one, with shares of both."""
        made = replace(
            self,
            documents=np.append(self.documents, np.int64(document)),
            shares=np.concatenate((self.shares, shares[None].astype(np.float32))),
            rho=np.concatenate((self.rho, rho[None].astype(np.float32))),
            words=np.concatenate((self.words, words[None])),
        )
        if len(made) < MOST_POINTS:
            return made
        return replace(
            made,
            documents=made.documents[1::2],
            shares=(made.shares[::2] + made.shares[1::2]) / np.float32(2),
            rho=np.minimum(made.rho[::2], made.rho[1::2]),
            words=made.words[1::2],
            spacing=2 * self.spacing,
        )

    def without(self, words: NDArray[np.integer]) -> "Points":
        """Forget words whose columns are others' from now on."""
        return replace(self, words=np.where(np.isin(self.words, words), -1, self.words))

    def before(self, document: float) -> int:
        """Return the last point that is not after a number of documents, else the first one."""
        return max(int(np.searchsorted(self.documents, document, "right")) - 1, 0)


@dataclass(frozen=True)
class Watch:
    """A stream's past, as far as it is known; nothing is changed in place."""

    shares: Lanes  # of the tokens of new documents, per topic
    fits: Lanes  # log probability of a topic's new tokens by its words
    score: Lanes  # of new documents' tokens
    points: Points
    n_words: int  # columns that there are
    n_judged: int  # of those, the first, by which fits and score are judged: new words are rarer
    sums: Array  # (2, 3, K): tokens, those judged and their logs, in this block and since a point
    totals: Array  # (3,): documents of this block, score and tokens of its sample
    young: NDArray[np.int64]  # (3, n): column, documents before it came, documents that had it
    is_settled: bool = False  # whether topics are not to be learned anew any more
    n_blocks: int = 0
    events: tuple[Event, ...] = ()  # the last ones
    block_score: float | None = None  # of the block that the last documents ended, per token

    @classmethod
    def of(cls, n_topics: int, n_words: int, *, is_settled: bool = False) -> "Watch":
        """Begin."""
        return cls(
            ShareLanes.of(n_topics, factor=SETTLED if is_settled else UNSETTLED),
            LevelLanes.of(n_topics, drop=CHANGED),
            LevelLanes.of(1, drop=DROPPED),
            Points.none(n_topics),
            n_words,
            n_words,
            np.zeros((2, 3, n_topics)),
            np.zeros(3),
            np.zeros((3, 0), np.int64),
            is_settled,
        )

    @property
    def n_topics(self) -> int:
        """K."""
        return int(self.sums.shape[2])

    def restarted(self, *, is_settled: bool) -> "Watch":
        """Forget what is usual, for topics were learned anew; history and events stay."""
        made = Watch.of(self.n_topics, self.n_words, is_settled=is_settled)
        kept = ("points", "young", "n_blocks", "events", "block_score")
        return replace(made, **{name: getattr(self, name) for name in kept})

    def new_topic(
        self, topic: int, document: int, numbers: Mapping[str, float], words: Sequence[str]
    ) -> "Watch":
        """Note that a topic is another from now on."""
        some = np.array([topic])
        event = Event("new topic", document, topic, numbers, tuple(words))
        shares, fits = self.shares.renewed(some), self.fits.renewed(some)
        sums = self.sums.copy()
        sums[:, :, topic] = 0.0
        return replace(self, shares=shares, fits=fits, sums=sums)._noting([event])

    def forget(self, words: NDArray[np.integer], document: int) -> "Watch":
        """Let columns stand for other words, which are new."""
        young = self.young[:, ~np.isin(self.young[0], words)]
        return replace(
            self, points=self.points.without(words), young=_grown(young, words, document)
        )

    def edited(self, edit: Edit) -> "Watch":
        """Keep the history, and forget what is usual of topics that an edit changed.

        Tokens of a removed topic go to any others: then nothing is usual.
        """
        watch = self if self.is_settled else self.restarted(is_settled=True)
        gone, numbers = (edit.numbers == GONE).any(), edit.mapping
        others = np.arange(edit.n_topics) if gone else edit.changed
        shares, fits = (
            replace(lanes, table=lanes.table[:, edit.origin]).renewed(others)
            for lanes in (watch.shares, watch.fits)
        )
        events = tuple(
            event if event.topic is None else replace(event, topic=numbers.get(event.topic))
            for event in watch.events
        )
        points, sums = watch.points.edited(edit), edit.added(watch.sums)
        return replace(watch, shares=shares, fits=fits, points=points, sums=sums, events=events)

    def after(self, drawn: Drawn, document: int) -> "Watch":
        """Take in new documents, the last of them the stream's `document`-th."""
        rows, (words, topics, weights) = drawn.kept.rows, drawn.cells
        judged = weights * (words < self.n_judged)
        of = (weights, judged, judged * drawn.logs)
        sums = np.stack([np.bincount(topics, each, self.n_topics) for each in of])
        known = drawn.weights.n_words
        young = _grown(self.young, np.arange(self.n_words, known), document - rows.n_docs)
        if young.shape[1]:
            had = np.bincount(rows.words, minlength=known)
            young = np.concatenate((young[:2], young[2:] + had[young[0]]))
        made = replace(
            self,
            sums=self.sums + sums,
            totals=self.totals + np.array((rows.n_docs, *drawn.score(self.n_judged))),
            young=young,
            n_words=known,
            block_score=None,
        )
        return made._judged(drawn, document) if made.totals[0] >= BLOCK else made

    def _judged(self, drawn: Drawn, document: int) -> "Watch":
        """End a block."""
        n_docs, total, n_scored = self.totals
        tokens, judged, logs = self.sums[0]
        n_lanes = 3 * self.n_topics + 1
        limit = log(n_lanes / min(FALSE_ALARMS * n_docs, 1.0))
        shares, moved = self.shares.see(
            tokens / tokens.sum(), np.full(self.n_topics, tokens.sum()), limit
        )
        fits, changed = self.fits.see(logs / np.maximum(judged, 1e-12), judged, limit)
        scored = np.array([n_scored])
        score, dropped = self.score.see(np.array([total]) / np.maximum(scored, 1.0), scored, limit)
        made = replace(
            self,
            shares=shares,
            fits=fits,
            score=score,
            sums=self.sums * [[[0]], [[1]]],
            totals=np.zeros(3),
            n_blocks=self.n_blocks + 1,
            block_score=float(total / n_scored) if n_scored else None,
        )
        events = [
            Event(
                kind,
                document,
                topic,
                {"share_before": float(moved.before[topic]), "share": float(moved.now[topic])},
                drawn.names(self._tops(drawn)[topic]),
            )
            for kind, which in (("topic rising", moved.up), ("topic fading", moved.down))
            for topic in np.flatnonzero(which).tolist()
        ]
        for topic in np.flatnonzero(changed.down).tolist():
            rho = {"rho": float(np.exp(changed.now[topic] - changed.before[topic]))}
            events.append(Event("topic changed", document, topic, rho, drawn.unexpected(topic)))
        if dropped.down.any():
            scores = {"score_before": float(dropped.before[0]), "score": float(dropped.now[0])}
            events.append(Event("prediction dropped", document, None, scores))
        made, found = made._new_words(drawn, document)
        if made.n_blocks % made.points.spacing == 0:
            made = made._pointed(drawn, document)
        return made._noting(events + found)

    def _new_words(self, drawn: Drawn, document: int) -> "tuple[Watch, list[Event]]":
        """Look for words that came lately and are frequent; let go those that are not."""
        ids, before, had = self.young
        since, share = document - before, NEW_SHARE
        if drawn.vocabulary is not None and drawn.vocabulary.n_evicted:
            rows = drawn.kept.rows
            share = max(share, FREQUENT * len(rows.words) / rows.n_docs / self.n_words)
        found = (had >= NEW_DOCS) & (had >= share * since) & (had * before >= UNSEEN * since)
        made = replace(self, young=self.young[:, ~found & (since < YOUNG * BLOCK)])
        if not found.any():
            return made, []
        order = np.flatnonzero(found)
        order = order[np.argsort(-had[order], kind="stable")][:WORDS_OF_EVENT]
        first = order[0]
        numbers = {"documents": float(had[first]), "share": float(had[first] / since[first])}
        topic = drawn.topic_of(int(ids[first]))
        return made, [Event("new words", document, topic, numbers, drawn.names(ids[order]))]

    def _pointed(self, drawn: Drawn, document: int) -> "Watch":
        """Add a point to the history."""
        words = self._tops(drawn)
        tokens, judged, logs = self.sums[1]
        usual = self.fits.table[2]
        fit = np.where(judged > 0, logs / np.maximum(judged, 1e-12), usual)
        rho = np.exp(np.minimum(fit - usual, 0.0))
        points = self.points.added(document, tokens / tokens.sum(), rho, words)
        return replace(self, points=points, sums=self.sums * [[[1]], [[0]]])

    def _tops(self, drawn: Drawn) -> NDArray[np.int32]:
        """Return the first words of each topic."""
        none = np.full((self.n_topics, TOP_WORDS), -1, np.int32)
        return drawn.tops(self.points.words[-1] if len(self.points) else none)

    def _noting(self, events: Sequence[Event]) -> "Watch":
        return replace(self, events=(*self.events, *events)[-MOST_EVENTS:])

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return what `from_arrays` takes."""
        arrays = {name: getattr(self, name).table for name in LANES}
        arrays |= {name: getattr(self, name) for name in ("sums", "totals", "young")}
        arrays |= {f"points.{name}": part for name, part in self.points.to_arrays().items()}
        numbers = {name: getattr(self, name) for name in (*COUNTERS, "is_settled")}
        events = [event.as_saved() for event in self.events]
        return arrays, numbers | {"spacing": self.points.spacing, "events": events}

    @classmethod
    def from_arrays(cls, arrays: Arrays, said: Header, shape: tuple[int, int]) -> "Watch":
        """Make it for topics of a shape; a `ValueError` says what cannot be right."""
        n_words, n = shape
        made = cls.of(n, n_words, is_settled=flag("is_settled", said.get("is_settled")))
        usual, events = made.to_arrays()[0], said.get("events")
        n_points = len(arrays.get("points.documents", ()))
        wanted: dict[str, tuple[Any, tuple[int | None, ...]]] = {
            name: (array.dtype, array.shape) for name, array in usual.items()
        }
        for name in made.points.to_arrays():
            dtype, lengths = wanted[f"points.{name}"]
            wanted[f"points.{name}"] = dtype, (n_points, *lengths[1:])
        wanted["young"] = np.int64, (3, None)
        check_arrays(arrays, wanted, "history")
        young, words = arrays["young"], arrays["points.words"]
        if n_points > MOST_POINTS or not isinstance(events, list) or len(events) > MOST_EVENTS:
            raise ValueError("its history is longer than any")
        for columns, least in ((young[0], 0), (words, -1)):
            if columns.size and (columns.min() < least or columns.max() >= n_words):
                raise ValueError("its history holds words that it does not have")
        if (young < 0).any() or (np.diff(arrays["points.documents"]) < 0).any():
            raise ValueError("its history is out of order")
        lanes = {name: replace(getattr(made, name), table=arrays[name]) for name in LANES}
        points = {name: arrays[f"points.{name}"] for name in made.points.to_arrays()}
        most = {"n_words": n_words, "n_judged": n_words, "n_blocks": 2**62}
        numbers: dict[str, Any] = {
            name: whole(name, said.get(name), 0, most[name]) for name in COUNTERS
        }
        return replace(
            made,
            **lanes,
            points=Points(**points, spacing=whole("spacing", said.get("spacing"), 1, 2**62)),
            sums=arrays["sums"],
            totals=arrays["totals"],
            young=young,
            events=tuple(Event.from_saved(event, n) for event in events),
            **numbers,
        )


WATCH = Part(Watch.to_arrays, Watch.from_arrays, edited=Watch.edited, reused=Watch.forget)


def _grown(
    young: NDArray[np.int64], words: NDArray[np.integer], document: int
) -> NDArray[np.int64]:
    """Return young words and more of them, which came after so many documents."""
    more = np.stack((words, np.full(len(words), document), np.zeros(len(words)))).astype(np.int64)
    return np.concatenate((young, more), axis=1)
