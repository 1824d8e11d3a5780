"""The docstrings of the Python packages on this machine: a collection that everybody has."""

import gc
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from heapq import heapify, heappop, heapreplace
from pathlib import Path
from typing import Any
from zlib import crc32

from opelda._validation import whole
from opelda.corpus.packages._prose import prose, without_copies
from opelda.corpus.packages._public_names import PublicNames
from opelda.corpus.packages._source import ModuleSource, read_source
from opelda.errors import InputError

# Tests, copies of other packages, and what only looks like documentation.
_NAMES = (
    "test tests idle_test conftest setup __main__ __pycache__ examples benchmarks pip "
    "vendor _vendor vendored _vendored extern externals _external third_party _lib distutils "
    "_distutils site-packages dist-packages idlelib lib2to3 encodings ensurepip pydoc_data "
    "turtle turtledemo lexers snowballstemmer"
)
SKIPPED = frozenset(_NAMES.split())
# Where packages show what their modules define.
WINDOWS = ("__init__", "api")
# Of two packages, one ten times as large, it gets six times as many docstrings.
SHARE = 0.75

Folder = str | os.PathLike[str]


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
        Whether to keep docstrings as they are. By default code, headings, types, markup and lines
        that several of them share are left out, as they say nothing about the subject.
    progress : callable, optional
        Called now and then with the number of docstrings found.

    Returns
    -------
    dict from str to str
        Docstrings by names such as ``"numpy.linalg.svd"``, in alphabetical order.

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
    groups = list(_installed() if folders is None else _given(folders))
    sources: dict[str, ModuleSource] = {}
    packages: list[str] = []
    kept: list[tuple[str, str, str]] = []
    seen: set[str] = set()
    with _without_gc():
        for module, path in _in_turn(groups, lambda: len(kept)):
            is_package = path.stem == "__init__"
            source = sources[module] = read_source(path, module, is_package)
            packages.extend([module] if is_package else [])
            for name, text in (*source.documented.items(), *source.added.items()):
                if text not in seen and len(text.split()) >= min_words:
                    seen.add(text)
                    kept.append((module, name, text))
            if progress is not None:
                progress(len(kept))
            if len(kept) >= most:
                break
    kept = kept[:most]
    texts = [text for _, _, text in kept]
    if not raw:
        texts = without_copies([prose(text) for text in texts])
    public = PublicNames(sources, packages)
    found: dict[str, str] = {}
    for (module, name, _), text in zip(kept, texts, strict=True):
        added = name not in sources[module].documented
        found.setdefault(f"{_place(module)}.{name}" if added else public.of(module, name), text)
    return dict(sorted(found.items()))


@contextmanager
def _without_gc() -> Iterator[None]:
    """Have no cycles looked for: syntax trees have none, and are many objects to look at."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Group:
    """Files that share: a package, or a module of the standard library."""

    def __init__(self, place: Path, name: str) -> None:
        self.name = name
        files = [(_module(path, place, name), path) for path in _files(place)]
        files.sort(key=lambda file: (file[1].stem not in WINDOWS, crc32(file[0].encode()), file[0]))
        self.share = len(files) ** SHARE
        self.files = iter(files)


def _in_turn(groups: list[_Group], n_found: Callable[[], int]) -> Iterator[tuple[str, Path]]:
    """Yield files, always of the group that has had the fewest docstrings for its share."""
    waiting = [(0.0, crc32(group.name.encode()), n) for n, group in enumerate(groups)]
    heapify(waiting)
    had = [0] * len(groups)
    while waiting:
        _, turn, number = waiting[0]
        file = next(groups[number].files, None)
        if file is None:
            heappop(waiting)
            continue
        before = n_found()
        yield file
        had[number] += n_found() - before
        heapreplace(waiting, (had[number] / groups[number].share, turn, number))


def _installed() -> Iterator[_Group]:
    """Yield the standard library's modules and the packages that this Python would import."""
    paths = sysconfig.get_paths()
    yield from _groups(Path(paths["stdlib"]), "_py")
    others = [paths["purelib"], paths["platlib"]]
    others += [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    for folder in dict.fromkeys(Path(path).resolve() for path in others):
        yield from _groups(folder)


def _given(folders: Iterable[Folder]) -> Iterator[_Group]:
    if isinstance(folders, str | os.PathLike):
        raise InputError(f"folders must be a list of folders, got one; give [{str(folders)!r}].")
    for folder in folders:
        if not Path(folder).is_dir():
            raise InputError(f"There is no folder {str(folder)!r} to look for packages in.")
        yield from _groups(Path(folder))


def _groups(root: Path, made_of: str = "_") -> Iterator[_Group]:
    """Yield a folder's packages and modules.

    Private ones only where they are what a public one is made of, as _pydecimal is for decimal.
    """
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return
    stems = {name.removesuffix(".py") for name in names}
    for name in names:
        stem = name.removesuffix(".py")
        is_module = name.endswith(".py") or os.path.isdir(root / name)
        public = stem.removeprefix(made_of)
        known = not stem.startswith("_") or (public != stem and public in stems)
        if is_module and stem.isidentifier() and stem not in SKIPPED and known:
            yield _Group(root / name, public if made_of == "_py" else stem)


def _files(place: Path) -> Iterator[Path]:
    if place.suffix == ".py":
        yield place
        return
    for folder, inner, files in os.walk(place):
        inner[:] = sorted(name for name in inner if name.isidentifier() and name not in SKIPPED)
        for file in sorted(files):
            stem, suffix = os.path.splitext(file)
            kind = stem == "__init__" or (stem not in SKIPPED and not stem.startswith("test_"))
            if suffix == ".py" and stem.isidentifier() and kind:
                yield Path(folder, file)


def _place(module: str) -> str:
    """Return where users look for what a module adds docstrings to.

    >>> _place("numpy._core._add_newdocs")
    'numpy'
    """
    return ".".join(part for part in module.split(".") if not part.startswith("_"))


def _module(path: Path, place: Path, name: str) -> str:
    """Return the module that a file of a group is.

    >>> _module(Path("lib/email/mime/__init__.py"), Path("lib/email"), "email")
    'email.mime'
    >>> _module(Path("lib/_pyio.py"), Path("lib/_pyio.py"), "io")
    'io'
    """
    parts = path.relative_to(place).with_suffix("").parts if path != place else ()
    return ".".join([name, *(part for part in parts if part != "__init__")])
