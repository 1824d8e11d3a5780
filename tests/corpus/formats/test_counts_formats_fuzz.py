"""Any bytes are documents or raise one InputError."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.corpus import Corpus
from opelda.corpus._block import Problems
from opelda.corpus.formats import FORMATS as KNOWN
from opelda.corpus.formats import Options
from opelda.corpus.formats._input import Input
from opelda.errors import InputError

FORMATS = {name: KNOWN[name] for name in ("uci", "ldac", "mm", "npz")}
CASES = 15  # per Hypothesis example
BITS = [b"0", b"-1", b"99999999999", b"1e999", b"nan", b":", b" ", b"\n", b"\r\n", b"\0", b"%"]


def outcome(name, raw, rng):
    """Read bytes and check the blocks, or the error message."""
    problems = Problems(rng.choice(["stop", "skip"]))
    options = Options(
        block_size=int(rng.choice([1, 3, 5000])),
        first_id=rng.choice([None, 0, 1]),
        problems=problems,
    )
    n_docs = width = 0
    try:
        for block in FORMATS[name].blocks(Input.of(io.BytesIO(raw)), options, None):
            X = block.documents
            X.check_format(full_check=True)
            assert (X.dtype, X.indices.dtype) == (np.float32, np.int32)
            assert X.has_canonical_format
            assert (X.data > 0).all()
            assert X.shape[1] >= width
            width = X.shape[1]
            n_docs += len(block)
            if n_docs > 1000 and options.block_size == 1:  # the rest is alike
                break
    except InputError as error:
        sentence = str(error)
    else:
        sentence = ""
    assert "\n" not in sentence


def valid_files(name, rng):
    shape = rng.integers(1, 6, 2)
    X = sparse.csr_array(rng.poisson(0.7, shape) * 10 ** rng.integers(0, 9, shape))
    if name == "npz":
        content = io.BytesIO()
        matrix = X.asformat(rng.choice(["csr", "csc", "coo", "bsr"]))
        sparse.save_npz(content, matrix, compressed=bool(rng.random() < 0.3))
        return content.getvalue()
    if name == "mm" and rng.random() < 0.3:
        values = "\n".join(str(value) for value in X.toarray().T.ravel())
        kind = rng.choice(["integer", "real"])
        return (
            f"%%MatrixMarket matrix array {kind} general\n{shape[0]} {shape[1]}\n{values}".encode()
        )
    return X


def mutated(raw, rng):
    """Return the bytes with some changed, removed, repeated, inserted or truncated."""
    raw = bytearray(raw)
    for _ in range(rng.integers(1, 4)):
        at, n = int(rng.integers(0, len(raw) + 1)), int(rng.integers(1, 12))
        match rng.integers(0, 6):
            case 0:
                raw[at : at + 1] = bytes([rng.integers(0, 256)])
            case 1:
                del raw[at : at + n]
            case 2:
                raw[at:at] = raw[at : at + n] * int(rng.integers(1, 5))
            case 3:
                raw[at:at] = BITS[rng.integers(0, len(BITS))]
            case 4:
                raw[at : at + n] = BITS[rng.integers(0, len(BITS))]
            case 5 if rng.random() < 0.3:
                del raw[at:]
    return bytes(raw)


@pytest.mark.parametrize("name", FORMATS)
@given(seed=st.integers(0, 2**32 - 1))
def test_corrupted_files_give_documents_or_one_error(tmp_path, name, seed):
    rng = np.random.default_rng(seed)
    for _ in range(CASES):
        raw = valid_files(name, rng)
        if not isinstance(raw, bytes):
            FORMATS[name].write(Corpus(raw), str(tmp_path / "x"))
            raw = (tmp_path / "x").read_bytes()
        outcome(name, mutated(raw, rng), rng)


@pytest.mark.parametrize("name", FORMATS)
@given(raw=st.binary(max_size=200), seed=st.integers(0, 2**32 - 1))
def test_arbitrary_bytes_give_documents_or_one_error(name, raw, seed):
    rng = np.random.default_rng(seed)
    outcome(name, raw, rng)
    head = {
        "uci": b"3\n4\n5\n",
        "ldac": b"2 1:1 ",
        "mm": b"%%MatrixMarket matrix coordinate integer general\n3 4 5\n",
        "npz": b"PK\x03\x04",
    }[name]
    outcome(name, head + raw, rng)
    digits = bytes(b"0123456789 :\n"[byte % 13] for byte in raw)
    outcome(name, head + digits, rng)
