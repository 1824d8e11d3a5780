"""The steps of `maximize` equal those of Algorithm 1, observed through its oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opelda.optimize import Simplex, Term, maximize
from opelda.optimize._maximize import draw_coins

TOPICS, WORDS, T = 6, 9, 40
seeds = st.integers(0, 2**32 - 1)
any_seed = settings(max_examples=15, deadline=None)


def topic_terms(seed, alpha):
    """The two terms of a document's topic mixture, with random topics and counts."""
    rng = np.random.default_rng(seed)
    beta = rng.dirichlet(np.ones(WORDS), size=TOPICS)
    counts = rng.integers(1, 5, size=WORDS)
    g1 = Term(lambda x: counts @ np.log(x @ beta), lambda x: beta @ (counts / (x @ beta)))
    g2 = Term(lambda x: (alpha - 1) * np.log(x).sum(), lambda x: (alpha - 1) / x)
    return g1, g2


class Recorder:
    """A domain whose oracle records its directions and answers."""

    def __init__(self, domain):
        self.domain, self.asked, self.answered = domain, [], []

    def __call__(self, direction):
        self.asked.append(direction)
        self.answered.append(self.domain.oracle(direction))
        return self.answered[-1]


def run(seed, *, alpha=0.1, domain=None, **options):
    """Run on a random document, with every iterate and step recorded."""
    domain = domain or Simplex(TOPICS)
    recorder, iterates = Recorder(domain), []
    g1, g2 = topic_terms(seed, alpha)
    result = maximize(
        g1,
        g2,
        domain=recorder,
        x0=options.pop("x0", domain.center()),
        n_iter=T,
        max_gap=None,
        history_every=1,
        callback=lambda iterate: iterates.append(iterate.x),
        random_state=seed,
        check_gradient=False,  # which requests further vertices
        **options,
    )
    # Each iterate is evaluated for its certificate, then, except the last, for its step.
    return (g1, g2), result, iterates, recorder.asked[1::2], recorder.answered[1::2]


def recovered_picks(terms, iterates, directions, a, b):
    """The picks that explain every direction as a g1' + b g2', or fail."""
    g1, g2 = terms
    picks = []
    for x, direction in zip(iterates, directions, strict=False):
        options = {"g1": (a + 1, b), "g2": (a, b + 1)}
        fits = [
            name
            for name, (m, n) in options.items()
            if np.allclose(direction, m * g1.gradient(x) + n * g2.gradient(x), rtol=1e-12)
        ]
        assert len(fits) == 1, f"step {len(picks)} is not one uniform pick from the previous one"
        a, b = options[fits[0]]
        picks += fits
    return picks


@any_seed
@given(seeds)
def test_practical_schedule_is_start_plus_counts_over_t(seed):
    start = np.random.default_rng(seed).dirichlet(np.ones(TOPICS))
    _, result, iterates, _, vertices = run(seed, x0=start)
    assert len(vertices) == T - 1
    for t, x in enumerate(iterates, start=1):
        counts = np.sum(vertices[: t - 1], axis=0)
        np.testing.assert_allclose(t * x, start + counts, rtol=1e-12)
    # A topic never picked keeps exactly its share of the start.
    unpicked = np.sum(vertices, axis=0) == 0
    np.testing.assert_allclose(result.x[unpicked], start[unpicked] / T, rtol=1e-12)


@any_seed
@given(seeds)
def test_literal_schedule_averages_its_vertices(seed):
    domain = Simplex(TOPICS, 1e-3)
    _, _, iterates, _, vertices = run(seed, domain=domain, schedule="literal")
    assert len(vertices) == T
    np.testing.assert_array_equal(iterates[0], domain.center())
    np.testing.assert_array_equal(iterates[1], vertices[0])
    for t, x in enumerate(iterates[1:], start=1):
        np.testing.assert_allclose(t * x, np.sum(vertices[:t], axis=0), rtol=1e-12)


@any_seed
@given(seeds, st.sampled_from([0.1, 1.5]))
def test_every_direction_is_a_count_of_uniform_picks(seed, alpha):
    terms, _, iterates, directions, _ = run(seed, alpha=alpha)
    assert len(recovered_picks(terms, iterates, directions, a=1, b=0)) == T - 1


@any_seed
@given(seeds)
def test_literal_directions_start_from_no_pick(seed):
    domain = Simplex(TOPICS, 1e-3)
    terms, _, iterates, directions, _ = run(seed, domain=domain, schedule="literal")
    assert len(recovered_picks(terms, iterates, directions, a=0, b=0)) == T


@any_seed
@given(seeds)
def test_balanced_picks_hold_each_term_once_per_pair(seed):
    terms, _, iterates, directions, _ = run(seed, coins="balanced")
    picks = recovered_picks(terms, iterates, directions, a=1, b=0)
    assert len(picks) == T - 1
    for first, second in zip(picks[0::2], picks[1::2], strict=False):
        assert {first, second} == {"g1", "g2"}


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("kind", ["random", "balanced"])
def test_each_single_pick_is_uniform(kind, seed):
    n_runs = 3000
    chances = range(n_runs * seed, n_runs * (seed + 1))
    runs = np.array([draw_coins(6, kind, np.random.default_rng(chance)) for chance in chances])
    six_deviations = 6 * 0.5 / np.sqrt(n_runs)
    np.testing.assert_allclose(runs.mean(axis=0), 0.5, atol=six_deviations)
    repeats = (runs[:, 0] == runs[:, 1]).mean()
    assert repeats == 0 if kind == "balanced" else abs(repeats - 0.5) < six_deviations


def test_practical_first_iteration_moves_nothing():
    g1, g2 = topic_terms(0, 0.5)
    result = maximize(g1, g2, domain=Simplex(TOPICS), n_iter=1)
    np.testing.assert_array_equal(result.x, Simplex(TOPICS).center())
    assert result.n_iter == 1


@any_seed
@given(seeds, st.sampled_from(["random", "balanced"]))
def test_longer_run_continues_a_shorter_one(seed, kind):
    g1, g2 = topic_terms(seed, 0.5)
    options = {"domain": Simplex(TOPICS), "history_every": 1, "max_gap": None, "coins": kind}
    short = maximize(g1, g2, n_iter=21, random_state=seed, **options)
    long = maximize(g1, g2, n_iter=40, random_state=seed, **options)
    np.testing.assert_array_equal(long.f_history[:21], short.f_history)


@any_seed
@given(seeds)
def test_gradients_of_unpicked_terms_are_not_evaluated(seed):
    g1 = Term(lambda x: x[0], lambda x: [1.0, 0.0])
    asked = []
    g2 = Term(lambda x: 0.0, lambda x: asked.append(1) or [0.0, 0.0])
    options = {"n_iter": 8, "history_every": 9, "max_gap": None, "check_gradient": False}
    maximize(g1, g2, domain=Simplex(2), random_state=seed, **options)
    needed = np.logical_or.accumulate(~draw_coins(7, "random", np.random.default_rng(seed)))
    needed[0] = True  # the start is recorded, as is the last iterate
    assert len(asked) == needed.sum() + 1
