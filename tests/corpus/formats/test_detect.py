"""Format detection, and expansion of paths to files."""

import gzip
import io
import json
import os
import tarfile
import zipfile

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.corpus import Vocabulary, read
from opelda.corpus._corpus import Corpus
from opelda.corpus.formats import FORMATS
from opelda.corpus.formats._detect import detect, expand
from opelda.corpus.formats._input import Input
from opelda.errors import InputError
from tests.cases import cases
from tests.corpus.formats import text_files


def named(data, name=""):
    file = io.BytesIO(data)
    if name:
        file.name = name
    return Input.of(file)


def npz():
    file = io.BytesIO()
    sparse.save_npz(file, sparse.csr_array(np.eye(2)))
    return file.getvalue()


def parquet():
    file = io.BytesIO()
    pl.DataFrame({"text": ["tea"]}).write_parquet(file)
    return file.getvalue()


CONTENTS = [
    (b"", "lines"),
    (b"tea for two\n", "lines"),
    (b"\n\n", "lines"),
    ("\ufefftea".encode("utf-16"), "lines"),
    (b'{"text": "tea"}\n{"text":', "jsonl"),
    (b'\xef\xbb\xbf {"a": 1}', "jsonl"),
    (b'["tea", "cup"]\n', "jsonl"),
    (b'{"text": "' + b"x" * 10**5, "jsonl"),
    (b"{tea} for two\n", "lines"),
    (b"[1] a citation\n", "lines"),
    (b"3\n4\n2\n1 1 1\n3 4 2\n", "uci"),
    (b"3\n4\n2\n", "uci"),
    (b"1\n2\n3\n4 5\n", "lines"),
    (b"2 0:1 5:2\n0\n1 3:1\n", "ldac"),
    (b"3 0:1 5:2\n", "lines"),
    (b"12:30 lunch\n", "lines"),
    (b"%%MatrixMarket matrix coordinate real general\n", "mm"),
    (b"| a | table |\n|---|---|\n", "lines"),
    (b"tea | cup\n", "lines"),
    (npz(), "npz"),
    (parquet(), "parquet"),
]


@cases(("data", "name"), CONTENTS)
def test_format_is_detected_by_content(data, name, monkeypatch, tmp_path):
    assert detect(named(data)).name == name
    assert detect(named(gzip.compress(data))).name == name
    path = tmp_path / "data.txt"
    path.write_bytes(data)
    assert detect(Input.of(path)).name == name
    source = named(data)
    monkeypatch.setattr(source, "_start", None)  # like a pipe, which cannot seek
    assert detect(source).name == name
    assert source.open().read() == data


@cases(
    ("file", "name"),
    [
        ("a.txt", "lines"),
        ("a.JSONL.gz", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.csv.zst", "csv"),
        ("a.tsv.xz", "tsv"),
        ("a.parquet", "parquet"),
        ("a.mallet", "mallet"),
        ("docword.kos.txt.gz", "uci"),
        ("a.ldac", "ldac"),
        ("a.mtx", "mm"),
        ("a.npz", "npz"),
        ("wiki_00", "lines"),
    ],
)
def test_format_is_detected_by_file_name(file, name):
    assert detect(named(b"tea for two\n", file)).name == name


def test_every_written_file_is_detected_as_its_format(tmp_path):
    X = sparse.csr_array(np.array([[1, 2], [0, 1]], np.float32))
    corpus = Corpus(X, Vocabulary(["tea", "cup"]), ["a", "b"])
    for name, format in FORMATS.items():
        suffix = format.suffixes[0] if format.suffixes else ""
        if format.write is None:
            text_files.write(name, f"{tmp_path}/{name}{suffix}", ["tea cup", "cup"], ["a", "b"])
        else:
            format.write(corpus, f"{tmp_path}/{name}{suffix}")
        (source,) = expand(f"{tmp_path}/{name}{suffix}")
        assert detect(source).name == name


def test_archives_and_unknown_files_are_rejected():
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w:xz") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("a.txt", "tea")
    for data, message in (
        (tar.getvalue(), "is a tar archive; unpack it first"),
        (zipped.getvalue(), "is a zip archive; unpack it first"),
        (b"\x7fELF\0\0\1", "is a binary file of an unsupported format"),
        (b'[{"text": "tea"}]', "is not JSON Lines .one value per line.; convert the file"),
    ):
        with pytest.raises(InputError, match=message):
            detect(named(data))
    for name in ("articles.mallet", "articles.bin"):
        with pytest.raises(InputError, match="unsupported format; pass the original texts"):
            detect(named(b"\xac\xed\x00\x05sr\x00\x1dcc.mallet.types.InstanceList", name))
    with pytest.raises(InputError, match="jq -c"):
        detect(named(json.dumps({"a": 1}, indent=1).encode(), "a.json"))
    assert detect(named(b'{"a": 1}', "a.json")).name == "jsonl"


@given(data=st.binary(max_size=300))
def test_arbitrary_bytes_have_a_format_or_are_rejected(data):
    try:
        assert detect(named(data)).name in FORMATS
    except InputError as error:
        assert len(str(error).split("; ")) >= 2  # noqa: PT017


def tree(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b'{"text": "tea"}\n' if "json" in name else b"tea\n")


def found(path, format="auto"):
    return [os.path.basename(input.label) for input in expand(path, format)]


def test_folders_expand_to_their_files(tmp_path):
    tree(tmp_path, "json/b.jsonl", "json/a/c.jsonl.gz", "json/.x.csv", "json/b.jsonl.vocab")
    tree(
        tmp_path, "texts/b.txt", "texts/a.txt", "mixed/a.csv", "mixed/b.tsv", "both/a.csv", "both/b"
    )
    tree(tmp_path, "uci/docword.a.txt", "uci/vocab.a.txt", "wiki/json_00", "wiki/json_01")
    (tmp_path / "empty").mkdir()
    assert found(tmp_path / "json") == ["c.jsonl.gz", "b.jsonl"]
    assert found(tmp_path / "texts") == ["texts"]
    assert found(tmp_path / "texts", "lines") == ["a.txt", "b.txt"]
    assert found(tmp_path / "json", "files") == ["json"]
    assert found(tmp_path / "both") == ["both"]
    assert found(tmp_path / "uci") == ["docword.a.txt"]
    assert found(tmp_path / "wiki") == ["json_00", "json_01"]
    assert found(tmp_path / "empty") == ["empty"]
    assert detect(Input.of(tmp_path / "texts")).name == "files"
    with pytest.raises(InputError, match=r"has files of several formats \(csv, tsv\)"):
        expand(tmp_path / "mixed")
    with pytest.raises(InputError, match="is an empty folder"):
        expand(tmp_path / "empty", "lines")


def test_patterns_expand_to_sorted_files(tmp_path):
    tree(tmp_path, "b.csv", "a.csv", "c/d.csv", "e.txt", "[f].csv")
    assert found(tmp_path / "?.csv") == ["a.csv", "b.csv"]
    assert found(tmp_path / "**" / "?.csv") == ["a.csv", "b.csv", "d.csv"]
    assert found(tmp_path / "[f].csv") == ["[f].csv"]
    assert found(tmp_path / "nothing.csv") == ["nothing.csv"]
    with pytest.raises(InputError, match=r"No file matches .*\*\.json; check the pattern"):
        expand(tmp_path / "*.json")


def test_folder_of_json_files_is_read_as_records(tmp_path):
    for name in ("1.json", "2.json"):
        (tmp_path / name).write_text('{"text": "a cat"}\n{"text": "a dog"}\n')
    assert len(list(expand(tmp_path))) == 2
    (tmp_path / "1.json").write_text('[{"text": "a cat"}, {"text": "a dog"}]')
    with pytest.raises(InputError, match="is not JSON Lines"):
        read(tmp_path)
