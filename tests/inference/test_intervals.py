"""Credible intervals of shares: exact posteriors, quantiles, and generated documents."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.special import betainc, gammaln

from opelda import TopicModel, load, save
from opelda.engines import CPUEngine
from opelda.errors import EngineError, InputError
from opelda.inference import infer

LEVEL = 0.9


def mass(lower, upper, a, total):
    """Return the mass of intervals under Beta(a, total - a)."""
    return betainc(a, total - a, upper) - betainc(a, total - a, lower)


def collection(rng, n_docs, n_topics, length, alpha):
    """Return topics, mixtures and counts."""
    topics = rng.dirichlet(np.full(300, 0.1), n_topics)
    theta = rng.dirichlet(alpha, n_docs)
    X = np.array([rng.multinomial(length, mixture @ topics) for mixture in theta])
    return topics, theta, sparse.csr_array(X)


@pytest.mark.parametrize("seed", range(3))
def test_intervals_have_their_level_under_the_exact_posterior(seed):
    # the oracle adds up all assignments of four tokens to three topics
    rng = np.random.default_rng(seed)
    alpha, found = np.array([0.3, 0.7, 1.2]), []
    topics = rng.dirichlet(np.ones(6), 3)
    X = np.array([rng.multinomial(4, topics[rng.integers(3)]) for _ in range(60)])
    drawn = infer(X, topics, doc_topic_prior=alpha, interval=LEVEL, random_state=seed)
    z = np.array(list(product(range(3), repeat=4)))
    sizes = np.array([np.bincount(each, minlength=3) for each in z])
    for counts, low, high in zip(X, drawn.lower, drawn.upper, strict=True):
        logs = np.log(topics[z, np.repeat(np.arange(6), counts)]).sum(axis=1)
        weights = np.exp(logs + gammaln(sizes + alpha).sum(axis=1))
        found.append(weights @ mass(low, high, sizes + alpha, 4 + alpha.sum()) / weights.sum())
    assert abs(np.mean(found) - LEVEL) < 0.02
    assert np.min(found) > LEVEL - 0.25  # by 64 draws


@pytest.mark.parametrize("seed", range(3))
def test_intervals_of_certain_topics_are_quantiles_of_beta_distributions(seed):
    # no word is in two topics, so that all draws are equal
    rng = np.random.default_rng(seed)
    n_topics = int(rng.integers(2, 40))
    alpha = rng.gamma(1.0, 0.4, n_topics) + 0.01
    X = rng.poisson(rng.choice([0.2, 3.0, 15.0], (40, n_topics)))
    engine = CPUEngine(1)
    best = engine.instruction_set
    for name in ("avx512", "avx2", "base"):
        try:
            engine.use_instruction_set(name)
        except EngineError:
            continue
        found = infer(X, np.eye(n_topics), doc_topic_prior=alpha, method="vb", interval=LEVEL)
        total = X.sum(axis=1, keepdims=True) + alpha.sum()
        # (a share that the point estimate moves beyond a quantile has a longer interval)
        own = mass(found.lower, found.upper, X + alpha, total)
        assert (own > LEVEL - 0.01).all(), name
        assert np.mean(own < LEVEL + 0.01) > 0.9, name
    engine.use_instruction_set(best)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("n_topics", [5, 60])
@pytest.mark.parametrize("length", [5, 80])
def test_intervals_and_main_topics_are_calibrated_for_given_topics(length, n_topics, seed):
    rng = np.random.default_rng([length, n_topics, seed])
    alpha = rng.dirichlet(np.full(n_topics, 0.8)) * 3 + 0.01
    topics, theta, X = collection(rng, 1_500, n_topics, length, alpha)
    found = infer(X, topics, doc_topic_prior=alpha, method="em", interval=LEVEL, random_state=seed)
    covered = (found.lower <= theta) & (theta <= found.upper)
    assert abs(covered.mean() - LEVEL) < 0.02
    main = found.theta.argmax(axis=1)
    assert abs(covered[np.arange(1_500), main].mean() - LEVEL) < 0.035
    # the mean of stated probabilities is the frequency, for doubtful and for clear documents
    right = main == theta.argmax(axis=1)
    doubtful = found.main_topic_probability < np.median(found.main_topic_probability)
    for some in (doubtful, ~doubtful):
        assert abs(found.main_topic_probability[some].mean() - right[some].mean()) < 0.06


@pytest.mark.parametrize("seed", range(2))
def test_intervals_depend_on_the_document_alone(seed):
    rng = np.random.default_rng(seed)
    topics, _, X = collection(rng, 200, 30, 40, np.full(30, 0.1))
    how = {"interval": LEVEL, "random_state": seed, "method": "em"}
    found = infer(X, topics, n_jobs=1, **how)
    chosen = rng.permutation(200)[:70]
    for n_jobs in (1, 3):
        some = infer(X[chosen], topics, n_jobs=n_jobs, **how)
        for name in ("lower", "upper", "main_topic_probability"):
            assert np.array_equal(getattr(some, name), getattr(found, name)[chosen])
    few = infer(X, topics, sparse_output=True, **how)
    assert np.array_equal(few.upper.toarray(), np.where(found.upper < 0.005, 0, found.upper))
    assert infer(X, topics, method="em").lower is None


@pytest.mark.parametrize("scale", [1.0, 0.25, 3.7, 1e6])
def test_intervals_of_any_counts_contain_the_share(scale):
    rng = np.random.default_rng(0)
    topics, _, X = collection(rng, 30, 8, 20, np.full(8, 0.2))
    X = X.toarray() * scale
    X[0] = 0
    X[1] = scale * np.eye(len(X[1]))[0]
    found = infer(X, topics, method="em", interval=LEVEL)
    assert (found.lower <= found.theta).all()
    assert (found.theta <= found.upper).all()
    assert (found.lower >= 0).all()
    assert (found.upper <= 1).all()
    assert ((found.main_topic_probability >= 0) & (found.main_topic_probability <= 1)).all()
    wider = infer(X, topics, method="em", interval=0.99)
    assert (wider.upper - wider.lower).mean() > (found.upper - found.lower).mean()


def test_models_use_the_learned_prior_and_the_topics_of_all_runs(tmp_path):
    rng = np.random.default_rng(0)
    _, _, X = collection(rng, 300, 6, 30, np.full(6, 0.1))
    one = TopicModel(6, random_state=0, n_sweeps=20).fit(X)
    several = TopicModel(6, random_state=0, n_sweeps=20, n_runs=3).fit(X)
    given = infer(
        X, one, doc_topic_prior=one._state.alpha, method="em", interval=LEVEL, random_state=0
    )
    found = one.infer(X, interval=LEVEL)
    assert np.mean(np.abs(found.upper - given.upper) < 1e-6) > 0.8  # EM has another prior
    assert one._state.runs is None
    assert several._state.runs.shape == (2, 6, X.shape[1])
    save(several, tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(
        again.infer(X, interval=LEVEL).lower, several.infer(X, interval=LEVEL).lower
    )
    single = load(tmp_path / "model")
    single._state.runs = None
    widths = [
        np.mean(np.subtract(i.upper, i.lower))
        for i in (several.infer(X, interval=LEVEL), single.infer(X, interval=LEVEL))
    ]
    assert widths[0] > widths[1]
    again.partial_fit(X)
    assert again._state.runs is None
    again.remove_topics([0])
    assert again.infer(X, interval=LEVEL).lower.shape == (300, 5)


@pytest.mark.parametrize("level", [0.0, 1.0, -1, "95%"])
def test_impossible_level_is_rejected(level):
    with pytest.raises(InputError, match="interval must be a number above 0"):
        infer([[1, 2]], [[0.5, 0.5]], interval=level)
