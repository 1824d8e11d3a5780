"""Reports of a stream: pace, memory and the score of the next documents."""

import itertools
import mmap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda import OnlineOPE, TopicModel
from opelda.corpus import Vocabulary, generate, mini_batches
from opelda.learning import History
from opelda.learning._listeners import (
    LARGEST_SHARE,
    Listeners,
    ProgressLines,
    Reporter,
    describe,
    resident_bytes,
)
from tests.learning.test_callbacks import report

X = generate(900, n_words=60, n_topics=3, random_state=0).X
BATCHES = [X[at : at + 150] for at in range(0, 900, 150)]


class Watching(History):
    """Keeps reports, with the scores of batches."""

    needs_score = True


@pytest.fixture
def unlimited_scoring_time(monkeypatch):
    """Time for every score."""
    monkeypatch.setattr("opelda.learning._listeners.LARGEST_SHARE", 1e9)


def learn(batches, callbacks=None, **more):
    return OnlineOPE(3, random_state=0, callbacks=callbacks).fit_stream(batches, **more)


def test_batches_are_scored_before_learning(unlimited_scoring_time):
    """By the model that had seen the ones before, as it would score them itself."""
    history = Watching()
    learn(BATCHES, history)
    scores = history.to_dict()["batch_score"]
    assert scores[0] is None  # before any update
    for number in range(1, len(BATCHES)):
        before = learn(BATCHES[:number])
        assert scores[number] == before.score(BATCHES[number], n_splits=1)


def test_large_batches_are_scored_by_a_sample(unlimited_scoring_time):
    history = Watching()
    learn([BATCHES[0], X], history)
    rows = np.unique(np.linspace(0, 899, 200).astype(int))
    assert history.to_dict()["batch_score"][1] == learn(BATCHES[:1]).score(X[rows], n_splits=1)


@pytest.mark.parametrize("most", [None, 3], ids=["more columns", "reused ones"])
def test_words_new_in_a_batch_are_not_scored(unlimited_scoring_time, most):
    """The score is that of the documents without them; the lid has no column, or the pan's."""
    scores = []
    for batch in ([["tea", "cup", "lid", "tea"]] * 9, [["tea", "cup", "tea"]] * 9):
        history = Watching()
        words = Vocabulary(growing=True, max_features=most)
        learn([[["tea", "cup", "pan"]] * 2, batch], history, vocabulary=words)
        scores.append(history.to_dict()["batch_score"][1])
    assert scores[0] == scores[1] is not None


def test_no_score_before_the_first_update(unlimited_scoring_time):
    history = Watching()
    learn([np.zeros((5, 60)), BATCHES[0], BATCHES[1]], history)
    assert [score is None for score in history.to_dict()["batch_score"]] == [True, False]


def test_without_validation_no_scores_and_equal_topics(unlimited_scoring_time):
    history, watching = History(), Watching()
    without, with_scores = learn(BATCHES, history), learn(BATCHES, [history, watching])
    assert history.to_dict()["batch_score"][:6] == [None] * 6
    assert None not in watching.to_dict()["batch_score"][1:]
    assert without.components_.tobytes() == with_scores.components_.tobytes()
    assert Listeners(None, verbose=2).needs_score
    assert not Listeners(history).needs_score


@given(st.lists(st.floats(0.001, 10.0), min_size=1, max_size=30), st.floats(0.01, 5.0))
def test_scores_take_a_small_part_of_the_time(waits, took):

    now, model = [0.0], learn(BATCHES[:1])

    def slow(*args, **options):
        now[0] += took
        return -1.0

    model._score = slow
    reporter = Reporter(model, Listeners(Watching(gap=False)), clock=lambda: now[0])
    (batch,) = mini_batches(BATCHES[:1], batch_size=1)
    spent = 0.0
    for wait in waits:
        now[0] += wait
        due = spent <= LARGEST_SHARE * now[0]
        reporter.look_at(batch)
        assert reporter._batch_score == (-1.0 if due else None)
        spent += took * due


@given(st.lists(st.tuples(st.floats(0.01, 20.0), st.integers(0, 1000)), min_size=1, max_size=40))
def test_pace_is_of_the_last_seconds(updates):
    now = [100.0]
    reporter = Reporter(None, Listeners(), clock=lambda: now[0])
    times, totals = [100.0], [0]
    for wait, n_docs in updates:
        now[0] += wait
        reporter.tell(None, 1, n_docs)
        found = reporter.pace()
        times.append(now[0])
        totals.append(totals[-1] + n_docs)
        # since the last update; the first one counts from the start
        ago = [i for i in range(len(times) - 1) if times[i] <= now[0] - 5.0]
        first = max(ago, default=0)
        assert found == pytest.approx((totals[-1] - totals[first]) / (now[0] - times[first]))
    assert len(reporter._marks) <= 2 + sum(then > now[0] - 5.0 for then in times)


def test_memory_is_the_resident_set():
    before = resident_bytes()
    held = np.frombuffer(mmap.mmap(-1, 200_000_000), np.uint8)  # malloc may reuse freed memory
    held[:] = 1
    assert resident_bytes() > before + 150e6
    status = Path("/proc/self/status")
    if status.exists():
        kilobytes = int(status.read_text().partition("VmRSS:")[2].split()[0])
        assert 0.8 < resident_bytes() / (1024 * kilobytes) < 1.2
    history = History()
    learn(BATCHES[:2], history)
    assert all(memory > held.nbytes for memory in history.to_dict()["memory"])


def test_log_line_has_all_numbers():
    stream = {"n_docs_total": None, "n_passes": None, "memory": 512_400_000}
    line = describe(report(**stream, recent_docs_per_second=12.0), None, -8.1234)
    assert line == "100 docs, 50 docs/s, batch -8.123, gap 0.125, step 0.25, 512 MB"


def test_last_score_is_repeated_and_first_line_is_immediate(caplog, unlimited_scoring_time):
    with caplog.at_level("INFO", logger="opelda"):
        learn(BATCHES, ProgressLines(0.0))
    lines = [record.getMessage() for record in caplog.records]
    assert ["batch -" in line for line in lines] == [False] + [True] * 5
    assert all(" MB" in line and "gap " in line and " docs/s" in line for line in lines)
    line, late = ProgressLines(0.0), itertools.cycle([report(batch_score=-7.0), report()])
    assert [line.line(next(late)).count("batch -7.000") for _ in range(4)] == [1] * 4


def test_swept_streams_report_the_gap_of_the_next_documents(unlimited_scoring_time):
    history = Watching()
    model = TopicModel(3, random_state=0, n_sweeps=3, callbacks=[history])
    expected = [np.nan]
    for batch in BATCHES[:3]:
        if hasattr(model, "_state"):
            expected.append(float(model.infer(batch).gap.mean()))
        model.fit_stream([batch])
    assert history.to_dict()["mean_gap"] == pytest.approx(expected, nan_ok=True)
    assert min(expected[1:]) > 0
