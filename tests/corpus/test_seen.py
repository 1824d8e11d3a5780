"""Replayed records are recognized, and new records are never skipped."""

import json
from itertools import takewhile
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.corpus import _replay as _seen
from opelda.corpus import stream
from opelda.corpus._replay import SURE, Former, Seen, ended, item_key, recognise
from opelda.errors import InputError
from tests.cases import cases
from tests.corpus.restarts import Once

records = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n"]), max_size=40)


def joined(records):
    return b"".join(records)


def former_of(*inputs):
    """Return the position after reading the inputs in order."""
    seen = Seen()
    for lines in inputs:
        seen = Seen(seen.last)
        seen.add(joined(lines))
    return json.loads(json.dumps(seen.as_json()))


def new_of(position, lines):
    """Return the new lines and the next position."""
    left = iter(lines)
    found = recognise(left, ended, Former.of(position), "lines")
    return [*found.held, *left], found.seen


def same_length(left, right):
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))))


def expected(before, lines):
    """Return the number of repeated lines, by exhaustive search."""
    alike = same_length(before, lines)
    if (before and alike == len(before)) or alike == len(lines):
        return alike
    if alike >= SURE:
        return alike
    ends = (n for n in range(len(before) + 1) if before[len(before) - n :] == lines[:n])
    return max(ends)


@given(records, records, st.data())
def test_replayed_lines_are_skipped_and_new_lines_kept(before, after, data):
    beginning = data.draw(
        st.one_of(
            st.just([]),
            st.integers(0, 40).map(lambda n: before[:n]),
            st.integers(0, 40).map(lambda n: before[len(before) - n :]),
        )
    )
    lines = beginning + after
    new, seen = new_of(former_of(before), lines)
    assert new == lines[expected(before, lines) :]
    seen.add(joined(new))
    assert seen.n == len(lines)
    fresh = Seen()
    fresh.add(joined(lines))
    assert seen.end() == fresh.end()
    assert seen.marks == fresh.marks


@pytest.mark.parametrize("n", [_seen.N_LAST - 1, _seen.N_LAST, _seen.N_LAST + 1, 5000])
def test_last_records_are_kept(n):
    lines = [b"%d\n" % number for number in range(n)]
    seen = Seen()
    seen.add(joined(lines))
    assert seen.last == [_seen.digest(line[:-1]) for line in lines[-_seen.N_LAST :]]


@given(records, records, st.integers(0, 40))
def test_few_marks_lose_no_record(before, after, n):
    """A cut between two marks is unknown; a complete replay is recognized."""
    with mock.patch.multiple(_seen, N_MARKS=3, N_LAST=2, SURE=4):
        position = former_of(before)
        lines = before[:n] + after
        n_known = len(lines) - len(new_of(position, lines)[0])
        overlap = max(
            j for j in range(min(2, len(before)) + 1) if before[len(before) - j :] == lines[:j]
        )
        assert n_known <= max(same_length(before, lines), overlap)
        if before and lines[: len(before)] == before:
            assert n_known == len(before)


@given(st.integers(1, 60), st.integers(0, 60))
def test_chunking_does_not_change_the_position(n, cut):
    lines = [f"{i}\n".encode() for i in range(n)]
    with mock.patch.multiple(_seen, N_MARKS=4, N_LAST=5):
        parts = Seen()
        parts.add(joined(lines[:cut]))
        parts.add(joined(lines[cut:]).removesuffix(b"\n"))  # the last line may lack its end
        assert parts.as_json() == former_of(lines)


def test_overlaps_span_restarts():
    first, second = [b"1\n", b"2\n", b"3\n"], [b"4\n"]
    assert new_of(former_of(first, second), [b"2\n", b"3\n", b"4\n", b"5\n"])[0] == [b"5\n"]
    seen = new_of(former_of(first, second), second)[1]  # the second input repeated
    assert new_of(seen.as_json(), [b"3\n", b"4\n", b"5\n"])[0] == [b"5\n"]


@cases(("lines", "n_new"), [(b"89", 0), (b"9", 0), (b"0x", 2), (b"x", 1), (b"7x", 2)])
def test_replay_is_decided_without_reading_ahead(lines, n_new):
    """No line is read after the decisive one."""

    def asked():
        for letter in lines:
            yield b"%c\n" % letter
        pytest.fail("asked for more")

    position = former_of([b"%d\n" % i for i in range(10)])
    assert len(recognise(asked(), ended, Former.of(position), "lines").held) == n_new


def test_position_size_is_bounded():
    seen = Seen()
    lines = joined(f"{i}\n".encode() for i in range(100_000))
    for _ in range(10):
        seen.add(lines)
    assert seen.n == 1_000_000
    assert len(json.dumps(seen.as_json())) < 40_000


@cases("name", ["n", "step", "marks", "end", "last"])
@cases("value", [None, -1, "x", [], "AAAA"])
def test_invalid_positions_are_rejected(name, value):
    with pytest.raises(InputError, match="not a valid position"):
        Former.of(former_of([b"a\n", b"b\n"]) | {name: value})


def test_item_keys_depend_on_content():
    X = np.arange(6.0).reshape(2, 3)
    items = ["tea", ["tea"], {"tea": 1}, {"tea": 2}, [["tea"]], X, X.T, sparse.csr_array(X), 7]
    keys = [item_key(item) for item in items]
    assert len(set(keys)) == len(keys)
    assert item_key(sparse.coo_array(X)) == item_key(sparse.csr_array(X.copy()))
    assert item_key({"tea": 1, "cup": 2}) == item_key(dict([("tea", 1), ("cup", 2)]))


@cases("again", ["id,text\n", ""])
def test_table_header_is_not_a_document_after_a_restart(again):
    """The pipe continues with the same header or without a header."""
    first = stream(Once("id,text\n1,tea\n2,cup\n"), format="csv", batch_size=2)
    (batch,) = first
    other = stream(Once(again + "3,pot\n4,jug\n"), format="csv", batch_size=5)
    other.seek(json.loads(json.dumps(batch.position)))
    (rest,) = other
    assert other.vocabulary.words == ("pot", "jug")
    assert rest.X.shape == (2, 2)


BAD = {
    "jsonl": ('{"text": "tea"}\n', "{bad\n"),
    "csv": ("1,tea\n", "1,2,3\n"),
    "tsv": ("1\ttea\n", "1\t2\t3\n"),
    "mallet": ("a b tea\n", "bad\n"),
    "lines": ("tea\n", "\udcff\n"),
}


@cases("format", BAD)
@cases("n_good", [0, 1, 3, 4, 7])
def test_documents_before_a_bad_line_of_a_pipe_are_given(format, n_good):
    good, bad = BAD[format]
    header = {"csv": "id,text\n", "tsv": "id\ttext\n"}.get(format, "")
    text = header + good * n_good + bad + good * 3
    data = Once("")
    data.file.write(text.encode("utf-8", "surrogateescape"))
    data.file.seek(0)
    sizes = []
    with pytest.raises(InputError, match=f"line {n_good + 1 + bool(header)}"):
        sizes.extend(batch.X.shape[0] for batch in stream(data, format=format, batch_size=4))
    assert sizes == [4] * (n_good // 4) + [n_good % 4] * (n_good % 4 > 0)


def test_large_arrays_that_differ_in_one_element_have_different_keys():
    counts = np.zeros((50, 50))
    other = counts.copy()
    other[25, 25] = 1
    assert item_key(counts) == item_key(counts.copy()) != item_key(other)
