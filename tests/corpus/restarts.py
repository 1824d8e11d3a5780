"""Helpers for restart tests: the table of tests, a killed learner, pipes and a clock.

Every document is one unique word, so that the learned words identify the learned documents.
"""

import io
import json
from itertools import islice

from opelda.corpus import Vocabulary, stream

SIZE = 10
WORDS = Vocabulary([f"w{i}" for i in range(400)])


class Rows(dict):
    """Tests, keyed by rows of the table in docs/streams.md."""

    def __call__(self, name):
        return lambda test: self.setdefault(name, test)


def lines(first, after):
    return "".join(f"w{i}\n" for i in range(first, after))


class Once(io.RawIOBase):
    """A pipe, which cannot seek."""

    def __init__(self, text):
        self.file = io.BytesIO(text.encode() if isinstance(text, str) else text)

    def readable(self):
        return True

    def readinto(self, buffer):
        return self.file.readinto(buffer)


class Clock:
    """A clock that advances during sleeps only, and runs events at their times."""

    def __init__(self):
        self.now, self.events = 0.0, []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        assert self.now < 1e4, "nothing happens any more"
        while self.events and self.events[0][0] <= self.now:
            self.events.pop(0)[1]()

    def after(self, seconds, event):
        self.events.append((self.now + seconds, event))


def waiting(source, seconds, **options):
    """Open a source whose batches close after `seconds`."""
    opened = stream(source, **{"batch_size": SIZE, "vocabulary": WORDS, "n_jobs": 1} | options)
    opened.wait_at_most(seconds)
    return opened


class Learner:
    """A learner that is killed and resumes from its last position."""

    def __init__(self, folder):
        self.folder, self.path = folder, folder / "log"
        self.position, self.batches = None, []

    def write(self, first, after, name="log", mode="w"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode) as file:
            file.write(lines(first, after))
        return path

    def run(self, source=None, n_batches=None, **options):
        """Start, learn `n_batches` batches (None: all), and stop."""
        source = stream(
            self.path if source is None else source,
            **{"batch_size": SIZE, "vocabulary": WORDS, "n_jobs": 1} | options,
        )
        source.seek(self.position)
        batches = iter(source)
        return self.learn(batches if n_batches is None else islice(batches, n_batches))

    def learn(self, batches):
        for batch in batches:
            self.batches.append(batch.X.indices.tolist())
            self.position = json.loads(json.dumps(batch.position))
        return self

    def follow(self):
        """Follow the file; return an iterator of batches."""
        source = stream(self.path, batch_size=SIZE, vocabulary=WORDS, follow=True, n_jobs=1)
        source.seek(self.position)
        return iter(source)

    def has(self, *numbers, same=True):
        """Check that each document was learned once; with `same`, in full batches and in order."""
        expected = [i for part in numbers for i in part]
        learned = [i for batch in self.batches for i in batch]
        assert sorted(learned) == sorted(expected)
        if same:
            parts = [expected[i : i + SIZE] for i in range(0, len(expected), SIZE)]
            assert self.batches == parts
