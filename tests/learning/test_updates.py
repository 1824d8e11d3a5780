"""Topic updates equal the equations, despite lazy scaling and single precision."""

import copy
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from scipy.special import psi

from opelda import OnlineVB, TopicModel
from opelda.corpus import generate
from opelda.engines import CPUEngine
from opelda.engines.cpu._tables import topic_rows
from opelda.engines.seam import Task
from opelda.inference import CGS, CVB, CVB0, FW, HAMCMC, OFW, OPE, TLI, VB
from opelda.learning._rules import LEAST_SHARE
from opelda.learning._rules import RULES as BY_NAME
from tests import equations as reference
from tests.cases import cases

K, V, SIZE, SEED, ETA = 4, 25, 8, 7, 0.3
X = generate(12 * SIZE, n_words=V, n_topics=K, n_tokens=20, doc_topic_prior=0.5).X.toarray()
X[3] = 0  # an empty document counts as one
X[5] = 0
X[5, 2] = 1

METHODS = [
    OPE(n_iter=20),
    OPE(n_iter=20, init="random"),
    VB(n_iter=30),
    CVB0(burn_in=5, n_samples=5),
    CVB(n_iter=10),
    CGS(burn_in=3, n_samples=5),
    FW(n_iter=10),
    OFW(n_iter=10),  # without a kernel
    TLI(),  # reads topics of words that the documents do not hold
]
RULES = ["ml", "online", "scvb0", "streaming", "streaming, start kept"]
NAMES = {"ids": lambda value: getattr(value, "name", None)}
every_method = pytest.mark.parametrize("method", METHODS, **NAMES)
pytestmark = pytest.mark.filterwarnings("ignore::opelda.inference.TLIWarning")


@pytest.fixture
def inference_calls(monkeypatch):
    """Arguments and results of inference, per update."""
    seen, explain = [], CPUEngine._explain

    def record(self, weights, documents, chosen, task, wanted):
        found = explain(self, weights, documents, chosen, task, wanted)
        if found is not None:
            seen.append((found.table, task.seed, found.solution))
        return found

    monkeypatch.setattr(CPUEngine, "_explain", record)
    return seen


OF_RULE = {"decay", "offset", "population"}


def make(method, rule="online", **options):
    settings = {
        "preset": "paper",
        "topic_word_prior": ETA,
        "batch_size": SIZE,
        "random_state": SEED,
        **options,
    }
    name, _, kept = rule.partition(", ")
    of_rule = {key: settings.pop(key) for key in OF_RULE & settings.keys()}
    if name == "streaming":
        of_rule = {"keep_start": kept == "start kept"}
    return TopicModel(K, inference=method, learning=BY_NAME[name](**of_rule), **settings)


def start():
    return CPUEngine(1).random_weights(V, K, ETA, SEED).rows[:, :K].T.astype(np.float64)


def weights(model):
    """lambda, in double precision."""
    store = model._state.weights
    rows = store.rows[:, :K].T.astype(np.float64)
    eta = np.asarray(store.prior, np.float64)
    return store.scale * rows + store.prior_weight * (eta[:, :K].T if eta.ndim == 2 else eta)


def mixtures(solution, full):
    """Mixtures that weigh the tokens, in double precision; uniform for empty documents."""
    picks = solution.picks
    if picks is not None:
        shape = (len(picks.rest), K)
        picked = sparse.csr_array((picks.shares, picks.topics, picks.indptr), shape).toarray()
        theta = picked + picks.rest[:, None].astype(np.float64) * picks.start
    else:
        theta = solution.theta if solution.factors is None else solution.factors
    return np.where(full[:, None], np.asarray(theta, np.float64), 1 / K)


def as_topics(lam, logs):
    totals = lam.sum(axis=1, keepdims=True)
    return np.exp(psi(lam) - psi(totals)) if logs else lam / totals


def bounded(lam, tokens):
    """The start counts at most as many tokens as the documents."""
    return lam * min(1.0, tokens / lam.sum())


def expected(lam, part, theta, model, rule, t):
    """Return lambda (for ML: beta) after update t by the equations."""
    schedule = model._schedule()
    rho = (t + schedule.offset) ** -schedule.decay
    beta = as_topics(lam, logs=rule != "ml" and model.inference.expects_logs)
    if rule == "ml":
        mass = part.sum(axis=1) @ theta
        used = mass > LEAST_SHARE * mass.sum()  # unused topics keep their weights
        beta[used] = reference.ml(beta[used], part, theta[:, used], rho)
        return beta
    if rule in ("online", "scvb0"):
        population = schedule.population or t * SIZE
        if t == 1 and not model.inference.expects_logs:
            lam = bounded(lam, population / len(part) * part.sum())
        if rule == "scvb0":
            n = lam if t == 1 else lam - ETA
            return ETA + reference.scvb0(n, beta, part, theta, rho, population)
        return reference.online(lam, beta, part, theta, ETA, rho, population)
    before = np.full_like(lam, ETA) if t == 1 and rule == "streaming" else lam
    return reference.streaming(before, beta, part, theta)


@every_method
@pytest.mark.parametrize("rule", RULES)
# 1 - rho falls to 0 at once, or slowly enough for the lazy scale to be folded into the rows
@pytest.mark.parametrize(
    ("decay", "offset", "n_updates"), [(0.9, 1.0, 3), (0.6, 0.0, 3), (0.1, 0.0, 12)]
)
def test_updates_equal_the_equations(inference_calls, method, rule, decay, offset, n_updates):
    model = make(method, rule, decay=decay, offset=offset)
    lam = start()
    scales = []
    for t in range(1, n_updates + 1):
        part = X[(t - 1) * SIZE : t * SIZE].astype(np.float64)
        model.partial_fit(part)
        theta = mixtures(inference_calls[-1][2], part.sum(axis=1) > 0)
        lam = expected(lam, part, theta, model, rule, t)
        found = model.components_ if rule == "ml" else weights(model)
        # each update rounds every weight some 20 times; 1e-15 is the least probability
        np.testing.assert_allclose(found, lam, rtol=1e-6, atol=2e-15)
        np.testing.assert_allclose(model.components_, as_topics(lam, False), rtol=2e-6, atol=2e-15)
        scales.append(model._state.weights.scale)
    assert model.n_batch_iter_ == n_updates
    folded = any(later > earlier for earlier, later in pairwise(scales))
    assert folded == (n_updates > 3 and "streaming" not in rule)


@every_method
@cases("population", [None, 2, 1000])
@cases("n_docs", [1, 2, 20])
def test_start_of_an_online_rule_weighs_at_most_its_documents(
    inference_calls, method, population, n_docs
):
    """VB and CGS keep it whole: for them small weights count exponentially less."""
    part = X[8 : 8 + n_docs].astype(np.float64)
    model = make(method, batch_size=20, population=population).partial_fit(part)
    theta = mixtures(inference_calls[-1][2], part.sum(axis=1) > 0)
    stated = make(method, population=population or n_docs)
    lam = expected(start(), part, theta, stated, "online", 1)
    np.testing.assert_allclose(weights(model), lam, rtol=1e-6)


@every_method
@cases("rule", ["ml", "online"])
def test_updates_use_the_mixtures_of_inference(inference_calls, method, rule):
    """Bit for bit: the same topics, alpha and documents, the seed and the update's number."""
    model, engine = make(method, rule, doc_topic_prior=0.4), CPUEngine(1)
    logs = rule != "ml" and method.expects_logs
    for t in (1, 2, 3):
        part = X[(t - 1) * SIZE : t * SIZE]
        before = engine.random_weights(V, K, ETA, SEED)
        if t > 1:
            before = copy.deepcopy(model._state.weights)
        table = topic_rows(before, None, logs=logs, n_threads=1)
        model.partial_fit(part)
        _, seed, found = inference_calls[-1]
        assert seed == SEED + t * 2**32
        documents = engine.documents(sparse.csr_array(part))
        alone = engine.infer(table, documents, Task(method, np.full(K, 0.4), seed))
        full = part.sum(axis=1) > 0
        if found.picks is not None:
            assert np.array_equal(mixtures(found, full), mixtures(alone, full))
        else:
            assert np.array_equal(found.theta[full], alone.theta[full].astype(np.float32))


@pytest.mark.parametrize(
    "method", [OPE(), CGS(), OFW(n_iter=20), HAMCMC(n_iter=10, burn_in=5)], ids=str
)
def test_random_numbers_differ_between_updates(inference_calls, method):
    """The same documents and almost the same topics, but other random numbers."""
    model = make(method, decay=1.0, offset=1e12, batch_size=len(X))
    model.set_params(doc_topic_prior=1.5)  # prior and likelihood pull different ways
    model.partial_fit(X).partial_fit(X)
    full = X.sum(axis=1) > 0
    first, second = (mixtures(solution, full) for _, _, solution in inference_calls)
    assert np.abs(first - second).max() > 1e-3


@pytest.mark.parametrize(("tau", "kappa"), [(1.0, 0.9), (10.0, 0.5), (3.0, 0.7)])
def test_online_vb_equals_scikit_learn(tau, kappa):
    from sklearn.decomposition import LatentDirichletAllocation

    common = {"doc_topic_prior": 0.9, "topic_word_prior": ETA}
    theirs = LatentDirichletAllocation(
        K, total_samples=500, max_doc_update_iter=2000, mean_change_tol=1e-12, random_state=0
    )
    theirs.set_params(**common, learning_offset=tau, learning_decay=kappa).partial_fit(X)
    theirs.components_ = start()
    theirs.exp_dirichlet_component_ = as_topics(start(), logs=True)
    theirs.n_batch_iter_ = 1
    ours = make(VB(n_iter=2000, tol=0), population=500, offset=tau, decay=kappa).set_params(
        **common
    )
    for first in (0, 30, 60):
        part = X[first : first + 30]
        theirs.partial_fit(part)
        ours.set_params(batch_size=30).partial_fit(part)
        np.testing.assert_allclose(weights(ours), theirs.components_, rtol=1e-4)


def test_updates_conserve_tokens():
    """Sums over words and topics, without a look at which."""
    tokens = X.sum(axis=1, dtype=np.float64)
    for method in (OPE(n_iter=20), VB(), FW(n_iter=5)):
        streamed = make(method, "streaming").partial_fit(X)
        np.testing.assert_allclose(weights(streamed).sum(), K * V * ETA + tokens.sum(), rtol=1e-6)
        kept = make(method, "streaming, start kept").partial_fit(X)
        np.testing.assert_allclose(weights(kept).sum(), start().sum() + tokens.sum(), rtol=1e-6)
        online = make(method, "online", population=1000).partial_fit(X)
        total = start().sum()
        for t in range(1, online.n_batch_iter_ + 1):
            rho = (t + 1) ** -0.9
            batch = tokens[(t - 1) * SIZE : t * SIZE].sum()
            total = (1 - rho) * total + rho * (K * V * ETA + 1000 / SIZE * batch)
        np.testing.assert_allclose(weights(online).sum(), total, rtol=1e-6)


def test_shorter_last_batch_is_scaled_by_its_own_size(inference_calls):
    model = make(OPE(), population=90).partial_fit(X[:11])
    lam = start()
    for t, part in ((1, X[:8]), (2, X[8:11])):
        theta = mixtures(inference_calls[t - 1][2], part.sum(axis=1) > 0)
        beta = as_topics(lam, False)
        lam = reference.online(lam, beta, part.astype(float), theta, ETA, (t + 1) ** -0.9, 90)
    np.testing.assert_allclose(weights(model), lam, rtol=1e-6)


@pytest.mark.parametrize("method", [OPE(), FW(n_iter=2), VB(), CVB0()], **NAMES)
@pytest.mark.parametrize(("decay", "offset"), [(0.9, 1.0), (0.1, 0.0), (0.0, 0.0)])
def test_ml_topics_stay_distributions(method, decay, offset):
    """Including unused topics, which FW produces often."""
    model = make(method, "ml", batch_size=2, decay=decay, offset=offset)
    model.set_params(n_components=20)
    for _ in range(5):
        model.partial_fit(X)
        topics = model.components_
        assert (topics >= 0).all()
        np.testing.assert_allclose(topics.sum(axis=1, dtype=np.float64), 1, rtol=0, atol=1e-6)
    assert model.n_batch_iter_ == 5 * len(X) / 2


@pytest.mark.parametrize("offset", [1.0, 0.0])
def test_unused_topic_keeps_its_weights(inference_calls, offset):
    model = make(FW(n_iter=2), "ml", batch_size=2, offset=offset)
    before, n_unused = start() / start().sum(axis=1, keepdims=True), 0
    for first in range(0, 40, 2):
        model.partial_fit(X[first : first + 2])
        theta = mixtures(inference_calls[-1][2], X[first : first + 2].sum(axis=1) > 0)
        full = X[first : first + 2].sum(axis=1) > 0
        unused = ~theta[full].any(axis=0)
        np.testing.assert_allclose(model.components_[unused], before[unused], rtol=1e-5, atol=1e-15)
        before, n_unused = model.components_, n_unused + unused.sum()
    assert n_unused > 5


@pytest.mark.parametrize("seed", range(1))
def test_random_start_has_the_stated_mean_and_spread(seed):
    rows = CPUEngine(1).random_weights(5000, 21, ETA, seed).rows
    assert rows.shape == (5000, 32)
    assert not rows[:, 21:].any()
    ours = rows[:, :21]
    assert ours.min() >= 0.1
    assert [ours.mean(), ours.std()] == pytest.approx([1, 0.1], abs=0.01)
    assert np.abs(np.corrcoef(ours.T) - np.eye(21)).max() < 0.1
    assert not np.array_equal(rows, CPUEngine(1).random_weights(5000, 21, ETA, seed + 1).rows)


def test_the_first_update_of_vb_uses_expected_logs(inference_calls):
    """exp(E[log beta]), not the mean of beta; also what CGS samples with."""
    for model in (OnlineVB(K), make(CGS(burn_in=1, n_samples=1))):
        model.set_params(batch_size=len(X), random_state=SEED).partial_fit(X)
        table = inference_calls[-1][0]
        given = table.rows[:, :K].astype(np.float64)
        logs = as_topics(start(), logs=True).T[table.ids]
        share = [rows / rows.sum(axis=1, keepdims=True) for rows in (given, logs)]
        np.testing.assert_allclose(*share, rtol=1e-6)
