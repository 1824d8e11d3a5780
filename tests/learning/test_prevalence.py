"""Topics that depend on columns of the documents."""

from collections import Counter
from copy import deepcopy

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import check_grad
from scipy.special import gammaln

import opelda
from opelda import OnlineOPE, TopicModel
from opelda.corpus import Corpus
from opelda.corpus._design import Columns
from opelda.engines.seam import SizeHistogram
from opelda.errors import InputError
from opelda.inference import infer
from opelda.learning._prevalence import Prevalence, RowPriors
from tests.cases import cases

K, V = 3, 60


def truth(n_docs=2000, length=30, seed=0):
    """Documents whose first topic depends on the party, and whose second rises over the years."""
    rng = np.random.default_rng(seed)
    topics = np.kron(np.eye(K), np.ones(V // K)) * rng.dirichlet(np.ones(V), K) + 1e-4
    topics /= topics.sum(axis=1, keepdims=True)
    party, year = rng.choice(["R", "D"], n_docs), rng.uniform(2000, 2020, n_docs)
    x = (year - 2010) / 10
    alpha = np.column_stack((np.where(party == "R", 2.0, 0.5), np.exp(x), np.ones(n_docs)))
    theta = np.array([rng.dirichlet(row) for row in alpha])
    X = sparse.csr_array(np.array([rng.multinomial(length, row @ topics) for row in theta], float))
    return X, {"party": party.tolist(), "year": year.tolist()}, alpha, topics


@pytest.fixture(scope="module")
def fitted():
    X, data, alpha, topics = truth()
    model = TopicModel(K, random_state=0, n_jobs=2)
    return model.fit(X, prevalence="party + s(year, 4)", data=data), X, data, alpha, topics


def test_the_mean_mixture_of_every_row_is_learned(fitted):
    model, _, data, alpha, topics = fitted
    order = (model.components_ @ topics.T).argmax(axis=0)
    assert sorted(order) == list(range(K))
    known = model._state.prevalence
    found = known.shares[known.members(Columns(data))][:, order]
    expected = alpha / alpha.sum(axis=1, keepdims=True)
    assert np.abs(found - expected).mean() < 0.03
    assert np.abs(found - expected).max() < 0.12


def test_columns_help_to_predict_short_documents():
    X, data, *_ = truth(length=6)
    model = TopicModel(K, random_state=0, n_groups=0).fit(X, prevalence="party + year", data=data)
    assert model.score(X, data=data, method="vb") > model.score(X, method="vb")


def test_a_mixture_has_the_prior_of_its_row(fitted):
    model, X, data, *_ = fitted
    some = {name: values[:30] for name, values in data.items()}
    found = model.infer(X[:30], data=some)
    known = model._state.prevalence
    member = known.members(Columns(some))
    for row in range(30):
        alone = infer(
            X[[row]], model.components_, doc_topic_prior=known.shares[member[row]], method="em"
        )
        np.testing.assert_allclose(found.theta[row], alone.theta[0], atol=2e-3)
    missing = {name: [None] * 30 for name in data}
    np.testing.assert_array_equal(model.transform(X[:30], data=missing), model.transform(X[:30]))


@given(st.integers(0, 2**32 - 1), st.sampled_from(["names", "times", "numbers"]))
def test_rows_depend_on_the_documents_but_not_on_their_order(seed, kind):
    """Distinct values with numbers of documents stand for the documents."""
    rng = np.random.default_rng(seed)
    values = {
        "names": ["a", "b", "c", "d", "", None],
        "times": ["2017-04-01", "spring", "2017-05-02", "2018-01-31", None],
        "numbers": [*rng.normal(size=15).tolist(), np.nan],
    }[kind]
    x = rng.geometric(0.6, 200) % len(values)
    party = rng.choice(["R", "D", "I"], 200, p=[0.5, 0.3, 0.2]).tolist()
    pairs = [(values[n], p) for n, p in zip(x, party, strict=True)]
    times = Counter(pairs)

    def rows(pairs, times=None):
        columns = Columns(
            dict(zip(("x", "party"), zip(*pairs, strict=True), strict=True)), times=times
        )
        found, row = Prevalence.of(
            "x + party" if kind == "names" else "s(x, 3) * party", columns, K, 0
        )
        return found, dict(zip(pairs, row, strict=True))

    expected, of_pairs = rows(pairs)
    shuffled = [pairs[i] for i in rng.permutation(200)]
    for found, own in (rows(shuffled), rows(list(times), [*times.values()])):
        assert found.design == expected.design
        assert own == of_pairs
        for name in ("means", "scales", "rows"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_the_order_of_documents_changes_nothing():
    """Also that of equal documents in different rows."""
    X, data, *_ = truth(150, length=3)
    X = sparse.csr_array(sparse.vstack([X, X], "csr"))
    party = np.array([*data["party"], *data["party"][::-1]])
    order = np.random.default_rng(0).permutation(300)
    one, other = (
        TopicModel(K, random_state=0, n_sweeps=8).fit(
            X[at], prevalence="party", data={"party": party[at].tolist()}
        )
        for at in (np.arange(300), order)
    )
    assert np.array_equal(one.components_, other.components_)
    assert np.array_equal(one._state.prevalence.shares, other._state.prevalence.shares)


def test_columns_of_the_corpus_are_used(fitted):
    model, X, data, *_ = fitted
    corpus = Corpus(X, metadata=pl.DataFrame(data))
    same = model.__sklearn_clone__().fit(corpus, prevalence="party + s(year, 4)")
    assert np.array_equal(same.components_, model.components_)
    assert np.array_equal(same.transform(corpus), model.transform(X, data=data))
    assert not np.array_equal(same.transform(corpus), same.transform(X))
    both = model.__sklearn_clone__().fit(corpus, prevalence=["party", "year"])
    assert both._state.prevalence.design.columns == ["party", "year"]


def test_threads_do_not_change_topics(fitted):
    model, X, data, *_ = fitted
    again = model.__sklearn_clone__().set_params(n_jobs=1)
    again.fit(X, prevalence="party + s(year, 4)", data=data)
    assert np.array_equal(again.components_, model.components_)
    assert np.array_equal(again._state.prevalence.shares, model._state.prevalence.shares)


def test_files_and_edits_keep_prevalence(fitted, tmp_path):
    model, X, data, *_ = fitted
    opelda.save(model, tmp_path / "m")
    again = opelda.load(tmp_path / "m")
    assert np.array_equal(again.transform(X, data=data), model.transform(X, data=data))
    merged = deepcopy(model)
    merged.merge_topics([0, 1])
    before = model._state.prevalence.shares
    after = merged._state.prevalence.shares
    np.testing.assert_allclose(after.sum(axis=1), 1.0)
    np.testing.assert_allclose(after[:, 0], before[:, 0] + before[:, 1])
    assert merged.transform(X[:5], data={n: v[:5] for n, v in data.items()}).shape == (5, K - 1)


@pytest.mark.parametrize("seed", range(3))
def test_ratios_maximise_the_likelihood_of_sizes(seed):
    """Of Dirichlet-multinomial regression; the oracle sums over documents."""
    rng = np.random.default_rng(seed)
    n_rows, n_docs, alpha = 4, 40, rng.uniform(0.2, 1.0, K)
    x = rng.standard_normal((n_rows, 2))
    sizes = rng.poisson(3.0, (n_rows, n_docs, K))

    def negative(w):
        priors = alpha * np.exp(x @ w.reshape(2, K))
        value = 0.5 * (w**2).sum()
        for prior, mine in zip(priors, sizes, strict=True):
            total = prior.sum()
            value -= (gammaln(total) - gammaln(total + mine.sum(axis=1))).sum()
            value -= (gammaln(prior + mine) - gammaln(prior)).sum()
        return value

    seen = [
        SizeHistogram.of(np.nonzero(each)[1], each[each > 0], each.sum(axis=1)) for each in sizes
    ]
    priors = RowPriors(np.zeros(n_rows, np.uint16), np.ones((n_rows, K)), x)
    for _ in range(100):
        priors.adapt(seen, alpha)
    best = negative(priors.w.ravel())
    for _ in range(50):
        assert negative(priors.w.ravel() + 0.05 * rng.standard_normal(2 * K)) >= best - 1e-3
    assert check_grad(negative, lambda w: np.zeros(2 * K), priors.w.ravel()) < 0.05


def test_many_different_rows_are_clustered():
    X, data, *_ = truth(n_docs=400, length=5)
    model = TopicModel(K, random_state=0, n_sweeps=8).fit(X, prevalence="year", data=data)
    known = model._state.prevalence
    assert len(known.rows) == 100
    member = known.members(Columns(data))
    years = np.array(data["year"])
    spread = [np.ptp(years[member == row]) for row in range(100) if (member == row).sum()]
    assert max(spread) < 2.0


@cases(
    ("model", "given", "said"),
    [
        (TopicModel(K), {"prevalence": "place"}, "Missing column 'place'"),
        (TopicModel(K), {"prevalence": "party", "data": {"party": ["R"] * 30}}, "fewer than two"),
        (TopicModel(K), {"prevalence": "x", "data": {"x": [1, 2]}}, "data has 2 rows for 30"),
        (TopicModel(K), {"data": {"x": [1] * 30}}, "data has no effect without prevalence"),
        (TopicModel(K, preset="fast"), {"prevalence": "x"}, "prevalence needs sweeps"),
        (OnlineOPE(K), {"prevalence": "x"}, "prevalence needs sweeps"),
        (TopicModel(K, seeds={"a": [0]}), {"prevalence": "x"}, "cannot be combined with seeds"),
    ],
)
def test_mistakes_have_one_sentence(model, given, said):
    with pytest.raises(InputError, match=said):
        model.fit(truth(30)[0], **given)


def test_columns_for_a_model_without_prevalence_are_refused():
    X, data, *_ = truth(30)
    with pytest.raises(InputError, match="fitted without prevalence"):
        TopicModel(K, n_sweeps=1, random_state=0).fit(X).transform(X, data=data)
