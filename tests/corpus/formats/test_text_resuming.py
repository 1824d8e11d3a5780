"""Reading resumes from every position with the same documents."""

import bz2
import gzip
import io
import json
import lzma

import polars as pl
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from opelda.corpus._block import Problems
from opelda.corpus._matrix import Counted
from opelda.corpus.formats import FORMATS, Options, _line_reader
from opelda.corpus.formats._input import Input
from opelda.errors import InputError
from tests.cases import cases

COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".bz2": bz2.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}
SOURCES = {
    "lines": "\ufefftea\n\ncup of té\r\n\n\nmore\rtea\n" * 3 + "end",
    "jsonl": '{"id": 1, "body": "tea"}\n\n{"id": 2}\nnonsense\n"cup"\n{"body": ["a", "é"]}\n' * 3,
    "csv": 'id;text\n1;"tea\n""for"" two"\n2;té\n\n3\n4;5" disk\n"5";"a\nb\nc"\n6;"x" y\n' * 3
    + '7;"open\n8;tea\n',
    "tsv": 'id\ttext\n1\t"tea\n2\tté\n\n3\n4\tx\ty\n' * 3,
    "mallet": "a x tea\nb\ty\té cup\n\nlonely\nc z\n" * 3,
}
OPTIONS = {"csv": {"name_column": "id"}, "jsonl": {"name_column": "id"}}


class Once(io.RawIOBase):
    """A pipe: returns a few bytes per call and cannot seek."""

    def __init__(self, data, most):
        self.data, self.most = data, most

    def readable(self):
        return True

    def readinto(self, buffer):
        n = min(self.most, len(buffer), len(self.data))
        buffer[:n], self.data = self.data[:n], self.data[n:]
        return n


def blocks(name, source, size, position=None, **options):
    options = {**OPTIONS.get(name, {}), **options}
    options = Options(block_size=size, problems=Problems("skip"), **options)
    found = FORMATS[name].blocks(Input.of(source), options, position)
    return [(plain(block.documents), block.names, block.position) for block in found]


def plain(documents):
    if isinstance(documents, Counted):
        return documents.words, documents.counts.toarray().tolist()
    return documents.to_list()


def check(name, make, size, **options):
    whole = blocks(name, make(), size, **options)
    assert sum(len(names or texts) for texts, names, _ in whole) > 5
    for i, (_, _, position) in enumerate(whole):
        stored = json.loads(json.dumps(position))
        assert stored == position
        assert blocks(name, make(), size, stored, **options) == whole[i + 1 :]
    return whole


@cases("suffix", COMPRESS)
@pytest.mark.parametrize("name", SOURCES)
def test_compressed_files_resume_from_every_position(name, suffix, tmp_path):
    path = tmp_path / f"docs{suffix}"
    path.write_bytes(COMPRESS[suffix](SOURCES[name].encode()))
    documents = []
    for size in (1, 3, 100):
        whole = check(name, lambda: path, size)
        documents.append([text for texts, _, _ in whole for text in texts])
        assert all(len(texts) == size for texts, _, _ in whole[:-1])
    assert all(each == documents[0] for each in documents)


@cases("encoding", ["utf-16", "latin-1", "utf-8-sig"])
@cases("name", SOURCES)
def test_other_encodings_resume_from_every_position(name, encoding):
    data = SOURCES[name].replace("\ufeff", "").encode(encoding)
    check(name, lambda: io.BytesIO(data), 2, encoding=encoding)


@settings(max_examples=10)
@given(most=st.integers(1, 40), chunk=st.integers(1, 40), size=st.sampled_from([2, 5]))
@pytest.mark.parametrize("name", SOURCES)
def test_chunk_sizes_do_not_change_blocks(name, most, chunk, size):
    data = SOURCES[name].encode()
    expected = blocks(name, io.BytesIO(data), size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_line_reader, "CHUNK", chunk)
        assert check(name, lambda: Once(data, most), size) == expected


@settings(max_examples=10)
@given(most=st.integers(1, 60), size=st.sampled_from([2, 5]))
@pytest.mark.parametrize("name", SOURCES)
def test_large_blocks_end_early(name, most, size):
    data = SOURCES[name].encode()
    expected = [text for texts, _, _ in blocks(name, io.BytesIO(data), 100) for text in texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_line_reader, "LARGEST_BLOCK", most)
        whole = check(name, lambda: io.BytesIO(data), size)
    if name == "lines":  # except for the line that exceeds the limit
        assert all(sum(len(t.encode()) + 1 for t in texts[:-1]) < most for texts, _, _ in whole)
    assert [text for texts, _, _ in whole for text in texts] == expected


@cases("size", [1, 4, 7, 100])
def test_parquet_resumes_from_every_position(size, tmp_path):
    path = tmp_path / "docs.parquet"
    pl.DataFrame({"text": [f"tea {i}" for i in range(20)]}).write_parquet(path, row_group_size=6)
    whole = check("parquet", lambda: path, size)
    assert [text for texts, _, _ in whole for text in texts] == [f"tea {i}" for i in range(20)]


def test_folder_resumes_after_the_last_file_when_files_were_added(tmp_path):
    for name in ("b", "d", "a/x", "c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    whole = [blocks("files", tmp_path, size) for size in (1, 2, 3)]
    assert all(
        [n for _, names, _ in each for n in names] == ["a/x", "b", "c", "d"] for each in whole
    )
    position = whole[1][0][2]
    (tmp_path / "aa").write_text("too late")
    (tmp_path / "e").write_text("e")
    assert [names for _, names, _ in blocks("files", tmp_path, 2, position)] == [["c", "d"], ["e"]]


places = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["offset", "line", "text", "table", "after"]), inner),
    ),
).filter(lambda place: place is not None)


@given(position=places)
@example(position={"offset": 2**60, "line": False})  # beyond the largest file
@pytest.mark.parametrize("name", [*SOURCES, "parquet", "files"])
def test_arbitrary_positions_are_accepted_or_rejected(name, position, tmp_path):
    path = tmp_path / "docs"
    if name == "parquet" and not path.exists():
        pl.DataFrame({"text": ["tea"]}).write_parquet(path)
    elif name != "parquet":
        path.write_text(SOURCES.get(name, ""))
    try:
        blocks(name, tmp_path if name == "files" else path, 2, position)
    except InputError as error:
        assert "; " in str(error)  # noqa: PT017


@cases("suffix", ["", ".gz"])
def test_shortened_file_is_rejected(suffix, tmp_path):
    path = tmp_path / "docs"
    path.write_bytes(COMPRESS[suffix](b"tea\ncup\n"))
    position = blocks("lines", path, 2)[0][2]
    path.write_bytes(COMPRESS[suffix](b"tea\n"))
    with pytest.raises(InputError, match="docs is not the file that was read up to line 2"):
        blocks("lines", path, 2, position)


def test_overlong_line_is_rejected(monkeypatch):
    monkeypatch.setattr(_line_reader, "LONGEST_LINE", 100)
    monkeypatch.setattr(_line_reader, "CHUNK", 10)
    assert blocks("lines", io.BytesIO(b"tea\n" + b"x" * 100), 2)[0][0] == ["tea", "x" * 100]
    for data in (b"tea\n" + b"x" * 130, b"tea\n" + b"x" * 130 + b"\ncup"):
        with pytest.raises(InputError, match="line 2 is longer than"):
            blocks("lines", io.BytesIO(data), 3)
