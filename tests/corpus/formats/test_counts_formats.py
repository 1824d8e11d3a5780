"""UCI, LDA-C, Matrix Market and npz: round trips, and agreement with other parsers."""

import bz2
import gzip
import io
import lzma
import os

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.io import mmread, mmwrite

from opelda.corpus import Corpus, Vocabulary
from opelda.corpus.formats import FORMATS as KNOWN
from opelda.corpus.formats import Options, count_matrices
from opelda.corpus.formats._input import Input
from opelda.errors import InputError
from tests.cases import cases

FORMATS = {name: KNOWN[name] for name in ("uci", "ldac", "mm", "npz")}
NAMES = {"uci": "docword.x.txt", "ldac": "x.ldac", "mm": "x.mtx", "npz": "x.npz"}
UNPACK = {
    "": bytes,
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".bz2": bz2.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}
every_format = pytest.mark.parametrize("name", FORMATS)
line_format = pytest.mark.parametrize("name", ["uci", "ldac"])

counts = hnp.arrays(
    np.float32,
    st.tuples(st.integers(0, 12), st.integers(1, 9)),
    elements=st.sampled_from([0, 0, 0, 0, 1, 1, 2, 9, 10, 99, 1234567, 2**24, 2**40]),
)


def read(name, source, position=None, **options):
    """Return all blocks, after checking their types and order."""
    found = list(FORMATS[name].blocks(Input.of(source), Options(**options), position))
    for block in found:
        X = block.documents
        assert (X.dtype, X.indices.dtype, X.format) == (np.float32, np.int32, "csr")
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        assert (np.diff(X.indices)[np.diff(rows) == 0] > 0).all()  # sorted and distinct
        assert (X.data > 0).all()
    return found


def whole(found):
    return np.vstack([block.documents.toarray() for block in found])


def words_for(n):
    return [f"w{i}" for i in range(n)]


@every_format
@given(dense=counts, suffix=st.sampled_from(list(UNPACK)))
def test_write_then_read_round_trip(tmp_path, name, suffix, dense):
    path = f"{tmp_path}/{NAMES[name]}{suffix}"
    words = words_for(dense.shape[1])
    FORMATS[name].write(Corpus(sparse.csr_array(dense), Vocabulary(words)), path)
    found = read(name, path, block_size=5)
    assert [len(block) for block in found] == [5] * (len(dense) // 5) + [len(dense) % 5] * (
        len(dense) % 5 > 0
    )
    if len(dense):
        np.testing.assert_array_equal(whole(found), dense)
    assert FORMATS[name].words(Input.of(path), Options()) == words
    UNPACK[suffix]((tmp_path / f"{NAMES[name]}{suffix}").read_bytes())


@every_format
@given(dense=counts, first=st.integers(1, 4), then=st.integers(1, 4), gz=st.booleans())
def test_every_position_resumes_with_the_same_blocks(tmp_path, name, dense, first, then, gz):
    path = f"{tmp_path}/{NAMES[name]}{'.gz' if gz else ''}"
    words = Vocabulary(words_for(dense.shape[1]))
    FORMATS[name].write(Corpus(sparse.csr_array(dense), words), path)
    found = read(name, path, block_size=first)
    for i, block in enumerate(found):
        rest = read(name, path, block.position, block_size=first)
        assert [b.position for b in rest] == [b.position for b in found[i + 1 :]]
        for mine, theirs in zip(rest, found[i + 1 :], strict=True):
            assert (mine.documents != theirs.documents).nnz == 0
            assert mine.documents.shape == theirs.documents.shape
        other = read(name, path, block.position, block_size=then)
        n_left = len(dense) - first * (i + 1)
        assert sum(map(len, other)) == max(n_left, 0)
        if other:
            np.testing.assert_array_equal(whole(other), dense[first * (i + 1) :])


@given(dense=counts, data=st.data())
def test_uci_matches_a_python_parser(dense, data):
    lines = [
        f"{d + 1} {w + 1} {int(dense[d, w])}"
        for d in range(len(dense))
        for w in data.draw(st.permutations(np.flatnonzero(dense[d]).tolist()))
    ]
    end = data.draw(st.sampled_from(["\n", "\r\n", " \n", "\n\n"]))
    text = f"{len(dense)}\n{dense.shape[1]}\n{len(lines)}" + end + end.join(lines)
    text += data.draw(st.sampled_from(["", end]))
    found = read("uci", io.BytesIO(text.encode()), block_size=3)
    assert sum(map(len, found)) == len(dense)
    if len(dense):
        np.testing.assert_array_equal(whole(found), dense)


@given(
    documents=st.lists(
        st.lists(st.tuples(st.integers(0, 2000), st.integers(1, 10**6)), max_size=6), max_size=9
    ),
    first_id=st.sampled_from([0, 1]),
    end=st.sampled_from(["\n", "\r\n", " \n", "\n\n"]),
    gap=st.sampled_from([" ", "\t", "  "]),
)
def test_ldac_matches_a_python_parser(tmp_path, documents, first_id, end, gap):
    text = "".join(
        gap.join([str(len(pairs)), *(f"{w + first_id}:{c}" for w, c in pairs)]) + end
        for pairs in documents
    )
    path = tmp_path / "x.ldac"
    path.write_text(text, newline="")
    found = read("ldac", path, block_size=4, first_id=first_id)
    largest = max((w for pairs in documents for w, _ in pairs), default=-1)
    expected = np.zeros((len(documents), largest + 1))
    for d, pairs in enumerate(documents):
        for w, c in pairs:
            expected[d, w] += c  # repeated words are summed
    assert sum(map(len, found)) == len(documents)
    if documents:
        np.testing.assert_array_equal(whole(found), expected.astype(np.float32))


@pytest.mark.parametrize("how", ["csr", "csc", "coo", "bsr", "dense"])
@given(dense=counts, dtype=st.sampled_from([np.uint16, np.int64, np.float32, np.float64, np.bool_]))
def test_scipy_matrices_are_read(tmp_path, how, dtype, dense):
    dense = np.minimum(dense, 65535).astype(dtype)
    matrix = dense if how == "dense" else sparse.csr_array(dense).asformat(how)
    if len(dense):
        mmwrite(tmp_path / "x.mtx", matrix, symmetry="general")
        read_again = mmread(tmp_path / "x.mtx")
        expected = read_again if how == "dense" else read_again.toarray()
        np.testing.assert_array_equal(whole(read("mm", tmp_path / "x.mtx")), expected)
    if how != "dense":
        for compressed in (True, False):
            sparse.save_npz(tmp_path / "x.npz", matrix, compressed=compressed)
            found = read("npz", tmp_path / "x.npz", block_size=100)
            expected = sparse.load_npz(tmp_path / "x.npz").toarray().astype(np.float32)
            assert sum(map(len, found)) == len(dense)
            if len(dense):
                np.testing.assert_array_equal(whole(found), expected)


def test_fractional_counts_round_trip_exactly(tmp_path):
    X = sparse.csr_array(np.array([[0.1, 0, 1 / 3], [2.5, 1e-30, 0]], np.float32))
    for name in ("mm", "npz"):
        path = f"{tmp_path}/{NAMES[name]}"
        FORMATS[name].write(Corpus(X), path)
        np.testing.assert_array_equal(whole(read(name, path)), X.toarray())


def test_pattern_entries_count_one(tmp_path):
    path = tmp_path / "x.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n% words\n2 3 2\n1 3\n2 1\n")
    np.testing.assert_array_equal(whole(read("mm", path)), [[0, 0, 1], [1, 0, 0]])


@cases("name", FORMATS)
def test_unsorted_matrix_is_written_in_canonical_form(tmp_path, name):
    ends, words = np.array([0, 3, 3, 4]), np.array([2, 0, 2, 1])
    untidy = sparse.csr_array((np.array([1.0, 3, 2, 0]), words, ends), shape=(3, 3))
    path = f"{tmp_path}/{NAMES[name]}"
    FORMATS[name].write(Corpus(untidy), path)
    np.testing.assert_array_equal(whole(read(name, path)), untidy.toarray())


@cases("name", FORMATS)
def test_corpus_without_words_writes_no_vocabulary(tmp_path, name):
    path = f"{tmp_path}/{NAMES[name]}"
    FORMATS[name].write(Corpus(sparse.csr_array(np.eye(3))), path)
    assert [file.name for file in tmp_path.iterdir()] == [NAMES[name]]
    assert FORMATS[name].words(Input.of(path), Options()) is None


@cases("name", FORMATS)
def test_write_to_stdout_and_read_an_open_file(tmp_path, name, capsysbinary):
    dense = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]])
    FORMATS[name].write(Corpus(sparse.csr_array(dense), Vocabulary(["a", "b", "c"])), "-")
    written = capsysbinary.readouterr().out
    np.testing.assert_array_equal(whole(read(name, io.BytesIO(written))), dense)


def test_columns_grow_while_a_pipe_is_read():
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    found = read("ldac", Pipe(b"1 1:1\n2 0:1 4:2\n1 2:1\n"), block_size=1)
    assert [block.documents.shape[1] for block in found] == [2, 5, 5]
    rest = read("ldac", Pipe(b"1 1:1\n2 0:1 4:2\n1 2:1\n"), found[1].position, block_size=1)
    assert [block.documents.shape[1] for block in rest] == [5]


@line_format
def test_chunked_writing_gives_identical_bytes(tmp_path, name, monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.5, (300, 20)))
    path = tmp_path / NAMES[name]
    FORMATS[name].write(Corpus(X), str(path))
    at_once = path.read_bytes()
    for n in (1, 7, 100):
        monkeypatch.setattr(count_matrices, "ENTRIES_AT_ONCE", n)
        FORMATS[name].write(Corpus(X), str(path))
        assert path.read_bytes() == at_once


def test_empty_uci_documents_are_kept(tmp_path):
    path = tmp_path / "docword.e.txt"
    path.write_text("9\n5\n2\n3 1 1\n6 5 2\n")
    found = read("uci", path, block_size=2)
    assert [block.documents.sum() for block in found] == [0, 1, 2, 0, 0]
    assert [len(block) for block in found] == [2, 2, 2, 2, 1]
    assert [block.position["document"] for block in found] == [2, 4, 6, 8, 9]


@cases("there", [True, False])
@cases("count", [1.0, 0.5])
@cases("name", FORMATS)
def test_data_and_vocabulary_are_replaced_together(name, there, count, tmp_path, monkeypatch):
    if count == 0.5 and name in ("uci", "ldac"):
        return  # whole numbers only
    X = sparse.csr_array(np.full((3, 2), count, np.float32))

    def fail(*_):
        raise OSError(28, "No space left on device")

    path = f"{tmp_path}/{NAMES[name]}"
    if there:
        FORMATS[name].write(Corpus(X, Vocabulary(["tea", "cup"])), path)
    before = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}
    new = Corpus(X[:2], Vocabulary(["new", "words"]))
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(InputError, match="cannot be written: No space left on device"):
            FORMATS[name].write(new, path)
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == before
    FORMATS[name].write(new, path)
    assert len(list(tmp_path.iterdir())) == 2
    assert FORMATS[name].words(Input.of(path), Options()) == ["new", "words"]
