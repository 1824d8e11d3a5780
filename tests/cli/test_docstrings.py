"""Gathering docstrings: against what importing the same modules shows, and from broken files."""

import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.cli.commands._docstrings import STOP_WORDS, docstrings, prose, read_docstrings

LONG = "Say in ten words or more what this function is good for."
# All of it in Python: what is compiled may be documented in other words.
MODULES = (
    "statistics", "shutil", "textwrap", "fractions", "optparse", "zipfile", "tarfile",
    "email", "unittest", "logging", "urllib", "argparse",
)  # fmt: skip


@pytest.fixture(scope="module")
def gathered() -> dict[str, str]:
    return docstrings(1500)


def lookup(name: str) -> object:
    """Import what a name stands for."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:n]))
        except ImportError:
            continue
        for part in parts[n:]:
            found = inspect.getattr_static(found, part, None)
        return found.__func__ if isinstance(found, staticmethod | classmethod) else found
    raise AssertionError(name)


def written(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = root / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


def function(name: str, text: str = LONG) -> str:
    return f'def {name}():\n    """{text} ({name})"""\n'


def linked(folder: Path, *modules: str) -> Path:
    """Make a folder of some modules that are installed."""
    for name in modules:
        path = Path(importlib.import_module(name).__file__)
        path = path.parent if path.stem == "__init__" else path
        (folder / path.name).symlink_to(path)
    return folder


def test_they_are_what_importing_the_modules_shows(tmp_path):
    found = docstrings(10_000, [linked(tmp_path, *MODULES)])
    assert {name.split(".")[0] for name in found} == set(MODULES)
    assert len(found) > 300
    # email has private modules, whose names are shortened; some functions are for Windows
    names = [name for name in found if not name.startswith("email.")]
    other = [name for name in names if found[name] != prose(inspect.getdoc(lookup(name)) or "")]
    assert len(other) <= len(names) / 100, other
    assert {"statistics.linear_regression", "unittest.case.TestCase.assertEqual"} <= set(found)


def test_names_leave_out_private_modules(tmp_path):
    found = docstrings(10_000, [linked(tmp_path, "numpy")])
    assert found["numpy.linalg.svd"] == prose(inspect.getdoc(lookup("numpy.linalg.svd")))
    assert "numpy.fft.ifft" in found
    assert not any("._" in name for name in found)


def test_every_module_gets_something_and_no_package_takes_all(gathered):
    tops = [name.split(".")[0] for name in gathered]
    assert len(set(tops)) > 50
    assert max(tops.count(top) for top in set(tops)) < len(tops) / 5


def test_large_packages_get_more_but_not_in_proportion(tmp_path):
    files = {f"large/m{i}": function(f"f{i}") for i in range(160)}
    files |= {f"small/m{i}": function(f"g{i}") for i in range(10)}
    found = docstrings(54, [written(tmp_path, files)])
    n_small = sum(name.startswith("small") for name in found)
    assert 5 <= n_small <= 7  # 8 times as many of the large one: 16 to the power 3/4


def test_answers_are_the_same_and_no_more_than_asked_for(gathered):
    assert docstrings(1500) == gathered
    assert list(gathered) == sorted(gathered)
    assert len(gathered) <= 1500


def test_nothing_is_imported_or_run(tmp_path):
    written(tmp_path, {"bomb": f'"""{LONG}"""\nraise SystemExit("run")\n'})
    code = (
        "import sys; from pathlib import Path\n"
        "from opelda.cli.commands._docstrings import docstrings; before = set(sys.modules)\n"
        f"assert 'bomb' in docstrings(9, [Path({str(tmp_path)!r})])\n"
        "docstrings(300)\n"
        "new = set(sys.modules) - before\n"
        "assert not new & {'tkinter', 'asyncio', 'sqlite3', 'bomb', 'antigravity'}, new\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


def test_what_is_documented_where(tmp_path):
    till = function("pay") + function("_hidden")
    stock = (
        f'class Shelf:\n    """{LONG} S"""\n    if True:\n        async '
        + function("fill").replace("\n", "\n        ")
        + f'\ntry:\n    class Box:\n        """{LONG} B"""\nexcept ImportError:\n    pass\n'
        + "def outer():\n    "
        + function("inner").replace("\n", "\n    ")
    )
    files = {"shop/__init__": "", "shop/_till": till, "shop/stock": stock}
    files |= {"shop/tests/test_pay": function("test"), "shop/test_all": function("tests")}
    written(tmp_path, files | {"_shop": function("made_of"), "_private": function("lost")})
    found = docstrings(99, [tmp_path])
    assert set(found) == {
        "shop.pay",
        "shop.stock.Shelf",
        "shop.stock.Shelf.fill",
        "shop.stock.Box",
    }
    assert found["shop.stock.Shelf"] == f"{LONG} S"


def test_broken_files_are_passed_over(tmp_path):
    broken = {
        "syntax": "def broken(:\n",
        "cookie": "# coding: nonsense\n",
        "chain": "if a: pass\n" + "elif a: pass\n" * 3000,
        "nested": "x = " + "(" * 500 + ")" * 500,
        "minus": "x = " + "-" * 9999 + "1",
    }
    written(tmp_path, broken | {"good": function("fine")})
    (tmp_path / "latin.py").write_bytes(b'"""caf\xe9 ' + LONG.encode() + b'"""')
    (tmp_path / "junk.py").write_bytes(bytes(range(256)) * 50)
    (tmp_path / "null.py").write_bytes(b"x = 1\0")
    (tmp_path / "half.py").write_text(f'"""{LONG} \\ud800"""')
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "round").symlink_to(tmp_path)
    (tmp_path / "pkg" / "huge.py").write_text(function("huge") + "#" * 5_000_000)
    os.mkfifo(tmp_path / "pipe.py")
    assert set(docstrings(99, [tmp_path])) == {"good.fine", "half"}
    assert "?" in docstrings(99, [tmp_path])["half"]


@given(st.binary(max_size=300))
def test_any_bytes_at_all(tmp_path, content):
    path = tmp_path / "any.py"
    path.write_bytes(content)
    assert all(text and isinstance(name, str) for name, text in read_docstrings(path))


def test_limits_progress_and_short_ones(tmp_path):
    body = "".join(function(f"f{i}", f"{LONG} {i}") for i in range(30))
    written(tmp_path, {"large": body, "small": function("one") + function("two", "Short.")})
    calls: list[int] = []
    found = docstrings(10, [tmp_path], calls.append)
    assert len(found) == 10
    assert calls
    assert calls == sorted(calls)
    assert "small.two" not in docstrings(99, [tmp_path])
    assert docstrings(99, [tmp_path / "nowhere"]) == {}
    copied = written(tmp_path / "x", {"a": f'"""{LONG}"""', "b": f'"""{LONG}"""'})
    assert list(docstrings(99, [copied])) in (["a"], ["b"])


def test_prose_leaves_out_what_is_not():
    text = inspect.cleandoc(
        """
        Cut a cake with :func:`knife.cut`; see https://cake.example/x.

        Parameters
        ----------
        cake, pie : Cake or None
            What is cut.
        **rest
            More.

        .. versionadded:: 1.2

        Args:
            guests: Who eats.

        :param int size: The share.

        >>> cut(cake)
        pieces

        Afterwards.
        ```python
        fenced = 1
        again = 2
        ```
        """
    )
    words = prose(text).split()
    assert {"Cut", "`knife.cut`;", "cut.", "More.", "Who", "share.", "Afterwards."} <= set(words)
    gone = (
        "Parameters pie None rest versionadded Args: >>> pieces "
        "fenced again https int :func:`knife.cut`"
    )
    assert not set(gone.split()) & {*words, *prose(text).split("`")}
    assert "-----" not in prose(text)
    assert prose("") == prose(">>> only(code)") == ""


@given(st.text(alphabet=" \n\t>.:`-=~a:", max_size=200))
def test_prose_of_anything_adds_nothing(text):
    assert set(prose(text)) <= {*text, " ", "\n"}
    assert len(prose(text)) <= len(text.expandtabs())


def test_stop_words_are_plain_words():
    assert all(word.isalpha() and word.islower() and len(word) > 2 for word in STOP_WORDS)
    assert list(STOP_WORDS) == sorted(set(STOP_WORDS))
    assert not {"array", "file", "matrix", "path", "thread"} & set(STOP_WORDS)
