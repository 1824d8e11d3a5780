"""Closing sweeps: results, improvements and reports."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

from opelda import TopicModel, load, save
from opelda.corpus import generate
from opelda.engines import CPUEngine
from opelda.engines.seam import SizeHistogram, TokenCounts, Weights
from opelda.errors import InputError
from opelda.learning import Online, _closing_sweeps
from opelda.learning._closing_sweeps import likelier_prior, with_share
from opelda.metrics import log_predictive_probability
from tests.cases import cases


def collection(seed):
    return generate(1500, n_words=300, n_topics=10, random_state=seed).X


X = collection(0)


def model(**options):
    settings = {"n_components": 10, "preset": "best", "random_state": 0, "n_passes": 1} | options
    return TopicModel(**settings)


@pytest.mark.parametrize("seed", range(1))
def test_sweeps_predict_better_than_the_first_pass(seed):
    X = collection(seed)

    def score(n_sweeps, chance):
        learned = model(n_sweeps=n_sweeps, learning=Online(init="random"), random_state=chance).fit(
            X[:1000]
        )
        return float(log_predictive_probability(learned.components_, X[1000:], random_state=0))

    gains = [score(30, chance) - score(0, chance) for chance in range(4 * seed, 4 * seed + 4)]
    assert np.mean(gains) > 0.02  # about .1, one by one from .016 to .17
    assert min(gains) > -0.01


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_bytes_do_not_depend_on_number_of_threads(n_jobs):
    one = model(n_sweeps=6).fit(X)
    many = model(n_sweeps=6, n_jobs=n_jobs).fit(X)
    assert one.components_.tobytes() == many.components_.tobytes()


def test_topics_after_sweeps_are_counts_and_prior():
    learned = model(n_sweeps=5, topic_word_prior=0.2).fit(X)
    store = learned._state.weights
    assert store.prior_weight == 1.0
    tokens = store.scale * store.sums.sum()
    assert tokens == pytest.approx(X.sum(), rel=0.05)  # the start fades away
    np.testing.assert_allclose(store.rows[:, :10].sum(axis=0), store.sums, rtol=1e-4)
    topics = (store.scale * store.rows[:, :10] + 0.2).T
    topics /= topics.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(learned.components_, topics, rtol=1e-5)


def test_reports_count_sweeps_as_passes_and_a_callback_can_stop_them():
    seen = []

    def stop(report):
        seen.append((report.n_pass, report.n_passes, report.n_docs, report.n_docs_total))
        return report.n_pass == 3

    learned = model(n_sweeps=9, batch_size=1500, callbacks=stop).fit(X)
    assert seen == [(i, 10, 1500 * i, 15_000) for i in (1, 2, 3)]
    assert learned.n_batch_iter_ == 3
    assert learned.n_docs_seen_ == 4500
    np.testing.assert_allclose(learned.components_.sum(axis=1), 1.0, rtol=1e-5)


def test_learning_continues_after_sweeps():
    learned = model(n_sweeps=3).fit(X)
    updates = learned.n_batch_iter_
    learned.partial_fit(X[:200])
    assert learned.n_batch_iter_ > updates
    np.testing.assert_allclose(learned.components_.sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("learning", ["ml", "streaming"])
def test_every_rule_supports_sweeps(learning):
    learned = model(n_sweeps=3, learning=learning).fit(X)
    np.testing.assert_allclose(learned.components_.sum(axis=1), 1.0, rtol=1e-5)


def test_odd_documents():
    counts = np.zeros((6, 4))
    counts[1] = [1, 0, 0, 0]
    counts[2] = [0.5, 3.7, 0, 1e6]
    counts[4] = [1e-3, 0, 2, 0]
    learned = model(n_components=3, n_sweeps=4).fit(counts)
    assert np.isfinite(learned.components_).all()
    explicit = sparse.csr_array(([0.0, 1.0], [0, 1], [0, 2]), shape=(1, 4))
    assert np.isfinite(model(n_components=2, n_sweeps=2).fit(explicit).components_).all()


@pytest.mark.parametrize("seed", range(1))
def test_learned_prior_increases_the_likelihood(seed):
    rng = np.random.default_rng(seed)
    truth = np.array([1.5, 0.2, 0.05, 0.6])
    lengths = rng.integers(0, 40, 3000)
    lengths[:4] = [0, 1, 39, 5]
    sizes = np.array([rng.multinomial(n, rng.dirichlet(truth)) for n in lengths])
    assert lengths.sum() == sizes.sum()

    def likelihood(alpha):
        total = alpha.sum()
        documents = gammaln(total) - gammaln(lengths + total)
        return (documents + (gammaln(sizes + alpha) - gammaln(alpha)).sum(axis=1)).sum()

    seen = SizeHistogram.of(np.nonzero(sizes)[1], sizes[sizes > 0], lengths)
    alpha, before = np.full(4, 2.5), -np.inf
    for _ in range(60):
        now = likelihood(alpha)
        assert now >= before - 1e-6
        alpha, before = likelier_prior([seen], alpha), now
    np.testing.assert_allclose(alpha, truth, rtol=0.3)


def test_weights_move_towards_counts():
    rng = np.random.default_rng(0)
    rows = rng.random((5, 16)).astype(np.float32)
    cells = rng.integers(0, 3, (5, 16))
    counts = TokenCounts(sparse.csr_array(cells), 4)
    weights = Weights("cpu", rows.copy(), 16, 0.3, scale=0.5)
    CPUEngine(1).blend(weights, counts, 0.25)
    expected = 0.75 * 0.5 * rows + 0.25 * cells / 16
    np.testing.assert_allclose(weights.host().rows * weights.scale, expected, rtol=1e-6)
    np.testing.assert_allclose(weights.sums * weights.scale, expected.sum(axis=0), rtol=1e-5)
    np.testing.assert_allclose(weights.totals, expected.sum(axis=0) + 0.3 * 5, rtol=1e-6)
    CPUEngine(1).blend(weights, counts, 1.0)
    np.testing.assert_allclose(weights.host().rows * weights.scale, cells / 16, rtol=1e-6)


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_interrupted_weights_stay_consistent(share):
    rows = np.random.default_rng(0).random((5, 16)).astype(np.float32)
    weights = Weights("cpu", rows, 16, 0.3, scale=0.5)

    def add(rows, factor):
        rows[2] += factor
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        weights.blend(share, add)
    assert weights.sums.min() > 0  # every sweep was kept
    np.testing.assert_allclose(weights.sums, weights.rows.sum(axis=0), rtol=1e-6)
    totals = weights.scale * weights.sums + 0.3 * 5
    np.testing.assert_allclose(weights.totals, totals, rtol=1e-6)


def test_too_many_topics_to_sweep():
    with pytest.raises(InputError, match="n_sweeps must be 0"):
        TopicModel(70_000).fit(np.ones((1, 2)))


def test_swept_model_round_trips(tmp_path):
    learned = model(n_sweeps=3).fit(X)
    save(learned, tmp_path / "m.opelda")
    again = load(tmp_path / "m.opelda")
    assert again.get_params()["n_sweeps"] == 3
    assert np.array_equal(again.components_, learned.components_)


@pytest.mark.parametrize("seed", range(1))
def test_sweeps_call_the_engine_as_specified(seed):
    asked, drawn, X = [], [], collection(seed)
    options = {"topic_word_prior": 0.2, "random_state": seed}

    class Watched(CPUEngine):
        def sweep(self, weights, tokens, alpha, **options):
            asked.append((weights.totals, alpha, options))
            drawn.append(super().sweep(weights, tokens, alpha, **options))
            return drawn[-1]

    start = model(n_sweeps=0, **options).fit(X)._state.weights
    model(**{"n_sweeps": 12, "engine": Watched(1)} | options).fit(X)
    assert np.array_equal(asked[0][0], start.totals)
    assert [options["counts"] for *_, options in asked] == [None, *drawn[:-1]]
    assert len({options["seed"] for *_, options in asked}) == 12
    sums = [alpha.sum() for _, alpha, _ in asked]
    # it starts high and falls to 1 during the first sweeps
    first, annealed = min(X.sum() / X.shape[0], 50.0), 0.5 * 12
    assert sums[:2] == pytest.approx([first] * 2)
    for number in (2, 4):
        assert sums[number] >= first ** (1 - number / annealed) - 1e-9
    assert sums[-1] < sums[2] < first  # the documents have a few topics each


def alphas(X, drawn=None, **options):
    """Return the alpha and the draws of each sweep."""
    asked, drawn = [], [] if drawn is None else drawn

    class Watched(CPUEngine):
        def sweep(self, weights, tokens, alpha, **options):
            asked.append(alpha)
            drawn.append(super().sweep(weights, tokens, alpha, **options))
            return drawn[-1]

    model(**{"n_sweeps": 12, "engine": Watched(1)} | options).fit(X)
    return asked


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("learning", ["online", "ml"])
def test_one_topic_holds_common_words_in_early_passes(learning, seed):
    drawn, X = [], collection(seed)
    asked = alphas(X, drawn, n_components=40, learning=learning, random_state=seed)
    assert np.ptp(asked[0]) == 0
    common = int(np.argmin(drawn[0].sums))
    for alpha in asked[1:6]:
        assert alpha[common] > 0.1 * alpha.sum()
        assert np.delete(alpha, common).max() < alpha[common]
    given = np.full((40, 300), 0.1)
    assert np.ptp(alphas(X, n_components=40, topic_word_prior=given)[1]) == 0


@cases("length", [1, 10, 90])
def test_learned_prior_is_at_least_half_uniform_and_more_for_short_documents(monkeypatch, length):
    found = np.arange(1.0, 11.0)
    monkeypatch.setattr(_closing_sweeps, "likelier_prior", lambda seen, alpha: found)
    X = np.zeros((30, 100))
    X[:, :length] = 0.01  # a token each
    learned = min(length / (length + 10), 0.5)
    expected = learned * found + (1 - learned) * found.mean()
    np.testing.assert_allclose(alphas(X, n_sweeps=40)[-1], expected, rtol=1e-6)


@cases("length", [5, 30, 90])
def test_the_sum_of_alpha_falls_more_slowly_for_long_documents(monkeypatch, length):
    monkeypatch.setattr(_closing_sweeps, "likelier_prior", lambda seen, alpha: np.full(10, 0.01))
    X = np.zeros((30, 100))
    X[:, :length] = 1
    found = [alpha.sum() for alpha in alphas(X, n_sweeps=40)]
    first, trust = min(length, 50), length / (length + 10)
    # sweep 0 has the first sum; every second sweep lowers it until 1, then it is learned
    floor = [first ** (1 - (2 - trust) * number / 40) for number in range(0, 40, 2)]
    expected = [least if least > 1 else 0.1 for least in floor]
    np.testing.assert_allclose(found[::2], expected, rtol=1e-6)


def test_alpha_with_a_share():
    alpha = np.array([1.0, 2.0, 7.0])
    np.testing.assert_allclose(with_share(alpha, 0, 0.4), [4.0, 6 * 2 / 9, 6 * 7 / 9])
    assert np.array_equal(with_share(alpha, 2, 0.4), alpha)
    assert np.array_equal(with_share(np.array([3.0]), 0, 0.4), [3.0])


def test_given_prior_is_kept():
    learned = []

    class Watched(CPUEngine):
        def sweep(self, weights, tokens, alpha, **options):
            learned.append(alpha)
            return super().sweep(weights, tokens, alpha, **options)

    given = np.linspace(0.1, 1.0, 10)
    model(n_sweeps=12, doc_topic_prior=given, engine=Watched(1)).fit(X)
    assert len(learned) == 12
    assert all(np.array_equal(alpha, given) for alpha in learned)


@pytest.mark.parametrize("seed", range(1))
def test_default_word_prior_is_chosen_by_leave_one_out(seed):
    asked, X = [], collection(seed)

    class Watched(CPUEngine):
        def sweep(self, weights, tokens, alpha, **options):
            asked.append(options["prior"])
            last.append(super().sweep(weights, tokens, alpha, **options))
            return last[-1]

    last = []
    learned = model(n_sweeps=12, engine=Watched(1), random_state=seed).fit(X)
    assert set(asked) == {0.1}  # there are more tokens than cells
    found = learned._state.weights.prior
    n = last[-1].cells.toarray() / 2.0 ** last[-1].shift

    def predicts(eta):
        terms = n * np.log(np.maximum(n - 1, 0) + eta)
        totals = n.sum(axis=0)
        return terms[n > 0].sum() - (totals * np.log(totals - 1 + len(n) * eta)).sum()

    grid = np.geomspace(1e-4, 1.0, 200)
    best = grid[np.argmax([predicts(eta) for eta in grid])]
    assert found.mean() == pytest.approx(best, rel=0.05)
    seen = n.sum(axis=1)  # half of the prior is uniform over words
    np.testing.assert_allclose(found / found.mean(), 0.5 + 0.5 * seen / seen.mean(), rtol=1e-5)
    given = model(n_sweeps=12, topic_word_prior=0.1).fit(X)
    assert given._state.weights.prior == 0.1


def test_stopped_sweeps_keep_the_learned_word_prior():
    learned = model(n_sweeps=19, batch_size=1500, callbacks=lambda report: report.n_pass == 12)
    assert learned.fit(X)._state.weights.prior.shape == (300,)


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("scale", [0.1, 0.01])
def test_word_prior_scales_with_token_weight(scale, seed):
    X = collection(seed)
    whole, small = (
        model(n_sweeps=20, random_state=seed).fit(each)._state.weights for each in (X, scale * X)
    )
    weight = scale * X.sum() / np.ceil(scale * X.data).sum()
    assert whole.prior.mean() / 3 < small.prior.mean() / weight < 3 * whole.prior.mean()
