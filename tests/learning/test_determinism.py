"""Topics and mixtures depend on documents, parameters and seed; not on threads, splits, callers."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda import (
    MLOPE,
    OnlineCGS,
    OnlineCVB0,
    OnlineOPE,
    OnlineVB,
    StreamingOPE,
    StreamingVB,
    TopicModel,
)
from opelda.corpus import generate
from opelda.engines import CPUEngine
from opelda.engines._solutions import joined
from opelda.engines.cpu import _engine as _cpu
from opelda.engines.cpu import _tables as _cpu_tables
from opelda.engines.cpu._tables import TopicTable
from opelda.engines.seam import Rows
from opelda.inference import CGS, CVB, CVB0, FW, HAMCMC, OFW, OPE, PMD, SMM, VB
from opelda.learning import History

K, V = 21, 300
X = generate(200, n_words=V, n_topics=K, n_tokens=40, random_state=1).X
X = X[np.append(np.arange(150), 0)].tolil()  # a duplicate of the first document at the end
X[[3, 77]] = 0
X = X.tocsr()


def sgrld(n_iter, **options):
    return TopicModel(preset="paper", learning="sgrld", **options)


LEARNERS = [MLOPE, OnlineOPE, StreamingOPE, OnlineVB, StreamingVB, OnlineCVB0, OnlineCGS, sgrld]
KERNELS = [OPE(n_iter=20), OPE(n_iter=20, init="random", coins="shared"), VB(), CVB0(), CVB()]
KERNELS += [CGS(burn_in=3, n_samples=3), FW(n_iter=10)]
PLAIN = [OFW(n_iter=5), SMM(n_iter=5), PMD(n_iter=3), HAMCMC(n_iter=4, burn_in=2)]
RULES = ["ml", "online", "streaming", "scvb0"]
NAMES = {"ids": lambda value: getattr(value, "name", None)}


def make(cls=OnlineOPE, **options):
    return cls(**({"n_components": K, "batch_size": 60, "random_state": 2, "n_iter": 20} | options))


def model_of(method, rule, **options):
    fixed = {"preset": "paper", "transform_method": "same", "n_components": K}
    options = fixed | {"batch_size": 60, "random_state": 2} | options
    return TopicModel(inference=method, learning=rule, **options)


def everything(model):
    """Return all that a fitted model answers about some documents, as bytes."""
    found = model.infer(X)
    answers = [
        model.components_,
        model.transform(X),
        found.gap,
        found.log_likelihood,
        np.array([model.score(X, n_splits=2), model.n_batch_iter_, model.n_docs_seen_]),
    ]
    return b"".join(np.ascontiguousarray(answer).tobytes() for answer in answers)


@pytest.mark.parametrize("cls", LEARNERS)
def test_result_does_not_depend_on_threads(cls):
    whole = {everything(make(cls, n_jobs=n_jobs).fit(X)) for n_jobs in (None, 1, 2, 3, -1)}
    assert len(whole) == 1
    parts = {
        everything(make(cls, n_jobs=n_jobs).partial_fit(X[:100]).partial_fit(X[100:]))
        for n_jobs in (1, 2, 3, -1)
    }
    assert len(parts) == 1
    assert parts != whole


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", KERNELS, **NAMES)
def test_no_method_depends_on_threads(rule, method):
    assert len({everything(model_of(method, rule, n_jobs=n).fit(X)) for n in (1, 3)}) == 1


@pytest.mark.parametrize("cls", LEARNERS)
def test_seeds(cls):
    one = everything(make(cls).fit(X))
    assert everything(make(cls).fit(X)) == one
    assert everything(make(cls, random_state=3).fit(X)) != one
    for form in (np.random.RandomState, np.random.default_rng):
        first, second = (everything(make(cls, random_state=form(0)).fit(X)) for _ in range(2))
        assert first == second


@pytest.mark.parametrize("cls", LEARNERS)
def test_result_does_not_depend_on_matrix_format(cls):
    one = everything(make(cls).fit(X))
    for form in (X.tocsc(), X.tocoo(), X.toarray(), X.astype(np.int64), X.astype(np.float64)):
        assert everything(make(cls).fit(form)) == one


@pytest.mark.parametrize("cls", LEARNERS)
def test_mixture_depends_only_on_the_document(monkeypatch, cls):
    model = make(cls).fit(X)
    alone = model.infer(X)
    assert np.array_equal(alone.theta[0], alone.theta[-1])  # the same document twice
    order = np.random.default_rng(0).permutation(X.shape[0])
    assert np.array_equal(model.transform(X[order]), alone.theta[order])
    assert np.array_equal(model.transform(X[5:6]), alone.theta[5:6])
    monkeypatch.setattr(_cpu_tables, "MOST_BYTES", 0)
    for chunk in (1, 7, 64, X.shape[0]):
        monkeypatch.setattr(_cpu, "CHUNK", chunk)
        model._state.weights.touch()
        found = model.infer(X)
        for name in ("theta", "gap", "likelihood_gap", "log_likelihood", "log_prior", "n_iter"):
            assert np.array_equal(getattr(found, name), getattr(alone, name)), name
        assert np.array_equal(found.n_tokens, alone.n_tokens)
        if alone.picked is not None:
            assert (found.picked != alone.picked).nnz == 0


class Workers(CPUEngine):
    """An engine that has parts of every batch inferred elsewhere, by workers that know only theirs.

    Each worker has only the topics of its documents' words.
    """

    def __init__(self, cuts):
        super().__init__(1)
        self.cuts, self.n_parts = cuts, 0

    def _solve(self, table, rows, task, wanted):
        ends = sorted({0, rows.n_docs, *(int(cut * rows.n_docs) for cut in self.cuts)})
        self.n_parts = max(self.n_parts, len(ends) - 1)
        parts = []
        for first, last in pairwise(ends):
            here = slice(rows.indptr[first], rows.indptr[last])
            held, slots = np.unique(rows.words[here], return_inverse=True)
            ids = held.astype(np.int32) if table.ids is None else table.ids[held]
            theirs = TopicTable(table.rows[held], table.mean[held], table.n_topics, ids)
            indptr = rows.indptr[first : last + 1] - rows.indptr[first]
            part = Rows(indptr, slots.astype(np.int32), rows.counts[here])
            parts.append(super()._solve(theirs, part, task, wanted))
        return joined(parts)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", KERNELS, **NAMES)
@pytest.mark.parametrize("watched", [False, True])
def test_splitting_a_batch_among_workers_changes_nothing(rule, method, watched):
    callbacks = [lambda report: None] if watched else None
    whole = model_of(method, rule, callbacks=callbacks).fit(X)
    rng = np.random.default_rng(0)
    for n_cuts in (1, 5, 40):
        workers = Workers(rng.random(n_cuts))
        split = model_of(method, rule, callbacks=callbacks, engine=workers).fit(X)
        assert workers.n_parts > 1
        assert np.array_equal(split.components_, whole.components_)


@given(st.lists(st.floats(0, 1), max_size=8), st.integers(1, 60))
def test_no_split_of_a_batch_changes_the_update(cuts, batch_size):
    split = make(batch_size=batch_size, n_iter=5, engine=Workers(cuts)).partial_fit(X[:60])
    whole = make(batch_size=batch_size, n_iter=5).partial_fit(X[:60])
    assert np.array_equal(split.components_, whole.components_)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", KERNELS + PLAIN, **NAMES)
def test_callbacks_and_validation_change_nothing(capsys, rule, method):
    part = X[:25]
    options = {"batch_size": 10, "n_components": 6}
    plain = model_of(method, rule, **options).fit(part).components_
    seen = []
    watched = model_of(method, rule, callbacks=[History(), seen.append], verbose=2, **options)
    watched.fit(part, validation=X[50:65], validate_every=1)
    assert np.array_equal(watched.components_, plain)
    assert len(seen) == watched.n_batch_iter_ == 3
    assert all(np.isfinite(report.mean_gap) for report in seen)
    assert all(np.isfinite(report.held_out_score) for report in seen)
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_many_topics():
    """From 256 topics on, bounds come from rows of one byte per weight."""
    options = {"n_components": 300, "n_iter": 10}
    whole = make(**options).fit(X)
    workers = Workers([0.1, 0.5])
    split = make(**options, engine=workers).fit(X)
    assert np.array_equal(split.components_, whole.components_)
    assert workers.n_parts == 3
    dense = model_of(OPE(n_iter=10, screen=False), "online", n_components=300, n_jobs=2).fit(X)
    assert np.array_equal(dense.components_, whole.components_)


def test_reading_a_model_changes_nothing():
    straight = make().partial_fit(X[:60]).partial_fit(X[60:])
    model = make().partial_fit(X[:60])
    everything(model)
    model.top_words(3)
    assert np.array_equal(model.partial_fit(X[60:]).components_, straight.components_)


def test_input_documents_are_unchanged():
    for form in (X.copy(), X.toarray(), X.toarray().astype(np.float64)):
        before = form.copy()
        make().fit(form).transform(form)
        assert type(form) is type(before)
        assert (form != before).sum() == 0
