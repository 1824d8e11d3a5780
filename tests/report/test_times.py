"""Times: the order of day and month, missing times, numbers that are not times."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.errors import InputError
from opelda.report._times import time_bins
from tests.cases import cases

FORMS = ["%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%m/%d/%Y %H:%M", "%m/%d/%Y, %I:%M:%S %p"]


@pytest.mark.parametrize("form", FORMS)
@given(st.lists(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)), max_size=9))
def test_column_decides_between_day_and_month_first(form, times):
    times = [*times, dt.datetime(1987, 2, 26)]
    written = [f"{time:{form}}".replace("/0", "/").removeprefix("0") for time in times]
    expected, found = time_bins(times, "day"), time_bins([*written, None], "day")
    assert found.labels == expected.labels
    assert found.index.tolist() == [*expected.index, -1]


def test_ambiguous_date_order_gives_a_warning():
    with pytest.warns(UserWarning, match=r"in '3/4/1987' and all other .* month first is assumed"):
        assert time_bins(["3/4/1987", "12/1/1987"], "day").labels == ["1987-03-04", "1987-12-01"]


def test_missing_times_are_ignored():
    moments = np.array(["2001-02-03", "NaT", "2002-02-03"], "M8[D]")
    for times in (moments, pd.Series(moments), pl.Series(moments), moments.astype(object)):
        assert time_bins(times, "year").index.tolist() == [0, -1, 1]


@cases("kind", [int, float, str])
def test_month_week_and_day_numbers_are_not_years(kind):
    with pytest.raises(InputError, match="is not a supported time"):
        time_bins([kind(number) for number in range(1, 367)])
