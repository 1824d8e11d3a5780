"""One call of a native kernel: inference from its settings, and certificates."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda import _native
from opelda.engines import seam as s
from opelda.engines._solutions import certify_empty, completed
from opelda.engines.cpu._tables import TopicTable
from opelda.engines.seam import (
    Batch,
    Certificate,
    Picks,
    Rows,
    Solution,
    Task,
    Wanted,
    is_concave,
    seeded,
)
from opelda.errors import InputError

MOST_TOKENS = 10**8  # of a document, for CGS, which keeps a topic for each
# Multiply-adds that the exact mixture of a document may cost, about 0.1 s and 10 s: where it only
# makes a certificate closer, and where an accuracy was asked for.
CERTIFICATE_WORK, ACCURACY_WORK = 2**30, 2**36
AT_ONCE = 32  # documents that threads take at a time: fewer need no second one
watched = _native.watched  # calls work(); what check() raises meanwhile ends its native calls


class Call:
    """Documents, topics, and room for the results, which the kernel fills."""

    def __init__(
        self, table: TopicTable, rows: Rows, task: Task, wanted: Wanted, n_threads: int
    ) -> None:
        self.table, self.rows, self.wanted, self.n_threads = table, rows, wanted, n_threads
        self.alpha = task.alpha.astype(np.float32)
        self.max_work = CERTIFICATE_WORK if task.accuracy is None else ACCURACY_WORK
        self.n_iter = np.empty(rows.n_docs, np.int32)
        self.certificate = Certificate.room(rows.n_docs) if wanted.certificate else None
        self.loss: NDArray[np.float64] | None = None

    def dense(self) -> NDArray[np.float32]:
        """Return room for one number per document and topic."""
        return np.empty((self.rows.n_docs, self.table.n_topics), np.float32)

    def run(
        self,
        kernel: Any,
        theta: Any,
        factors: Any = None,
        kept: Any = (None, None),
        **settings: Any,
    ) -> Any:
        """Call a kernel with the documents, the topics and the room for its results."""
        coarse = self.table.coarse(self.n_threads) if kernel is _native.ope else (None, None)
        return kernel(
            native_batch(self.table, self.rows, self.alpha, *coarse),
            native_results(theta, self.n_iter, self.certificate, self.loss, factors, *kept),
            n_threads=self.n_threads,
            **settings,
        )


def native_batch(
    table: TopicTable, rows: Rows, alpha: NDArray[np.float32], coarse: Any = None, scale: Any = None
) -> _native.Batch:
    """Return documents and topics as native code takes them."""
    documents = rows.indptr, rows.words, rows.counts
    return _native.Batch(table.rows, table.n_topics, *documents, alpha, coarse, scale, table.ids)


def native_results(
    theta: Any,
    n_iter: Any,
    certificate: Certificate | None,
    loss: Any = None,
    factors: Any = None,
    topics: Any = None,
    shares: Any = None,
) -> _native.Results:
    """Return room for results as native code takes it; None for what is not wanted."""
    gaps: tuple[Any, Any, Any, Any] = (None, None, None, None)
    if certificate is not None:
        c = certificate
        gaps = c.gap, c.likelihood_gap, c.log_likelihood, c.log_prior
        loss = c.likelihood_loss
    return _native.Results(theta, n_iter, *gaps, loss, factors, topics, shares)


def run(settings: s.KernelSettings, call: Call) -> Solution:
    """Infer mixtures with the kernel that the settings are for."""
    if isinstance(settings, s.OPESettings):
        return _ope(settings, call)
    if isinstance(settings, s.EMSettings):
        return _em(settings, call)
    if isinstance(settings, s.ExactSettings):
        return _exact(settings, call)
    theta = call.dense()
    factors = call.dense() if call.wanted.factors and isinstance(settings, s.VBSettings) else None
    given = vars(settings)
    if isinstance(settings, s.CGSSettings):
        given = _cgs(settings, call)
    call.run(DENSE[type(settings)], theta, factors, **given)
    return Solution(theta, call.n_iter, certificate=call.certificate, factors=factors)


# Kernels whose answer is a dense mixture: settings and parameters have the same names, but CGS's.
DENSE: dict[type, Any] = {
    s.VBSettings: _native.vb,
    s.CVB0Settings: _native.cvb0,
    s.CVBSettings: _native.cvb,
    s.CGSSettings: _native.cgs,
    s.FWSettings: _native.fw,
}


def _ope(settings: s.OPESettings, call: Call) -> Solution:
    theta = call.dense() if call.wanted.theta else None
    given = dict(vars(settings))
    first_t = given.pop("first_t")
    found = call.run(
        _native.ope,
        theta,
        start_words=call.table.under(settings.start, call.rows.words),
        want_picks=call.wanted.picks,
        **given,
    )
    picks = None
    if found is not None:
        indptr, topics, times = found
        base = settings.base[call.n_iter]
        mass = base + call.n_iter
        shares = (times / np.repeat(mass, np.diff(indptr))).astype(np.float32)
        picks = Picks(indptr, topics, shares, (base / mass).astype(np.float32), settings.start)
    n_iter = call.n_iter + np.int32(first_t - 1)
    return Solution(theta, n_iter, certificate=call.certificate, picks=picks)


def _em(settings: s.EMSettings, call: Call) -> Solution:
    alpha, wanted = call.alpha, call.wanted
    even = bool((alpha == alpha[0]).all())
    # without picks the kernel needs no start but what it explains of the words, which is their mean
    start = alpha if even and not wanted.picks else _normalised(alpha)
    theta = call.dense() if wanted.theta or wanted.certificate else None
    kept: tuple[Any, Any] = (None, None)
    if wanted.picks:
        shape = (call.rows.n_docs, min(settings.n_kept, call.table.n_topics))
        kept = (np.empty(shape, np.int32), np.empty(shape, np.float32))
    start_words = call.table.mean if even else call.table.under(start, call.rows.words)
    call.run(_native.em, theta, kept=kept, start_words=start_words, **vars(settings))
    picks = em_picks(call.rows, start, *kept) if wanted.picks else None
    return Solution(theta, call.n_iter, certificate=call.certificate, picks=picks)


def _exact(settings: s.ExactSettings, call: Call) -> Solution:
    wanted, rows = call.wanted, call.rows
    theta = call.dense() if wanted.theta else None
    if call.certificate is None:
        call.loss = np.empty(rows.n_docs)
    found = call.run(
        _native.exact,
        theta,
        start_words=call.table.mean,
        max_work=call.max_work,
        want_picks=wanted.picks,
        **vars(settings),
    )
    picks = None
    if found is not None:
        rest = rows.empty.astype(np.float32)  # nothing speaks for any topic but the prior
        indptr, topics, shares = found
        picks = Picks(indptr, topics, shares, rest, _normalised(call.alpha))
    loss = call.loss if call.certificate is None else call.certificate.likelihood_loss.copy()
    return Solution(theta, call.n_iter, certificate=call.certificate, picks=picks, loss=loss)


def _normalised(alpha: NDArray[np.float32]) -> NDArray[np.float32]:
    shares: NDArray[np.float32] = (alpha / alpha.sum(dtype=np.float64)).astype(np.float32)
    return shares


def em_picks(
    rows: Rows, start: NDArray[np.float32], topics: NDArray[np.int32], shares: NDArray[np.float32]
) -> Picks:
    """Return alpha_k / (N + sum alpha) + n_k / (N + sum alpha), the second for topics kept."""
    full = ~rows.empty
    if not full.all():  # nothing was written for documents without words
        topics, shares = topics[full], shares[full]
    indptr = np.concatenate(([0], np.cumsum(full * topics.shape[1]))).astype(np.int64)
    rest = np.ones(rows.n_docs, np.float32)
    rest[full] = 1 - shares.sum(axis=1, dtype=np.float64)
    return Picks(indptr, topics.ravel(), shares.ravel(), rest, start)


def _cgs(settings: s.CGSSettings, call: Call) -> dict[str, Any]:
    """Return CGS's parameters: a key per document, and room for the topics of the longest."""
    rows = call.rows
    each = np.minimum(np.ceil(rows.counts.astype(np.float64)), 2.0 * MOST_TOKENS)
    lengths = np.diff(np.concatenate(([0.0], np.cumsum(each)))[rows.indptr])
    most = int(lengths.max(initial=0.0))
    if most > MOST_TOKENS:
        raise InputError(
            f"Document {int(lengths.argmax())} has more than {MOST_TOKENS:,} tokens, the most that "
            "CGS, which keeps a topic for each, can take; scale its counts down or use another "
            "method."
        )
    return {
        "burn_in": settings.burn_in,
        "n_samples": settings.n_samples,
        "keys": seeded(content_keys(rows, call.table.ids, call.n_threads), settings.seed),
        "max_tokens": most,
    }


def content_keys(rows: Rows, ids: NDArray[np.int32] | None, n_threads: int) -> NDArray[np.uint64]:
    """Return a key per document, of its words and counts alone; see `seam.content_keys`."""
    return _native.content_keys(rows.indptr, rows.words, rows.counts, ids, n_threads=n_threads)


def certify(
    table: TopicTable, rows: Rows, theta: NDArray[Any], alpha: NDArray[np.float64], n_threads: int
) -> Certificate:
    """Compute the certificates of given mixtures."""
    certificate = Certificate.room(rows.n_docs)
    _native.certify(
        native_batch(table, rows, alpha.astype(np.float32)),
        np.ascontiguousarray(theta, np.float32),
        np.ascontiguousarray(alpha, np.float64),
        native_results(None, None, certificate),
        n_threads=n_threads,
    )
    certify_empty(certificate, rows, alpha)
    return certificate


def solve(
    table: TopicTable, rows: Rows, task: Task, wanted: Wanted, screen: bool, n_threads: int
) -> Solution:
    """Infer by a method's kernel, or by NumPy where it has none; documents' words are known."""
    settings = task.method.kernel(table.n_topics, task.seed)
    if isinstance(settings, s.OPESettings) and not screen:
        settings = replace(settings, screen=False)
    if isinstance(settings, s.ExactSettings) and is_concave(task.alpha):
        settings = None  # the kernel knows the likelihood only
    if settings is not None:
        found = run(settings, Call(table, rows, task, wanted, n_threads))
    else:
        found = task.method.solve(Batch.of(table, rows, task.alpha), task.seed)
        found = replace(found, theta=np.ascontiguousarray(found.theta, np.float32))
    # kernels know alpha in single precision, which a bound of f must not
    if wanted.certificate and (settings is None or is_concave(task.alpha)):
        certificate = certify(table, rows, found.dense(), task.alpha, n_threads)
        found = replace(found, certificate=certificate)
    return completed(found, rows, task.alpha)
