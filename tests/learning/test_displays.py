"""The display of progress: a bar, lines on a terminal, or lines of a log."""

import io
import logging
import math
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.learning._listeners import (
    LOGGER,
    Listeners,
    ProgressBar,
    ProgressLines,
    describe,
    progress,
    seconds_left,
)
from opelda.learning.callbacks import History
from tests.cases import cases
from tests.learning.test_callbacks import learn, report


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


@cases("verbose", [1, 2, True])
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
    assert len(err.splitlines()) == (3 if verbose == 2 else 2)  # the first and the last
    assert err.splitlines()[-1].startswith(
        "opelda: pass 1/2, 300/400 visits, 50 visits/s, 0:00:02 left"
    )


def test_display_depends_on_verbose_and_terminal(monkeypatch):
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
def test_lines_are_logged_at_start_each_interval_and_end(waits, interval):
    now, text = [0.0], []
    lines = ProgressLines(interval, clock=lambda: now[0])
    written_at = [-100.0]
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
    documents = [int(line.split(" visits")[0].split()[-1]) for line in text]
    assert documents == sorted(set(documents))
    assert documents[-1:] == ([len(waits)] if waits else [])
    assert len(documents) - (len(written_at) - 1) in (0, 1)


def test_log_line_contents():
    assert (
        describe(report())
        == "pass 1/2, 100/400 visits, 50 visits/s, 0:00:06 left, gap 0.125, step 0.25"
    )
    assert "0:00:07 left" in describe(report(docs_per_second=49.0))
    assert "left" not in describe(report(n_docs=400))
    bare = report(n_docs_total=None, n_passes=None, docs_per_second=0.0, mean_gap=math.nan)
    assert describe(bare) == "100 docs, step 0.25"
    full = report(n_docs=12_000, n_docs_total=10**7, n_pass=3, n_passes=None, docs_per_second=1000)
    assert describe(full).startswith("pass 3, 12,000/10,000,000 visits, 1,000 visits/s, 2:46:")
    assert describe(report(n_words_added=1200), -7.25).endswith(
        "score -7.2500, gap 0.125, step 0.25, 1,200 words added"
    )


def test_last_score_is_repeated_until_the_next_call():
    text = []
    lines = Listeners([ProgressLines(0.0)])
    with logged(text):
        learn(lines, None, report(), report(held_out_score=-7.5), report())
        learn(lines, None, report())
    assert ["-7.5000" in line for line in text] == [False, True, True, False]


@pytest.mark.parametrize("where", ["opelda", None])
def test_configured_logging_receives_the_lines_instead_of_stderr(capsys, where):
    text = []
    with logged(text, where):
        learn(Listeners(None, verbose=2))
    assert [line.startswith("pass 1/2, 100/400 visits") for line in text] == [True]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("level", [logging.WARNING, logging.INFO])
def test_lines_without_a_handler_reach_stderr_once(capsys, level):
    """A program that logs warnings alone did not say that `verbose` is to be silent."""
    text, root = [], logging.getLogger()
    with logged(text, None, level=logging.WARNING, handler_level=level):
        before = list(root.handlers), LOGGER.level, LOGGER.propagate, list(LOGGER.handlers)
        learn(Listeners(None, verbose=2))
        assert before == (list(root.handlers), LOGGER.level, LOGGER.propagate, LOGGER.handlers)
    assert text == []
    assert capsys.readouterr().err.count("opelda: pass 1/2, 100/400 visits") == 1


def test_default_verbosity_logs_nothing(capsys):
    text = []
    with logged(text):
        learn(Listeners(None, verbose=0))
    assert text == []
    assert capsys.readouterr() == ("", "")


def test_lines_reach_stderr_once_without_logging_configuration():
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


def test_time_left_is_by_the_recent_pace():
    assert "0:00:12 left" in describe(report(recent_docs_per_second=25.0))
    assert "left" not in describe(report(n_docs_total=None, recent_docs_per_second=25.0))


@pytest.mark.parametrize("total", [400, None])
def test_progress_bar(total):
    from rich.console import Console

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120, color_system=None)
    bar = ProgressBar(console)
    first = report(n_docs=50, n_docs_total=total, held_out_score=-7.5)
    with pytest.raises(KeyboardInterrupt):
        learn(Listeners([bar]), KeyboardInterrupt, first, report(n_docs=200, n_docs_total=total))
    assert (bar._bar.tasks[0].completed, bar._bar.tasks[0].total) == (200, total)
    assert f"200{'/400' if total else ''} visits, 50 visits/s" in stream.getvalue()
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


@given(st.integers(1, 5), st.integers(1, 100), st.floats(0.001, 10.0), st.integers(0, 999))
def test_time_left_predicts_sweeps_of_a_quarter_of_the_time_of_passes(
    n_passes, n_sweeps, seconds, done
):
    """The oracle adds up the visits that are left: a visit of a pass takes four units."""
    visits = [4 * seconds] * (n_passes * 100) + [seconds] * (n_sweeps * 100)
    n_docs = 1 + done % len(visits)
    now = report(
        n_docs=n_docs,
        n_docs_total=len(visits),
        n_passes=n_passes + n_sweeps,
        n_sweeps=n_sweeps,
        docs_per_second=n_docs / sum(visits[:n_docs]),
    )
    assert seconds_left(now) == pytest.approx(sum(visits[n_docs:]), abs=1e-6)
    again = replace(now, n_run=2, n_runs=3)
    assert seconds_left(again) == pytest.approx(sum(visits[n_docs:]) + sum(visits), abs=1e-6)
