"""The model in the form of pyLDAvis."""

import numpy as np
import pytest

import opelda
from opelda.corpus import generate
from opelda.errors import InputError
from opelda.report import to_pyldavis


@pytest.fixture(scope="module")
def corpus():
    return generate(300, n_words=40, n_topics=4, random_state=0)


@pytest.fixture(scope="module")
def model(corpus):
    return opelda.OnlineOPE(4, random_state=0).fit(corpus.X)


def test_pyldavis_checks_pass(model, corpus):
    X = corpus.X.toarray()
    X[7] = 0
    given = to_pyldavis(model, X)
    kept = np.arange(300) != 7
    assert np.allclose(given["topic_term_dists"], model.components_, atol=1e-6)
    assert np.allclose(given["doc_topic_dists"], model.transform(X)[kept], atol=1e-5)
    assert given["doc_lengths"].tolist() == X[kept].sum(axis=1).tolist()
    for name in ("topic_term_dists", "doc_topic_dists"):
        assert np.abs(given[name].sum(axis=1) - 1).max() < 1e-9
    assert given["term_frequency"].sum() == pytest.approx(X.sum())
    assert given["term_frequency"].min() > 0
    assert len(given["vocab"]) == 40
    with pytest.raises(InputError, match="No document has a word"):
        to_pyldavis(model, X[[7]])


def test_topic_numbers_are_kept(model, corpus):
    prepare = pytest.importorskip("pyLDAvis").prepare
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = prepare(**to_pyldavis(model, corpus.X), n_jobs=1)
    assert found.topic_order == [0, 1, 2, 3]
    shares = found.topic_coordinates.sort_values("topics")
    assert shares["topics"].tolist() == [0, 1, 2, 3]
    lengths = np.asarray(corpus.X.sum(axis=1)).ravel()
    expected = lengths @ model.transform(corpus.X) / lengths.sum()
    assert np.allclose(shares["Freq"] / 100, expected, atol=1e-4)
