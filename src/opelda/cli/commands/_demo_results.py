"""What `opelda demo` found, and which docstrings are typical of a topic."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# So many words make a docstring count half as much as a long one of the same mixture.
SHORT = 30
# Another package's docstring is preferred down to this part of the best one's typicality.
CLOSE = 0.6
# Longer paths, and private ones, are preferably not shown.
MOST_DOTS = 3


@dataclass(frozen=True)
class Seconds:
    """Where the time went."""

    gathering: float
    counting: float
    learning: float


@dataclass(frozen=True)
class Step:
    """A docstring inferred with so many iterations."""

    n_iter: int
    log_likelihood: float
    gap: float
    likelihood_loss: float


@dataclass(frozen=True)
class Example:
    """One docstring, its mixture and what is certified of it."""

    name: str
    text: str
    n_tokens: float
    mixture: "NDArray[np.float32]"
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Demo:
    """A model and what it was learned from."""

    model: Any
    corpus: Any
    texts: dict[str, str]
    mixtures: "NDArray[np.float32]"
    example: Example
    seconds: Seconds
    n_words: int

    @property
    def packages(self) -> dict[str, int]:
        """How many docstrings of each package there are, the most first."""
        tops = [name.split(".")[0] for name in self.texts]
        found = {top: tops.count(top) for top in dict.fromkeys(tops)}
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def topics(self) -> list[Any]:
        """The topics' rows, the heaviest first."""
        from opelda.report import topic_table

        rows = topic_table(self.model, self.n_words)
        return sorted(rows, key=lambda row: (-(row.weight or 0.0), row.topic))

    def typical(self, topic: int, n: int = 3) -> list[str]:
        """Return names of docstrings that are about a topic, of different packages if possible."""
        import numpy as np

        lengths = np.asarray(self.corpus.X.sum(axis=1)).ravel()
        score = self.mixtures[:, topic] * lengths / (lengths + SHORT)
        order = np.argsort(-score, kind="stable")[: 50 * n]
        names = list(self.texts)
        close = [names[i] for i in order if score[i] >= CLOSE * score[order[0]]]
        ranked = [name for name in close if _is_plain(name)] or close
        chosen: list[str] = []
        for depth in (1, 2):
            taken = {_beginning(name, depth) for name in chosen}
            for name in ranked:
                if len(chosen) < n and _beginning(name, depth) not in taken:
                    taken.add(_beginning(name, depth))
                    chosen.append(name)
        return sorted(chosen, key=ranked.index)


def _is_plain(name: str) -> bool:
    return name.count(".") <= MOST_DOTS and "._" not in f".{name}"


def _beginning(name: str, depth: int) -> str:
    """Return a package, or a part of it.

    >>> _beginning("numpy.linalg.svd", 1), _beginning("numpy.linalg.svd", 2)
    ('numpy', 'numpy.linalg')
    """
    return ".".join(name.split(".")[:depth])
