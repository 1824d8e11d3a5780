"""The docstrings of the Python packages on this machine: texts for `opelda demo`."""

import ast
import re
import sysconfig
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

# tests, copies of other packages, and what only looks like documentation
_NAMES = """
test tests idle_test conftest setup __main__ __pycache__ examples benchmarks pip vendor _vendor
vendored _vendored extern externals _external third_party _lib distutils _distutils site-packages
dist-packages idlelib lib2to3 encodings ensurepip pydoc_data turtle turtledemo lexers
snowballstemmer
"""
SKIPPED = frozenset(_NAMES.split())

# Words that say how a docstring is built, or how any function is used, not what it is about.
STOP_WORDS = tuple(Path(__file__).with_name("docstring_words.txt").read_text().split())

_CODE = re.compile(r"\s*(>>>|In \[\d+\]:)")
_FENCE = re.compile(r"^\s*(```|~~~).*?^\s*\1\s*$", re.DOTALL | re.MULTILINE)
_UNDERLINE = re.compile(r"\s*([-=~^`*#+\"'])\1{2,}\s*$")
_DIRECTIVE_OR_HEADING = re.compile(r"\s*(\.\. |:\w+:(\s|$)|\w+( \w+)?:\s*$)")
# `name : type` above an indented explanation
_PARAMETER = re.compile(r"\s*\*{0,2}\w+(, ?\*{0,2}\w+)* ?(:|$)")
# `:param int size:`, the role of `:class:`Name``, links, and places in templates
_MARKUP = re.compile(r" ?:[a-z][\w ]{0,80}:(?=[ `])|[a-z]+://\S+|%\(\w+\)s")


def docstrings(
    limit: int, folders: Iterable[Path] | None = None, progress: Callable[[int], Any] | None = None
) -> dict[str, str]:
    """Gather the prose of docstrings by public names, spread over packages.

    By default from the installed packages. Sources are parsed, not imported.
    """
    if folders is None:
        paths = sysconfig.get_paths()
        folders = dict.fromkeys(Path(paths[name]) for name in ("stdlib", "purelib", "platlib"))
    found: dict[str, str] = {}
    seen: set[str] = set()
    for _, _, module, path in sorted(turn for folder in folders for turn in _turns(folder)):
        is_private = path.stem.startswith("_") and path.stem != "__init__"
        for name, text in read_docstrings(path):
            if not name and is_private:  # it would have the name of the package
                continue
            if text not in seen and len(text.split()) >= 10 and len(found) < limit:
                seen.add(text)
                found.setdefault(f"{module}.{name}".rstrip("."), prose(text))
        if progress is not None:
            progress(len(found))
        if len(found) >= limit:
            break
    return dict(sorted(found.items()))


def read_docstrings(path: Path) -> list[tuple[str, str]]:
    """Return the docstrings of a file by the public names in it, the module's own by ""."""
    try:
        if not path.is_file() or path.stat().st_size > 4_000_000:  # a table of data
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as invalid escapes: not this user's to mend
            tree = ast.parse(path.read_bytes())
        found = [("", ast.get_docstring(tree)), *_documented(tree.body, "")]
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):  # it is no Python
        return []
    # half of a surrogate pair could not be written to any file
    return [(name, text.encode("utf-8", "replace").decode()) for name, text in found if text]


def _documented(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, str | None]]:
    """Yield the definitions of a module or a class, also under conditions."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not node.name.startswith("_"):
                yield f"{prefix}{node.name}", ast.get_docstring(node)
                if isinstance(node, ast.ClassDef):
                    yield from _documented(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try):
            yield from _documented([*node.body, *node.orelse], prefix)


def _turns(root: Path) -> Iterator[tuple[float, int, str, Path]]:
    """Yield the files of a folder's packages in an order of no meaning that spreads packages."""
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        public = path.stem.isidentifier() and not path.stem.startswith("_")
        if not public or path.stem in SKIPPED or not (path.suffix == ".py" or path.is_dir()):
            continue
        files = []
        for file in [path] if path.suffix == ".py" else path.rglob("*.py"):
            parts = file.relative_to(root).with_suffix("").parts
            known = SKIPPED.isdisjoint(parts) and not parts[-1].startswith("test_")
            if known and all(map(str.isidentifier, parts)):
                module = ".".join(part for part in parts if not part.startswith("_"))
                files.append((crc32(module.encode()), module, file))
        for rank, turn in enumerate(sorted(files)):
            # of two packages, the one with ten times as many files has six times as many read
            yield rank / len(files) ** 0.75, *turn


def prose(text: str) -> str:
    """Return a docstring's sentences: no code, headings, links, names and types of parameters."""
    kept: list[str] = []
    lines = _FENCE.sub("", text.expandtabs()).splitlines()
    in_code = False
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        indented = len(following) - len(following.lstrip()) > len(line) - len(line.lstrip())
        in_code = bool(line.strip()) and (in_code or _CODE.match(line) is not None)
        if in_code or _DIRECTIVE_OR_HEADING.match(line) or _UNDERLINE.match(line):
            continue
        is_heading = line.strip() and _UNDERLINE.match(following)
        if is_heading or (indented and _PARAMETER.match(line)):
            continue
        if line.strip() or (kept and kept[-1]):
            kept.append(line.rstrip())
    return _MARKUP.sub(" ", "\n".join(kept)).rstrip()
