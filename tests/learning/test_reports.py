"""Reports to callbacks."""

from time import perf_counter

import numpy as np
import pytest

from opelda import MLOPE, OnlineOPE, OnlineVB, StreamingOPE, TopicModel
from opelda.corpus import Vocabulary, generate, generate_stream
from opelda.inference import infer
from opelda.learning import EarlyStopping, History
from opelda.learning._listeners import Listeners
from tests.cases import cases


def made(seed):
    return generate(250, n_words=40, n_topics=3, random_state=seed).X


X = made(0)


def test_counts_and_steps():
    history = History()
    OnlineOPE(3, batch_size=100, n_passes=2, random_state=0, callbacks=history).fit(X)
    table = history.to_dict()
    assert table["n_updates"] == [1, 2, 3, 4, 5, 6]
    assert table["n_docs"] == [100, 200, 250, 350, 450, 500]
    assert table["n_docs_total"] == [500] * 6
    assert table["n_pass"] == [1, 1, 1, 2, 2, 2]
    assert table["n_passes"] == [2] * 6
    np.testing.assert_allclose(table["step_size"], (np.arange(1, 7) + 1.0) ** -0.9)
    assert all(seconds > 0 for name in ("e_seconds", "m_seconds") for seconds in table[name])
    assert table["held_out_score"] == [None] * 6


def test_reported_seconds_are_at_most_elapsed_time():
    history, started = History(), perf_counter()
    TopicModel(3, batch_size=50, n_sweeps=3, callbacks=history, random_state=0).partial_fit(X)
    passed, table = perf_counter() - started, history.to_dict()
    seconds = np.array([table["e_seconds"], table["m_seconds"]])
    assert (seconds >= 0).all()
    assert 0 < seconds.sum() < passed


def test_every_batch_of_a_stream_counts_alike():
    history = History()
    StreamingOPE(3, batch_size=100, callbacks=history).fit(X)
    assert history.to_dict()["step_size"] == [1.0] * 3


@pytest.mark.parametrize("seed", range(1))
@cases("cls", [OnlineOPE, OnlineVB, MLOPE])
def test_reported_gap_is_the_mean_over_documents(cls, seed):
    X, history, topics = made(seed), History(), []
    model = cls(3, batch_size=250, n_passes=2, random_state=seed)
    model.set_params(callbacks=[history, lambda report: topics.append(report.model.components_)])
    model.fit(X)
    gaps = history.to_dict()["mean_gap"]
    assert np.isfinite(gaps).all()
    if cls is MLOPE:  # whose second update infers with exactly the topics after the first
        found = infer(X, topics[0], random_state=seed)
        assert abs(gaps[1] - found.gap.mean()) < 0.1 * found.gap.mean()


def test_gap_is_computed_only_on_request():
    without, with_gap = History(gap=False), History()
    OnlineOPE(3, batch_size=50, random_state=0, callbacks=without).fit(X)
    OnlineOPE(3, batch_size=50, random_state=0, callbacks=[without, with_gap]).fit(X)
    assert np.isnan(without.to_dict()["mean_gap"][:5]).all()
    assert np.isfinite(with_gap.to_dict()["mean_gap"]).all()
    assert not Listeners(EarlyStopping()).needs_gap


def test_scores_follow_validate_every():
    history = History()
    model = OnlineOPE(3, batch_size=50, random_state=0, callbacks=history)
    model.fit(X, validation=X[:80], validate_every=2)
    scores = history.to_dict()["held_out_score"]
    assert [score is not None for score in scores] == [False, True, False, True, False]
    model = OnlineOPE(3, batch_size=50, random_state=0, callbacks=lambda r: r.n_updates == 4)
    model.fit(X)
    assert scores[3] == model.score(X[:80], n_splits=1)


def test_reports_contain_vocabulary_growth():
    history = History()
    words = Vocabulary(growing=True, max_features=60)
    stream = generate_stream(400, batch_size=100, n_words=50, n_topics=3, new_words_per_batch=10)
    model = OnlineOPE(3, random_state=0, callbacks=history)
    model.fit_stream(stream, vocabulary=words, validation=[{"w1": 3, "w2": 4}] * 5)
    table = history.to_dict()
    assert table["n_words"][-1] == model.n_features_in_ <= 60
    assert table["n_words_added"][-1] == model.n_words_added_
    assert table["n_words_dropped"][-1] == model.n_words_dropped_
    assert table["n_unknown_tokens"][-1] == model.n_unknown_tokens_
    assert table["n_docs_total"] == [None] * 4
