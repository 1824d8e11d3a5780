"""The docstrings of the Python packages on this machine: a collection that everybody has."""

import ast
import os
import re
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from stat import S_ISREG
from typing import Any
from zlib import crc32

from opelda._validation import whole
from opelda.errors import InputError

# Tests, copies of other packages, and what only looks like documentation.
_NAMES = (
    "test tests idle_test conftest setup __main__ __pycache__ examples benchmarks pip "
    "vendor _vendor vendored _vendored extern externals _external third_party _lib distutils "
    "_distutils site-packages dist-packages idlelib lib2to3 encodings ensurepip pydoc_data "
    "turtle turtledemo lexers snowballstemmer"
)
SKIPPED = frozenset(_NAMES.split())
# Of two packages, one with ten times as many files, six times as many of its files are read.
SHARE = 0.75

# Larger files are tables of data.
MOST_BYTES = 4_000_000

_COMMON = """
abc accept accepted accepts according accordingly actual actually add added additional adds
alias allow allowed allowing allows apply appropriate arbitrary arg args argument arguments
assume assumed attr attribute attributes automatically available avoid bar base based basic baz
behavior behaviour bool boolean breaking builtin call callable called caller calling calls case
cases change changed changes changing check checks choose class classes code common
compatibility compute computed computes considered construct constructor contain contained
containing contains control convenience convert converted correctly correspond corresponding
corresponds create created creates creating current currently custom data def default defaults
define defined defines deprecated desired details determine determined determines dict different
directly doc docs documentation does doesn don effect either enable enabled ensure entry equal
equivalent etc exactly example examples existing expect expected explicit explicitly extra false
flag following follows foo form func function functionality functions future general generally
generated given gives good guaranteed guide handle handled handling have helper html http https
ignore ignored implement implementation implementations implemented implements implicit
implicitly important include included includes including indicate indicates indicating
individual info information inherit inherited initialize inplace input inputs instance instances
instead int interface internal internally introduced isn just kept keyword kwargs let like list
lists long make makes making manual mean meaning means method methods mode modified moment
multiple name named names necessary need needed needs new non none normal normally note notes
number numbers obj object objects obtain old omitted operation operations option optional
optionally options org original output outputs overridden override own param parameter
parameters params particular pass passed passes passing perform performed performs place point
possible possibly practice present previous print private produce property provide provided
provides providing public purpose python raise raised raises raising reason recommended ref
refer reference references related release remove removed replace represent representation
represented representing represents require required requires respectively result resulting
results return returned returning returns run same second see self set sets setting should
shouldn similar simple simply single slightly small special specific specified specifies specify
specifying standard str string strings subclass subclasses suitable supplied support supported
supports sure syntax take taken takes things time true try tuple type typeerror types typically
underlying unless unstable usage use used useful user users uses using usual usually valid value
valueerror values various version versionadded versionchanged want warning warnings way ways won
work works wrapper www xxx yield yields
"""
# Words that say how a docstring is built, or how any function is used, not what it is about.
STOP_WORDS: tuple[str, ...] = tuple(_COMMON.split())

_CODE = re.compile(r"\s*(>>>|In \[\d+\]:)")
_FENCE = re.compile(r"\s*(```|~~~)")
_UNDERLINE = re.compile(r"\s*([-=~^`*#+\"'])\1{2,}\s*$")
_DIRECTIVE = re.compile(r"\s*(\.\. |:\w+:(\s|$))")
# `name : type` above an indented explanation
_PARAMETER = re.compile(r"\s*\*{0,2}\w+(, ?\*{0,2}\w+)* ?(:|$)")
_HEADING = re.compile(r"\s*\w+( \w+)?:\s*$")
_MARKUP = re.compile(
    r" ?:(?:param|parameter|type|arg|argument|raises?|returns?|rtype|keyword|key|var|ivar|cvar)\b"
    r"[^:\n]{0,80}:"  # :param int size:
    r"| ?:[a-z][a-z:+-]{0,20}:(?=`)"  # :class:`Name`
    r"|[a-z]+://\S+"
    r"|%\(\w+\)s"
)

Folder = str | os.PathLike[str]
# A file's rank within its package over the package's share, for ties a hash, its module, the path.
Turn = tuple[float, int, str, Path]


def docstrings(
    folders: Iterable[Folder] | None = None,
    *,
    limit: int | None = 10_000,
    min_words: int = 10,
    raw: bool = False,
    progress: Callable[[int], Any] | None = None,
) -> dict[str, str]:
    r"""Gather the docstrings of the standard library and of the packages installed beside it.

    Sources are parsed; nothing is imported or run. Files that are no Python, tests, copies of other
    packages, private names and docstrings that were seen before are passed over. For the same
    packages the answer is the same.

    Parameters
    ----------
    folders : iterable of paths, optional
        Folders of packages and modules to look into instead.
    limit : int or None
        Docstrings at most. They are spread over packages and modules of the standard library; of
        two, one with ten times as many files, it gets about six times as many.
    min_words : int
        Shorter docstrings are passed over.
    raw : bool
        Whether to keep docstrings as they are. By default code, headings, types and markup are left
        out, as they say nothing about the subject.
    progress : callable, optional
        Called now and then with the number of docstrings found.

    Returns
    -------
    dict from str to str
        Docstrings by names such as ``"numpy.linalg.svd"``, in alphabetical order. Private modules
        on the way are left out of names.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> brew = "def brew():\n    'Pour hot water over the leaves and wait for three minutes.'"
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "tea.py").write_text(brew)
    ...     docstrings([folder])
    {'tea.brew': 'Pour hot water over the leaves and wait for three minutes.'}
    """
    most = sys.maxsize if limit is None else whole("limit", limit)
    whole("min_words", min_words, 0)
    files = sorted(_installed() if folders is None else _given(folders))
    found: dict[str, str] = {}
    seen: set[str] = set()
    for _, _, module, path in files:
        is_private = path.stem.startswith("_") and path.stem != "__init__"
        for name, text in read_docstrings(path):
            if not name and is_private:  # it would have the name of the package
                continue
            if text not in seen and len(text.split()) >= min_words and len(found) < most:
                seen.add(text)
                found.setdefault(f"{module}.{name}".rstrip("."), text if raw else prose(text))
        if progress is not None:
            progress(len(found))
        if len(found) >= most:
            break
    return dict(sorted(found.items()))


def read_docstrings(path: Path) -> list[tuple[str, str]]:
    """Return the docstrings of a file by the public names in it, the module's own by ""."""
    try:
        about = path.stat()
        if not S_ISREG(about.st_mode) or about.st_size > MOST_BYTES:
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
    """Yield what a module or a class defines, also under conditions."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not node.name.startswith("_"):
                yield f"{prefix}{node.name}", ast.get_docstring(node)
                if isinstance(node, ast.ClassDef):
                    yield from _documented(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try):
            for part in (node, *getattr(node, "handlers", ())):
                yield from _documented(part.body, prefix)
            yield from _documented(node.orelse, prefix)


def _installed() -> Iterator[Turn]:
    """Yield the standard library's modules and the packages that this Python would import."""
    paths = sysconfig.get_paths()
    yield from _packages(Path(paths["stdlib"]), "_py")
    others = [paths["purelib"], paths["platlib"]]
    others += [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    for folder in dict.fromkeys(Path(path).resolve() for path in others):
        yield from _packages(folder)


def _given(folders: Iterable[Folder]) -> Iterator[Turn]:
    if isinstance(folders, str | os.PathLike):
        raise InputError(f"folders must be a list of folders, got one; give [{str(folders)!r}].")
    for folder in folders:
        if not Path(folder).is_dir():
            raise InputError(f"There is no folder {str(folder)!r} to look for packages in.")
        yield from _packages(Path(folder))


def _packages(root: Path, made_of: str = "_") -> Iterator[Turn]:
    """Yield the files of a folder's packages and modules."""
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return
    stems = {name.removesuffix(".py") for name in names}
    for name in names:
        stem = name.removesuffix(".py")
        is_module = name.endswith(".py") or os.path.isdir(root / name)
        public = stem.removeprefix(made_of)
        # private ones only where a public one is made of them, as decimal is of _pydecimal
        known = not stem.startswith("_") or (public != stem and public in stems)
        if is_module and stem.isidentifier() and stem not in SKIPPED and known:
            yield from _turns(root / name, public if made_of == "_py" else stem)


def _turns(path: Path, name: str) -> Iterator[Turn]:
    """Yield the files of a package in an order of no meaning, spread among those of the others."""
    files = []
    for file in _files(path):
        parts = file.relative_to(path).with_suffix("").parts if file != path else ()
        module = ".".join([name, *(part for part in parts if not part.startswith("_"))])
        files.append((crc32(module.encode()), module, file))
    for rank, turn in enumerate(sorted(files, key=lambda file: file[:2])):
        yield rank / len(files) ** SHARE, *turn


def _files(path: Path) -> Iterator[Path]:
    """Yield a module's file, or those of a package."""
    if path.suffix == ".py":
        yield path
        return
    for folder, inner, files in os.walk(path):
        inner[:] = sorted(name for name in inner if name.isidentifier() and name not in SKIPPED)
        for file in sorted(files):
            stem, suffix = os.path.splitext(file)
            kind = stem == "__init__" or (stem not in SKIPPED and not stem.startswith("test_"))
            if suffix == ".py" and stem.isidentifier() and kind:
                yield Path(folder, file)


def prose(text: str) -> str:
    """Return a docstring's sentences: no code, headings, links, names and types of parameters."""
    kept: list[str] = []
    lines = text.expandtabs().splitlines()
    in_code = in_fence = False
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if _FENCE.match(line):
            in_fence = not in_fence
            continue
        in_code = bool(line.strip()) and (in_code or _CODE.match(line) is not None)
        if in_fence or in_code or _DIRECTIVE.match(line):
            continue
        if _UNDERLINE.match(line) or (line.strip() and _UNDERLINE.match(following)):
            continue
        if _HEADING.match(line) or (_PARAMETER.match(line) and _indent(following) > _indent(line)):
            continue
        if line.strip() or (kept and kept[-1]):
            kept.append(line.rstrip())
    return _MARKUP.sub(" ", "\n".join(kept)).rstrip()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else 0
