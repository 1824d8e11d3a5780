"""How many mutants a tier of the tests catches: `make mutants TIER=check`.

Cosmic Ray makes the mutants. tests/mutants.json holds a sample of 100; `--draw` draws another one.
Only tests that execute a mutated line are run for it, as a run under coverage.py recorded them.
"""

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from itertools import chain, islice, takewhile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SAMPLE = Path(__file__).with_suffix(".json")
SELECTED = ROOT / "build/mutant-tests.json"
# a GPU and Java have targets of their own
LEFT_OUT = re.compile(r"src/opelda/(engines/cuda|spark)/")
# `|` stands in annotations; `is` does what `==` does for small numbers and short strings
OPERATORS = re.compile(r"core/(?!ReplaceBinaryOperator_BitOr|.*_Is(Not)?$)")


def draw(n_mutants, seed):
    """Write a sample of places in the code, with one mutant for each."""
    from cosmic_ray.commands.init import _all_work_items

    modules = [path.relative_to(ROOT) for path in sorted((ROOT / "src").rglob("*.py"))]
    places = defaultdict(list)
    for item in _all_work_items([m for m in modules if not LEFT_OUT.match(str(m))], {}):
        (mutation,) = item.mutations
        if OPERATORS.match(mutation.operator_name):
            places[str(mutation.module_path), mutation.start_pos].append(mutation)
    chance, sample = random.Random(seed), []
    for module, start in sorted(chance.sample(sorted(places), n_mutants)):
        mutation = chance.choice(places[module, start])
        line = (ROOT / module).read_text().splitlines()[start[0] - 1].strip()
        name, occurrence = mutation.operator_name, mutation.occurrence
        sample.append({"module": module, "operator": name, "occurrence": occurrence, "line": line})
    SAMPLE.write_text(json.dumps(sample, indent=1) + "\n")


def run(tier, numbers):
    """Test each mutant of the sample; print its fate."""
    import coverage
    from cosmic_ray.mutating import mutate_and_test
    from cosmic_ray.work_item import MutationSpec, TestOutcome

    data = coverage.CoverageData(str(ROOT / f"build/coverage-{tier}"))
    data.read()
    caught, survivors = 0, []
    sample = json.loads(SAMPLE.read_text())
    for number, mutant in enumerate(sample):
        if numbers and number not in numbers:
            continue
        module = ROOT / mutant["module"]
        number_of_line = line_number(mutant)
        contexts = data.contexts_by_lineno(mutant["module"])
        # of what is executed by an import, all tests of the module
        runs = {*contexts.get(number_of_line, ())} - {""} or chain(*contexts.values())
        tests = {context.partition("|")[0] for context in runs} - {""}
        SELECTED.write_text(json.dumps({"module": mutant["module"], "tests": sorted(tests)}))
        mutation = MutationSpec(
            module_path=module,
            operator_name=mutant["operator"],
            occurrence=mutant["occurrence"],
            start_pos=(1, 0),
            end_pos=(1, 1),
        )
        files = sorted({test.partition("::")[0] for test in tests}) or ["tests"]
        files.sort(key=lambda file: -closeness(file, mutant["module"]))
        command = (
            f"{sys.executable} -m pytest -x -q -p no:cacheprovider -p tests.mutants "
            f"--tier {tier} -m 'not heavy' {' '.join(files)}"
        )
        result = mutate_and_test([mutation], command, 300)
        is_caught = result.test_outcome != TestOutcome.SURVIVED
        caught += is_caught
        print(f"{number:3} {'caught  ' if is_caught else 'SURVIVED'} {len(tests):5} tests", end=" ")
        print(mutant["module"], mutant["operator"], "|", mutant["line"], flush=True)
        if not is_caught:
            survivors.append(number)
    print(f"{caught} of {caught + len(survivors)} mutants caught; survivors: {survivors}")


def line_number(mutant):
    """Return the number of the line that a mutant changes; exit if it is another line now."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator

    module, operator = ROOT / mutant["module"], get_operator(mutant["operator"])()
    nodes = ast_nodes(get_ast_from_path(module))
    starts = (start for node in nodes for start, _ in operator.mutation_positions(node))
    number, _ = next(islice(starts, mutant["occurrence"], None), (0, 0))
    line = module.read_text().splitlines()[number - 1].strip()
    if line != mutant["line"]:
        sys.exit(f"{mutant} changes {line!r} now; correct {SAMPLE.name}, or draw another sample.")
    return number


def closeness(test, module):
    """Return how many folders a test file and a module have in common."""
    folders = zip(test.split("/")[1:], module.split("/")[2:], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], folders))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """As a plugin of pytest: keep the tests that execute the mutated line."""
    found = json.loads(SELECTED.read_text())
    tests, module = set(found["tests"]), found["module"]
    items[:] = [item for item in items if not tests or item.nodeid in tests]
    items.sort(key=lambda item: -closeness(item.nodeid.partition("::")[0], module))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tier", default="check")
    parser.add_argument("--draw", type=int, metavar="SEED")
    parser.add_argument("numbers", type=int, nargs="*", help="of mutants; all by default")
    arguments = parser.parse_args()
    if arguments.draw is not None:
        draw(100, arguments.draw)
    else:
        run(arguments.tier, arguments.numbers)
