"""The page of a stream while it is learned."""

import threading
import time
from collections import deque
from datetime import UTC, datetime
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from opelda.report._topic_map import map_positions
from opelda.report.page._facts import NOT_KNOWN, model_facts, number, stamp
from opelda.report.page._payload import ExportedTopics, as_base64
from opelda.report.page._write import as_json, page

EVERY = 2.0  # seconds between two requests of a page


class LivePage:
    """A callback that collects the facts of a live page.

    Topics are measured only while a browser asks, in at most 5% of the time.
    """

    needs_gap: ClassVar[bool] = False
    needs_score: ClassVar[bool] = True

    def __init__(self, title: str, name: str) -> None:
        self._title, self._name = title, name
        self._lock = threading.Lock()
        self._events: deque[dict[str, Any]] = deque(maxlen=100)
        self._scores: deque[list[float]] = deque(maxlen=400)
        self._now: dict[str, Any] = {}
        self._said: dict[str, Any] | None = None  # of the topics
        self._positions: NDArray[np.float64] | None = None
        self._next = self._asked = 0.0
        self._started = datetime.now(UTC).isoformat(timespec="seconds")

    def begin(self, model: Any) -> None:
        """Restore the events of a resumed stream."""
        if hasattr(model, "_state"):
            self._events.extendleft(map(_event, model.events_))

    def __call__(self, report: Any) -> None:
        """Note an update, and measure the topics if a browser asks."""
        n_docs = int(report.model.n_docs_)
        said, shares = self._look(report.model), _shares(report.model)
        with self._lock:
            self._said = said
            self._now = {
                "n_docs": n_docs,
                "docs_per_second": number(report.recent_docs_per_second),
                "memory": report.memory,
                **shares,
            }
            if report.batch_score is not None:
                self._scores.append([n_docs, round(float(report.batch_score), 4)])
            self._events.extendleft(map(_event, report.events))

    def json(self) -> str:
        return as_json(self._meta())

    def html(self) -> str:
        return page(self._meta())

    def _meta(self) -> dict[str, Any]:
        with self._lock:
            self._asked = time.monotonic()
            scores = list(self._scores)
            stream = dict.fromkeys(("docs_per_second", "memory", "shares", "before")) | {
                "n_docs": 0,
                **self._now,
                "score": scores[-1][1] if scores else None,
                "scores": scores,
                "events": list(self._events),
                "started": self._started,
            }
            return (self._said or nothing_yet(self._name)) | {
                "title": self._title,
                "live": {"every": EVERY},
                "stream": stream,
            }

    def _look(self, model: Any) -> dict[str, Any] | None:
        """Measure the topics, in the learner's own thread: others see words without topics."""
        began = time.monotonic()
        # a browser that asked within a minute is there
        asked = self._said is None or began - self._asked < 60.0
        if not asked or began < self._next:
            return self._said
        topics = np.asarray(model.components_)
        self._positions = turned(map_positions(topics), self._positions)
        kept = ExportedTopics.of(topics, 500_000)
        said = model_facts(model, self._name, topics, kept, positions=self._positions)
        ended = time.monotonic()
        self._next = ended + max(EVERY, (ended - began) / 0.05)
        return said


def nothing_yet(name: str) -> dict[str, Any]:
    none = as_base64([], np.uint32)
    facts = {"name": name, "learner": "", "n_topics": 0, "n_words": 0, "n_docs": 0}
    return dict.fromkeys(NOT_KNOWN) | {
        **stamp(),
        "model": facts | {"settings": []},
        "topics": [],
        "words": [],
        "sampled": [],
        "frequency": none,
        "ranked": {"offsets": as_base64([0], np.uint32), "words": none, "probability": none},
    }


def turned(
    positions: NDArray[np.float64], former: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Rotate and mirror positions to former ones (Procrustes)."""
    if former is None or former.shape != positions.shape:
        return positions
    left, _, right = np.linalg.svd(positions.T @ former)
    return np.asarray(positions @ left @ right)


def _shares(model: Any) -> dict[str, Any]:
    """Return topics' shares of the newest documents, and of the ten points before."""
    watch = getattr(getattr(model, "_state", None), "watch", None)
    if watch is None or len(watch.points) < 2:
        return {"shares": None, "before": None}
    shares = watch.points.shares
    return {
        "shares": [round(float(x), 6) for x in shares[-1]],
        "before": [round(float(x), 6) for x in shares[-11:-1].mean(axis=0)],
    }


def _event(event: Any) -> dict[str, Any]:
    return {
        "kind": event.kind,
        "after": event.document,
        "topic": event.topic,
        "text": str(event),
        "words": list(event.words),
        "time": event.as_dict()["time"],
    }
