"""The learning curve: scores during learning, in bounded memory, a function of the documents."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from opelda._validation import choice, whole
from opelda.engines.seam import Documents, ranked
from opelda.learning._part import Arrays, Header, Part, check_arrays
from opelda.metrics._predictive import can_be_split

KINDS = VALIDATION, LEARNED_FROM, BEFORE = (
    "validation documents",
    "documents it learned from",
    "documents before they were learned from",
)
MOST_POINTS = 64
# A score costs about 250 views of documents, plus 7 per scored document. With a score per 20,000
# views (documents times passes and sweeps) and a scored document per 5,000, scoring takes up to 2%.
VIEWS_PER_SCORE = 20_000


@dataclass(frozen=True)
class Curve:
    """Evenly spaced scores after numbers of documents, and the last score."""

    of: str  # the kind of scored documents
    n: int = 0  # number of scores in total
    points: tuple[tuple[int, float], ...] = ()

    @property
    def _spacing(self) -> int:
        """The distance between permanent scores."""
        spacing = 1
        while (self.n - 1) // spacing >= MOST_POINTS:
            spacing *= 2
        return spacing

    def added(self, n_docs: int, score: float) -> "Curve":
        """Return the curve with another score."""
        before = self._spacing
        kept = self.points[:-1] if self.n and (self.n - 1) % before else self.points
        longer = Curve(self.of, self.n + 1, (*kept, (n_docs, score)))
        if longer._spacing == before:
            return longer
        # the number of points is odd here: the last point stays
        return Curve(longer.of, longer.n, longer.points[::2])

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return what `from_arrays` takes."""
        documents, scores = zip(*self.points, strict=True)
        arrays = {"documents": np.array(documents, np.int64), "scores": np.array(scores)}
        return arrays, {"of": self.of, "n": self.n}

    @classmethod
    def from_arrays(cls, arrays: Arrays, said: Header, _: tuple[int, int]) -> "Curve":
        """Return the validated curve of a file."""
        empty = cls(choice("of", said.get("of"), KINDS), whole("n", said.get("n"), 1))
        n_points = (empty.n - 1) // empty._spacing + 1 + ((empty.n - 1) % empty._spacing > 0)
        wanted = {"documents": (np.int64, (n_points,)), "scores": (np.float64, (n_points,))}
        check_arrays(arrays, wanted, "learning curve")
        documents, scores = arrays["documents"], arrays["scores"]
        if documents[0] < 0 or (np.diff(documents) < 0).any():
            raise ValueError("its learning curve is not sorted")
        points = zip(documents.tolist(), scores.tolist(), strict=True)
        return cls(empty.of, empty.n, tuple(points))


CURVE = Part(Curve.to_arrays, Curve.from_arrays)


class Sample:
    """Documents of a collection that `fit` scores at a few updates and sweeps, the last included.

    Scoring takes about 2% of the time.
    """

    def __init__(self, documents: Documents, batch_size: int, n_passes: int, n_sweeps: int) -> None:
        n_docs = documents.n_docs
        n_updates = n_passes * -(-n_docs // batch_size)
        views = n_docs * (n_passes + n_sweeps)
        n_scores = min(views // VIEWS_PER_SCORE, 11)
        self._step, self._due = 0, frozenset[int]()
        if n_scores:
            self.documents = drawn(documents, min(max(views // 5_000, 20), 200))
            if can_be_split(self.documents):
                for_sweeps = (n_scores + 1) // 2 if n_sweeps else 0
                passes = _halved(n_updates, n_scores - for_sweeps)
                sweeps = (n_updates + step for step in _halved(n_sweeps, for_sweeps))
                self._due = frozenset((*passes, *sweeps))

    def is_due(self) -> bool:
        """Count an update or a sweep; return whether to score now."""
        self._step += 1
        return self._step in self._due


def drawn(documents: Documents, n: int) -> sparse.csr_array:
    """Return at most n documents, by ascending key."""
    return documents.matrix[ranked(documents.keys, n)]


def _halved(n: int, times: int) -> list[int]:
    """Return n, n / 2, n / 4, ..., rounded up."""
    return [-(-n // 2**time) for time in range(times)]
