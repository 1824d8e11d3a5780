"""Spread over seeds against single runs of inference."""

import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from opelda.corpus import generate
from opelda.errors import InputError
from opelda.inference import OPE, Topics, infer
from opelda.metrics import InferenceSpread, inference_spread
from tests.cases import cases

MADE = generate(12, n_words=40, n_topics=5, n_tokens=30, random_state=1)
TERMS = ("mean", "sd", "log_likelihood_mean", "log_likelihood_sd", "log_prior_mean", "log_prior_sd")


@pytest.mark.parametrize("method", ["ope", "cgs"])
def test_result_does_not_depend_on_document_order(method):
    options = {"method": method, "n_runs": 3, "random_state": 4}
    moved = np.random.default_rng(0).permutation(12)[:9]
    whole = inference_spread(MADE.topics, MADE.X, **options)
    part = inference_spread(MADE.topics, MADE.X[moved], **options)
    for name in TERMS:
        assert np.array_equal(getattr(part, name), getattr(whole, name)[moved])


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.sampled_from([None, 0.1, 2.0]))
def test_spread_equals_single_runs(seed, n_runs, alpha):
    found = inference_spread(
        MADE.topics, MADE.X, doc_topic_prior=alpha, n_runs=n_runs, random_state=seed
    )
    rng = np.random.default_rng(seed)
    runs = [
        infer(MADE.X, MADE.topics, doc_topic_prior=alpha, random_state=int(rng.integers(2**32)))
        for _ in range(n_runs)
    ]
    assert found.n_runs == n_runs
    for d in range(12):
        for name, values in (
            ("", [run.objective[d] for run in runs]),
            ("log_likelihood_", [run.log_likelihood[d] for run in runs]),
            ("log_prior_", [run.log_prior[d] for run in runs]),
        ):
            mean, sd = getattr(found, name + "mean")[d], getattr(found, name + "sd")[d]
            assert mean == pytest.approx(statistics.fmean(values), abs=1e-9)
            assert sd == pytest.approx(statistics.stdev(values), abs=1e-9)


def test_runs_differ_and_the_seed_decides():
    found, again, other = (
        inference_spread(MADE.topics, MADE.X, random_state=seed, n_runs=4) for seed in (1, 1, 2)
    )
    assert found.sd.any()
    assert all(np.array_equal(getattr(found, name), getattr(again, name)) for name in TERMS)
    assert not np.array_equal(found.sd, other.sd)
    threads = inference_spread(Topics(MADE.topics), MADE.X, random_state=1, n_runs=4, n_jobs=2)
    assert np.array_equal(threads.sd, found.sd)


@cases("method", ["vb", "fw", "cvb0"])
def test_deterministic_methods_have_no_spread(method):
    found = inference_spread(MADE.topics, MADE.X, method=method, n_runs=3)
    once = infer(MADE.X, MADE.topics, method=method)
    assert not found.sd.any()
    assert np.array_equal(found.mean, once.objective)
    assert np.array_equal(found.log_prior_mean, once.log_prior)


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(0, 4), st.just(4)),
        elements=st.sampled_from([0, 0, 1, 2.5, 1e13, 1e-300]),
    ),
    st.sampled_from(["ope", "fw", "cgs", "tli"]),
    st.sampled_from([1e-9, 1, 50]),
)
@pytest.mark.filterwarnings("ignore::opelda.inference.TLIWarning")
def test_score_is_never_nan(X, method, alpha):
    if method == "cgs":  # sweeps over tokens
        X = np.minimum(X, 9)
    topics = [[0.5, 0.5, 0.0, 0.0], [0.1, 0.2, 0.7, 0.0]]
    found = inference_spread(topics, X, method=method, doc_topic_prior=alpha, n_runs=2)
    for name in TERMS:
        values = getattr(found, name)
        assert values.shape == (len(X),)
        assert np.isfinite(values).all()
        if name.endswith("sd"):
            assert (values >= 0).all()


@pytest.mark.parametrize("seed", range(1))
def test_spread_shrinks_with_more_iterations(seed):
    made = generate(60, n_words=200, n_topics=10, n_tokens=100, random_state=seed)
    few, more = (
        inference_spread(
            made.topics, made.X, method=OPE(n_iter=n), random_state=seed
        ).log_likelihood_sd
        for n in (5, 20)
    )
    assert more.mean() < few.mean()


@cases("n_runs", [1, 0, -3, 2.0, True, None])
def test_too_few_runs_are_rejected(n_runs):
    with pytest.raises(InputError, match="n_runs must be"):
        inference_spread(MADE.topics, MADE.X, n_runs=n_runs)


def test_bad_input_is_rejected():
    with pytest.raises(InputError, match="39 columns"):
        inference_spread(MADE.topics, np.ones((2, 39)))
    with pytest.raises(InputError, match="engine must be"):
        inference_spread(MADE.topics, MADE.X, engine=3)
    with pytest.raises(InputError, match="Unknown method"):
        inference_spread(MADE.topics, MADE.X, method="guess")
    found = inference_spread(MADE.topics, MADE.X, n_runs=2)
    assert isinstance(found, InferenceSpread)
    with pytest.raises(AttributeError):
        found.sd = None
