"""The one interface of all inference methods."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from opelda._validation import choice, number, whole
from opelda.engines.seam import Batch, KernelSettings, Solution, content_keys, seeded
from opelda.errors import InputError

Vector: TypeAlias = NDArray[np.float64]
# A word that the mixture gives no probability at all still has a logarithm and a ratio. Kernels
# and their references have the floor of single precision.
SMALLEST, FLOOR = 1e-100, 1e-30


def checked(default: Any, check: Callable[[str, Any], object]) -> Any:
    """Declare a parameter of a method; `check(name, value)` raises."""
    return field(default=default, metadata={"check": check})


def count(default: int, least: int = 1) -> Any:
    """Declare a number of iterations or the like, which single precision can count."""
    return checked(default, partial(whole, least=least, most=10**7))


def between(default: float, low: float, high: float, *, above: bool = False) -> Any:
    """Declare a number from `low` to `high`; with `above`, not `low` itself."""
    return checked(default, partial(number, low=low, high=high, above=above))


def one_of(*words: str) -> Any:
    """Declare a word, by default the first."""
    return checked(words[0], partial(choice, choices=words))


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

    def word_probabilities(self, theta: Vector) -> Vector:
        """x_j = sum_k theta_k beta_kj, for one mixture or for each row of many."""
        return np.maximum(theta @ self.beta, SMALLEST)

    def likelihood_slope(self, theta: Vector) -> Vector:
        """g1'_k = sum_j d_j beta_kj / x_j, for one mixture or for each row of many."""
        slope: Vector = (self.counts / self.word_probabilities(theta)) @ self.beta.T
        return slope

    def expected_counts(self, theta: Vector) -> Vector:
        """r_k = theta_k g1'_k: how many tokens topic k explains. They sum to N."""
        return theta * self.likelihood_slope(theta)

    def interior_mode(self) -> Vector:
        """Climb to the posterior's mode in softmax coordinates, where no topic is empty.

        The Jacobian turns alpha - 1 into alpha, so that EM's step is theta_k = (r_k + alpha_k) /
        (N + sum alpha).
        """
        n_topics = len(self.alpha)
        theta = np.full(n_topics, 1.0 / n_topics)
        for _ in range(50):
            theta = self.expected_counts(theta) + self.alpha
            theta /= theta.sum()
        return theta


class Method(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn is untyped
    """A way to infer the topic mixture of a document; docs/contributing-a-method.md shows how.

    Subclasses are dataclasses whose fields are the method's parameters, checked when used.
    `get_params`, `set_params` and `clone` work as for any scikit-learn object.
    """

    name: ClassVar[str]
    # the kernel's settings, if they are the method's parameters
    settings: ClassVar[Callable[..., KernelSettings] | None] = None
    # whether fewer iterations are the first ones of more
    can_be_cut: ClassVar[bool] = False
    # learners that know a distribution over topics give exp(E[log beta]) instead of beta
    expects_logs: ClassVar[bool] = False
    # the mixture depends on the topics of words that the document does not hold
    needs_every_word: ClassVar[bool] = False
    # the kernel bounds the loss of its mixtures
    knows_loss: ClassVar[bool] = False

    def kernel(self, n_topics: int, seed: int) -> KernelSettings | None:
        """Return the settings of the engines' kernel for this method; None without a kernel.

        `seed` has 64 bits: the user's in the lower half, in learning the update's number above it.
        """
        return None if self.settings is None else self.settings(**self._values())

    def solve(self, batch: Batch, seed: int) -> Solution:
        """Infer a batch's mixtures with the plain-NumPy reference, document by document."""
        theta = np.zeros((batch.n_docs, batch.n_topics))
        n_iter = np.zeros(batch.n_docs, np.int32)
        for i, document in enumerate(documents(batch, seed)):
            if len(document.counts):
                theta[i], n_iter[i] = self.reference(document, seed)
        return Solution(theta, n_iter)

    def prefixes(self) -> "Iterator[tuple[int, Method]]":
        """Yield each iteration's number and the method stopped after it."""
        if self.can_be_cut:
            n_iter: int = self.get_params()["n_iter"]
            return ((n, clone(self).set_params(n_iter=n)) for n in range(1, n_iter + 1))
        raise InputError(
            f"is supported by ope, em and fw only, not by {self.name}.",
            "history",
        )

    @abstractmethod
    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        """Return the mixture of one document (not empty) and the iterations it took."""

    def check(self) -> None:
        """Raise `InputError` for a parameter that cannot be used."""
        self._values()

    def _values(self) -> dict[str, Any]:
        """Return the parameters, checked and of Python's own types."""
        return {name: check(name, getattr(self, name)) for name, check in _checks(type(self))}

    def check_for(self, n_topics: int) -> None:
        """Raise `InputError` for a parameter that this number of topics rules out."""

    def _require(self, good: bool, parameter: str, wanted: str) -> None:
        if not good:
            raise InputError(f"must be {wanted}, got {getattr(self, parameter)!r}.", parameter)


@cache  # because `transform` checks its method in every call
def _checks(method: type) -> list[tuple[str, Any]]:
    declared = getattr(method, "__dataclass_fields__", {}).values()
    return [(each.name, each.metadata["check"]) for each in declared if each.metadata]


def documents(batch: Batch, seed: int) -> Iterator[Document]:
    """Yield a batch's documents in double precision."""
    alpha = batch.alpha.astype(np.float64)
    keys = seeded(content_keys(batch.indptr, batch.words, batch.counts, batch.ids), seed)
    for i in range(batch.n_docs):
        part = slice(batch.indptr[i], batch.indptr[i + 1])
        beta = batch.rows[batch.words[part], : batch.n_topics].T.astype(np.float64)
        yield Document(batch.counts[part].astype(np.float64), beta, alpha, int(keys[i]))
