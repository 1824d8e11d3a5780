"""What all tests share: Hypothesis profiles (a long one for `make test-heavy`), seeds, pictures."""

import math
import os
import re
import signal
from collections import defaultdict
from itertools import combinations

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
    parser.addoption("--products", action="store_true", help="all combinations of parameters")


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
    """Select tests, and begin with the longest, or one process ends with them alone."""
    items.sort(key=lambda item: "test_docs_text" not in item.nodeid)
    if config.getoption("--seeds"):
        chosen = {item for item in items if any(map(is_for_seeds, item.own_markers))}
    elif config.getoption("--products"):
        return
    else:
        groups = defaultdict(list)
        for item in items:
            groups[item.nodeid.partition("[")[0], "cuda" in item.keywords].append(item)
        chosen = {item for group in groups.values() for item in covering(group)}
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def covering(items):
    """Return items of a test that hold each pair of values of any two parameters."""
    cases = [getattr(item, "callspec", None) for item in items]
    if len(items) < 9 or cases[0] is None or len(cases[0].params) < 3:
        return items
    pairs = [
        set(combinations(sorted((name, id(value)) for name, value in case.params.items()), 2))
        for case in cases
    ]
    missing, chosen = set().union(*pairs), []
    while missing:
        best = max(range(len(items)), key=lambda i: len(pairs[i] & missing))
        missing -= pairs[best]
        chosen.append(items[best])
    return chosen


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
