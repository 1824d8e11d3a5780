"""Every module uses public names only, and its examples run."""

import ast
import doctest
from importlib import import_module
from pathlib import Path

import reproduction
from tests.cases import cases

FOLDER = Path(reproduction.__file__).parent
FILES = sorted(path for path in FOLDER.rglob("*.py") if "tests" not in path.parts)


def private(name):
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def private_uses(source):
    """Names below opelda's surface: imported, or asked of any object but self and os."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] == "opelda"]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "opelda":
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "os")
            found += [] if own else [node.attr]
    return [name for name in found if private(name)]


@cases(
    "source",
    [
        "from opelda._validation import whole",
        "from opelda.inference import _infer",
        "from opelda.inference.tli import _inverses",
        "import opelda.engines.cpu._engine",
        "model._engine",
        "fit(X)._topics.rows",
    ],
)
def test_private_names_are_detected(source):
    assert private_uses(source)


@cases("source", ["import opelda", "opelda.__version__", "self._key(run)"])
def test_public_names_are_accepted(source):
    assert private_uses(source) == []


@cases("path", FILES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_only_public_names_are_used(path):
    assert private_uses(path.read_text(encoding="utf-8")) == []


@cases("path", FILES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_examples_run(path):
    name = ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
    if path.name not in ("__main__.py", "__init__.py"):
        assert doctest.testmod(import_module(name)).failed == 0
    elif path.parent == FOLDER and path.name == "__init__.py":
        assert doctest.testmod(reproduction).failed == 0
