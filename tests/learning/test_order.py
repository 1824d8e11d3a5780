"""Topics depend on the documents of a collection, not on their order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

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
from opelda.errors import InputError
from opelda.learning import Online, _curve, _learner
from opelda.learning.persistence._model_arrays import as_parts
from tests.cases import cases

D, V, K = 150, 60, 5
X = generate(D, n_words=V, n_topics=K, n_tokens=20, random_state=1).X.tolil()
X[[3, 77, 140]] = 0
X = sparse.csr_array(X.tocsr()[np.append(np.arange(D), [0, 9, 9, 9, 77, 120])])  # some twice
FRACTIONS = X.copy()  # magnitudes whose floating-point sums are rounded
FRACTIONS.data *= np.random.default_rng(0).lognormal(-9, 4, X.nnz).astype(np.float32)
FORMS = {
    "whole": X,
    "fractions": FRACTIONS,
    "all alike": sparse.csr_array(np.repeat(X[:1].toarray(), 40, axis=0)),
    "no words": sparse.csr_array((40, V), dtype=np.float32),
}
PRESETS = ["best", "fast", "paper"]
PAPER = [MLOPE, OnlineOPE, StreamingOPE, OnlineVB, StreamingVB, OnlineCVB0, OnlineCGS]
LEARNERS = {preset: (TopicModel, {"preset": preset}) for preset in PRESETS}
LEARNERS |= {cls.__name__: (cls, {"n_passes": 3}) for cls in PAPER}
LEARNERS |= {
    rule: (TopicModel, {"preset": "paper", "learning": rule, "n_passes": 3})
    for rule in ("scvb0", "sgrld")
}
LEARNERS["starts from documents"] = (
    TopicModel,
    {"preset": "paper", "learning": Online(init="documents")},
)


@pytest.fixture(autouse=True)
def _sampled(monkeypatch):
    """Score at the rate of large collections, and count a sample of documents."""
    monkeypatch.setattr(_curve, "VIEWS_PER_SCORE", 20)
    monkeypatch.setattr(_learner, "LEAST_COUNTED", 40)


def learned(name, documents, **options):
    """Return everything that a fitted model has learned."""
    cls, given = LEARNERS[name]
    fixed = {"n_components": K, "batch_size": 32, "random_state": 2}
    model = cls(**fixed | given | options).fit(documents)
    arrays, said = as_parts(model)
    return {name: array.tobytes() for name, array in arrays.items()}, said


def moved(documents, seed=0):
    return documents[np.random.default_rng(seed).permutation(documents.shape[0])]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LEARNERS)
def test_fit_does_not_depend_on_order_and_threads(name, form):
    documents = FORMS[form]
    one = learned(name, documents)
    assert {"rows", "coherence"} <= set(one[0])
    assert form == "no words" or "curve.scores" in one[0]
    for seed, n_jobs in enumerate((1, 3)):
        assert learned(name, moved(documents, seed), n_jobs=n_jobs) == one
    assert learned(name, documents[::-1], n_jobs=2) == one
    assert learned(name, documents, random_state=3) != one


@pytest.mark.parametrize("name", [*PRESETS, "OnlineOPE", "sgrld"])
def test_reference_engine_does_not_depend_on_order(name):
    documents = FORMS["fractions"][:25]
    options = {"engine": "reference", "batch_size": 10}
    if name == "best":
        options["n_sweeps"] = 4
    assert learned(name, moved(documents), **options) == learned(name, documents, **options)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.permutations(range(40)))
def test_fit_does_not_depend_on_order_of_any_documents(seed, batch_size, order):
    chosen = np.random.default_rng(seed).integers(0, D, 40)
    options = {"batch_size": batch_size, "random_state": seed, "n_passes": 2, "n_sweeps": 2}
    one, two = (learned("best", X[rows], **options) for rows in (chosen, chosen[order]))
    assert one == two


@pytest.mark.parametrize("name", PRESETS)
def test_result_does_not_depend_on_matrix_format(name):
    one = learned(name, X)
    with_zeros = sparse.csr_array(X + sparse.csr_array(([1.0], ([3], [5])), shape=X.shape))
    with_zeros.data[with_zeros.indptr[3] : with_zeros.indptr[4]] = 0
    assert with_zeros.nnz == X.nnz + 1
    types = [np.int64, np.uint8, np.float64]
    for form in (X.toarray(), X.tocsc(), with_zeros, *map(X.astype, types)):
        assert learned(name, moved(sparse.csr_array(form))) == one


@cases("name", PRESETS)
def test_fit_does_not_depend_on_order_of_texts(name):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["tea", "cup", "sea", "boat", "salt"], 4)) for _ in range(50)]
    assert learned(name, texts[::-1]) == learned(name, texts)


def test_partial_fit_depends_on_document_order():
    one, two = (
        OnlineOPE(K, batch_size=32, random_state=2).partial_fit(documents).components_
        for documents in (X, X[::-1])
    )
    assert not np.array_equal(one, two)


def swept(X, **more):
    return TopicModel(K, n_sweeps=3, n_passes=1, batch_size=50, random_state=0, **more).fit(X)


@settings(max_examples=15)
@given(power=st.integers(8, 66), seed=st.integers(0, 2**32 - 1))
def test_scaling_counts_by_powers_of_two_changes_nothing(power, seed):
    """Most counts are 1: times a power of 2 they give the same topics, bit for bit."""
    ordinary = X.astype(np.float64)
    ordinary.data = np.where(X.data > 4, X.data, 1.0)
    tiny, expected = ordinary * 2.0**-power, swept(ordinary).components_
    assert np.array_equal(swept(tiny).components_, expected)
    order = np.random.default_rng(seed).permutation(X.shape[0])
    assert np.array_equal(swept(tiny[order]).components_, expected)


@cases("power", range(2, 22))
def test_tiny_counts_give_finite_topics(power):
    tiny = X.astype(np.float64) * 10.0**-power
    model = swept(tiny)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-5)
    assert np.isfinite(model.transform(tiny)).all()


def test_frequencies_predict_like_counts():
    frequencies = swept(X / X.sum())
    assert frequencies.score(X) > swept(X).score(X) - 0.5


@pytest.mark.parametrize("scale", [1e-6, 1e-12, 1e-19])
def test_streams_reject_counts_that_round_to_zero(scale):
    tiny, batches = X * scale, [X, X * scale]
    for learn in (
        TopicModel(K, random_state=0).partial_fit,
        swept(X).partial_fit,
        lambda tiny: TopicModel(K, random_state=0).fit_stream(batches),
    ):
        with pytest.raises(InputError, match="mostly below 2"):
            learn(tiny)
