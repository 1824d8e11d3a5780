"""Callbacks: their order, their arguments and their return values."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.errors import InputError
from opelda.learning._listeners import (
    Listeners,
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


class Diary:
    """Records its calls and raises at a chosen call."""

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
def test_all_callbacks_run_and_any_true_stops(answers):
    entries = []
    listeners = Listeners([Diary(i, entries, answer=a) for i, a in enumerate(answers)])
    with listeners("model"):
        stop = listeners.report(report())
    assert stop is any(answer is True or answer is np.True_ for answer in answers)
    assert [name for name, what in entries if what == "report"] == list(range(len(answers)))
    assert listeners.needs_gap is bool(answers)


def test_callbacks_are_closed_in_reverse_order_on_any_exit():
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


def test_bad_callbacks_are_rejected(capsys):
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
        InputError, match=r"callbacks\[1\] must accept one argument, a report, got <class"
    ):
        Listeners([History(), EarlyStopping])
    with pytest.raises(
        InputError, match=r"callbacks\[0\] must accept one argument, a report, got 'a'"
    ):
        Listeners("abc")
    with pytest.raises(InputError, match="callbacks must be"):
        Listeners(3)
    for verbose in (-1, 1.5, "yes", None):
        with pytest.raises(InputError, match="verbose"):
            Listeners(None, verbose)


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


def test_bad_parameters_are_rejected():
    for patience in (0, -1, 1.5, None):
        with pytest.raises(InputError, match="patience"):
            EarlyStopping(patience)
    for min_delta in (-0.1, math.nan, math.inf, "x"):
        with pytest.raises(InputError, match="min_delta"):
            EarlyStopping(min_delta=min_delta)
    for max_length in (0, 2.5, "x"):
        with pytest.raises(InputError, match="max_length"):
            History(max_length)
