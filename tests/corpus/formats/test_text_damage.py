"""Text readers give documents or one error for any bytes."""

import io
import os
import random
import tempfile

import numpy as np
import polars as pl
import pytest
from openpyxl import Workbook

from opelda.corpus._block import Problems
from opelda.corpus._matrix import Counted
from opelda.corpus.formats import FORMATS, Options
from opelda.corpus.formats._input import Input
from opelda.errors import InputError
from tests.corpus.formats import text_files

NAMES = ("lines", "jsonl", "csv", "tsv", "mallet", "parquet", "files")
ENCODINGS = ("utf-8", "utf-8", "utf-8", "latin-1", "utf-16", "shift_jis", "utf-7", "utf-8-sig")
PIECES = (
    *(b'"', b"\n", b"\r\n", b",", b"\t", b"|", b":", b"{", b"[", b"\\", b"\0", b"\xff", b"'", b";"),
    *(b'""', b'"\n', b":1e999", b"\\ud800", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\x1f\x8b", b" "),
    *(b"null", b"PAR1", b"\xe2\x80\xa8", b"9" * 400),
)


def seeds():
    """Return valid files of every format, for corruption."""
    rng = np.random.default_rng(0)
    words = ["tea", "new york", "é", 'a"b', "x,y", "日本"]
    texts = [" ".join(rng.choice(words, n)) for n in rng.poisson(5, 12)]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES[:-1]:
            found[name] = []
            for names in (None, [f"d{i}" for i in range(12)]):
                path = f"{folder}/docs"
                text_files.write(name, path, texts, names)
                with open(path, "rb") as file:
                    found[name].append(file.read())
        frame = pl.DataFrame({"id": range(9), "text": ["tea", None, "cup"] * 3})
        frame.write_parquet(path, compression="uncompressed", row_group_size=4)
        with open(path, "rb") as file:
            found["parquet"].append(file.read())
    found["csv"].append(b'id,text\n1,"tea\n""x"""\n2,5" disk\n3,"a" b\n')
    found["jsonl"].append(b'{"a": 1, "text": ["x"], "b": {"c": [1.5e3, null]}}\n"tea"\n')
    found["files"] = found["lines"]
    book, packed = Workbook(), io.BytesIO()
    for row in [["id", "text"], [1, "tea"], [2, None], [3, "cup"]]:
        book.active.append(row)
    book.save(packed)
    found["xlsx"] = [packed.getvalue()]
    return found


SEEDS = seeds()


def damaged(rng, data):
    """Return a file with some bytes changed, removed, repeated or invented."""
    if rng.random() < 0.1:
        pieces = [rng.choice(PIECES) if rng.random() < 0.6 else rng.randbytes(3) for _ in range(20)]
        return b"".join(pieces)
    data = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(5):
            case 0:
                data[at : at + rng.randint(1, 9)] = b""
            case 1:
                data[at:at] = rng.choice(PIECES)
            case 2:
                data[at : at + 1] = rng.randbytes(1)
            case 3:
                data[at:at] = data[: rng.randrange(60)]
            case 4 if rng.random() < 0.2:
                data[at:] = b""
    return bytes(data)


def attempt(rng, name, folder):
    """Read one corrupted file; return whether it gave documents."""
    data = damaged(rng, rng.choice(SEEDS[name]))
    options = Options(
        text_columns=rng.choice([(), (), ("text",), ("1",), ("name", "text"), ("x",)]),
        name_column=rng.choice([None, None, "name", "1"]),
        encoding=rng.choice(ENCODINGS),
        block_size=rng.choice([1, 3, 1000]),
        problems=Problems(rng.choice(["stop", "skip"])),
    )
    source = io.BytesIO(data)
    if name in ("parquet", "files", "xlsx"):
        source = folder if name == "files" else f"{folder}/docs"
        with open(f"{folder}/docs", "wb") as file:
            file.write(data)
    n_docs = 0
    try:
        for block in FORMATS[name].blocks(Input.of(source), options, None):
            check(block, options)
            n_docs += len(block)
    except InputError as error:
        message = str(error)
        assert "; " in message, message
        assert "\n" not in message, message
        assert len(message) < 3000, message
        assert message.endswith("."), message
    return n_docs > 0


def check(block, options):
    assert 0 < len(block) <= options.block_size
    assert block.names is None or len(block.names) == len(block)
    if isinstance(block.documents, Counted):
        counts = block.documents.counts
        assert counts.shape[1] == len(block.documents.words) == len(set(block.documents.words))
        assert counts.dtype == np.float32
        assert counts.has_canonical_format
        assert (counts.data > 0).all()
        assert np.isfinite(counts.data).all()
    else:
        assert block.documents.dtype == pl.String
        assert block.documents.null_count() == 0


def run(name, n, seed):
    rng = random.Random(f"{name} {seed}")
    with tempfile.TemporaryDirectory() as folder:
        return sum(attempt(rng, name, folder) for _ in range(n))


@pytest.mark.parametrize("name", NAMES)
def test_corrupted_text_files_give_documents_or_one_error(name):
    assert run(name, 60 if name == "parquet" else 300, seed=0) > 0


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
def test_many_corrupted_text_files(name):
    seed = os.environ.get("OPELDA_FUZZ_SEED", "1")
    assert run(name, 10_000, seed) > 0
