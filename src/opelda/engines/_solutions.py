"""Mixtures and what is known of them: an engine's answer to `infer`."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.engines._documents import Rows


@dataclass(frozen=True)
class Batch:
    """Documents with the topics of their words, in host memory: all that a method may look at.

    Attributes
    ----------
    rows : float32 or float64 array (V, at least K)
        Topics word-major: ``rows[j, k]`` is the probability of word j in topic k; columns from
        ``n_topics`` on are zeros.
    mean : float array (V,)
        Each word's mean over the topics: its probability under the uniform mixture.
    n_topics : int
    indptr, words, counts : int64, int32, float32 arrays
        The documents as CSR: words sorted and distinct within a document, counts > 0, every word
        with a positive probability in at least one topic.
    alpha : float32 or float64 array (n_topics,)
    ids : int32 array (V,) or None
        Which words the rows are, where they are not words 0, 1, 2, ... of the vocabulary; what is
        random about a document is keyed by them.
    """

    rows: NDArray[Any]
    mean: NDArray[Any]
    n_topics: int
    indptr: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float32]
    alpha: NDArray[Any]
    ids: NDArray[np.int32] | None = None

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.indptr) - 1


@dataclass(frozen=True)
class Certificate:
    """Per document: the two gaps and the two terms of f (float64 arrays)."""

    gap: NDArray[np.float64]
    likelihood_gap: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    log_prior: NDArray[np.float64]

    @classmethod
    def room(cls, n_docs: int) -> "Certificate":
        """Return arrays to be filled."""
        return cls(*(np.empty(n_docs) for _ in range(4)))


@dataclass(frozen=True)
class Picks:
    """Mixtures as OPE and EM make them: a few topics, and a rest spread like the start.

    theta_dk = rest_d start_k + (share of topic k in document d, 0 where it was never picked).

    Attributes
    ----------
    indptr, topics, shares : int64, int32, float32 arrays
        CSR of the topics each document moved to, in picking order, or those that EM kept.
    rest : float32 array (n_docs,)
    start : float32 array (n_topics,)
    """

    indptr: NDArray[np.int64]
    topics: NDArray[np.int32]
    shares: NDArray[np.float32]
    rest: NDArray[np.float32]
    start: NDArray[np.float32]


@dataclass(frozen=True)
class Wanted:
    """The parts of a solution that the caller needs; an engine may leave out the rest.

    Attributes
    ----------
    theta : bool
        The mixtures as a dense array, even where they also come as `Picks`.
    certificate : bool
    factors : bool
        The weights of tokens' topics, where those are not the mixture.
    picks : bool
        The mixtures of OPE and EM as a few topics and a rest.
    """

    theta: bool = True
    certificate: bool = True
    factors: bool = False
    picks: bool = True


EVERYTHING = Wanted()
MIXTURES = Wanted(certificate=False, picks=False)


@dataclass(frozen=True)
class Solution:
    """Mixtures found for some documents.

    Attributes
    ----------
    theta : float array (n_docs, n_topics) or None
        A document without words has the prior's mean. None only where it was not wanted.
    n_iter : int32 array (n_docs,)
    n_tokens : float64 array (n_docs,) or None
        The documents' lengths, without words that no topic has; with a certificate only.
    certificate : Certificate or None
    picks : Picks or None
        Of OPE and EM.
    factors : float32 array (n_docs, n_topics) or None
        VB's exp(E[log theta]), up to a factor a document: P(z = k) of a token of word j is
        proportional to factors_dk beta_kj. None: the mixture itself.
    """

    theta: NDArray[Any] | None
    n_iter: NDArray[np.int32]
    n_tokens: NDArray[np.float64] | None = None
    certificate: Certificate | None = None
    picks: Picks | None = None
    factors: NDArray[np.float32] | None = None


def completed(found: Solution, rows: Rows, alpha: NDArray[np.float64]) -> Solution:
    """Give documents without words the prior's mean, and certified ones their lengths."""
    empty = rows.empty
    if empty.any():
        if found.theta is not None:
            found.theta[empty] = alpha / alpha.sum()
        found.n_iter[empty] = 0
        if found.factors is not None:
            found.factors[empty] = 0.0
        if found.certificate is not None:
            certify_empty(found.certificate, rows, alpha)
    return found if found.certificate is None else replace(found, n_tokens=rows.tokens())


def certify_empty(certificate: Certificate, rows: Rows, alpha: NDArray[np.float64]) -> None:
    """Without words there is nothing to be wrong about: the prior's mean is the answer."""
    empty = rows.empty
    certificate.gap[empty] = certificate.likelihood_gap[empty] = 0.0
    certificate.log_likelihood[empty] = 0.0
    certificate.log_prior[empty] = float((alpha - 1) @ np.log(alpha / alpha.sum()))


def joined(parts: list[Solution]) -> Solution:
    """Put the solutions of consecutive documents together."""
    if len(parts) == 1:
        return parts[0]
    certificates = [part.certificate for part in parts if part.certificate is not None]
    picks = [part.picks for part in parts if part.picks is not None]
    return Solution(
        theta=_joined([part.theta for part in parts]),
        n_iter=np.concatenate([part.n_iter for part in parts]),
        n_tokens=_joined([part.n_tokens for part in parts]),
        certificate=Certificate(
            *(
                np.concatenate([getattr(certificate, name) for certificate in certificates])
                for name in ("gap", "likelihood_gap", "log_likelihood", "log_prior")
            )
        )
        if certificates
        else None,
        picks=_joined_picks(picks) if picks else None,
        factors=_joined([part.factors for part in parts]),
    )


def _joined(parts: list[Any]) -> Any:
    return None if parts[0] is None else np.concatenate(parts)


def _joined_picks(parts: list[Picks]) -> Picks:
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    return Picks(
        indptr=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        topics=np.concatenate([part.topics for part in parts]),
        shares=np.concatenate([part.shares for part in parts]),
        rest=np.concatenate([part.rest for part in parts]),
        start=parts[0].start,
    )
