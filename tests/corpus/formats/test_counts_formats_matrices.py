"""Error messages about Matrix Market and npz files."""

import gzip
import io
import zipfile

import numpy as np
import pytest

from opelda.corpus._block import Problems
from opelda.corpus.formats import FORMATS, Options, count_matrices
from opelda.corpus.formats._input import Input
from opelda.errors import InputError
from tests.cases import cases

mm, npz = FORMATS["mm"], FORMATS["npz"]


def read(format, source, position=None, **options):
    source = io.BytesIO(source) if isinstance(source, bytes) else source
    return list(format.blocks(Input.of(source), Options(**options), position))


def dense(found):
    return np.vstack([block.documents.toarray() for block in found]).tolist()


HEAD = "%%MatrixMarket matrix coordinate integer general\n"
REAL = HEAD.replace("integer", "real")
ARRAY = HEAD.replace("coordinate", "array")


@cases(
    ("text", "message"),
    [
        ("", "Missing banner"),
        ("1 1 1\n", "Missing banner"),
        (HEAD.replace("integer", "complex") + "1 1 1\n1 1 1 0\n", "it is complex general, but"),
        (HEAD.replace("integer", "unsigned-integer") + "1 1 1\n1 1 1\n", "it is unsigned"),
        (HEAD.replace("general", "symmetric") + "1 1 1\n1 1 1\n", "it is integer symmetric, but"),
        (HEAD, "Premature EOF"),
        (HEAD + "% note\n\n2 2\n", "Invalid integer value"),
        (HEAD + "2 2 -1\n", "negative"),
        (HEAD + "2 3000000000 0\n", "has 3000000000 columns; at most"),
        (HEAD + "2 2 99999999999\n1 1 1\n", "it declares 99999999999 values in 71 bytes"),
        (HEAD + "99999999999 2 1\n1 1 1\n", "declares 99999999999 documents in 71 bytes"),
        (HEAD + "2 2 2\n1 1 1\n", "Truncated file"),
        (HEAD + "2 2 1\n1 1 1\n1 1 1\n", "Line 4: Too many lines"),
        (HEAD + "2 2 1\n3 1 1\n", "Line 3: Row index out of bounds"),
        (HEAD + "2 2 1\n0 1 1\n", "Line 3: Row index out of bounds"),
        (HEAD + "2 2 1\n1 3 1\n", "Line 3: Column index out of bounds"),
        (HEAD + "2 2 1\n1 0 1\n", "Line 3: Column index out of bounds"),
        (HEAD + "2 2 1\n1 1 -1\n", r"the file\[0, 0\] is -1.0; counts must be from 0 to"),
        (HEAD + "2 2 1\n1 1 99999999999999999999\n", r"the file\[0, 0\] is 1e\+20; counts"),
        (HEAD + "2 2 1\n1 1 1\0\n", "it contains a null byte"),
        (REAL + "1 1 1\n1 1 nan\n", r"the file\[0, 0\] is nan; counts must be"),
        (REAL + "1 1 1\n1 1 1e999\n", r"the file\[0, 0\] is inf; counts must be"),
        (REAL + "1 1 1\n1 1 ++1\n", "Line 3: Invalid floating-point value"),
        (REAL + "1 1 1\n1 1\n", "Line 3: Invalid floating-point value"),
        (ARRAY + "99999 99999\n1\n", "it declares 9999800001 values in"),
        (ARRAY + "9999999999 9999999999\n1\n", "cannot be read as a Matrix Market file"),
        (ARRAY + "2 2\n1\n", "Truncated file"),
        (ARRAY + "1 1\n1\n2\n", "Line 4: Too many values"),
        (ARRAY.replace("integer", "pattern") + "1 1\n1\n", "may not be pattern"),
    ],
)
def test_invalid_matrix_market_files_are_rejected(text, message):
    with pytest.raises(InputError, match=message):
        read(mm, text.encode(), problems=Problems("skip"))


def test_matrix_market_without_a_final_newline():
    assert dense(read(mm, (HEAD + "4 1 1\n4 1 2nan").encode())) == [[0], [0], [0], [2]]


@cases("field", ["integer", "INTEGER", "real"])
def test_matrix_market_values_equal_python_floats(field):
    values = ["1", "007", ".5", "2.", "1e3", "1E-5", "0.1", "12345678901", "1e-320", "1.5"]
    values += ["0.30000000000000004", "3.4028235e12", "0", "0.0", "9007199254740993e-3"]
    lines = "".join(f" 1\t{i + 1}  {value} \r\n" for i, value in enumerate(values))
    text = HEAD.replace("integer", field) + f"1 {len(values)} {len(values)}\n{lines}"
    assert dense(read(mm, text.encode()))[0] == [np.float32(value) for value in values]


def archive(compression=zipfile.ZIP_DEFLATED, **arrays):
    """Return an .npz file; arrays may be bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as file:
        for name, array in arrays.items():
            if not isinstance(array, bytes):
                raw = io.BytesIO()
                np.save(raw, np.asarray(array))
                array = raw.getvalue()
            file.writestr(f"{name}.npy", array)
    return content.getvalue()


CSR = {
    "format": b"csr",
    "shape": [2, 3],
    "data": [1, 2],
    "indices": [0, 2],
    "indptr": [0, 1, 2],
}
CSR["format"] = np.array(b"csr")


def npy(descr, shape, more=b""):
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + more


@cases(
    ("changes", "message"),
    [
        ({"format": np.array(b"dia")}, "cannot be read as a sparse"),
        ({"format": np.array(7)}, "cannot be read as a sparse"),
        ({"shape": [2]}, "cannot be read as a sparse"),
        ({"shape": [2.0, 3.0]}, "cannot be read as a sparse"),
        ({"shape": [2, 2**31]}, "has 2147483648 columns; at most"),
        ({"shape": [2**40, 2], "format": np.array(b"csc")}, "declares 1099511627776 documents"),
        ({"shape": [-2, 3]}, "cannot be read as a sparse"),
        ({"data": [1]}, "indices and data should have the same size"),
        ({"data": [[1, 2]]}, "should be 1-D"),
        ({"data": ["a", "b"]}, "must hold counts, got values of type"),
        ({"data": [1, -2]}, r"the file\[1, 2\] is -2"),
        ({"data": [1, np.inf]}, r"the file\[1, 2\] is inf"),
        ({"indices": [0, 3]}, "is an invalid sparse matrix"),
        ({"indices": [0, -1]}, "is an invalid sparse matrix"),
        ({"indices": np.array([0, 2**64 - 1], np.uint64)}, "is an invalid sparse matrix"),
        ({"indptr": [0, 1]}, "index pointer size 2 should be 3"),
        ({"indptr": [0, 3, 2]}, "is an invalid sparse matrix"),
        ({"indptr": [1, 1, 2]}, "index pointer should start with 0"),
        ({"indptr": [0, 2, -1]}, "is an invalid sparse matrix"),
        (
            {"format": np.array(b"csc"), "shape": [3, 2], "indptr": [0, 2, 0]},
            "is an invalid sparse matrix",
        ),
        ({"data": npy("<f8", (2**44,), bytes(16))}, "cannot be read as a sparse"),
        ({"indptr": [0, 1, 3]}, "Last value of index pointer should be less"),
        ({"data": b"nonsense"}, "cannot be read as a sparse"),
        ({"data": npy("|O", (2,), bytes(16))}, "Object arrays cannot be loaded"),
        ({"data": npy("<f3", (2,), bytes(6))}, "not a valid dtype descriptor"),
        ({"data": npy([("a", "<f4")], (2,), bytes(8))}, "must hold counts, got values of type"),
        ({"data": npy("<f8", (2, -1), bytes(16))}, "cannot be read as a sparse"),
        ({"data": npy("<f8", (2**61,), bytes(16))}, "cannot be read as a sparse"),
        ({"data": npy("<f8", (2,), bytes(15))}, "cannot be read as a sparse"),
        ({"data": npy("(" * 5000, (2,))}, "not a valid dtype descriptor|too large"),
        ({"data": b"\x93NUMPY\x01\x00\x02\x00[["}, "cannot be read as a sparse"),
        ({"data": b"\x93NUMPY\x02\x00\xff\xff\xff\xff"}, "header, expected 4294967295 bytes got 0"),
        ({"format": np.array(b"bsr")}, "cannot be read as a sparse"),
        (
            {"format": np.array(b"bsr"), "data": np.ones((2, 2, 2)), "shape": [4, 7]},
            "not a multiple of the block size",
        ),
        ({"format": np.array(b"coo")}, "cannot be read as a sparse"),
        ({"format": np.array(b"coo"), "row": [0, 2], "col": [0, 0]}, "axis 0 index 2 exceeds"),
        ({"format": np.array(b"coo"), "row": [0], "col": [0, 0]}, "cannot be read as a sparse"),
    ],
)
def test_invalid_npz_files_are_rejected(changes, message):
    assert dense(read(npz, archive(**CSR))) == [[1, 0, 0], [0, 0, 2]]
    with pytest.raises(InputError, match=message):
        read(npz, archive(**{**CSR, **changes}))


def test_npz_in_fortran_order():
    data = np.arange(8.0).reshape(2, 2, 2)
    arrays = {**CSR, "format": np.array(b"bsr"), "shape": [4, 4], "indices": [1, 0]}
    expected = [[0, 0, 0, 1], [0, 0, 2, 3], [4, 5, 0, 0], [6, 7, 0, 0]]
    for order in "CF":
        assert (
            dense(read(npz, archive(**{**arrays, "data": np.array(data, order=order)}))) == expected
        )


def test_corrupted_npz_archives_are_rejected(tmp_path, monkeypatch):
    good = archive(**CSR)
    for raw, message in (
        (b"", "cannot be read as a sparse"),
        (good[:-30], "cannot be read as a sparse"),
        (archive(x=[1]), "cannot be read as a sparse"),
        (good.replace(b"PK\x01\x02", b"PK\x01\x03"), "cannot be read as a sparse"),
    ):
        with pytest.raises(InputError, match=message):
            read(npz, raw)
    monkeypatch.setattr(count_matrices, "MOST_BYTES", 10_000)
    with pytest.raises(InputError, match=r"it declares \d+ bytes after decompression"):
        read(npz, archive(**{**CSR, "data": np.zeros(10**6)}))
    monkeypatch.setattr(count_matrices, "MOST_BYTES", 10_000)
    for format, content in ((npz, good), (mm, (HEAD + "1 1 1\n1 1 1\n").encode())):
        path = tmp_path / "x.gz"
        path.write_bytes(gzip.compress(content + bytes(10**7)))
        with pytest.raises(InputError, match="decompresses to more than 200 times its size"):
            read(format, path)
