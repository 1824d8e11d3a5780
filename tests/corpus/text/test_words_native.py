"""The scanner and its word table against Python, for any bytes and column layout."""

import re
import threading
from itertools import pairwise, product

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda import _text
from opelda.corpus.text import _splitters
from tests.cases import cases

BYTES = st.lists(
    st.binary(max_size=8)
    | st.sampled_from(["ab", "é", "漢", "😀", "_1", "x" * 61, "y" * 17, "é" * 9]).map(str.encode)
    | st.sampled_from(
        [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b" "]
    )
).map(b"".join)


def column(texts, type_=None):
    """Return bytes as a string column, without checking for UTF-8."""
    if type_ == "view" and all(len(text) < 2**31 for text in texts):
        return pa.array(texts, pa.binary_view()).view(pa.string_view())
    offset, string = ("i8", pa.large_string()) if type_ == "large" else ("i4", pa.string())
    ends = np.cumsum([0, *map(len, texts)]).astype(offset)
    data = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(string, len(texts), data)


def stream(array):
    chunked = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    return chunked.__arrow_c_stream__()


def scan(array, least=2, need_letter=False, pairs=False):
    table = _text.WordTable()
    rule = {"least": least, "need_letter": need_letter, "pairs": pairs}
    codes, ends = table.scan(stream(array), _splitters.unicode_words(), **rule)
    listed = table.words()
    words = [listed[code] for code in codes]
    return [words[i:j] for i, j in pairwise(ends)], table


def reference(text, least, need_letter):
    """Return the words of a text; invalid UTF-8 separates words."""
    classes = _splitters.unicode_words()
    runs = [""]
    for character in text.decode("utf-8", "surrogateescape"):
        if classes[ord(character)] & _text.WORD:
            runs[-1] += character
        else:
            runs.append("")
    letters = [any(classes[ord(c)] & _text.LETTER for c in run) for run in runs]
    return [
        run
        for run, letter in zip(runs, letters, strict=True)
        if len(run) >= least and (letter or not need_letter)
    ]


@given(
    st.lists(BYTES),
    st.sampled_from([1, 2, 3]),
    st.booleans(),
    st.sampled_from(["", "large", "view"]),
)
def test_arbitrary_bytes_match_the_reference(texts, least, need_letter, layout):
    found, table = scan(column(texts, layout), least, need_letter)
    assert found == [reference(text, least, need_letter) for text in texts]
    everything = [word for words in found for word in words]
    assert table.words() == list(dict.fromkeys(everything))
    paired, _ = scan(column(texts, layout), least, need_letter, pairs=True)
    for words, parts in zip(
        found, paired, strict=True
    ):  # each pair lies within the words, in order
        assert all(part in " ".join(words) for part in parts if least == 1 or len(part) >= least)


def test_utf8_validation_matches_python():
    """Every first byte with continuation bytes at the limits; each character is a word."""
    edges = (0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0)
    texts = [
        bytes([first, *rest]) for first in range(0x80, 256) for rest in product(edges, repeat=3)
    ]
    table = _text.WordTable()
    everything = np.full(0x110000, _text.WORD, np.uint8)
    codes, ends = table.scan(stream(column(texts)), everything, least=1, need_letter=False)
    listed = table.words()
    words = [listed[code] for code in codes]
    expected = [
        re.findall("[^\ud800-\udfff]+", t.decode("utf-8", "surrogateescape")) for t in texts
    ]
    assert [words[i:j] for i, j in pairwise(ends)] == expected


@cases("length", [*range(1, 20), *range(55, 75), *range(120, 136)])
def test_words_at_every_offset_in_a_block(length):
    text = "é" * (length % 2) + "a" * length + " " + "b" * length + "é" + "c" * length
    assert scan(column([text.encode(), b"", text.encode()]))[0][2] == reference(
        text.encode(), 2, False
    )


@given(st.lists(st.none() | st.text(max_size=20)), st.integers(0, 5), st.integers(1, 4))
def test_chunked_sliced_and_nullable_columns(texts, begin, step):
    chunks = [pa.array(texts[i : i + step], pa.string()) for i in range(0, len(texts), step)]
    array = pa.chunked_array(chunks, pa.string()).slice(begin)
    assert scan(array)[0] == [reference((t or "").encode(), 2, False) for t in texts[begin:]]
    series = pl.concat([pl.Series(texts, dtype=pl.String)] * 2).slice(begin)
    table = _text.WordTable()
    codes = table.code(series.__arrow_c_stream__(None))
    assert [table.words()[code] for code in codes] == [t or "" for t in (texts * 2)[begin:]]


def test_missing_text_is_empty():
    ends = pa.py_buffer(np.array([0, 2, 4, 6], "i4").tobytes())
    data = [pa.py_buffer(bytes([0b101])), ends, pa.py_buffer(b"abcdef")]
    assert scan(pa.Array.from_buffers(pa.string(), 3, data))[0] == [["ab"], [], ["ef"]]


@given(st.lists(st.lists(st.sampled_from(["a", "b", "stop", "c" * 20]))), st.booleans())
def test_bigrams_skip_stop_words(documents, singles):
    table, paired = _text.WordTable(), _text.WordTable()
    codes = table.add([word for document in documents for word in document])
    ends = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    renamed = np.array([-1 if w == "stop" else i for i, w in enumerate(table.words())], np.int32)
    found, found_ends = table.pairs(codes, ends, renamed, singles=singles, into=paired)
    listed = paired.words()
    for document, (begin, end) in zip(documents, pairwise(found_ends), strict=True):
        kept = [word for word in document if word != "stop"]
        expected = kept * singles + [f"{one} {two}" for one, two in pairwise(kept)]
        assert [listed[code] for code in found[begin:end]] == expected


@given(st.lists(st.text(max_size=40) | st.sampled_from(["a" * n for n in range(40)])))
def test_word_table_matches_a_dict(words):
    table, known = _text.WordTable(), {}
    expected = [known.setdefault(word, len(known)) for word in words]
    assert table.add(words).tolist() == expected
    assert table.words() == list(known)
    assert table.words(2) == list(known)[2:]
    assert len(table) == len(known)
    other = _text.WordTable()
    other.add(["zz", *words[::-1]])
    assert [table.words()[code] for code in table.absorb(other)] == other.words()


def test_many_similar_words():
    words = [f"{'same beginning ' * (i % 3)}{i}" for i in range(50_000)]
    table = _text.WordTable()
    assert table.add(words).tolist() == list(range(50_000))
    assert table.add(words).tolist() == list(range(50_000))
    assert table.words() == words


@given(st.lists(st.lists(st.integers(0, 300))), st.data())
def test_count_rows_sorts_and_sums(documents, data):
    renamed = np.array(
        data.draw(st.lists(st.integers(-1, 9), min_size=301, max_size=301)), np.int32
    )
    renamed = np.where(renamed == 9, 70_000, renamed).astype(np.int32)
    codes = np.array([code for document in documents for code in document], np.int32)
    ends = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    indptr, indices, counts = _text.count_rows(codes, ends, renamed, n_words=70_001)
    for number, document in enumerate(documents):
        names, expected = np.unique(
            [renamed[c] for c in document if renamed[c] >= 0], return_counts=True
        )
        row = slice(indptr[number], indptr[number + 1])
        assert indices[row].tolist() == names.tolist()
        assert counts[row].tolist() == expected.tolist()


def test_invalid_arrays_are_rejected():
    table = _text.WordTable()
    table.add(["a", "b"])
    i32, i64 = (lambda *n: np.array(n, np.int32)), (lambda *n: np.array(n, np.int64))
    bad = [
        (i32(0), i64(), i32(0)),
        (i32(0), i64(1, 1), i32(0)),
        (i32(0), i64(0, 2), i32(0)),
        (i32(0, 0), i64(0, 2, 1, 2), i32(0)),
        (i32(1), i64(0, 1), i32(0)),
        (i32(-1), i64(0, 1), i32(0)),
        (i32(0), i64(0, 1), i32(2)),
        (i32(0), i64(0, 1), i32(-2)),
    ]
    for codes, ends, renamed in bad:
        with pytest.raises(ValueError, match=r"must"):
            _text.count_rows(codes, ends, renamed, n_words=2)
        with pytest.raises(ValueError, match=r"must"):
            table.pairs(codes, ends, renamed, singles=True, into=_text.WordTable())
    with pytest.raises(ValueError, match=r"own"):
        table.pairs(i32(0), i64(0, 1), i32(0, 1), singles=True, into=table)
    with pytest.raises(ValueError, match=r"itself"):
        table.absorb(table)
    with pytest.raises(ValueError, match=r"0x110000"):
        table.scan(stream(column([b"a"])), np.zeros(5, np.uint8), least=1, need_letter=False)
    with pytest.raises(ValueError, match=r"strings"):
        table.code(stream(pa.array([1, 2])))
    with pytest.raises(ValueError, match=r"PyCapsule"):
        table.code(object())
    assert table.words() == ["a", "b"]
    with pytest.raises(UnicodeEncodeError):
        table.add(["\ud800"])


def test_word_table_is_thread_safe():
    table = _text.WordTable()
    words = [f"word{i}" for i in range(2_000)]
    series = pl.Series([" ".join(words)] * 10)
    classes = _splitters.unicode_words()
    found = []

    def work():
        codes, _ = table.scan(series.__arrow_c_stream__(None), classes, least=1, need_letter=False)
        found.append((codes, table.words()))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for codes, listed in found:
        assert [listed[code] for code in codes] == words * 10
