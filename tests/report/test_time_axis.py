"""The time axis: labels do not overlap, and name their bin."""

import datetime as dt
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.dates import date2num
from matplotlib.figure import Figure

from opelda.report._times import UNITS, bin_number, bin_start, label_of, start_of
from opelda.report.plots._time_axis import time_axis

MOMENTS = st.datetimes(dt.datetime(1, 2, 1), dt.datetime(9000, 1, 1))


def shown(axis):
    """Return the labels that are drawn, from left to right, with their places and boxes."""
    axis.figure.draw_without_rendering()
    low, high = axis.get_xlim()
    ticks = [tick for tick in axis.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [(t.get_loc(), t.label1.get_text(), t.label1.get_window_extent()) for t in ticks]


def bins_from(first, unit, n):
    number = bin_number(start_of(first, unit), unit)
    return [bin_start(number + i, unit) for i in range(n)]


def drawn(figure, shape, starts, unit):
    axes = figure.subplots(*shape, squeeze=False).ravel()
    for axis in axes:
        axis.plot(starts, range(len(starts)))
        time_axis(axis, starts, unit)
    return axes


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("n_bins", [2, 31, 1000])
@pytest.mark.parametrize("n_panels", [1, 4])
def test_labels_do_not_overlap(unit, n_bins, n_panels):
    figure = Figure((7.2, 3.8))
    starts = bins_from(dt.datetime(1789, 7, 14, 23, 59), unit, n_bins)
    axis = drawn(figure, (1, n_panels), starts, unit)[-1]
    for width in (7.2, 20.0):  # the figure may be resized
        figure.set_size_inches(width, 3.8)
        boxes = [box for _, _, box in shown(axis)]
        assert len(boxes) >= (2 if n_panels == 1 else 1)
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


@settings(max_examples=25)
@given(MOMENTS, st.sampled_from(UNITS), st.integers(2, 90))
def test_labels_name_the_bin_that_starts_there(first, unit, n_bins):
    starts = bins_from(first, unit, n_bins)
    (axis,) = drawn(Figure((7.2, 3.8)), (1, 1), starts, unit)
    labels = {label_of(start, unit): date2num(start) for start in starts}
    found = shown(axis)
    assert found
    assert all(left.x1 < right.x0 for (*_, left), (*_, right) in pairwise(found))
    for place, text, _ in found:
        assert labels[" ".join(reversed(text.split("\n")))] == pytest.approx(place, abs=1e-6)


@given(MOMENTS, st.sampled_from(UNITS))
def test_bin_numbers_round_trip(moment, unit):
    start = start_of(moment, unit)
    number = bin_number(start, unit)
    assert bin_start(number, unit) == start
    later = bin_start(number + 1, unit)
    assert start_of(later, unit) == later
    assert start_of(later - dt.timedelta(microseconds=1), unit) == start


def test_round_times_are_labelled():
    for unit, n_bins, texts in (
        ("year", 33, ["1990", "1995", "2000", "2005", "2010", "2015", "2020"]),
        ("day", 31, ["1990-01-01", "1990-01-08", "1990-01-15", "1990-01-22", "1990-01-29"]),
        ("month", 48, ["1990-01", "1991-01", "1992-01", "1993-01"]),
        ("quarter", 14, ["1990-Q1", "1991-Q1", "1992-Q1", "1993-Q1"]),
    ):  # fmt: skip
        starts = bins_from(dt.datetime(1990, 1, 1), unit, n_bins)
        (axis,) = drawn(Figure((6.5, 3)), (1, 1), starts, unit)
        assert [text for _, text, _ in shown(axis)] == texts


def test_zoomed_axis_has_its_own_labels():
    starts = bins_from(dt.datetime(1990, 1, 1), "day", 3000)
    (axis,) = drawn(Figure((7.2, 3.8)), (1, 1), starts, "day")
    axis.set_xlim(starts[100], starts[103])
    assert [text for _, text, _ in shown(axis)] == [str(start.date()) for start in starts[100:104]]
