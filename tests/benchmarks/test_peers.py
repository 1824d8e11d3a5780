"""Parts of the peer comparison whose errors would go unnoticed."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from opelda.metrics import coherence as npmi
from opelda.metrics import log_predictive_probability

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def peers():
    """Give the package's modules by their names; it is found from the repository's root."""
    sys.path.insert(0, str(ROOT))
    yield lambda name: importlib.import_module(f"benchmarks.peers.{name}")
    sys.path.remove(str(ROOT))


class FakeTime:
    def __init__(self):
        self.at = 100.0

    def __call__(self):
        return self.at


def recorder_of(peers, folder, time, **options):
    clock = peers("clock")
    recorder = clock.Recorder(folder, clock=clock.Clock(now=time), **options)
    recorder.clock.start()
    return recorder


def line(system="opelda", label="x", seconds=1.0, lpp=-8.0, passes=1.0, **more):
    shared = {"corpus": "c", "npmi": 0.1, "memory_mb": 5, "documents": int(passes * 100)}
    return shared | {
        "system": system, "label": label, "seconds": seconds, "lpp": lpp, "passes": passes, **more
    }  # fmt: skip


def test_clock_stops_during_snapshots(peers, tmp_path):
    time = FakeTime()
    recorder = recorder_of(peers, tmp_path, time, limit=1000)

    def slow_topics():
        time.at += 50
        return np.ones((2, 3))

    for documents in (10, 20, 40):
        time.at += 2
        recorder(documents, slow_topics)
    assert [shot.seconds for shot in recorder.snapshots] == [2, 4, 6]


def test_run_stops_at_its_limit_after_the_minimum_work(peers, tmp_path):
    clock, time = peers("clock"), FakeTime()
    recorder = recorder_of(peers, tmp_path, time, limit=5, at_least=40)
    for documents in (10, 20, 30):
        time.at += 3
        recorder(documents, lambda: np.ones((2, 3)))
    with pytest.raises(clock.Enough):
        recorder(40, lambda: np.ones((2, 3)))
    assert recorder.snapshots[-1].documents == 40


def test_run_does_the_planned_work(peers, tmp_path):
    recorder = recorder_of(peers, tmp_path, FakeTime(), limit=5, planned=20)
    recorder(10, lambda: np.ones((2, 3)))
    with pytest.raises(peers("clock").Enough):
        recorder(20, lambda: np.ones((2, 3)))


def test_snapshots_are_geometric_and_at_requested_points(peers, tmp_path):
    recorder = recorder_of(peers, tmp_path, FakeTime(), limit=5, wanted=[70], growth=2)
    for documents in range(10, 101, 10):
        recorder(documents, lambda n=documents: np.full((1, 1), n))
    recorder.finish()
    taken = [shot.documents for shot in recorder.snapshots]
    assert taken == [10, 20, 40, 70, 100]
    assert [float(np.load(shot.path)[0, 0]) for shot in recorder.snapshots] == taken


def test_evaluator_equals_the_packages_measure(peers):
    rng = np.random.default_rng(0)
    train = sparse.csr_array(rng.poisson(1.0, (40, 6)).astype(np.int32))
    held_out = sparse.csr_array(rng.poisson(2.0, (9, 6)).astype(np.int32))
    corpus = peers("corpora").Corpus("c", train, held_out)
    beta = rng.dirichlet(np.full(6, 1.0), 3)
    found = peers("evaluate").score(7.0 * beta, corpus)  # on any system's scale
    lpp = log_predictive_probability(beta, held_out, random_state=0, doc_topic_prior=1 / 3)
    assert found["lpp"] == pytest.approx(float(lpp), abs=2e-5)
    assert found["npmi"] == pytest.approx(npmi(beta, train).mean(), abs=2e-5)


def test_topics_without_a_prior_still_predict(peers):
    beta = peers("evaluate").normalised([[0.0, 3.0], [1.0, 1.0]])
    assert (beta > 0).all()
    np.testing.assert_allclose(beta, [[0, 1], [0.5, 0.5]], atol=1e-11)


def test_words_absent_from_training_are_left_out(peers):
    train = sparse.csr_array([[1, 1, 0, 0], [0, 1, 0, 1]])
    held_out = sparse.csr_array([[0, 2, 0, 1], [1, 0, 1, 0]])
    corpus = peers("corpora").over_seen_words("c", train, held_out)
    np.testing.assert_array_equal(corpus.train.toarray(), [[1, 1, 0], [0, 1, 1]])
    np.testing.assert_array_equal(corpus.held_out.toarray(), [[0, 2, 1], [1, 0, 0]])


def test_time_to_quality_is_the_first_sufficient_checkpoint(peers):
    tables = peers("tables")
    ours = [
        line(seconds=s, lpp=q, label=k)
        for s, q, k in [(1, -9, "a"), (3, -7.5, "a"), (9, -7, "a"), (2, -8, "b"), (4, -7.4, "b")]
    ]
    assert tables.time_to(-8.0, ours)["seconds"] == 2
    assert tables.time_to(-7.5, ours)["seconds"] == 3
    assert tables.time_to(-6.9, ours) is None
    peer = [
        line("gensim", seconds=30, lpp=-8.1, passes=1),
        line("gensim", seconds=60, lpp=-7.45, passes=2),
    ]
    rows = [row for row in tables.against([*ours, *peer]).splitlines() if "gensim" in row]
    assert "| 30.0 | -8.100 |" in rows[0]
    assert rows[0].endswith("| 2.00 s (b) | 15x |")
    assert rows[1].endswith("| 4.00 s (b) | 15x |")


def test_better_peer_is_reported(peers):
    rows = peers("tables").against([line(lpp=-8), line("tomotopy", lpp=-7)])
    assert "not reached" in rows


def test_last_of_two_equal_runs_counts(peers, tmp_path):
    import json

    lines = [line(passes=1, lpp=-9), line(passes=2, lpp=-8), line(passes=1, lpp=-7)]
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    assert [one["lpp"] for one in peers("tables").read(path)] == [-7]


def test_every_planned_run_has_its_settings(peers):
    plan, systems = peers("plan"), peers("systems")
    for run in [*plan.small(), *plan.full()]:
        assert run.label in systems.module(run.system).SETTINGS
