"""Events of a stream, and the times of its checkpoints."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from opelda._validation import number, whole

SENTENCES = {
    "topic rising": "{topic} is rising {at}: from {share_before:.1%} to {share:.1%} of the tokens.",
    "topic fading": "{topic} is fading {at}: from {share_before:.1%} to {share:.1%} of the tokens.",
    "topic changed": "Topic {number} changed {at}: the likelihood of its new tokens fell to "
    "{rho:.0%} of the former value; check {words}.",
    "new topic": "{topic} is new {at}, in {share:.1%} of the last ones.",
    "new words": "New words {at}: {words}; in {share:.1%} of the documents since.",
    "prediction dropped": "Prediction dropped {at}: from {score_before:.2f} to {score:.2f} nats "
    "per token.",
}
TIMES_FILE = ".times"


@dataclass(frozen=True)
class Event:
    """Something that happened to a stream while it was learned.

    Attributes
    ----------
    kind : str
        "topic rising", "topic fading", "topic changed", "new topic", "new words" or "prediction
        dropped".
    document : int
        The number of documents that the model had learned from by then.
    topic : int or None
        The topic of the event; of new words, the topic with most of the first word's tokens.
    numbers : dict
        From word to number: `share_before` and `share` of the tokens of new documents (rising,
        fading), `rho` (changed), `documents` with the word or the theme and their `share` since
        (new words, new topic), `score_before` and `score` in nats a token (prediction).
    words : tuple of str
        The words of the topic, the words that changed, or the new words.
    time : float or None
        Seconds since 1970; None if unknown.

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
        words = ", ".join(self.words[:5])
        unknown = {"share_before": 0, "share": 0, "score_before": 0, "score": 0, "rho": 1}
        said = {
            "topic": f"Topic {self.topic} ({words})" if words else f"Topic {self.topic}",
            "number": self.topic,
            "words": words,
            "at": f"after {self.document:,} documents",
        }
        return SENTENCES[self.kind].format_map({**unknown, **self.numbers, **said})

    def as_dict(self) -> dict[str, Any]:
        """Return the event as JSON holds it, with its time in ISO 8601."""
        when = None if self.time is None else datetime.fromtimestamp(self.time, UTC)
        return self.as_saved() | {
            "time": None if when is None else when.isoformat(timespec="milliseconds")
        }

    def as_saved(self) -> dict[str, Any]:
        """Return the event as model files hold it, without its time: the same for every run."""
        return {n: v for n, v in asdict(self).items() if n != "time"} | {"words": list(self.words)}

    @classmethod
    def from_saved(cls, said: Any, n_topics: int) -> "Event":
        """Make an event of JSON; raise `ValueError` for invalid values."""
        if not isinstance(said, dict) or said.get("kind") not in tuple(SENTENCES):
            raise ValueError("it has an event of an unknown kind")
        words, numbers, topic = said.get("words"), said.get("numbers"), said.get("topic")
        if not isinstance(words, list) or not isinstance(numbers, dict) or len(words) > 20:
            raise ValueError("it has an event without words or numbers")
        return cls(
            said["kind"],
            whole("document", said.get("document"), 0, 2**62),
            None if topic is None else whole("topic", topic, 0, n_topics - 1),
            {str(name): number(name, value, -1e300, 1e300) for name, value in numbers.items()},
            tuple(map(str, words)),
        )


class Times:
    """Times of a folder's checkpoints by numbers of documents; false without times."""

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
        """Return the time, interpolated, of a number of documents."""
        return float(np.interp(documents, self._documents, self._times)) if self else None

    def documents(self, when: float) -> float:
        """Return the number of documents, interpolated, at a time."""
        return float(np.interp(when, self._times, self._documents))
