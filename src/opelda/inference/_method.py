"""The one interface of all inference methods."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from opelda._validation import choice, number, whole
from opelda.engines.seam import Batch, KernelSettings, Solution, content_keys, seeded
from opelda.errors import InputError

Vector: TypeAlias = NDArray[np.float64]
Limits: TypeAlias = Mapping[str, Callable[[str, Any], object]]


def count(least: int = 1) -> Callable[[str, Any], int]:
    """Return a check of a number of iterations or the like, which single precision can count."""
    return lambda name, value: whole(name, value, least, 10**7)


def between(low: float, high: float, *, above: bool = False) -> Callable[[str, Any], float]:
    """Return a check of a number from `low` to `high`; with `above`, not `low` itself."""
    return lambda name, value: number(name, value, low, high, above=above)


def one_of(*words: str) -> Callable[[str, Any], str]:
    """Return a check of a word."""
    return lambda name, value: choice(name, value, words)


@dataclass(frozen=True)
class Document:
    """One document in double precision, as the references read it."""

    counts: Vector  # (n,): d_j, the counts of its n distinct words
    beta: Vector  # (K, n): those words' probabilities in each topic
    alpha: Vector  # (K,)
    key: int = 0  # depends on the seed and on the document's content alone

    @property
    def n_tokens(self) -> float:
        """N, the document's length."""
        return float(self.counts.sum())


class Method(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn is untyped
    """A way to infer the topic mixture of a document.

    Subclasses are dataclasses whose fields are the method's parameters; `get_params`, `set_params`
    and `clone` work as for any scikit-learn object. Parameters are checked when they are used.
    """

    name: ClassVar[str]
    limits: ClassVar[Limits] = {}  # of parameters, by their names
    # learners that know a distribution over topics give exp(E[log beta]) in the place of beta
    expects_logs: ClassVar[bool] = False
    # the mixture depends on the topics of words that the document does not hold
    needs_every_word: ClassVar[bool] = False
    # the kernel bounds how far its mixtures are behind the likeliest ones
    knows_loss: ClassVar[bool] = False

    def kernel(self, n_topics: int, seed: int) -> KernelSettings | None:
        """Return the settings of the engines' kernel for this method; None where there is none.

        `seed` has 64 bits: the user's in the lower half, in learning the update's number above it.
        """
        return None

    def solve(self, batch: Batch, seed: int) -> Solution:
        """Infer a batch's mixtures with the plain-NumPy reference, one document after another."""
        theta = np.zeros((batch.n_docs, batch.n_topics))
        n_iter = np.zeros(batch.n_docs, np.int32)
        for i, document in enumerate(documents(batch, seed)):
            if len(document.counts):
                theta[i], n_iter[i] = self.reference(document, seed)
        return Solution(theta, n_iter)

    def prefixes(self) -> "Iterator[tuple[int, Method]]":
        """Yield the method stopped after each of its iterations, with the iteration's number."""
        raise InputError(
            f"is known of ope, em and fw, whose iterations can be cut short, not of {self.name}.",
            "history",
        )

    @abstractmethod
    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        """Return the mixture of one document (not empty) and the iterations it took."""

    def check(self) -> None:
        """Raise `InputError` for a parameter that cannot be used."""
        for parameter, checked in self.limits.items():
            checked(parameter, getattr(self, parameter))

    def check_for(self, n_topics: int) -> None:
        """Raise `InputError` for a parameter that cannot be used with so many topics."""

    def _require(self, good: bool, parameter: str, wanted: str) -> None:
        if not good:
            raise InputError(f"must be {wanted}, got {getattr(self, parameter)!r}.", parameter)


def documents(batch: Batch, seed: int) -> Iterator[Document]:
    """Go through a batch in double precision."""
    alpha = batch.alpha.astype(np.float64)
    keys = seeded(content_keys(batch.indptr, batch.words, batch.counts, batch.ids), seed)
    for i in range(batch.n_docs):
        part = slice(batch.indptr[i], batch.indptr[i + 1])
        beta = batch.rows[batch.words[part], : batch.n_topics].T.astype(np.float64)
        yield Document(batch.counts[part].astype(np.float64), beta, alpha, int(keys[i]))
