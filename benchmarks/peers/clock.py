"""A clock that runs while a system trains, and the snapshots taken while it stands still."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


class Enough(Exception):  # noqa: N818  no error: it carries a run out of a system's own loop
    """The planned work is done or the time is up."""


@dataclass
class Clock:
    """A stopwatch; stopping it twice, or starting it twice, has no effect."""

    now: Callable[[], float] = time.perf_counter
    _before: float = 0.0
    _since: float | None = None

    def start(self) -> None:
        if self._since is None:
            self._since = self.now()

    def stop(self) -> None:
        self._before, self._since = self.seconds, None

    @property
    def seconds(self) -> float:
        return self._before + (0.0 if self._since is None else self.now() - self._since)


@dataclass
class Snapshot:
    """The topics at a checkpoint, on disk so that they do not count as the system's memory."""

    documents: int
    seconds: float
    memory_mb: float
    path: Path


@dataclass
class Recorder:
    """Called by a system after each piece of work; keeps snapshots and says when it is enough.

    Snapshots are a factor `growth` of work apart; one is also taken where a `wanted` number of
    documents is reached and at the end. The run is over when `planned` documents are done, or
    when `limit` seconds are, but not before `at_least` documents.
    """

    folder: Path
    limit: float
    planned: float = math.inf
    at_least: int = 0
    wanted: Sequence[int] = ()
    growth: float = 1.3
    clock: Clock = field(default_factory=Clock)
    memory: Callable[[], float] = lambda: peak_memory()
    snapshots: list[Snapshot] = field(default_factory=list)
    _due: float = 0.0
    _seen: tuple[int, float, Callable[[], Any]] | None = None

    def __call__(
        self, documents: int, topics: Callable[[], Any], seconds: float | None = None
    ) -> None:
        """Look at the topics after N documents; `seconds` where the clock is another's."""
        self.clock.stop()
        seconds = self.clock.seconds if seconds is None else seconds
        before = self._seen[0] if self._seen else 0
        self._seen = (documents, seconds, topics)
        over = self.is_over(documents, seconds)
        wanted = any(before < mark <= documents for mark in self.wanted)
        if over or wanted or documents >= self._due:
            self._take()
            self._due = documents * self.growth
        if over:
            raise Enough
        self.clock.start()

    def is_over(self, documents: int, seconds: float) -> bool:
        late = seconds > self.limit and documents >= self.at_least
        return documents >= self.planned or late

    def finish(self) -> None:
        """Keep the last topics seen, where they were not due."""
        self.clock.stop()
        if self._seen and (not self.snapshots or self.snapshots[-1].documents < self._seen[0]):
            self._take()

    def _take(self) -> None:
        documents, seconds, topics = self._seen
        path = self.folder / f"{len(self.snapshots)}.npy"
        memory = self.memory()
        np.save(path, np.asarray(topics(), dtype=np.float32))
        self.snapshots.append(Snapshot(documents, seconds, memory, path))


def peak_memory() -> float:
    """Peak resident megabytes of this process and those it started, shared pages in each."""
    return sum(high_water(pid) for pid in family("self"))


def family(pid: str) -> Iterator[str]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            yield from family(child)


def high_water(pid: str) -> float:
    """Peak resident megabytes of a process."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has ended, or this is no Linux
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
