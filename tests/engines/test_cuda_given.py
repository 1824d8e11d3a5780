"""CuPy documents: used in place, with the same mixtures as documents in host memory."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from opelda import TopicModel
from opelda.corpus import generate
from opelda.engines.cuda import _documents as _cuda_documents
from opelda.errors import InputError
from opelda.inference import CGS, EM, OPE, VB, Exact, infer

from .conftest import no_gpu
from .made import make_documents, make_topics

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(no_gpu() is not None, reason=no_gpu() or "there is a GPU"),
]


def there(X):
    """Return the documents as CuPy has them: dense and CSR."""
    import cupy
    from cupyx.scipy import sparse as gpu

    return cupy.asarray(X.toarray()), gpu.csr_matrix(sparse.csr_matrix(X))


def test_gpu_input_gives_gpu_mixtures():
    import cupy
    from cupyx.scipy import sparse as there

    made = generate(60, n_words=50, n_topics=3, random_state=0)
    X = sparse.csr_array(made.X.astype(np.float32))
    for sparse_output in (False, True):
        model = TopicModel(
            3, engine="cuda", random_state=0, sparse_output=sparse_output, n_sweeps=2
        )
        expected = model.fit(X).transform(X)
        for given in (there.csr_matrix(sparse.csr_matrix(X)), cupy.asarray(X.toarray())):
            found = model.fit(given).transform(given)
            assert type(found).__module__.startswith("cupyx" if sparse_output else "cupy")
            ours, theirs = (
                each.toarray() if sparse_output else each for each in (found.get(), expected)
            )
            assert np.array_equal(ours, theirs)
            inferred, here = (model.infer(each) for each in (given, X))
            again = infer(given, model, method=EM(), engine="cuda", sparse_output=sparse_output)
            for each in (inferred, again):
                assert type(each.theta) is type(found)
                assert isinstance(each.gap, np.ndarray)
            ours, theirs = (
                each.toarray() if sparse_output else each
                for each in (inferred.theta.get(), here.theta)
            )
            assert np.array_equal(ours, theirs)
            assert np.array_equal(inferred.gap, here.gap)


@pytest.fixture
def no_copies(monkeypatch):
    """Make reading documents in host memory an error."""

    def forbidden(self):
        raise AssertionError("documents went over the host")

    monkeypatch.setattr(_cuda_documents.GivenDocuments, "matrix", property(forbidden))
    monkeypatch.setattr(_cuda_documents.GivenRows, "_here", property(forbidden))


@pytest.mark.usefixtures("no_copies")
@pytest.mark.parametrize("at_once", [None, 1000])
@pytest.mark.parametrize("asked", [{}, {"max_loss": 0.01}, {"doc_topic_prior": 0.3}])
@pytest.mark.parametrize("method", [OPE(n_iter=20), EM(), VB(n_iter=10), Exact()], ids=repr)
def test_documents_stay_on_the_gpu(method, asked, at_once, monkeypatch):
    import cupy

    rng = np.random.default_rng(1)
    X, topics = make_documents(rng, 40, 50), make_topics(rng, 7, 50)
    how = {"method": method, "random_state": 0, "engine": "cuda", **asked}
    here = infer(X, topics, **how)
    monkeypatch.setattr(_cuda_documents, "AT_ONCE", at_once)
    for given in there(X):
        found = infer(given, topics, **how)
        assert isinstance(found.theta, cupy.ndarray)
        assert np.array_equal(found.theta.get(), here.theta)
        for name in ("gap", "loss", "log_likelihood", "n_tokens", "n_iter"):
            assert np.array_equal(getattr(found, name), getattr(here, name)), name


@pytest.mark.usefixtures("no_copies")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_models_transform_gpu_arrays_on_the_gpu(dtype):
    X = sparse.csr_array(generate(60, n_words=50, n_topics=3, random_state=0).X.astype(dtype))
    model = TopicModel(3, engine="cuda", random_state=0, n_sweeps=2).fit(X)
    expected = model.transform(X)
    for given in there(X):
        found = model.transform(given)
        assert found.dtype == dtype
        assert np.array_equal(found.get(), expected)


def test_other_gpu_arrays_go_through_the_host_with_equal_mixtures():
    """Words in any order, twice, with zeros; unknown to the topics; a prior or method of here."""
    import cupy
    from cupyx.scipy import sparse as gpu

    rng = np.random.default_rng(2)
    X, topics = make_documents(rng, 30, 40), make_topics(rng, 5, 40)
    how = {"random_state": 0, "engine": "cuda", "method": EM()}
    data, words, ends = X.data, X.indices, X.indptr
    turned = np.concatenate([np.arange(b, a, -1) - 1 for a, b in pairwise(ends)])
    twice = np.repeat(words, 2), np.repeat(data / 2, 2), 2 * ends
    zeros = np.where(data > 2, 0, data)
    for given, same in [
        ((data[turned], words[turned], ends), X),
        ((twice[1], twice[0], twice[2]), X),
        ((zeros, words, ends), sparse.csr_array((zeros, words, ends), X.shape)),
    ]:
        matrix = gpu.csr_matrix(tuple(map(cupy.asarray, given)), shape=X.shape)
        found = infer(matrix, topics, **how)
        assert np.array_equal(found.theta.get(), infer(same, topics, **how).theta)
    few = topics.copy()
    few[:, :10] = 0
    few /= few.sum(axis=1, keepdims=True)
    for other, more in [(few, {}), (topics, {"doc_topic_prior": 1.5}), (topics, {"method": CGS()})]:
        found = infer(there(X)[1], other, **(how | more))
        assert isinstance(found.theta, cupy.ndarray)
        assert np.array_equal(found.theta.get(), infer(X, other, **(how | more)).theta)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, 1e14])
def test_bad_gpu_arrays_get_the_usual_errors(value):
    rng = np.random.default_rng(3)
    X, topics = make_documents(rng, 30, 40), make_topics(rng, 5, 40)
    X.data[7] = value
    for given in (*there(X), there(X)[1][:, :30]):
        with pytest.raises(InputError) as here:
            infer(sparse.csr_array(given.get()), topics)
        with pytest.raises(InputError) as found:
            infer(given, topics, engine="cuda")
        assert str(found.value) == str(here.value)
