"""Intervals of repeated actions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda._validation import Every
from opelda.errors import InputError
from tests.cases import cases

TIMES = {"30s": 30.0, "5m": 300.0, "1h": 3600.0, "0.5s": 0.5}


@given(st.integers(1, 7), st.lists(st.integers(1, 20), max_size=20), st.integers(0, 30))
def test_number_interval_is_due_first_and_at_multiples(every, steps, at):
    due = Every("every", every)
    multiples = None
    for step in steps:
        reached = {n for n in range(1, at + step + 1) if n % every == 0}
        assert due.is_due(at + step) == (multiples is None or bool(reached - multiples))
        due.done()
        at, multiples = at + step, reached


@given(
    st.sampled_from(list(TIMES)),
    st.lists(st.tuples(st.floats(0, 500), st.floats(0, 100)), max_size=30),
)
def test_time_interval_is_due_at_once_and_takes_at_most_a_tenth(given, waits):
    now = [1000.0]
    due = Every("every", given, clock=lambda: now[0])
    ended, taken, first = None, 0.0, True
    for wait, took in waits:
        now[0] += wait
        if not due.is_due(3):
            assert ended is not None
            # either the time is not over, or the action took over a tenth of the elapsed time
            assert now[0] - ended < max(TIMES[given], 9 * taken) + 1e-6
            continue
        if not first:
            assert now[0] - ended >= TIMES[given] - 1e-6
            assert taken <= 0.1 * (now[0] - ended + taken) + 1e-6
        now[0] += took
        due.done()
        ended, taken, first = now[0], took, False


@cases(
    "wrong", ["", "30", "s", "30 s", "-5s", "0s", "5d", "1e3s", "s30", 0, -1, 1.5, None, True, "0"]
)
def test_bad_intervals_are_rejected(wrong):
    if wrong == "30":  # as the command line gives it
        assert not [n for n in range(1, 30) if _done_first(wrong).is_due(n)]
        return
    with pytest.raises(InputError, match=r"^every must be a whole number"):
        Every("every", wrong)


def _done_first(given):
    every = Every("every", given)
    every.is_due(0)
    every.done()
    return every
