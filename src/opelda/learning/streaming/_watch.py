"""Detection of changes in a stream learned by sweeps: shares and fit of topics, new words.

Detection reads the topics that learning draws for new documents. History and events follow from the
documents alone: a resumed stream has the same ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._validation import flag, whole
from opelda.corpus import Vocabulary
from opelda.engines import Engine
from opelda.engines.seam import TokenCounts, Weights
from opelda.learning._part import Arrays, Header, Part, check_arrays
from opelda.learning.editing._edit import GONE, Edit
from opelda.learning.streaming._cusum import Lanes, LevelLanes, ShareLanes
from opelda.learning.streaming._events import Event
from opelda.learning.streaming._window import Assignments

BLOCK = 2000  # documents, at least, per step of the lanes
SCORED_TOKENS = 500  # of a mini-batch
TOP_WORDS = 10  # of topics and events
MOST_POINTS, MOST_EVENTS = 64, 256
LANES = "shares", "fits", "score"
COUNTERS = "n_words", "n_judged", "n_blocks"

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Drawn:
    """New documents, the topics of their tokens, and weights that have not learned from them."""

    engine: Engine
    weights: Weights
    kept: Assignments
    counts: TokenCounts
    alpha: Array
    vocabulary: Vocabulary | None

    @cached_property
    def cells(self) -> tuple[NDArray[np.intp], NDArray[np.int32], Array]:
        """Return words, topics and weights of the counts."""
        indptr, topics, data = self.counts.arrays
        words = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        return words, topics, np.ldexp(data.astype(np.float64), -self.counts.shift)

    @cached_property
    def logs(self) -> Array:
        return log_probabilities(self.weights, *self.cells[:2])

    def score(self, n_words: int) -> tuple[float, float]:
        """Return the sum of log probabilities of a sample's tokens, and their number.

        Other tokens of the document predict a token; only the first `n_words` words count.
        """
        kept, alpha = self.kept, self.alpha
        lengths = np.diff(kept.ends)
        n_tokens = int(lengths.sum())
        docs = np.arange(0, len(lengths), max(-(-n_tokens // SCORED_TOKENS), 1))
        each = np.repeat(np.arange(len(docs)), lengths[docs])
        at = kept.token_numbers(docs)
        topics, n_topics = kept.topics[at].astype(np.intp), len(alpha)
        ids = kept.token_words[at]
        mixtures = np.bincount(each * n_topics + topics, minlength=len(docs) * n_topics)
        known = ids < n_words
        each, topics, ids = each[known], topics[known], ids[known]
        if not len(ids):
            return 0.0, 0.0
        words, slots = np.unique(ids, return_inverse=True)
        beta = np.ascontiguousarray(self.engine.read(self.weights, words.astype(np.int32)).T)
        theta = mixtures.reshape(-1, n_topics).astype(beta.dtype) + alpha.astype(beta.dtype)
        found = np.einsum("ik,ik->i", theta[each], beta[slots]) - beta[slots, topics]
        found /= lengths[docs][each] - 1 + alpha.sum()
        return float(np.log(np.maximum(found, 1e-30), dtype=np.float64).sum()), float(len(ids))

    def tops(self, former: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the top words of each topic, among new and former ones."""
        n_topics, n = former.shape
        old_topics, old = np.nonzero(former >= 0)
        words: NDArray[np.int64] = np.concatenate((self.cells[0], former[old_topics, old]))
        topics: NDArray[np.int64] = np.concatenate((self.cells[1], old_topics))
        n_words = self.weights.n_words
        pairs: NDArray[np.int64] = np.unique(topics * n_words + words)
        topics, words = np.divmod(pairs, n_words)
        order = np.lexsort((words, -log_probabilities(self.weights, words, topics), topics))
        topics, words = topics[order], words[order]
        rank = np.arange(len(topics)) - np.searchsorted(topics, topics)
        found, best = np.full((n_topics, n), -1, np.int32), rank < n
        found[topics[best], rank[best]] = words[best]
        return found

    def unexpected(self, topic: int) -> NDArray[np.intp]:
        """Return the words that most exceed their expected tokens in a topic."""
        words, topics, weights = self.cells
        here = topics == topic
        words, weights = words[here], weights[here]
        by = weights * (np.log(weights / weights.sum()) - self.logs[here])
        best: NDArray[np.intp] = words[np.lexsort((words, -by))][:TOP_WORDS]
        return best

    def topic_of(self, word: int) -> int | None:
        """Return the topic with most of a word's tokens."""
        words, topics, weights = self.cells
        here = words == word
        return int(topics[here][weights[here].argmax()]) if here.any() else None


def names_of(columns: NDArray[np.integer], vocabulary: Vocabulary | None) -> tuple[str, ...]:
    """Return the words of columns, without -1."""
    named = None if vocabulary is None else vocabulary.words
    return tuple(f"x{j}" if named is None else named[j] for j in columns.tolist() if j >= 0)


def log_probabilities(
    weights: Weights, words: NDArray[np.integer], topics: NDArray[np.integer]
) -> Array:
    """Return the log probabilities of pairs of a word and a topic."""
    host, totals = weights.host(), weights.totals
    prior = host.prior
    if isinstance(prior, np.ndarray):
        prior = prior[words] if prior.ndim == 1 else prior[words, topics]
    cells = weights.scale * host.rows[words, topics].astype(np.float64)
    found: Array = np.log(np.maximum(cells + weights.prior_weight * prior, 1e-30))
    found -= np.log(totals)[topics]
    return found


@dataclass(frozen=True)
class Points:
    """A history: shares, rho and first words of all topics, at some numbers of documents."""

    documents: NDArray[np.int64]  # (P,) learned from
    shares: NDArray[np.float32]  # (P, K) of the tokens since the previous point
    rho: NDArray[np.float32]  # (P, K)
    words: NDArray[np.int32]  # (P, K, 10) top words, padded with -1
    spacing: int = 1  # blocks between points, doubled when points are too many

    @classmethod
    def none(cls, n_topics: int) -> "Points":
        shares = np.zeros((0, n_topics), np.float32)
        words = np.zeros((0, n_topics, TOP_WORDS), np.int32)
        return cls(np.zeros(0, np.int64), shares, shares, words)

    def __len__(self) -> int:
        return len(self.documents)

    def to_arrays(self) -> Arrays:
        return {name: value for name, value in vars(self).items() if name != "spacing"}

    def edited(self, edit: Edit) -> "Points":
        shares, rho = edit.added(self.shares), -edit.largest(-self.rho)
        return replace(self, shares=shares, rho=rho, words=self.words[:, edit.origin])

    def added(self, document: int, shares: Array, rho: Array, words: NDArray[np.int32]) -> "Points":
        """Add a point; if points are too many, join them in pairs."""
        more: Any = np.int64(document), shares.astype(np.float32), rho.astype(np.float32), words
        pairs = zip(self.to_arrays().values(), more, strict=True)
        documents, parts, rhos, words = (
            np.concatenate((former, new[None])) for former, new in pairs
        )
        if len(documents) < MOST_POINTS:
            return Points(documents, parts, rhos, words, self.spacing)
        parts = (parts[::2] + parts[1::2]) / np.float32(2)
        rhos = np.minimum(rhos[::2], rhos[1::2])
        return Points(documents[1::2], parts, rhos, words[1::2], 2 * self.spacing)

    def before(self, document: float) -> int:
        """Return the last point up to a number of documents, else the first one."""
        return max(int(np.searchsorted(self.documents, document, "right")) - 1, 0)


@dataclass(frozen=True)
class Watch:
    """A stream's past; never changed in place."""

    shares: Lanes  # of the tokens of new documents, per topic
    fits: Lanes  # log probability of a topic's new tokens by its words
    score: Lanes  # of new documents' tokens
    points: Points
    n_words: int  # columns
    n_judged: int  # first columns, which fits and score use: new words are rarer
    sums: Array  # (2, 3, K): tokens, judged tokens and their logs, in this block and since a point
    totals: Array  # (3,): documents of this block, and the score and tokens of a sample
    young: NDArray[np.int64]  # (3, n): new column, documents before it, documents with it
    is_settled: bool = False  # whether relearning has ended
    n_blocks: int = 0
    events: tuple[Event, ...] = ()
    block_score: float | None = None  # per token, if the last documents ended a block

    @classmethod
    def of(cls, n_topics: int, n_words: int, *, is_settled: bool = False) -> "Watch":
        return cls(
            # Topics wander by a fifth without a change, and more until relearning has ended.
            ShareLanes.of(n_topics, factor=1.4 if is_settled else 2.0),
            LevelLanes.of(n_topics, drop=0.5),  # nats a token
            LevelLanes.of(1, drop=0.1),
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
        return int(self.sums.shape[2])

    def restarted(self, *, is_settled: bool) -> "Watch":
        """Reset the lanes after relearning; keep history and events."""
        made = Watch.of(self.n_topics, self.n_words, is_settled=is_settled)
        kept = ("points", "young", "n_blocks", "events", "block_score")
        return replace(made, **{name: getattr(self, name) for name in kept})

    def new_topic(
        self, topic: int, document: int, numbers: Mapping[str, float], words: Sequence[str]
    ) -> "Watch":
        """Note that a topic became a new theme's."""
        some = np.array([topic])
        event = Event("new topic", document, topic, numbers, tuple(words))
        shares, fits = self.shares.renewed(some), self.fits.renewed(some)
        sums = self.sums.copy()
        sums[:, :, topic] = 0.0
        return replace(self, shares=shares, fits=fits, sums=sums)._noting([event])

    def forget(self, columns: NDArray[np.integer], document: int) -> "Watch":
        """Give columns to other words, which are new."""
        words = np.where(np.isin(self.points.words, columns), -1, self.points.words)
        young = self.young[:, ~np.isin(self.young[0], columns)]
        points = replace(self.points, words=words)
        return replace(self, points=points, young=_grown(young, columns, document))

    def edited(self, edit: Edit) -> "Watch":
        """Keep the history; reset the lanes of changed topics.

        Tokens of a removed topic go to any topic, so a removal resets all lanes.
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
        """Add new documents; `document` is the number of all documents so far."""
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
        # a false alarm of any lane per million documents (benchmarks.streams.drift)
        limit = log((3 * self.n_topics + 1) / min(1e-6 * n_docs, 1.0))
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
        none = np.full((self.n_topics, TOP_WORDS), -1, np.int32)
        tops = drawn.tops(self.points.words[-1] if len(self.points) else none)

        def of_topic(kind: str, topic: int, columns: Any, **numbers: Any) -> Event:
            numbers = {name: float(of_topics[topic]) for name, of_topics in numbers.items()}
            return Event(kind, document, topic, numbers, names_of(columns, drawn.vocabulary))

        events = [
            of_topic(kind, topic, tops[topic], share_before=moved.before, share=moved.now)
            for kind, which in (("topic rising", moved.up), ("topic fading", moved.down))
            for topic in np.flatnonzero(which).tolist()
        ]
        rho = np.exp(changed.now - changed.before)
        events += [
            of_topic("topic changed", topic, drawn.unexpected(topic), rho=rho)
            for topic in np.flatnonzero(changed.down).tolist()
        ]
        if dropped.down.any():
            scores = {"score_before": float(dropped.before[0]), "score": float(dropped.now[0])}
            events.append(Event("prediction dropped", document, None, scores))
        made, found = made._new_words(drawn, document)
        if made.n_blocks % made.points.spacing == 0:
            tokens, judged, logs = self.sums[1]
            usual = fits.table[2]
            fit = np.where(judged > 0, logs / np.maximum(judged, 1e-12), usual)
            rho = np.exp(np.minimum(fit - usual, 0.0))
            points = self.points.added(document, tokens / tokens.sum(), rho, tops)
            made = replace(made, points=points, sums=made.sums * [[[1]], [[0]]])
        return made._noting(events + found)

    def _new_words(self, drawn: Drawn, document: int) -> "tuple[Watch, list[Event]]":
        """Note frequent new words; drop rare ones.

        A new word is in 20 documents, in 0.2% of the documents since its first, and at this rate
        would have been in 40 of the documents before.
        """
        ids, before, had = self.young
        since, share = document - before, 0.002
        if drawn.vocabulary is not None and drawn.vocabulary.n_evicted:
            # Only rare words lose their columns: a new word is three times as frequent as the mean.
            rows = drawn.kept.rows
            share = max(share, 3.0 * len(rows.words) / rows.n_docs / self.n_words)
        found = (had >= 20) & (had >= share * since) & (had * before >= 40 * since)
        made = replace(self, young=self.young[:, ~found & (since < 10 * BLOCK)])
        if not found.any():
            return made, []
        order = np.flatnonzero(found)
        order = order[np.argsort(-had[order], kind="stable")][:TOP_WORDS]
        first = order[0]
        numbers = {"documents": float(had[first]), "share": float(had[first] / since[first])}
        words, topic = names_of(ids[order], drawn.vocabulary), drawn.topic_of(int(ids[first]))
        return made, [Event("new words", document, topic, numbers, words)]

    def _noting(self, events: Sequence[Event]) -> "Watch":
        return replace(self, events=(*self.events, *events)[-MOST_EVENTS:])

    def to_arrays(self) -> tuple[Arrays, Header]:
        arrays = {name: getattr(self, name).table for name in LANES}
        arrays |= {name: getattr(self, name) for name in ("sums", "totals", "young")}
        arrays |= {f"points.{name}": part for name, part in self.points.to_arrays().items()}
        numbers = {name: getattr(self, name) for name in (*COUNTERS, "is_settled")}
        events = [event.as_saved() for event in self.events]
        return arrays, numbers | {"spacing": self.points.spacing, "events": events}

    @classmethod
    def from_arrays(cls, arrays: Arrays, said: Header, shape: tuple[int, int]) -> "Watch":
        """Make a watch for topics of a shape; raise `ValueError` for invalid values."""
        n_words, n = shape
        made = cls.of(n, n_words, is_settled=flag("is_settled", said.get("is_settled")))
        n_points = len(arrays.get("points.documents", ()))
        wanted: dict[str, tuple[Any, tuple[int | None, ...]]] = {
            name: (array.dtype, (n_points, *array.shape[1:]) if "." in name else array.shape)
            for name, array in made.to_arrays()[0].items()
        }
        wanted["young"] = np.int64, (3, None)
        check_arrays(arrays, wanted, "history")
        if not isinstance(said.get("events"), list):
            raise ValueError("its history has no events")
        young = arrays["young"]
        points: Any = {name: arrays[f"points.{name}"] for name in made.points.to_arrays()}
        for columns, least in ((young[0], 0), (points["words"], -1)):
            if columns.size and (columns.min() < least or columns.max() >= n_words):
                raise ValueError("its history refers to unknown words")
        found: dict[str, Any] = {name: arrays[name] for name in ("sums", "totals", "young")}
        for name in LANES:
            found[name] = replace(getattr(made, name), table=arrays[name])
        for name in COUNTERS:
            most = 2**62 if name == "n_blocks" else n_words
            found[name] = whole(name, said.get(name), 0, most)
        return replace(
            made,
            **found,
            points=Points(**points, spacing=whole("spacing", said.get("spacing"), 1, 2**62)),
            events=tuple(Event.from_saved(event, n) for event in said["events"]),
        )


WATCH = Part(Watch.to_arrays, Watch.from_arrays, edited=Watch.edited, reused=Watch.forget)


def _grown(
    young: NDArray[np.int64], columns: NDArray[np.integer], document: int
) -> NDArray[np.int64]:
    """Add new columns after a number of documents."""
    more = np.stack((columns, np.full(len(columns), document), np.zeros(len(columns))))
    return np.concatenate((young, more.astype(np.int64)), axis=1)
