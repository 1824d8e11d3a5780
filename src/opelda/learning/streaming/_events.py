"""Events of a stream: a topic that rises, fades or changes, new words, worse prediction.

Their times are in a small file beside the checkpoint, whose content depends on documents alone.
"""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from opelda._validation import number, whole

KINDS = (
    "topic rising", "topic fading", "topic changed", "new topic", "new words", "prediction dropped",
)  # fmt: skip
SHOWN = "share_before", "share", "score_before", "score"
MOST_WORDS = 20
TIMES_FILE = ".times"
MOST_BYTES = 100_000  # of it; then every second line goes


@dataclass(frozen=True)
class Event:
    """Something that happened to a stream while it was learned.

    Attributes
    ----------
    kind : str
        "topic rising", "topic fading", "topic changed", "new topic", "new words" or "prediction
        dropped".
    document : int
        How many documents the model had learned from when it was noticed.
    topic : int or None
        The topic it is about; of new words the one that has most of the first of them.
    numbers : dict
        From word to number: `share_before` and `share` of the tokens of new documents (rising,
        fading), `rho` (changed), `documents` that had a word, or are full of a theme's words, and
        their `share` of those since (new words, new topic),
        `score_before` and `score` in nats a token (prediction).
    words : tuple of str
        The topic's words, those by which it changed, or the new ones.
    time : float or None
        When it was noticed, in seconds since 1970; None where that is not known any more.

    Examples
    --------
    >>> event = Event("topic rising", 40_000, 7, {"share_before": 0.01, "share": 0.02}, ("tea",))
    >>> print(event)
    Topic 7 (tea) is rising after 40,000 documents: from 1.0% to 2.0% of the tokens.
    >>> event.as_dict()["kind"]
    'topic rising'
    """

    kind: str
    document: int
    topic: int | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    time: float | None = None

    def __str__(self) -> str:
        words, of = ", ".join(self.words[:5]), {name: self.numbers.get(name, 0) for name in SHOWN}
        topic = f"Topic {self.topic}" + (
            f" ({words})" if words and "changed" not in self.kind else ""
        )
        at = f"after {self.document:,} documents"
        shares = f"from {of['share_before']:.1%} to {of['share']:.1%} of the tokens"
        scores = f"from {of['score_before']:.2f} to {of['score']:.2f} nats a token"
        rho = f"{self.numbers.get('rho', 1):.0%}"
        return {
            "topic rising": f"{topic} is rising {at}: {shares}.",
            "topic fading": f"{topic} is fading {at}: {shares}.",
            "topic changed": f"{topic} changed {at}: its new tokens are {rho} as likely by its "
            f"words as they were; look at {words}.",
            "new topic": f"{topic} is new {at}, in {of['share']:.1%} of the last ones.",
            "new words": f"New words {at}: {words}; in {of['share']:.1%} of the documents since.",
            "prediction dropped": f"Prediction dropped {at}: {scores}.",
        }[self.kind]

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it, the time as ISO 8601."""
        when = None if self.time is None else datetime.fromtimestamp(self.time, UTC)
        return self.as_saved() | {
            "time": None if when is None else when.isoformat(timespec="milliseconds")
        }

    def as_saved(self) -> dict[str, Any]:
        """Return it without the time, as model files hold it: the same for every run."""
        return {n: v for n, v in asdict(self).items() if n != "time"} | {"words": list(self.words)}

    @classmethod
    def from_saved(cls, said: Any, n_topics: int) -> "Event":
        """Make an event of what a file holds; a `ValueError` says what cannot be right."""
        if not isinstance(said, dict) or said.get("kind") not in KINDS:
            raise ValueError("it holds an event of an unknown kind")
        words, numbers, topic = said.get("words"), said.get("numbers"), said.get("topic")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError("it holds an event without words")
        if not isinstance(numbers, dict) or len(words) > MOST_WORDS:
            raise ValueError("it holds an event without numbers")
        return cls(
            said["kind"],
            whole("document", said.get("document"), 0, 2**62),
            None if topic is None else whole("topic", topic, 0, n_topics - 1),
            {str(name): number(name, value, -1e300, 1e300) for name, value in numbers.items()},
            tuple(words),
        )


def note_time(folder: Path, n_documents: int) -> None:
    """Add a line; where that fails, times are not known and nothing else is lost."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    with suppress(OSError):
        handle = os.open(folder / TIMES_FILE, flags, 0o666)
        with os.fdopen(handle, "r+b") as file:
            if os.fstat(handle).st_size > MOST_BYTES:
                lines = file.read().splitlines(keepends=True)
                os.ftruncate(handle, 0)
                file.write(b"".join(lines[1::2]))
            file.write(f"{n_documents} {time.time():.3f}\n".encode())


class Times:
    """The times of a folder, which may know none."""

    def __init__(self, folder: Path) -> None:
        pairs: list[tuple[float, float]] = []
        with suppress(OSError):
            # the last line may be cut off
            for line in (folder / TIMES_FILE).read_bytes().split(b"\n")[:-1]:
                with suppress(ValueError):
                    documents, when = map(float, line.split())
                    if pairs and documents < pairs[-1][0]:  # the stream began anew
                        pairs = []
                    pairs.append((documents, when))
        self._documents, self._times = np.array(pairs).reshape(-1, 2).T

    def __bool__(self) -> bool:
        return bool(len(self._times))

    @property
    def last(self) -> float:
        """The time of the last checkpoint."""
        return float(self._times[-1])

    def at(self, documents: float) -> float | None:
        """Return about when there were so many documents."""
        return float(np.interp(documents, self._documents, self._times)) if self else None

    def documents(self, when: float) -> float:
        """Return about how many documents there were at a time."""
        return float(np.interp(when, self._times, self._documents))
