"""Every command and code block of these pages runs, in a folder of its own."""

import contextlib
import io
import json
import lzma
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from opelda.cli import main
from opelda.corpus import ABSTRACTS

ROOT = Path(__file__).parent.parent
FIRST = ("README.md", "docs/tutorial.md")
PAGES = (
    "docs/text.md",
    "docs/short-texts.md",
    "docs/streams.md",
    *sorted(
        str(page.relative_to(ROOT))
        for page in (ROOT / "docs/howto").glob("*.md")
        if page.name != "spark.md"  # tests/spark/test_docs.py
    ),
    *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs/from").glob("*.md")),
)
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"^ *print\(.*\)  # (.+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def documents():
    return lzma.decompress(ABSTRACTS.read_bytes()).decode().splitlines(keepends=True)[:700]


@pytest.fixture
def folder(documents, tmp_path, monkeypatch):
    """A folder with the files that the pages talk of."""
    for name, part in (("articles.jsonl", documents[:-200]), ("new.jsonl", documents[-200:])):
        (tmp_path / name).write_text("".join(part), encoding="utf-8")
    texts = (json.loads(document)["text"] + "\n" for document in documents[-200:])
    (tmp_path / "new.txt").write_text("".join(texts), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def arguments_of(line):
    """Return the arguments of opelda; None where the line is more than a call of it."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    name, *arguments = words
    plain = not any(set(word) & set("()<>|&;$*?~`{") for word in arguments)
    return arguments if name == "opelda" and plain else None


def run_shell(block, folder):
    """Run lines one after another; what calls opelda alone, in this process, which is faster."""
    lines = [line for line in block.replace("\\\n", " ").splitlines() if line.strip()]
    if any(line.startswith((" ", "for ", "while ", "if ")) for line in lines):
        return run_bash(block, folder)
    for line in lines:
        if line.startswith("#"):
            continue
        if (arguments := arguments_of(line)) is None:
            run_bash(line, folder)
            continue
        said = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            status = main(arguments)
        assert status == 0, f"{line}\n{said.getvalue()}"
    return None


def run_bash(block, folder):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    run = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, f"{block}\n{run.stderr}"
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("page", FIRST)
def test_first_pages(page, folder):
    test_blocks_run_in_order_and_print_what_their_comments_say(page, folder)


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_in_order_and_print_what_their_comments_say(page, folder):
    names = {"__name__": "page"}
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert "python" in {kind for kind, _ in blocks}
    for kind, block in blocks:
        if kind == "sh":
            run_shell(block, folder)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, page, "exec"), names)
        said = PRINTED.findall(block)
        assert len(said) == block.count("print(")
        for line, comment in zip(printed.getvalue().splitlines(), said, strict=True):
            if "..." not in comment:
                assert line == comment, block


def test_no_block_of_any_page_goes_unrun():
    """Blocks of other kinds are output; indented ones are trees and formulas."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        kinds = set(re.findall(r"^```(\w*)\n", page.read_text(encoding="utf-8"), re.MULTILINE))
        with_shell = str(page.relative_to(ROOT)) in FIRST + PAGES
        allowed = {"python", "text"} | ({"sh"} if with_shell else set())
        if page.parent.name == "from":  # what others' users write
            allowed |= {"py", "r"}
        assert kinds - {""} <= allowed, page.name


def test_code_of_other_libraries_is_python():
    for page in (ROOT / "docs/from").glob("*.md"):
        for block in re.findall(r"^```py\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
            compile(block, page.name, "exec")
