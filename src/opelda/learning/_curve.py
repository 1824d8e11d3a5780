"""The learning curve: scores on the way, in bounded memory, a function of the documents alone."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from opelda._validation import choice, whole
from opelda.engines.seam import Documents, ranked
from opelda.learning._part import Arrays, Header, Part, check_arrays
from opelda.metrics._token_split import can_be_split

KINDS = VALIDATION, LEARNED_FROM, BEFORE = (
    "validation documents",
    "documents it learned from",
    "documents before they were learned from",
)
MOST_POINTS = 64
# A score takes as long as some 250 views of documents, and 7 for each that is scored: of this many
# views (documents times passes and sweeps) one score, and one scored document of 5,000 views, take
# 2% at most.
VIEWS_PER_SCORE = 20_000


@dataclass(frozen=True)
class Curve:
    """Scores after numbers of documents: the last one, and of those before it some, evenly."""

    of: str  # whose score
    n: int = 0  # scores that there were
    points: tuple[tuple[int, float], ...] = ()

    @property
    def _spacing(self) -> int:
        """Every how many scores one is kept for good."""
        spacing = 1
        while (self.n - 1) // spacing >= MOST_POINTS:
            spacing *= 2
        return spacing

    def added(self, n_docs: int, score: float) -> "Curve":
        """Return it with one more score."""
        before = self._spacing
        kept = self.points[:-1] if self.n and (self.n - 1) % before else self.points
        made = Curve(self.of, self.n + 1, (*kept, (n_docs, score)))
        if made._spacing == before:
            return made
        # one more than twice as many as are left: the last is among them
        return Curve(made.of, made.n, made.points[::2])

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return what `from_arrays` takes."""
        documents, scores = zip(*self.points, strict=True)
        arrays = {"documents": np.array(documents, np.int64), "scores": np.array(scores)}
        return arrays, {"of": self.of, "n": self.n}

    @classmethod
    def from_arrays(cls, arrays: Arrays, said: Header, _: tuple[int, int]) -> "Curve":
        """Return the curve that a file holds, checked."""
        made = cls(choice("of", said.get("of"), KINDS), whole("n", said.get("n"), 1))
        n_points = (made.n - 1) // made._spacing + 1 + ((made.n - 1) % made._spacing > 0)
        wanted = {"documents": (np.int64, (n_points,)), "scores": (np.float64, (n_points,))}
        check_arrays(arrays, wanted, "learning curve")
        documents, scores = arrays["documents"], arrays["scores"]
        if documents[0] < 0 or (np.diff(documents) < 0).any():
            raise ValueError("its learning curve is out of order")
        return cls(made.of, made.n, tuple(zip(documents.tolist(), scores.tolist(), strict=True)))


CURVE = Part(Curve.to_arrays, Curve.from_arrays)


class Sample:
    """Some documents of a collection, to be scored at a few points of learning from all of them.

    Both are so few that scoring takes some 2% of the time, and the last point is the end.
    """

    def __init__(self, documents: Documents, batch_size: int, n_passes: int, n_sweeps: int) -> None:
        n_docs = documents.n_docs
        n_updates = n_passes * -(-n_docs // batch_size)
        views = n_docs * (n_passes + n_sweeps)
        n_scores = min(views // VIEWS_PER_SCORE, 11)
        n = min(max(views // 5_000, 20), 200)
        self._step, self._due = 0, frozenset[int]()
        if n_scores:
            self.documents = drawn(documents, n)
            if can_be_split(self.documents):
                for_sweeps = (n_scores + 1) // 2 if n_sweeps else 0
                passes = _halved(n_updates, n_scores - for_sweeps)
                sweeps = (n_updates + step for step in _halved(n_sweeps, for_sweeps))
                self._due = frozenset((*passes, *sweeps))

    def is_due(self) -> bool:
        """Take note of an update or a sweep; whether to score now."""
        self._step += 1
        return self._step in self._due


def drawn(documents: Documents, n: int) -> sparse.csr_array:
    """Return the n documents of the smallest keys, by key; all, if there are no more."""
    return documents.matrix[ranked(documents.keys, n)]


def _halved(n: int, times: int) -> list[int]:
    """Return n, n / 2, n / 4, ..., rounded up.

    >>> _halved(80, 4), _halved(3, 2), _halved(9, 0)
    ([80, 40, 20, 10], [3, 2], [])
    """
    return [-(-n // 2**time) for time in range(times)]
