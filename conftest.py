"""What all tests share: tiers, Hypothesis profiles, seeds, pictures.

`make check` runs the tier "check", `make test` that and the tier "test", `make test-all` all three.
A test's tier follows from tests/durations.json, which `make durations` measures.
"""

import json
import math
import os
import random
import re
import signal
import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # or scikit-learn leaves out one of its checks

import pytest
from hypothesis import HealthCheck, settings

TABLE = Path(__file__).parent / "tests/durations.json"
# Seconds that the items of one function may take together in a tier, and that one item may take. Of
# a function that takes longer, a sample of its items is in the tier.
LIMITS = {"check": (0.2, 0.7), "test": (2.0, 2.0), "all": (math.inf, math.inf)}
WHOLE = {  # in the tier "test", however long they take
    "tests/learning/test_estimators.py::test_scikit_learn_checks",
    "tests/test_docs_text.py::test_first_pages",
}

for name, examples in (("check", 5), ("short", 25), ("heavy", 1000)):
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,  # the machine may be busy
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of what a shell runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--seeds", type=int, help="tests that hold for any seed, with so many")
    parser.addoption("--products", action="store_true", help="all combinations of parameters")
    parser.addoption("--tier", choices=LIMITS, help="tests of this tier and of those before it")
    parser.addoption("--only-tier", action="store_true", help="tests of this tier alone")
    parser.addoption("--measure", action="store_true", help="write tests/durations.json")


def pytest_configure(config):
    profile = "check" if config.getoption("--tier") == "check" else "short"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", profile))
    if config.getoption("--measure"):
        config.pluginmanager.register(Durations(), "durations")


class Durations:
    """Seconds of each test function, and which functions start processes."""

    def __init__(self):
        self.seconds, self.starting, self.is_starting = defaultdict(float), set(), False
        sys.addaudithook(self.watch)

    def watch(self, event, arguments):
        self.is_starting |= event in ("subprocess.Popen", "os.fork", "os.posix_spawn")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.is_starting = False
        return (yield)

    def pytest_runtest_teardown(self, item):
        item.user_properties.append(("starts a process", self.is_starting))

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.partition("[")[0]
        self.seconds[name] += report.duration
        if ("starts a process", True) in map(tuple, report.user_properties):
            self.starting.add(name)

    def pytest_sessionfinish(self, session):
        if not hasattr(session.config, "workerinput"):
            table = {
                "seconds": {name: round(s, 1) for name, s in self.seconds.items() if s >= 0.2},
                "processes": sorted(self.starting),
            }
            TABLE.write_text(json.dumps(table, indent=0, sort_keys=True) + "\n")


def in_tier(tier, name, items, table):
    """Return the items of a function that are in a tier or in one before it."""
    if tier == "all" or (tier == "test" and name in WHOLE):
        return items
    if tier == "check" and (name in table["processes"] or name in WHOLE):
        return []
    together, each = LIMITS[tier]
    seconds = max(table["seconds"].get(name, 0), 0.1) / len(items)  # of an item
    n_items = int(together / seconds) or int(seconds <= each)
    return random.Random(name).sample(items, len(items))[:n_items]


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
    """Select tests, and begin with the longest modules, or one process ends with them alone."""
    table = json.loads(TABLE.read_text()) if TABLE.exists() else {"seconds": {}, "processes": []}
    modules, groups = defaultdict(float), defaultdict(list)
    for name, seconds in table["seconds"].items():
        modules[name.partition("::")[0]] += seconds
    items.sort(key=lambda item: -modules[item.nodeid.partition("::")[0]])
    for item in items:
        groups[item.nodeid.partition("[")[0], "cuda" in item.keywords].append(item)
    if config.getoption("--seeds"):
        chosen = {item for item in items if any(map(is_for_seeds, item.own_markers))}
    elif config.getoption("--products"):
        return
    else:
        tier, chosen = config.getoption("--tier") or "all", set()
        for (name, _), group in groups.items():
            group, tiers = covering(group), list(LIMITS)
            chosen.update(in_tier(tier, name, group, table))
            if config.getoption("--only-tier"):
                before = tiers[tiers.index(tier) - 1]
                chosen.difference_update(in_tier(before, name, group, table))
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
