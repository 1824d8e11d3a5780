"""The examples of all docstrings run, and everything public has one."""

import ast
import doctest
import importlib
import pkgutil
from collections import defaultdict
from pathlib import Path

import pytest

import opelda
from tests.cases import cases


def needs_no_spark(name):
    """Those of `opelda.spark` that import pyspark are run by `make test-spark`."""
    if not name.startswith("opelda.spark."):
        return True
    path = Path(opelda.__file__).parent / "spark" / f"{name.rpartition('.')[2]}.py"
    return "pyspark" not in {name.partition(".")[0] for name in at_top(ast.parse(path.read_text()))}


def at_top(tree):
    """Return the names that a module imports at its top level."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


MODULES = defaultdict(list)  # by package, or the module itself
for info in pkgutil.walk_packages(opelda.__path__, "opelda."):
    if not info.name.endswith("_native") and needs_no_spark(info.name):
        MODULES[".".join(info.name.split(".")[:2])].append(info.name)


@pytest.mark.parametrize("package", MODULES)
def test_doctests(package):
    for name in MODULES[package]:
        assert doctest.testmod(importlib.import_module(name)).failed == 0, name


# data that methods and engines hand to each other; nobody calls them
DATA = {
    "Batch",
    "BatchReport",
    "ByWord",
    "Certificate",
    "Engine",
    "Inference",
    "Method",
    "Picks",
    "Solution",
    "TLIWarning",
    "Tokens",
    "Wanted",
}


@cases(
    "name",
    [
        "opelda",
        "opelda.corpus",
        "opelda.corpus.text",
        "opelda.engines",
        "opelda.errors",
        "opelda.inference",
        "opelda.learning",
        "opelda.metrics",
        "opelda.optimize",
        "opelda.report",
        "opelda.report.plots",
        "opelda.serve",
    ],
)
def test_every_public_class_and_function_has_a_runnable_example(name):
    module = importlib.import_module(name)
    for public in module.__all__:
        thing = getattr(module, public)
        if callable(thing) and public not in DATA:
            assert ">>>" in (thing.__doc__ or ""), f"{name}.{public} has no example"
