"""What all tests share: Hypothesis profiles (a long one for `make test-heavy`), seeds, pictures."""

import math
import os
import re
import signal

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # or scikit-learn leaves out one of its checks

import pytest
from hypothesis import HealthCheck, settings

for name, examples in (("short", 25), ("heavy", 1000)):
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,  # the machine may be busy
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of what a shell runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--seeds", type=int, help="tests that hold for any seed, with so many")


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    """Give a test that is run for a few seeds as many as are asked for."""
    marks, n_seeds = metafunc.definition.own_markers, metafunc.config.getoption("--seeds")
    for number, mark in enumerate(marks):
        if n_seeds and is_for_seeds(mark):
            marks[number] = pytest.mark.parametrize("seed", range(n_seeds)).mark


def is_for_seeds(mark):
    return mark.name == "parametrize" and mark.args[0] == "seed" and isinstance(mark.args[1], range)


def pytest_collection_modifyitems(config, items):
    """Begin with the longest tests, or one process ends with them while the others wait."""
    items.sort(key=lambda item: "test_docs_text" not in item.nodeid)
    if config.getoption("--seeds"):
        others = [item for item in items if not any(map(is_for_seeds, item.own_markers))]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if any(map(is_for_seeds, item.own_markers))]


@pytest.fixture
def check_picture():
    """Compare a picture of docs/ with what its script draws."""

    def check(ours, theirs):
        ours, theirs = ours.read_text(encoding="utf-8"), theirs.read_text(encoding="utf-8")
        maker = re.compile(r"Matplotlib v[^,]+")
        if maker.search(ours).group() != maker.search(theirs).group():  # each places text its way
            words = re.compile(r"<text[^>]*>([^<]+)")
            assert words.findall(ours) == words.findall(theirs)
            return
        # other processors round the last digit otherwise, and names of shapes are made of digits
        number, shape = re.compile(r"-?\d+\.\d+"), re.compile(r"\b[pmC][0-9a-f_]{10,}")
        ours, theirs = (shape.sub("shape", picture) for picture in (ours, theirs))
        assert number.sub("#", ours) == number.sub("#", theirs)
        found, expected = (
            [float(n) for n in number.findall(picture)] for picture in (ours, theirs)
        )
        # another rounding can also turn a walk aside for some of its steps
        pairs = zip(found, expected, strict=True)
        is_close = [math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-3) for a, b in pairs]
        assert sum(is_close) >= 0.9 * len(expected)

    return check
