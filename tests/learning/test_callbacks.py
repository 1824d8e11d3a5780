"""Callbacks and the display of progress: who is told what, in which order, and what is shown."""

import io
import itertools
import logging
import math
import subprocess
import sys
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.errors import InputError
from opelda.learning._listeners import (
    LOGGER,
    Listeners,
    ProgressBar,
    ProgressLines,
    describe,
    progress,
)
from opelda.learning.callbacks import BatchReport, EarlyStopping, History


def report(**changes):
    usual = {
        "model": object(),
        "n_updates": 1,
        "n_docs": 100,
        "n_docs_total": 400,
        "n_pass": 1,
        "n_passes": 2,
        "docs_per_second": 50.0,
        "e_seconds": 0.1,
        "m_seconds": 0.01,
        "step_size": 0.25,
        "mean_gap": 0.125,
        "held_out_score": None,
        "n_words": 60,
        "n_words_added": 0,
        "n_words_dropped": 0,
        "n_unknown_tokens": 0.0,
    }
    return BatchReport(**(usual | changes))


@contextmanager
def logged(text, where="opelda", level=logging.INFO, handler_level=logging.NOTSET):
    """Log as a program that configured it: lines from `level` on go to the list `text`."""

    class Handler(logging.Handler):
        def emit(self, record):
            assert (record.name, record.levelno) == ("opelda", logging.INFO)
            text.append(record.getMessage())

    logger, handler = logging.getLogger(where), Handler(handler_level)
    before = logger.level
    logger.setLevel(level)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


class Diary:
    """Writes down what it is told; fails where it is told to."""

    def __init__(self, name, entries, fails=None, answer=None):
        self.name, self.entries, self.fails, self.answer = name, entries, fails, answer

    def note(self, what):
        self.entries.append((self.name, what))
        if what == self.fails:
            raise RuntimeError(f"{self.name} {what}")

    def begin(self, model):
        self.note("begin")

    def __call__(self, report):
        self.note("report")
        return self.answer

    def end(self, model):
        self.note("end")


def learn(listeners, error=None, *updates):
    with listeners("model"):
        for update in updates or [report()]:
            listeners.report(update)
        if error is not None:
            raise error


@given(st.lists(st.sampled_from([None, False, True, np.True_, 1, "yes"]), max_size=5))
def test_all_are_told_and_any_true_stops(answers):
    entries = []
    listeners = Listeners([Diary(i, entries, answer=a) for i, a in enumerate(answers)])
    with listeners("model"):
        stop = listeners.report(report())
    assert stop is any(answer is True or answer is np.True_ for answer in answers)
    assert [name for name, what in entries if what == "report"] == list(range(len(answers)))
    assert listeners.needs_gap is bool(answers)


def test_everything_is_ended_in_reverse_however_it_goes():
    for what, error in itertools.product(
        ["begin", "report", "end", "learning"], [RuntimeError, KeyboardInterrupt]
    ):
        entries = []
        listeners = Listeners([Diary("a", entries), Diary("b", entries, what), Diary("c", entries)])
        with pytest.raises(error if what == "learning" else RuntimeError):
            learn(listeners, error if what == "learning" else None)
        begun = [name for name, done in entries if done == "begin"]
        ended = [name for name, done in entries if done == "end"]
        assert begun == (["a", "b"] if what == "begin" else ["a", "b", "c"])
        assert ended == (["a"] if what == "begin" else ["c", "b", "a"])


def test_what_callbacks_may_be(capsys):
    seen = []
    for callbacks in (seen.append, [seen.append], (seen.append,), iter([seen.append])):
        listeners = Listeners(callbacks, verbose=0)
        with listeners("model"):
            assert listeners.report(report()) is False
    assert len(seen) == 4
    silent = Listeners(None, verbose=0)
    with silent("model"):
        assert silent.report(report()) is False
    assert not silent.needs_gap
    assert capsys.readouterr() == ("", "")
    with pytest.raises(
        InputError, match=r"callbacks\[1\] is the class EarlyStopping; .*Stopping()"
    ):
        Listeners([History(), EarlyStopping])
    with pytest.raises(InputError, match=r"callbacks\[0\] cannot be called: 'a'"):
        Listeners("abc")
    with pytest.raises(InputError, match="callbacks must be"):
        Listeners(3)
    for verbose in (-1, 1.5, "yes", None):
        with pytest.raises(InputError, match="verbose"):
            Listeners(None, verbose)


@pytest.mark.parametrize("verbose", [1, 2, True])
def test_the_display_does_not_replace_the_callbacks(capsys, verbose):
    history = History()
    listeners = Listeners(history, verbose)
    assert listeners.needs_gap
    with listeners("model"):
        for n_docs in (100, 200, 300):
            listeners.report(report(n_docs=n_docs))
    assert history.to_dict()["n_docs"] == [100, 200, 300]
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == (3 if verbose == 2 else 1)
    assert err.splitlines()[-1].startswith(
        "opelda: pass 1/2, 300/400 docs, 50 docs/s, 0:00:02 left"
    )


def test_which_display(monkeypatch):
    assert progress(0) is progress(False) is None
    assert type(progress(1)) is ProgressLines
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert type(progress(True)) is ProgressBar
    assert type(progress(2)) is ProgressLines
    monkeypatch.setattr(sys, "stderr", None)  # a program without a console
    listeners = Listeners(None, verbose=1)
    with listeners("model"):
        listeners.report(report())


@given(
    st.lists(st.floats(0.0, 30.0), max_size=30),
    st.sampled_from([0.0, 5.0, 10.0]),
)
def test_lines_come_at_most_once_an_interval_and_once_at_the_end(waits, interval):
    now, text = [0.0], []
    lines = ProgressLines(interval, clock=lambda: now[0])
    written_at = [0.0]
    with logged(text):
        lines.begin("model")
        for i, wait in enumerate(waits, start=1):
            now[0] += wait
            before = len(text)
            lines(report(n_docs=i, n_docs_total=None))
            if len(text) > before:
                assert now[0] - written_at[-1] >= interval
                written_at.append(now[0])
            else:
                assert now[0] - written_at[-1] < interval
        lines.end("model")
    documents = [int(line.split(" docs")[0].split()[-1]) for line in text]
    assert documents == sorted(set(documents))
    assert documents[-1:] == ([len(waits)] if waits else [])
    assert len(documents) - (len(written_at) - 1) in (0, 1)


def test_what_a_line_says():
    assert (
        describe(report())
        == "pass 1/2, 100/400 docs, 50 docs/s, 0:00:06 left, gap 0.125, step 0.25"
    )
    assert "0:00:07 left" in describe(report(docs_per_second=49.0))
    assert "left" not in describe(report(n_docs=400))
    bare = report(n_docs_total=None, n_passes=None, docs_per_second=0.0, mean_gap=math.nan)
    assert describe(bare) == "100 docs, step 0.25"
    full = report(n_docs=12_000, n_docs_total=10**7, n_pass=3, n_passes=None, docs_per_second=1000)
    assert describe(full).startswith("pass 3, 12,000/10,000,000 docs, 1,000 docs/s, 2:46:28 left")
    assert describe(report(n_words_added=1200), -7.25).endswith(
        "score -7.2500, gap 0.125, step 0.25, 1,200 words added"
    )


def test_the_last_score_stays_in_sight_until_the_next_call():
    text = []
    lines = Listeners([ProgressLines(0.0)])
    with logged(text):
        learn(lines, None, report(), report(held_out_score=-7.5), report())
        learn(lines, None, report())
    assert ["-7.5000" in line for line in text] == [False, True, True, False]


@pytest.mark.parametrize("where", ["opelda", None])
def test_a_program_that_configured_logging_gets_the_lines_and_stderr_none(capsys, where):
    text = []
    with logged(text, where):
        learn(Listeners(None, verbose=2))
    assert [line.startswith("pass 1/2, 100/400 docs") for line in text] == [True]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("level", [logging.WARNING, logging.INFO])
def test_lines_that_no_handler_would_show_are_on_stderr_once(capsys, level):
    """A program that logs warnings alone did not say that `verbose` is to be silent."""
    text, root = [], logging.getLogger()
    with logged(text, None, level=logging.WARNING, handler_level=level):
        before = list(root.handlers), LOGGER.level, LOGGER.propagate, list(LOGGER.handlers)
        learn(Listeners(None, verbose=2))
        assert before == (list(root.handlers), LOGGER.level, LOGGER.propagate, LOGGER.handlers)
    assert text == []
    assert capsys.readouterr().err.count("opelda: pass 1/2, 100/400 docs") == 1


def test_a_silent_learner_logs_nothing(capsys):
    text = []
    with logged(text):
        learn(Listeners(None, verbose=0))
    assert text == []
    assert capsys.readouterr() == ("", "")


def test_lines_are_shown_once_to_a_program_that_knows_nothing_of_logging():
    code = """
import opelda
from opelda.corpus import generate
X = generate(100, n_words=20, n_topics=2).X
opelda.OnlineOPE(2, batch_size=50, verbose=2).fit(X)
import logging
logging.basicConfig(level=logging.INFO, format="configured %(name)s %(levelname)s %(message)s")
opelda.OnlineOPE(2, batch_size=50, verbose=2).fit(X)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = run.stderr.splitlines()
    assert [line.split()[0] for line in lines] == ["opelda:"] * 2 + ["configured"] * 2
    assert all(line.startswith("configured opelda INFO ") for line in lines[2:])


def test_time_left_before_and_in_closing_sweeps():
    """A document takes another time in a sweep than in an update."""
    whole = {"n_docs_total": 1000, "n_passes": 10, "n_sweeps": 8}  # 100 documents
    first = report(n_docs=50, n_pass=1, docs_per_second=50.0, **whole)
    assert "0:00:03 left, then 8 sweeps," in describe(first)
    last = report(n_docs=200, n_pass=2, **whole)
    assert "then 8 sweeps" in describe(last)
    assert "left" not in describe(last)
    swept = report(n_docs=700, n_pass=7, e_seconds=3.0, m_seconds=1.0, **whole)
    assert "0:00:12 left" in describe(swept)
    assert "then" not in describe(swept)
    assert "left" not in describe(report(n_docs=1000, n_pass=10, **whole))


@pytest.mark.parametrize("total", [400, None])
def test_the_bar(total):
    from rich.console import Console

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120, color_system=None)
    bar = ProgressBar(console)
    first = report(n_docs=50, n_docs_total=total, held_out_score=-7.5)
    with pytest.raises(KeyboardInterrupt):
        learn(Listeners([bar]), KeyboardInterrupt, first, report(n_docs=200, n_docs_total=total))
    assert (bar._bar.tasks[0].completed, bar._bar.tasks[0].total) == (200, total)
    assert f"200{'/400' if total else ''} docs, 50 docs/s" in stream.getvalue()
    assert "score -7.5000" in stream.getvalue()
    assert stream.getvalue().endswith("\x1b[?25h")  # the cursor is back
    stream.truncate(0)
    learn(Listeners([bar]))
    assert "score" not in stream.getvalue()


def test_rich_is_imported_only_for_a_bar():
    code = """
import sys, opelda.learning
from opelda.learning._listeners import Listeners
Listeners(print, verbose=1)
print("rich" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


HALVES = st.integers(-12, 0).map(lambda half: half / 2)
SCORES = st.lists(st.none() | HALVES | HALVES | st.just(math.nan), max_size=30)


@given(st.lists(SCORES, min_size=2, max_size=2), st.integers(1, 6), st.sampled_from([0.0, 0.5, 1]))
def test_early_stopping(calls, patience, min_delta):
    stopping = EarlyStopping(patience, min_delta)
    for scores in [*calls, [], [-9.0, -8.0]]:  # it forgets when a new call begins
        stopping.begin("model")
        told = [
            stopping(report(held_out_score=score, n_updates=i)) for i, score in enumerate(scores)
        ]
        improved, reference, waited = [], -math.inf, 0
        for score in scores:  # the definition, read aloud
            if score is None:
                improved.append(None)
                continue
            better = not math.isnan(score) and score - reference > min_delta
            reference = score if better else reference
            improved.append(better)
        for i, flag in enumerate(improved):
            since = [f for f in improved[: i + 1] if f is not None]
            waited = next((n for n, f in enumerate(reversed(since)) if f), len(since))
            assert told[i] is (flag is not None and waited >= patience)
        real = [score for score in scores if score is not None and not math.isnan(score)]
        assert stopping.best_score == max(real, default=None)
        assert stopping.best_update == (scores.index(max(real)) if real else None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            stopping.end("model")
        assert len(caught) == all(score is None for score in scores)
        assert all("validation=" in str(warning.message) for warning in caught)


@given(st.integers(0, 20), st.none() | st.integers(1, 10))
def test_history_keeps_the_newest_without_the_model(n_reports, max_length):
    history = History(max_length)
    for i in range(n_reports):
        assert history(report(n_updates=i)) is None
    wanted = list(range(n_reports))[-(max_length or 100) :]
    assert [kept.n_updates for kept in history.reports] == wanted
    assert all(kept.model is None for kept in history.reports)
    table = history.to_dict()
    assert table["n_updates"] == wanted
    assert set(table) == set(BatchReport.__dataclass_fields__) - {"model"}
    assert {len(column) for column in table.values()} == {len(history)}


def test_parameters_are_checked():
    for patience in (0, -1, 1.5, None):
        with pytest.raises(InputError, match="patience"):
            EarlyStopping(patience)
    for min_delta in (-0.1, math.nan, math.inf, "x"):
        with pytest.raises(InputError, match="min_delta"):
            EarlyStopping(min_delta=min_delta)
    for max_length in (0, 2.5, "x"):
        with pytest.raises(InputError, match="max_length"):
            History(max_length)
