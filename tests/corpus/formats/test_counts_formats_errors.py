"""Error messages about files of counts, with their line."""

import gzip
import io
import json

import numpy as np
import pytest
from scipy import sparse

from opelda.corpus import Corpus
from opelda.corpus._block import Problems
from opelda.corpus.formats import FORMATS, Options, count_lines
from opelda.corpus.formats._input import Input
from opelda.errors import InputError
from tests.cases import cases

uci, ldac, mm, npz = (FORMATS[name] for name in ("uci", "ldac", "mm", "npz"))


def read(format, source, position=None, **options):
    source = io.BytesIO(source) if isinstance(source, bytes) else source
    return list(format.blocks(Input.of(source), Options(**options), position))


def dense(found):
    return np.vstack([block.documents.toarray() for block in found]).tolist()


@cases(
    ("lines", "message"),
    [
        ("1 1", "line 5 is not 'document word count' in whole numbers"),
        ("1 1 1 1", "line 5 is not 'document word count'"),
        ("1 1 1.0", "line 5 is not 'document word count'"),
        ("1 1 -1", "line 5 is not 'document word count'"),
        ("1 1 x", "line 5 is not 'document word count'"),
        ("a line that is longer than the part that the parser examines at once", "line 5 is not"),
        ("0 1 1", "line 5 has document 0, but the header declares 2"),
        ("3 1 1", "line 5 has document 3, but the header declares 2"),
        ("2 0 1", "line 5 has word 0, but the header declares 3"),
        ("2 4 1", "line 5 has word 4, but the header declares 3"),
        ("99999999999999999999 1 1", "line 5 has document 9223372036854775807"),
        ("2 3 0", "line 5 counts 0, which is outside 1 to"),
        ("2 3 10000000000001", "line 5 counts 10000000000001, which is outside 1 to"),
    ],
)
@cases("more", ["", "2 3 2\n" * 20])
def test_bad_uci_lines_are_named_or_skipped(lines, message, more):
    text = f"2\n3\n{2 + len(more) // 6}\n1 2 1\n{lines}\n{more}".encode()
    with pytest.raises(InputError, match=f"^the file, {message}.*; correct the line.*='skip'"):
        read(uci, text)
    problems = Problems("skip")
    found = read(uci, text, problems=problems)
    assert dense(found) == [[0, 1, 0], [0, 0, 2.0 * (len(more) // 6)]]
    assert problems.n_skipped == 1
    assert f"the file, {message}" in problems.first[0]


def test_uci_documents_must_ascend():
    text = b"3\n1\n3\n1 1 1\n3 1 1\n2 1 1\n"
    with pytest.raises(InputError, match=r"line 6 has document 2 after a later document"):
        read(uci, text)
    problems = Problems("skip")
    assert dense(read(uci, text, problems=problems)) == [[1], [0], [1]]
    assert problems.n_skipped == 1


@cases("n", [0, 1, 3, 10**15])
def test_wrong_number_of_uci_counts_is_rejected(n):
    text = f"2\n1\n{n}\n1 1 1\n2 1 1\n".encode()
    with pytest.raises(InputError, match=f"^the file declares {n} counts but has 2; check"):
        read(uci, text)
    problems = Problems("skip")
    found = read(uci, text, problems=problems, block_size=1)
    assert dense(found) == [[1], [1]]
    assert problems.n_skipped == 1
    # also after an interruption
    with pytest.raises(InputError, match=f"declares {n} counts but has 2"):
        read(uci, text, found[0].position)


@cases(
    ("head", "message"),
    [
        (b"", "has no UCI header: documents, words and counts"),
        (b"2\n", "has no UCI header: documents, words and counts"),
        (b"2\n3\nx\n", "has no UCI header: documents, words and counts"),
        (b"2\n3 4\n5\n", "has no UCI header: documents, words and counts"),
        (b"-2\n3\n5\n", "has no UCI header: documents, words and counts"),
        (b"2\n3000000000\n5\n", "line 2 declares 3000000000 words; at most 2147483647"),
        (b"9" * 19 + b"\n3\n5\n", "has no UCI header: documents, words and counts"),
        (b"9" * 18 + b"\n3\n0\n", f"declares {'9' * 18} documents in 23 bytes"),
    ],
)
def test_bad_uci_headers_are_rejected(tmp_path, head, message):
    for path, raw in ((tmp_path / "a.txt", head), (tmp_path / "a.txt.gz", gzip.compress(head))):
        path.write_bytes(raw)
        with pytest.raises(InputError, match=message):
            read(uci, path)


def test_large_gaps_between_uci_documents_are_rejected(tmp_path):
    path = tmp_path / "docword.x.txt.gz"
    path.write_bytes(gzip.compress(b"900000000\n3\n2\n1 1 1\n800000000 1 1\n"))
    with pytest.raises(InputError, match="line 5 has document 800000000, more documents"):
        read(uci, path)
    with pytest.raises(InputError, match="declares 900000000 documents in 34 bytes"):
        read(uci, path, problems=Problems("skip"))


@cases("format", [uci, mm, npz])
def test_vocabulary_must_match_the_columns(tmp_path, format):
    path = tmp_path / f"x.{format.name}"
    format.write(Corpus(sparse.csr_array(np.eye(3))), str(path))
    (tmp_path / "vocab.txt").write_text("a\nb\n")
    with pytest.raises(InputError, match=r"has 3 columns, but .*vocab\.txt has 2 words; pass"):
        read(format, path)
    (tmp_path / "good").write_text("a\nb\nc\n")
    assert len(read(format, path, column_words=str(tmp_path / "good"))) == 1


@cases(
    ("line", "message"),
    [
        ("x", "is not 'M word:count word:count ...' in whole numbers"),
        ("1 0", "is not 'M word:count"),
        ("1 0:", "is not 'M word:count"),
        ("1 :1", "is not 'M word:count"),
        ("1 0:1:1", "is not 'M word:count"),
        ("1 0 :1", "is not 'M word:count"),
        ("1 0:0.5", "is not 'M word:count"),
        ("0:1", "is not 'M word:count"),
        ("-1", "is not 'M word:count"),
        ("2 0:1", "has 1 pairs, a different number than declared"),
        ("0 0:1", "has 1 pairs, a different number than declared"),
        ("1", "has 0 pairs, a different number than declared"),
        ("99999999999999999999", "has 0 pairs"),
        ("1 0:0", "counts 0, which is outside 1 to"),
        ("1 0:10000000000001", "counts 10000000000001, which is outside"),
        ("1 99999999999:1", "has the word 99999999999, but at most 2147483647 words"),
    ],
)
@cases("more", ["", "1 0:1\n" * 20])
def test_bad_ldac_lines_are_named_or_skipped(line, message, more):
    text = f"2 0:1 1:1\n{line}\n1 1:2\n{more}".encode()
    with pytest.raises(InputError, match=f"^the file, line 2 {message}.*on_error='skip'"):
        read(ldac, text)
    problems = Problems("skip")
    found = read(ldac, text, problems=problems)
    assert dense(found) == [[1, 1], [0, 2], *[[1, 0]] * more.count("\n")]
    assert problems.n_skipped == 1
    assert f"the file, line 2 {message}" in problems.first[0]


def test_ldac_words_beyond_the_vocabulary_are_rejected(tmp_path):
    path = tmp_path / "x.ldac"
    (tmp_path / "vocab.txt").write_text("a\nb\n")
    path.write_text("1 0:1\n1 2:1\n")
    message = r"x\.ldac, line 2 has the word 2, but .*vocab\.txt has 2 words, numbered from 0; "
    with pytest.raises(InputError, match=message + "if words are numbered from 1, pass first_id=1"):
        read(ldac, path)
    path.write_text("1 0:1\n1 3:1\n")
    with pytest.raises(InputError, match=r"the word 3, .* pass the matching vocabulary"):
        read(ldac, path)
    path.write_text("1 1:1\n1 2:1\n")
    assert dense(read(ldac, path, first_id=1)) == [[1, 0], [0, 1]]
    path.write_text("1 2:1\n1 0:1\n")
    with pytest.raises(InputError, match="line 2 has the word 0, but words are numbered from 1"):
        read(ldac, path, first_id=1)


@cases("format", [uci, ldac])
def test_endless_lines_are_rejected(format, monkeypatch):
    monkeypatch.setattr(count_lines, "LONGEST_LINE", 2**18)
    monkeypatch.setattr(count_lines, "CHUNK", 2**16)
    head = b"1\n1\n1\n" if format is uci else b"0\n"
    with pytest.raises(InputError, match="has a line of more than 262,144 bytes"):
        read(format, head + b"1 " * 2**20)


@cases("format", [uci, ldac])
@cases("place", [0, "x", {}, {"document": 1}, [1]])
def test_invalid_positions_are_rejected(format, place):
    with pytest.raises(InputError, match="is not a valid position in"):
        read(format, b"1\n1\n1\n1 1 1\n", place)


def test_position_beyond_the_end_of_the_file_is_rejected(tmp_path):
    path = tmp_path / "x.ldac"
    path.write_text("1 1:1\n" * 3)
    position = read(ldac, path, block_size=2)[0].position
    json.dumps(position)
    path.write_text("1 1:1\n")
    (tmp_path / "x.ldac.gz").write_bytes(gzip.compress(b"1 1:1\n"))
    for name in ("x.ldac", "x.ldac.gz"):
        with pytest.raises(InputError, match="ends before byte 12, where reading resumes"):
            read(ldac, tmp_path / name, position)
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(np.eye(2)))
    for position in (3, -1, 1.0, True, "1"):
        with pytest.raises(InputError, match="is not a valid position in"):
            read(npz, tmp_path / "x.npz", position)


@cases("format", [uci, ldac])
def test_tampered_positions_give_valid_blocks_or_an_error(format):
    raw = b"4\n3\n4\n" + b"".join(b"%d 3 1\n" % (i + 1) for i in range(4))
    if format is ldac:
        raw = b"1 2:1\n" * 4
    position = read(format, raw, block_size=2)[0].position
    for name in position:
        for value in (0, 1, 5, 10, 2**31 - 1, 2**40, 2**62 - 1):
            for on_error in ("stop", "skip"):
                try:
                    found = read(
                        format, raw, {**position, name: value}, problems=Problems(on_error)
                    )
                except InputError:
                    continue
                for block in found:
                    block.documents.check_format(full_check=True)
    with pytest.raises(InputError, match="has document 1 after a later document"):
        read(uci, b"2\n3\n2\n1 3 1\n2 3 1\n", {**position, "offset": 6, "entries": 0})


@cases("format", [uci, ldac])
def test_fractional_counts_are_rejected_by_whole_number_formats(tmp_path, format):
    corpus = Corpus(sparse.csr_array([[1.0, 2.0], [0.0, 0.5]]))
    with pytest.raises(
        InputError, match=r"Document 1 counts column 1 as 0\.5, but .* whole numbers"
    ):
        format.write(corpus, str(tmp_path / "x"))
    assert list(tmp_path.iterdir()) == []
