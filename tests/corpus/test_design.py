"""Formulas of columns, as matrices."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.corpus._design import Columns, Design, parsed
from opelda.errors import InputError
from tests.cases import cases

N = 60
TABLE = {
    "party": ["R"] * 30 + ["D"] * 20 + ["I"] * 10,
    "year": [2000 + n % 12 for n in range(N)],
    "day": [f"2017-07-{1 + n % 28:02}" for n in range(N)],
    "two words": list(range(N)),
}


def made(formula, table=TABLE):
    columns = Columns(table)
    design = Design.of(formula, columns)
    return design, *design.matrix(columns)


def test_products_are_products_of_terms():
    _, names, x, numbers = made("party * year")
    assert names == ["party=D", "party=I", "year", "party=D:year", "party=I:year"]
    np.testing.assert_array_equal(x[:, 3], x[:, 0] * x[:, 2])
    np.testing.assert_array_equal(x[:, 4], x[:, 1] * x[:, 2])
    assert numbers.tolist() == [False, False, True, False, False]
    assert made("party:year")[1] == ["party=D:year", "party=I:year"]


def test_names_with_spaces_are_quoted_or_alone():
    quoted = made('"two words" + party')
    assert quoted[1] == ["two words", "party=D", "party=I"]
    np.testing.assert_array_equal(made("two words")[2][:, 0], np.arange(N))
    np.testing.assert_array_equal(made(["two words"])[2][:, 0], np.arange(N))


@given(st.integers(1, 15), st.lists(st.floats(1990, 2030), min_size=1, max_size=20))
def test_splines_are_a_partition_of_one_also_beyond_the_known(n_terms, years):
    """The first basis function is left out: the others add up to at most 1."""
    design, names, x, _ = made(f"s(year, {n_terms})")
    assert len(names) == design.n_terms <= n_terms
    if design.factors[0].knots:
        more = design.matrix(Columns({"year": years}))[1]
        for part in (x, more):
            assert part.min() >= 0
            assert part.sum(axis=1).max() <= 1 + 1e-9
        inside = np.clip(years, 2000, 2011)
        np.testing.assert_allclose(more, design.matrix(Columns({"year": inside}))[1])


def test_a_spline_follows_any_smooth_curve():
    _, _, x, _ = made("s(year)")
    y = np.sin(np.array(TABLE["year"]) / 3)
    with_one = np.column_stack((np.ones(N), x))
    fitted = with_one @ np.linalg.lstsq(with_one, y)[0]
    assert np.abs(fitted - y).max() < 0.02


def test_missing_values_are_nan_and_new_levels_are_other():
    design, *_ = made("party + s(year) + day")
    _, x, _ = design.matrix(
        Columns({"party": [None, "X", "D"], "year": [2001, None, 2002], "day": ["2017-07-02"] * 3})
    )
    assert np.isnan(x).any(axis=1).tolist() == [True, True, False]  # "X" was never seen


def test_rare_levels_are_together():
    table = {"group": ["a"] * 20 + ["b"] * 15 + ["c"] * 3 + ["d"] * 3}
    _, names, x, _ = made("group", table)
    assert names == ["group=b", "group=(other)"]
    assert x.sum(axis=0).tolist() == [15, 6]


def test_a_design_survives_json():
    from opelda.learning._prevalence import _design

    design, _, x, _ = made("party * s(year, 4) + day")
    again = _design(json.loads(json.dumps(asdict(design))), design.n_terms)
    assert again == design
    np.testing.assert_array_equal(again.matrix(Columns(TABLE))[1], x)


@given(st.text(max_size=30))
def test_any_text_is_a_formula_or_has_one_sentence(text):
    try:
        terms = parsed(text)
    except InputError:
        return
    assert all(isinstance(name, str) for term in terms for name, _ in term)


@cases(
    ("formula", "said"),
    [
        ("party + exp(year)", "The formula 'party .* is invalid"),
        ("party +", "is invalid"),
        ("__import__('os')", "is invalid"),
        ("s(party)", r"s\(party\) needs a column of numbers"),
        ("place", "Missing column 'place': the table has the columns party, year"),
        ("s(year, 0)", "the number of spline terms must be"),
        ([], "The formula is empty"),
    ],
)
def test_mistakes_have_one_sentence(formula, said):
    with pytest.raises(InputError, match=said):
        made(formula)
