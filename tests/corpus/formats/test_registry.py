"""The registry of formats: cheap imports, rejected options, user-defined formats."""

import subprocess
import sys

import pytest
from scipy import sparse

from opelda.corpus import Vocabulary, read, stream
from opelda.corpus._corpus import Corpus
from opelda.corpus.formats import FORMATS, Format
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._line_reader import text_blocks
from opelda.corpus.formats._writing import write_in_one_step
from opelda.errors import InputError
from tests.cases import cases
from tests.corpus.formats import text_files

NAMES = {"uci": "docword.x.txt", "files": "x"}
GIVEN = {
    "text_column": "name",
    "name_column": "text",
    "metadata": ["name"],
    "encoding": "utf-16",
    "first_id": 1,
}


def example(name, folder):
    """Write three documents."""
    path = folder / NAMES.get(name, f"x.{name}")
    if FORMATS[name].kind == "text":
        text_files.write(name, path, ["tea tea cup", "cup", "tea"], ["one", "two", "three"])
    else:
        X = sparse.csr_array([[2.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
        FORMATS[name].write(Corpus(X, Vocabulary(["tea", "cup"])), str(path))
    return path


def outcome(path, name, **options):
    """Return the words, counts and names of a file, or its error message."""
    try:
        corpus = read(path, format=name, min_df=1, max_df=1.0, **options)
    except InputError as error:
        return str(error)
    kept = None if corpus.metadata is None else corpus.metadata.to_dict(as_series=False)
    return corpus.words, corpus.X.toarray().tolist(), corpus.names, kept


@cases("name", FORMATS)
@cases("option", GIVEN)
def test_options_have_an_effect_or_are_rejected(name, option, tmp_path):
    path = example(name, tmp_path)
    given = {option: GIVEN[option]}
    if option in FORMATS[name].options:
        assert outcome(path, name, **given) != outcome(path, name)
    else:
        message = f"^{option} has no effect on .*, which is read as {name} .*; remove it or"
        if option == "metadata":
            message = f"has no column '.*': the file is read as {name} .*; pass a .csv, .jsonl or"
        with pytest.raises(InputError, match=message):
            read(path, format=name, **given)
        with pytest.raises(InputError, match=message):
            stream(path, format=name, **given)


def test_options_are_checked_by_format_not_by_number_of_files(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("id,text\none,tea cup\n")
    assert read(tmp_path, name_column="id", min_df=1, max_df=1.0).names == ["one", "one"]
    (tmp_path / "a.txt").write_text("tea\n")
    (tmp_path / "b.txt").write_text("cup\n")
    with pytest.raises(InputError, match=r"name_column has no effect on .* read as lines"):
        read([tmp_path / "a.txt", tmp_path / "b.txt"], name_column="id")
    with pytest.raises(InputError, match="different formats"):
        read([tmp_path / "a.txt", tmp_path / "a.csv"], name_column="id")


def test_registry_imports_no_heavy_module():
    code = """
import sys
from opelda.corpus.formats import FORMATS
assert len(FORMATS) >= 11 and all(format.summary for format in FORMATS.values())
print(*{"numpy", "scipy", "polars", "pyarrow", "pandas"} & set(sys.modules))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_missing_zstandard_names_the_extra(tmp_path, monkeypatch):
    path = tmp_path / "docs.txt.zst"
    with write_in_one_step(path) as file:
        file.write(b"tea\n")
    assert Input.of(path).open().read() == b"tea\n"
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    message = r"docs\.txt\.zst is compressed with zstd.*pip install 'opelda\[zstd\]'\.$"
    with pytest.raises(InputError, match=message):
        Input.of(path).open().read()
    with (
        pytest.raises(InputError, match=r"pip install 'opelda\[zstd\]'"),
        write_in_one_step(tmp_path / "other.zst") as file,
    ):
        file.write(b"tea\n")
    assert [file.name for file in tmp_path.iterdir()] == ["docs.txt.zst"]


def test_user_defined_format(tmp_path):
    def blocks(input, options, position=None):
        def parse(lines, numbers):
            texts = []
            for line, number in zip(lines, numbers, strict=True):
                try:
                    pairs = [pair.rsplit(":", 1) for pair in line.split()]
                    texts.append(" ".join(" ".join([word] * int(n)) for word, n in pairs))
                except ValueError:
                    where = f"{input.label}, line {number}"
                    options.problems.add(where, "is not 'word:count ...'", "correct the line")
            return texts, None

        return text_blocks(input, options, position, parse)

    path = tmp_path / "notes.bags"
    path.write_text("tea:2 cup:1\ntea:1\n")
    FORMATS["bags"] = Format("bags", "words with counts", "text", (".bags",), ("encoding",), blocks)
    try:
        corpus = read(path, min_df=1, max_df=1.0)
        assert (corpus.words, corpus.X.toarray().tolist()) == (("cup", "tea"), [[1, 2], [0, 1]])
        path.write_text("tea:2 cup\n")
        with pytest.raises(InputError, match=r"notes\.bags, line 1 is not 'word:count \.\.\.'"):
            read(path)
        with pytest.raises(InputError, match="text_column has no effect on"):
            read(path, text_column="text")
    finally:
        del FORMATS["bags"]
    assert read(path, min_df=1, max_df=1.0).words == ("cup", "tea")
