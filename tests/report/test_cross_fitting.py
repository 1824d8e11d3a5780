"""Effects by cross-fitting: topics learned from other documents than those they measure."""

from typing import ClassVar

import numpy as np
import pytest

from opelda import TopicModel
from opelda._count_matrix import counts
from opelda.errors import InputError
from opelda.report import estimate_effect
from opelda.report._cross_fitting import N_FOLDS, cross_fitted, random_folds
from opelda.report._unmixing import Unmixing
from tests.cases import cases

K, V, N = 3, 30, 90
CHANCE = np.random.default_rng(5)
TOPICS = 0.9 * np.repeat(np.eye(K), V // K, axis=1) / (V // K) + 0.1 / V
GROUP = CHANCE.integers(0, 2, N)
SHARES = np.array([[0.8, 0.1, 0.1], [0.2, 0.4, 0.4]])
X = np.array([CHANCE.multinomial(20, CHANCE.dirichlet(6 * SHARES[g]) @ TOPICS) for g in GROUP])


class Recorded(TopicModel):
    """A learner that records the documents of each fit."""

    seen: ClassVar[list[np.ndarray]] = []

    def fit(self, X, y=None, **how):
        self.seen.append(X.toarray() if hasattr(X, "toarray") else np.asarray(X))
        return super().fit(X, y, **how)


class Fixed:
    """A model with given topics."""

    components_ = TOPICS

    def transform(self, X):
        raise AssertionError("shares are read off counts")


@pytest.fixture(scope="module")
def model():
    return Recorded(K, preset="fast", n_passes=2, random_state=0, n_jobs=1).fit(X)


def sorted_rows(rows):
    return sorted(map(tuple, rows.tolist()))


def test_no_cluster_is_on_both_sides(model):
    cluster = CHANCE.permutation(np.arange(N) // 6)
    Recorded.seen.clear()
    names = [f"author {number:02}" for number in cluster]
    estimate_effect(model, X, {"g": GROUP}, n_splits=2, clusters=names)
    folds = random_folds(model, counts(X), 2, cluster)
    assert len(Recorded.seen) == 2 * N_FOLDS
    for number, learned_from in enumerate(Recorded.seen):
        is_out = folds[number // N_FOLDS] == number % N_FOLDS
        assert not set(cluster[is_out]) & set(cluster[~is_out])
        assert sorted_rows(learned_from) == sorted_rows(X[~is_out])


def test_copies_of_a_document_stay_together(model):
    folds = random_folds(model, counts(np.vstack((X, X[::-1]))), 2, None)
    assert (folds[:, :N] == folds[:, N:][:, ::-1]).all()
    assert [set(split) for split in folds.tolist()] == [set(range(N_FOLDS))] * 2


def test_optimism_is_the_effect_on_seen_documents_less_that_on_others(model):
    """One document of each fold is compared with the others, in one regression per refit."""
    cluster = np.arange(N) // (N // N_FOLDS)
    folds = random_folds(model, counts(X), 2, cluster)
    found = []

    def estimate(shares):
        found.append(shares)
        return shares.mean(axis=0)

    before = Unmixing(model).shares(counts(X))[0]
    after, variance = cross_fitted(model, counts(X), before, estimate, 2, cluster)
    for d in (0, N // 2, N - 1):
        pairs = [(s * N_FOLDS + j, folds[s, d] == j) for s in range(2) for j in range(N_FOLDS)]
        seen = np.mean([found[i][d] for i, is_out in pairs if not is_out], axis=0)
        others = np.mean([found[i][d] for i, is_out in pairs if is_out], axis=0)
        assert after[d] == pytest.approx(before[d] - (seen - others))
    assert (variance >= 0).all()


def test_the_order_of_documents_changes_nothing(model):
    order = np.random.default_rng(0).permutation(N)
    given, moved = (
        estimate_effect(model, X[rows], {"g": GROUP[rows]}, n_splits=2)
        for rows in (np.arange(N), order)
    )
    for a, b in zip(given, moved, strict=True):
        assert (a.term, a.n_docs) == (b.term, b.n_docs)
        assert [a.estimate, a.low, a.high] == pytest.approx([b.estimate, b.low, b.high], abs=1e-9)


def test_a_strong_effect_is_found(model):
    """The first group uses a topic four times as much as the second."""
    told, columns = [], {"g": np.array(["first", "second"])[GROUP]}
    rows = estimate_effect(model, X, columns, n_splits=2, progress=lambda *now: told.append(now))
    assert [now[1:] for now in told] == [(i, 2 * N_FOLDS) for i in range(2 * N_FOLDS)]
    assert "treat topics as known" not in rows.note
    sign = 1 if any(row.term == "g=second" for row in rows) else -1
    effects = [row for row in rows if row.term.startswith("g=")]
    first = min(effects, key=lambda row: sign * row.estimate)
    assert sign * first.estimate < -0.3
    assert first.low * first.high > 0
    at = estimate_effect(model, X, columns, n_splits=2, at="g", topics=[first.topic])
    shares = {row.term: row.estimate for row in at}
    assert sign * (shares["g=second"] - shares["g=first"]) == pytest.approx(first.estimate)


@cases(
    ("learner", "n_docs", "n_splits", "message"),
    [
        (None, N, -1, "n_splits must be a whole number"),
        (None, N, 1, "n_splits must be 0 or at least 2"),
        (Fixed(), N, 2, "model must be a fitted learner"),
        (None, 2, 2, "at least 3 different documents or clusters, got 2"),
    ],
)
def test_cross_fitting_is_checked(model, learner, n_docs, n_splits, message):
    given = np.repeat(X[:n_docs], 60 if n_docs == 2 else 1, axis=0)
    group = {"g": np.arange(len(given)) % 7}
    with pytest.raises(InputError, match=message):
        estimate_effect(learner or model, given, group, n_splits=n_splits)
