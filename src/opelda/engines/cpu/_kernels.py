"""One call of a native kernel: inference from its settings, and certificates."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from opelda import _native
from opelda.engines import seam as s
from opelda.engines._solutions import certify_empty, completed
from opelda.engines.cpu._tables import TopicTable
from opelda.engines.seam import (
    Batch,
    Certificate,
    Intervals,
    Picks,
    Rows,
    Solution,
    Task,
    Wanted,
    is_concave,
)
from opelda.errors import InputError

# Multiply-adds that the exact mixture of a document may cost, about 0.1 s and 10 s: where it only
# makes a certificate closer, and where the task has an accuracy.
CERTIFICATE_WORK, ACCURACY_WORK = 2**30, 2**36
# Sweeps discarded and used by each of the sixteen chains that draw a document's intervals. Coverage
# is the same after longer burn-in, and .2% higher with twice the draws (benchmarks/intervals.py).
BURN_IN, N_SAMPLES = 2, 4


class Call:
    """Documents, topics, and room for the results of a kernel."""

    def __init__(
        self, table: TopicTable, rows: Rows, task: Task, wanted: Wanted, n_threads: int
    ) -> None:
        self.table, self.rows, self.wanted, self.n_threads = table, rows, wanted, n_threads
        self.alpha = task.alpha.astype(np.float32)
        self.max_work = CERTIFICATE_WORK if task.accuracy is None else ACCURACY_WORK
        self.n_iter = np.empty(rows.n_docs, np.int32)
        self.certificate = Certificate.room(rows.n_docs) if wanted.certificate else None

    def dense(self, wanted: bool = True) -> NDArray[np.float32] | None:
        """Return room for one number per document and topic, if it is wanted."""
        return np.empty((self.rows.n_docs, self.table.n_topics), np.float32) if wanted else None

    def run(self, kernel: Any, *results: Any, loss: Any = None, **settings: Any) -> Any:
        """Call a kernel with room for `results`: theta, factors, topics and shares."""
        coarse = self.table.coarse(self.n_threads) if kernel is _native.ope else (None, None)
        return kernel(
            native_batch(self.table, self.rows, self.alpha, *coarse),
            _room(self.n_iter, self.certificate, loss, *results),
            n_threads=self.n_threads,
            **settings,
        )

    def solution(self, theta: Any, **parts: Any) -> Solution:
        """Return the kernel's results."""
        return Solution(theta, self.n_iter, certificate=self.certificate, **parts)


def native_batch(
    table: TopicTable, rows: Rows, alpha: NDArray[np.float32], coarse: Any = None, scale: Any = None
) -> _native.Batch:
    """Return documents and topics as native code takes them."""
    documents = rows.indptr, rows.words, rows.counts
    return _native.Batch(table.rows, table.n_topics, *documents, alpha, coarse, scale, table.ids)


def _room(
    n_iter: Any,
    certificate: Certificate | None,
    loss: Any = None,
    theta: Any = None,
    factors: Any = None,
    topics: Any = None,
    shares: Any = None,
) -> _native.Results:
    """Return room for results as native code takes it; None for unwanted results."""
    gaps: tuple[Any, Any, Any, Any, Any] = (None, None, None, None, loss)
    if certificate is not None:
        gaps = tuple(vars(certificate).values())
    return _native.Results(theta, n_iter, *gaps, factors, topics, shares)


def run(settings: s.KernelSettings, call: Call) -> Solution:
    """Infer mixtures with the kernel that the settings are for."""
    if isinstance(settings, s.OPESettings):
        return _ope(settings, call)
    if isinstance(settings, s.EMSettings):
        return _em(settings, call)
    if isinstance(settings, s.ExactSettings):
        return _exact(settings, call)
    theta = call.dense()
    factors = call.dense(call.wanted.factors and isinstance(settings, s.VBSettings))
    given = _cgs(settings, call) if isinstance(settings, s.CGSSettings) else vars(settings)
    call.run(DENSE[type(settings)], theta, factors, **given)
    return call.solution(theta, factors=factors)


# Kernels whose answer is a dense mixture: settings and parameters have the same names, but CGS's.
DENSE: dict[type, Any] = {
    s.VBSettings: _native.vb,
    s.CVB0Settings: _native.cvb0,
    s.CVBSettings: _native.cvb,
    s.CGSSettings: _native.cgs,
    s.FWSettings: _native.fw,
}


def _ope(settings: s.OPESettings, call: Call) -> Solution:
    theta = call.dense(call.wanted.theta)
    given = dict(vars(settings))
    first_t = given.pop("first_t")
    words = call.table.under(settings.start, call.rows.words)
    how = {"start_words": words, "want_picks": call.wanted.picks}
    found, picks = call.run(_native.ope, theta, **how, **given), None
    if found is not None:
        indptr, topics, times = found
        base = settings.base[call.n_iter]
        mass = base + call.n_iter
        shares = (times / np.repeat(mass, np.diff(indptr))).astype(np.float32)
        picks = Picks(indptr, topics, shares, (base / mass).astype(np.float32), settings.start)
    return replace(call.solution(theta, picks=picks), n_iter=call.n_iter + np.int32(first_t - 1))


def _em(settings: s.EMSettings, call: Call) -> Solution:
    alpha, wanted = call.alpha, call.wanted
    even = bool((alpha == alpha[0]).all())
    # without picks the kernel needs no start but what it explains of the words, which is their mean
    start = alpha if even and not wanted.picks else _normalised(alpha)
    theta = call.dense(wanted.theta or wanted.certificate)
    kept: tuple[Any, ...] = ()
    if wanted.picks:
        shape = (call.rows.n_docs, min(settings.n_kept, call.table.n_topics))
        kept = np.empty(shape, np.int32), np.empty(shape, np.float32)
    start_words = call.table.mean if even else call.table.under(start, call.rows.words)
    call.run(_native.em, theta, None, *kept, start_words=start_words, **vars(settings))
    return call.solution(theta, picks=em_picks(call.rows, start, *kept) if kept else None)


def _exact(settings: s.ExactSettings, call: Call) -> Solution:
    wanted, rows, certificate = call.wanted, call.rows, call.certificate
    theta, picks = call.dense(wanted.theta), None
    loss = np.empty(rows.n_docs) if certificate is None else certificate.likelihood_loss
    how = {"start_words": call.table.mean, "max_work": call.max_work, "want_picks": wanted.picks}
    found = call.run(_native.exact, theta, loss=loss, **how, **vars(settings))
    if found is not None:
        rest = rows.empty.astype(np.float32)  # the prior alone
        indptr, topics, shares = found
        picks = Picks(indptr, topics, shares, rest, _normalised(call.alpha))
    return call.solution(theta, picks=picks, loss=loss if certificate is None else loss.copy())


def _normalised(alpha: NDArray[np.float32]) -> NDArray[np.float32]:
    shares: NDArray[np.float32] = (alpha / alpha.sum(dtype=np.float64)).astype(np.float32)
    return shares


def em_picks(
    rows: Rows, start: NDArray[np.float32], topics: NDArray[np.int32], shares: NDArray[np.float32]
) -> Picks:
    """Return alpha_k / (N + sum alpha) + n_k / (N + sum alpha), the second for topics kept."""
    full = ~rows.empty
    topics, shares = topics[full], shares[full]  # kernels skip documents without words
    indptr = np.concatenate(([0], np.cumsum(full * topics.shape[1]))).astype(np.int64)
    rest = np.ones(rows.n_docs, np.float32)
    rest[full] = 1 - shares.sum(axis=1, dtype=np.float64)
    return Picks(indptr, topics.ravel(), shares.ravel(), rest, start)


def _cgs(settings: s.CGSSettings, call: Call) -> dict[str, Any]:
    """Return CGS's parameters: a key per document, and room for the topics of the longest."""
    rows, most_tokens = call.rows, 10**8
    each = np.minimum(np.ceil(rows.counts.astype(np.float64)), 2.0 * most_tokens)
    lengths = np.diff(np.concatenate(([0.0], np.cumsum(each)))[rows.indptr])
    most = int(lengths.max(initial=0.0))
    if most > most_tokens:
        raise InputError(
            f"Document {int(lengths.argmax())} has more than {most_tokens:,} tokens, the limit of "
            "CGS; scale its counts down or use another method."
        )
    keys = s.seeded(content_keys(rows, call.table.ids, call.n_threads), settings.seed)
    passes = {"burn_in": settings.burn_in, "n_samples": settings.n_samples}
    return passes | {"keys": keys, "max_tokens": most}


def content_keys(rows: Rows, ids: NDArray[np.int32] | None, n_threads: int) -> NDArray[np.uint64]:
    """Return a key per document; see `seam.content_keys`."""
    return _native.content_keys(rows.indptr, rows.words, rows.counts, ids, n_threads=n_threads)


def intervals(
    table: TopicTable,
    rows: Rows,
    main: NDArray[np.integer],
    alpha: NDArray[np.float64],
    level: float,
    seed: int,
    n_tables: int,
    n_threads: int,
) -> Intervals:
    """Draw from the posterior of mixtures; a table has the topics of one run."""
    shape = rows.n_docs, table.n_topics // n_tables
    found = Intervals(
        np.empty(shape, np.float32), np.empty(shape, np.float32), np.empty(shape[0], np.float32)
    )
    ends = np.concatenate(([0], np.cumsum(s.tokens_of(rows.counts))))[rows.indptr]
    _native.posterior(
        native_batch(table, rows, np.tile(alpha, n_tables).astype(np.float32)),
        burn_in=BURN_IN,
        n_samples=N_SAMPLES,
        n_tables=n_tables,
        keys=s.seeded(content_keys(rows, table.ids, n_threads), seed),
        main=main.astype(np.int32),
        max_tokens=int(np.diff(ends).max(initial=0)),
        level=level,
        z_level=float(ndtri(level)),
        z_tail=float(ndtri((1 + level) / 2)),
        **vars(found),
        n_threads=n_threads,
    )
    return found


def certify(
    table: TopicTable, rows: Rows, theta: NDArray[Any], alpha: NDArray[np.float64], n_threads: int
) -> Certificate:
    """Compute the certificates of given mixtures."""
    certificate = Certificate.room(rows.n_docs)
    _native.certify(
        native_batch(table, rows, alpha.astype(np.float32)),
        np.ascontiguousarray(theta, np.float32),
        np.ascontiguousarray(alpha, np.float64),
        _room(None, certificate),
        n_threads=n_threads,
    )
    certify_empty(certificate, rows, alpha)
    return certificate


def solve(table: TopicTable, rows: Rows, task: Task, wanted: Wanted, n_threads: int) -> Solution:
    """Infer by a method's kernel, or by NumPy where it has none; documents' words are known."""
    settings = task.method.kernel(table.n_topics, task.seed)
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
