"""One call of a native inference kernel, from its settings."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda import _native
from opelda.engines import _settings as s
from opelda.engines._cpu_tables import Table
from opelda.engines._documents import Rows
from opelda.engines._keys import seeded
from opelda.engines._solutions import Certificate, Picks, Solution, Wanted
from opelda.errors import InputError

MOST_TOKENS = 10**8  # of a document, for CGS, which keeps a topic for each


class Call:
    """Documents, topics and room for the results of one call.

    Attributes
    ----------
    table, rows, alpha : Table, Rows, float32 array (K,)
    wanted : Wanted
    n_threads : int
    n_iter, certificate : int32 array, Certificate or None
        Filled by the kernel.
    """

    def __init__(
        self, table: Table, rows: Rows, alpha: NDArray[np.float32], wanted: Wanted, n_threads: int
    ) -> None:
        self.table, self.rows, self.alpha = table, rows, alpha
        self.wanted, self.n_threads = wanted, n_threads
        self.n_iter = np.empty(rows.n_docs, np.int32)
        self.certificate = Certificate.room(rows.n_docs) if wanted.certificate else None

    def native_batch(self, coarse: bool = False) -> Any:
        """Return documents and topics as native code takes them."""
        return native_batch(
            self.table, self.rows, self.alpha, self.table.coarse(self.n_threads) if coarse else None
        )

    def dense(self) -> NDArray[np.float32]:
        """Return room for one number per document and topic."""
        return np.empty((self.rows.n_docs, self.table.n_topics), np.float32)

    def results(self, theta: Any, factors: Any = None, kept: Any = (None, None)) -> Any:
        """Return the room for results as native code takes it."""
        return native_results(theta, self.n_iter, self.certificate, factors, kept)

    def iterate(self, kernel: Any, **settings: Any) -> Solution:
        """Run a kernel whose answer is a dense mixture."""
        theta = self.dense()
        kernel(self.native_batch(), self.results(theta), n_threads=self.n_threads, **settings)
        return Solution(theta, self.n_iter, certificate=self.certificate)


def native_batch(
    table: Table, rows: Rows, alpha: NDArray[np.float32], coarse: tuple[Any, Any] | None = None
) -> Any:
    """Return documents and topics as native code takes them."""
    small, scale = coarse or (None, None)
    return _native.Batch(
        table.rows,
        table.n_topics,
        rows.indptr,
        rows.words,
        rows.counts,
        alpha,
        small,
        scale,
        table.ids,
    )


def native_results(
    theta: Any, n_iter: Any, certificate: Certificate | None, factors: Any, kept: Any
) -> Any:
    """Return room for results as native code takes it; None for what is not wanted."""
    if certificate is None:
        return _native.Results(theta, n_iter, None, None, None, None, factors, *kept)
    return _native.Results(
        theta,
        n_iter,
        certificate.gap,
        certificate.likelihood_gap,
        certificate.log_likelihood,
        certificate.log_prior,
        factors,
        *kept,
    )


def run(settings: s.KernelSettings, call: Call) -> Solution:
    """Infer mixtures with the kernel that the settings are for."""
    return KERNELS[type(settings)](settings, call)


def _ope(settings: s.OPESettings, call: Call) -> Solution:
    theta = call.dense() if call.wanted.theta else None
    found = _native.ope(
        call.native_batch(coarse=True),
        call.results(theta),
        a=settings.a,
        b=settings.b,
        a2=settings.a2,
        b2=settings.b2,
        coin=settings.coin,
        base=settings.base,
        start=settings.start,
        start_words=call.table.under(settings.start, call.rows.words),
        seed=settings.seed,
        n_restarts=settings.n_restarts,
        tol=settings.tol,
        screen=settings.screen,
        want_picks=call.wanted.picks,
        n_threads=call.n_threads,
    )
    moves, picks = call.n_iter, None
    if found is not None:
        indptr, topics, times = found
        mass = settings.base[moves] + moves
        shares = (times / np.repeat(mass, np.diff(indptr))).astype(np.float32)
        rest = (settings.base[moves] / mass).astype(np.float32)
        picks = Picks(indptr, topics, shares, rest, settings.start)
    n_iter = moves + np.int32(settings.first_t - 1)
    return Solution(theta, n_iter, certificate=call.certificate, picks=picks)


def _em(settings: s.EMSettings, call: Call) -> Solution:
    alpha, wanted = call.alpha, call.wanted
    even = bool((alpha == alpha[0]).all())
    start = alpha if even and not wanted.picks else _normalised(alpha)
    theta = call.dense() if wanted.theta or wanted.certificate else None
    kept: tuple[Any, Any] = (None, None)
    if wanted.picks:
        shape = (call.rows.n_docs, min(settings.n_kept, call.table.n_topics))
        kept = (np.empty(shape, np.int32), np.empty(shape, np.float32))
    _native.em(
        call.native_batch(),
        call.results(theta, kept=kept),
        n_iter=settings.n_iter,
        n_kept=settings.n_kept,
        start_words=call.table.mean if even else call.table.under(start, call.rows.words),
        n_threads=call.n_threads,
    )
    picks = _em_picks(call.rows, start, *kept) if wanted.picks else None
    return Solution(theta, call.n_iter, certificate=call.certificate, picks=picks)


def _normalised(alpha: NDArray[np.float32]) -> NDArray[np.float32]:
    shares: NDArray[np.float32] = (alpha / alpha.sum(dtype=np.float64)).astype(np.float32)
    return shares


def _em_picks(
    rows: Rows, start: NDArray[np.float32], topics: NDArray[np.int32], shares: NDArray[np.float32]
) -> Picks:
    """theta_k = alpha_k / (N + sum alpha) + n_k / (N + sum alpha), the second for topics kept."""
    full = ~rows.empty
    if not full.all():  # nothing was written for documents without words
        topics, shares = topics[full], shares[full]
    indptr = np.concatenate(([0], np.cumsum(full * topics.shape[1]))).astype(np.int64)
    rest = np.ones(rows.n_docs, np.float32)
    rest[full] = 1 - shares.sum(axis=1, dtype=np.float64)
    return Picks(indptr, topics.ravel(), shares.ravel(), rest, start)


def _vb(settings: s.VBSettings, call: Call) -> Solution:
    theta = call.dense()
    factors = call.dense() if call.wanted.factors else None
    _native.vb(
        call.native_batch(),
        call.results(theta, factors),
        n_iter=settings.n_iter,
        tol=settings.tol,
        start=settings.start,
        n_threads=call.n_threads,
    )
    return Solution(theta, call.n_iter, certificate=call.certificate, factors=factors)


def _cvb0(settings: s.CVB0Settings, call: Call) -> Solution:
    return call.iterate(
        _native.cvb0,
        n_iter=settings.burn_in,
        n_samples=settings.n_samples,
        scale=settings.scale,
        offset=settings.offset,
        decay=settings.decay,
    )


def _cvb(settings: s.CVBSettings, call: Call) -> Solution:
    return call.iterate(_native.cvb, n_iter=settings.n_iter, tol=settings.tol)


def _cgs(settings: s.CGSSettings, call: Call) -> Solution:
    rows = call.rows
    keys = _native.content_keys(
        rows.indptr, rows.words, rows.counts, call.table.ids, n_threads=call.n_threads
    )
    return call.iterate(
        _native.cgs,
        n_iter=settings.burn_in,
        n_samples=settings.n_samples,
        keys=seeded(keys, settings.seed),
        max_tokens=_longest(rows),
    )


def _longest(rows: Rows) -> int:
    """Return the tokens of the longest document, or raise `InputError` when it is too long."""
    each = np.minimum(np.ceil(rows.counts.astype(np.float64)), 2.0 * MOST_TOKENS)
    lengths = np.diff(np.concatenate(([0.0], np.cumsum(each)))[rows.indptr])
    most = int(lengths.max(initial=0.0))
    if most > MOST_TOKENS:
        raise InputError(
            f"Document {int(lengths.argmax())} has more than {MOST_TOKENS:,} tokens, the most that "
            "CGS, which keeps a topic for each, can take; scale its counts down or use another "
            "method."
        )
    return most


def _fw(settings: s.FWSettings, call: Call) -> Solution:
    return call.iterate(_native.fw, n_iter=len(settings.steps), steps=settings.steps)


KERNELS: dict[type, Callable[[Any, Call], Solution]] = {
    s.OPESettings: _ope,
    s.EMSettings: _em,
    s.VBSettings: _vb,
    s.CVB0Settings: _cvb0,
    s.CVBSettings: _cvb,
    s.CGSSettings: _cgs,
    s.FWSettings: _fw,
}
