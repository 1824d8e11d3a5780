"""Files of counts are read in chunks, and chunk ends do not change the result."""

import numpy as np
import pytest

from opelda.corpus._block import Problems
from opelda.corpus.formats import Options, count_lines
from opelda.corpus.formats._input import Input
from tests.cases import cases


@cases("size", [1, 2**16 - 1, 2**16, 2**16 + 1, 2**17, 300_000])
def test_lines_of_any_length_span_chunks(tmp_path, monkeypatch, size):
    monkeypatch.setattr(count_lines, "CHUNK", 2**16)
    path = tmp_path / "x.ldac"
    short, long = b"1 1:1\n", b"1 2:1" + b" " * max(size - 6, 0) + b"\n"
    lines = [short, long, short, short, long, long, *[short] * 20_000, long]
    path.write_bytes(b"".join(lines))
    for last in (b"", b"1 2:1"):
        with open(path, "ab") as file:
            file.write(last)
        (block,) = count_lines.ldac_blocks(Input.of(path), Options(block_size=10**9), None)
        words = [1 if line is short else 2 for line in lines] + [2] * bool(last)
        assert block.documents.indices.tolist() == words


@pytest.mark.parametrize("chunk", [2**16, 2**18])
@pytest.mark.parametrize("block_size", [9, 100, 10**9])
@pytest.mark.parametrize("format", ["uci", "ldac"])
def test_chunk_size_does_not_change_blocks(tmp_path, monkeypatch, chunk, block_size, format):
    rng = np.random.default_rng(7)
    if format == "uci":
        docs = np.sort(rng.integers(1, 5001, 40_000))
        words = rng.integers(1, 10**8, 40_000)
        lines = (f"{d} {w} {w % 9 + (w % 500 > 0)}\n" for d, w in zip(docs, words, strict=True))
        raw = ("5001\n100000000\n40000\n" + "".join(lines)).encode()
        path = tmp_path / "docword.x.txt"
    else:
        rows = [rng.integers(0, 500, rng.integers(0, 60)) for _ in range(3000)]
        raw = "".join(
            " ".join([str(len(row) + (i % 100 == 0)), *(f"{w}:1" for w in row)]) + "\n"
            for i, row in enumerate(rows)
        ).encode()
        path = tmp_path / "x.ldac"
    path.write_bytes(raw)

    def run(size, position=None):
        problems = Problems("skip")
        options = Options(block_size=size, problems=problems)
        return list(
            getattr(count_lines, f"{format}_blocks")(Input.of(path), options, position)
        ), problems

    (expected,), all_problems = run(10**9)
    monkeypatch.setattr(count_lines, "CHUNK", chunk)
    found, problems = run(block_size)
    assert (problems.n_skipped, problems.first) == (all_problems.n_skipped, all_problems.first)
    assert sum(map(len, found)) == len(expected)
    first = 0
    for block in found:
        part = expected.documents[first : first + len(block)]
        first += len(block)
        for name in ("indptr", "indices", "data"):
            assert np.array_equal(getattr(part, name), getattr(block.documents, name))
    for i in rng.integers(0, len(found), 3):
        rest, _ = run(block_size, found[i].position)
        assert [block.position for block in rest] == [b.position for b in found[i + 1 :]]
