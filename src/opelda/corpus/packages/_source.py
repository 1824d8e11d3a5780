"""What one module's source documents and imports, found without running it."""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from inspect import cleandoc
from os import PathLike
from pathlib import Path
from stat import S_ISREG

# Larger files are tables of data.
MOST_BYTES = 4_000_000

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class ModuleSource:
    """A module as its source shows it.

    Attributes
    ----------
    name : str
        With dots.
    documented : dict
        Docstrings by the name within the module; that of the module itself is "".
    added : dict
        The same for what is defined elsewhere, in compiled code.
    imported : dict
        Module and name there, by the name here.
    starred : list of str
        Modules all of whose names are imported.
    """

    name: str
    documented: dict[str, str] = field(default_factory=dict)
    added: dict[str, str] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    starred: list[str] = field(default_factory=list)


def read_source(path: str | PathLike[str], name: str, is_package: bool = False) -> ModuleSource:
    """Return what a file documents; nothing, where it cannot be read or is no Python.

    Of names with a leading underscore, and of what is defined inside functions, nothing is said.
    """
    source = ModuleSource(name)
    tree = _tree(Path(path))
    if tree is None:
        return source
    if text := ast.get_docstring(tree):
        source.documented[""] = _encodable(text)
    parent = name if is_package else name.rpartition(".")[0]
    for statement, prefix in _statements(tree):
        if isinstance(statement, Definition):
            text = ast.get_docstring(statement)
            if text:
                source.documented.setdefault(f"{prefix}{statement.name}", _encodable(text))
        elif isinstance(statement, ast.ImportFrom) and not prefix:
            _note_imports(source, statement, parent)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            for path_in_module, text in _added_later(statement.value):
                source.added.setdefault(path_in_module, _encodable(cleandoc(text)))
    return source


def _tree(path: Path) -> ast.Module | None:
    try:
        about = path.stat()
        if not S_ISREG(about.st_mode) or about.st_size > MOST_BYTES:
            return None
        content = path.read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as invalid escapes: not this user's to mend
            return ast.parse(content)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _statements(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """Yield what a module and its public classes define, also under conditions, in order."""
    waiting: list[tuple[ast.stmt, str]] = [(statement, "") for statement in reversed(tree.body)]
    while waiting:
        statement, prefix = waiting.pop()
        inside: list[ast.stmt] = []
        if isinstance(statement, Definition):
            if statement.name.startswith("_"):
                continue
            if isinstance(statement, ast.ClassDef):
                inside = statement.body
        elif isinstance(statement, ast.If):
            inside = [*statement.body, *statement.orelse]
        elif isinstance(statement, ast.Try):
            handled = (line for handler in statement.handlers for line in handler.body)
            inside = [*statement.body, *handled, *statement.orelse]
        yield statement, prefix
        below = f"{prefix}{statement.name}." if isinstance(statement, ast.ClassDef) else prefix
        waiting.extend((line, below) for line in reversed(inside))


def _note_imports(source: ModuleSource, statement: ast.ImportFrom, parent: str) -> None:
    origin = statement.module or ""
    if statement.level:
        above = parent.split(".")
        above = above[: len(above) - statement.level + 1]
        origin = ".".join([*above, *([origin] if origin else [])])
    for alias in statement.names:
        if alias.name == "*":
            source.starred.append(origin)
        else:
            source.imported.setdefault(alias.asname or alias.name, (origin, alias.name))


def _added_later(call: ast.Call) -> Iterator[tuple[str, str]]:
    """Yield what NumPy's and SciPy's `add_newdoc` gives to compiled functions.

    Either (name, text), or (module, name, text), the text maybe as pairs with attributes' names.
    """
    function = call.func
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if called != "add_newdoc" or len(call.args) not in (2, 3):
        return
    try:
        name, added = (ast.literal_eval(argument) for argument in call.args[-2:])
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return
    pairs = added if isinstance(added, list) else [added]
    for pair in pairs:
        path, text = (name, pair) if isinstance(pair, str) else (None, None)
        if isinstance(pair, tuple) and len(pair) == 2:
            path, text = f"{name}.{pair[0]}", pair[1]
        if isinstance(path, str) and isinstance(text, str) and "._" not in f".{path}":
            yield path, text


def _encodable(text: str) -> str:
    """Replace what no file could hold, such as half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode()
