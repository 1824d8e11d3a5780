"""Table 1: runs, conclusions from measurements, and the figure."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.methods.found import (
    exponent,
    grows_with,
    quality,
    storage,
)
from reproduction.methods.measuring import FLAT, NAMES, PLAIN, UNSCREENED, new_row
from reproduction.methods_table import EXPERIMENT, judge
from tests.cases import cases

PARTS = {"K": "n_topics", "n": "n_words", "N": "n_tokens"}
BASE = {"n_topics": 50, "n_words": 200, "n_tokens": 400}
FIVE = ("OPE", "VB", "CVB", "CVB0", "CGS")


def timed(name, base=1e-6, **slopes):
    """Rows of a method whose time is a power of each size."""
    return [
        new_row(
            part,
            name,
            0,
            **(BASE | {PARTS[part]: BASE[PARTS[part]] * times}),
            seconds_per_iteration=base * times ** slopes.get(part, 0.0),
        )
        for part in PARTS
        for times in (1, 2, 4, 8)
    ]


def as_stated():
    rows = timed(UNSCREENED, K=1, n=1) + timed("OPE", K=0.2, n=1) + timed("VB", 3e-6, K=1, n=1)
    for name in ("CVB", "CVB0", "CGS"):
        rows += timed(name, 5e-6, K=1, n=1, N=1)
    return rows


def stored(name, peak_bytes, **sizes):
    return new_row("memory", name, 0, **(BASE | sizes), peak_bytes=peak_bytes)


def scored(name, lpp, seconds=1e-4, seed=0, vocabulary=3000):
    return new_row(
        "quality",
        name,
        seed,
        n_topics=100,
        documents=20,
        vocabulary=vocabulary,
        lpp=lpp,
        seconds_per_document=seconds,
        likelihood_gap=1.0,
        effective_topics=3.0,
    )


def everything():
    rows = as_stated()
    for name in NAMES:
        rows += [] if name in FIVE else timed(name, 1e-4, K=0.5)
    rows += [stored(name, 10**6 + 10**5 * i) for i, name in enumerate([*NAMES, PLAIN])]
    places = np.random.default_rng(0).uniform(size=(len(NAMES) + 1, 2))
    return rows + [
        scored(name, -8 - x, 10 ** (-6 + 5 * y))
        for name, (x, y) in zip((*NAMES, FLAT), places, strict=True)
    ]


def outcomes(rows):
    return [verdict.outcome for verdict in judge(rows)]


@given(
    slope=st.floats(-2, 3),
    base=st.floats(1e-9, 1e3),
    sizes=st.lists(st.integers(1, 10**6), min_size=2, max_size=6, unique=True),
)
def test_the_exponent_of_a_power_law_is_its_power(slope, base, sizes):
    found = exponent([(size, base * float(size) ** slope) for size in sizes])
    assert found == pytest.approx(slope, abs=1e-4)


def test_storage_is_of_the_smallest_document():
    rows = [stored("OPE", 900, n_words=400, n_tokens=800), stored("OPE", 500), stored("VB", 300)]
    rows.append(stored("TLI", None))
    assert [(row["method"], row["peak_bytes"]) for row in storage(rows)] == [
        ("VB", 300),
        ("OPE", 500),
    ]
    assert grows_with(rows, rows[1]) == "n"
    rows += [stored("CVB", 100), stored("CVB", 200, n_topics=100), stored("CVB", 130, n_tokens=800)]
    assert grows_with(rows, rows[-3]) == "K N"


def test_quality_is_the_mean_over_seeds_with_all_words():
    rows = [scored("VB", -8.0), scored("VB", -7.0, seed=1), scored("OPE", -7.2)]
    assert {name: row["lpp"] for name, row in quality(rows).items()} == {"OPE": -7.2, "VB": -7.5}
    assert quality(rows, frequent=True) == {}
    rows += [scored("TLI", None), scored("TLI", -5.0, vocabulary=100)]
    assert list(quality(rows)) == ["OPE", "VB"]
    assert quality(rows, frequent=True)["TLI"]["lpp"] == -5.0


def test_growth_claimed_by_the_paper():
    assert outcomes(as_stated())[:3] == ["reproduced", "reproduced", "reproduced"]


def test_growth_contrary_to_the_paper():
    skips = timed(UNSCREENED, K=0.4, n=1) + timed("OPE", K=0.1, n=1)
    assert outcomes(skips)[0] == "partly"
    assert outcomes(timed(UNSCREENED, K=2, n=1) + timed("OPE", K=2, n=1))[0] == "not reproduced"
    with_tokens = timed(UNSCREENED, K=1, n=1, N=1) + timed("OPE", K=1, n=1, N=1)
    assert outcomes(with_tokens)[0] == "not reproduced"
    clumped = timed("VB", K=1, n=1) + timed("CVB", K=1, n=1)
    assert outcomes(clumped)[1] == "partly"
    assert outcomes(timed("CVB", K=1, n=1))[1] == "not reproduced"


@cases(
    ("seconds", "outcome"),
    [(3e-6, "reproduced"), (1.5e-6, "partly"), (0.5e-6, "not reproduced")],
)
def test_verdict_on_cost_of_an_iteration(seconds, outcome):
    rows = timed(UNSCREENED, 1e-6) + timed("VB", seconds)
    for name in ("CVB", "CVB0", "CGS"):
        rows += timed(name, 9e-6)
    assert outcomes(rows)[2] == outcome
    told = f"VB {seconds / 1e-6:.2g} to"
    assert told in judge(rows)[2].why
    # topics that are skipped are not the paper's algorithm: told, but not graded
    for screened in (0.1e-6, 90e-6):
        both = judge(rows + timed("OPE", screened))[2]
        assert both.outcome == outcome
        plain, _, skipped = both.why.partition("skipped")
        assert told in plain
        assert f"CGS {9e-6 / screened:.3g} to" in skipped
    rows = [row for row in rows if row["method"] != UNSCREENED] + timed("OPE", 1e-6)
    assert outcomes(rows)[2] == "not tested"


@cases(
    ("ope", "plain", "outcome"),
    [(1, 9, "reproduced"), (9, 1, "partly"), (9, 9, "not reproduced"), (9, None, "not reproduced")],
)
def test_least_storage_verdicts(ope, plain, outcome):
    rows = [stored("OPE", ope * 10**6), stored("VB", 5 * 10**6), stored("CVB", 6 * 10**6)]
    rows += [] if plain is None else [stored(PLAIN, plain * 10**6)]
    assert outcomes(rows)[3] == outcome
    assert "VB 5.00" in judge(rows)[3].why


@cases(("ope", "outcome"), [(-7.0, "reproduced"), (-7.5, "partly"), (-9.0, "not reproduced")])
def test_verdict_on_opes_quality(ope, outcome):
    rows = [scored("OPE", ope), scored("VB", -7.0), scored("CGS", -8.0), scored(FLAT, -6.0)]
    assert outcomes(rows)[4] == outcome
    assert "alpha 1 -6.000" in judge(rows)[4].why


def drawn(rows):
    from reproduction.plots import style

    with style():
        figure = EXPERIMENT.draw(rows)
        figure.draw_without_rendering()
    return figure


@pytest.fixture(scope="module")
def figure():
    return drawn(everything())


def test_labels_do_not_overlap(figure):
    from matplotlib.text import Text

    for axes in figure.axes:
        boxes = [Text.get_window_extent(text) for text in axes.texts]  # without their arrows
        for i, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:i])
            assert axes.get_window_extent().padded(3).contains(box.x0, box.y0)


@given(
    places=st.lists(st.floats(-500, 500), min_size=1, max_size=20).map(sorted),
    least=st.floats(1, 20),
)
def test_labels_are_spread_minimally_in_order(places, least):
    from reproduction.methods.figure import spread

    free = spread(places, least, -1e4, 1e4)
    assert (np.diff(free) >= least - 1e-6).all()
    assert free.mean() == pytest.approx(np.mean(places), abs=1e-6)
    np.testing.assert_allclose(spread(free, least, -1e4, 1e4), free, atol=1e-6)
    bound = spread(places, least, -200, 200)
    assert (np.diff(bound) >= least - 1e-6).all()
    assert bound[0] >= -200 - 1e-6
    assert bound[-1] <= 200 + 1e-6
