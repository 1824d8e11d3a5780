"""The native parsers against Python parsers, for any threads and errors."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda import _text
from opelda.corpus.formats.count_matrices import SLACK

MOST = 10**13


def numbers(line, pattern):
    match = re.fullmatch(pattern, line.strip(b" \t\r"))
    return match and [int(group) for group in match.groups()]


def plain_triples(lines, n_docs, n_words):
    """Return the entries by document, and the numbers of skipped lines."""
    found, bad, last, offset = {}, [], 0, 0
    for number, line in enumerate(lines):
        if line.strip(b" \t\r"):
            triple = numbers(line, rb"(\d+)[ \t\r]+(\d+)[ \t\r]+(\d+)")
            doc, word, count = triple or (0, 0, 0)
            good = 1 <= word <= n_words and 1 <= count <= MOST and last <= doc <= n_docs
            if good and 1 <= doc <= offset + SLACK:
                last = doc
                found.setdefault(doc - 1, []).append((word - 1, np.float32(count)))
            else:
                bad.append(number)
        offset += len(line) + 1
    return found, bad


def plain_pairs(lines, first_id, n_words):
    found, bad = [], []
    for number, line in enumerate(lines):
        if not line.strip(b" \t\r"):
            continue
        head, *rest = re.split(rb"[ \t\r]+", line.strip(b" \t\r"))
        pairs = [numbers(pair, rb"(\d+):(\d+)") for pair in rest]
        if (
            head.isdigit()
            and all(pairs)
            and int(head) == len(pairs)
            and all(0 <= w - first_id < n_words and 1 <= c <= MOST for w, c in pairs)
        ):
            found.append([(w - first_id, np.float32(c)) for w, c in pairs])
        else:
            bad.append(number)
    return found, bad


def call(function, data, least, **options):
    data = np.frombuffer(data, np.uint8)
    room = len(data) // least + 1
    words, counts = np.empty(room, np.int32), np.empty(room, np.float32)
    found = function(data, 0, len(data), words, counts, 0, offset=0, line=0, **options)
    return words, counts, *found[:5]


def parse(function, data, least, **options):
    words, counts, rows, n, bad, n_lines, rising = call(function, data, least, **options)
    entries = list(zip(words[:n].tolist(), counts[:n].tolist(), strict=True))
    parts = np.split(np.arange(n), rows[1:, 1]) if len(rows) else []
    documents = [
        (int(row[0]), [entries[i] for i in part]) for row, part in zip(rows, parts, strict=True)
    ]
    return documents, bad, n_lines, rising, rows


tokens = st.one_of(
    st.integers(0, 12).map(str),
    st.integers(0, 10**9).map(str),
    st.sampled_from([*" \t\r\n\n :::0x\0\x0bé", "", "  ", "00001", "-1", "1.5", "1 1 1\n"]),
    st.sampled_from([9999999, 99999999, 10**13, 10**13 + 1, 2**63 - 1, 2**63, 10**30]).map(str),
)
garbage = st.lists(tokens, max_size=60).map("".join)
good_triple = st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 30)).map(
    lambda t: "{} {} {}\n".format(*t)
)
good_pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 30)), max_size=6).map(
    lambda pairs: " ".join([str(len(pairs)), *(f"{w}:{c}" for w, c in pairs)]) + "\n"
)


@given(text=st.lists(st.one_of(good_triple, good_triple, garbage), max_size=30).map("".join))
def test_parse_triples_matches_python(text):
    raw = text.encode()
    documents, bad, n_lines, rising, rows = parse(
        _text.parse_triples,
        raw,
        _text.LEAST_TRIPLE,
        n_documents=9,
        n_words=9,
        slack=SLACK,
        document=0,
        word=0,
        n_threads=1,
    )
    lines = raw.split(b"\n")
    expected, passed_over = plain_triples(lines, 9, 9)
    assert documents == list(expected.items())
    assert bad[:, 2].tolist() == passed_over
    assert n_lines == len(lines) - (not lines[-1])
    starts = np.cumsum([0, *(len(line) + 1 for line in lines)])
    assert bad[:, 1].tolist() == starts[passed_over].tolist()
    assert rows[:, 2].tolist() == starts[rows[:, 3]].tolist()
    for (doc, _), row in zip(documents, rows, strict=True):
        assert int(lines[row[3]].split()[0]) == doc + 1
    assert rising == all(
        list(dict.fromkeys(w for w, _ in entries)) == sorted({w for w, _ in entries})
        and len({w for w, _ in entries}) == len(entries)
        for entries in expected.values()
    )


@given(
    text=st.lists(st.one_of(good_pairs, good_pairs, garbage), max_size=20).map("".join),
    first_id=st.sampled_from([0, 1]),
)
def test_parse_pairs_matches_python(text, first_id):
    raw = text.encode()
    documents, bad, n_lines, rising, _ = parse(
        _text.parse_pairs,
        raw,
        _text.LEAST_PAIR,
        first_id=first_id,
        n_words=9,
        n_threads=1,
    )
    expected, passed_over = plain_pairs(raw.split(b"\n"), first_id, 9)
    assert [entries for _, entries in documents] == expected
    assert bad[:, 2].tolist() == passed_over
    assert n_lines == len(raw.split(b"\n")) - (raw.endswith(b"\n") or not raw)
    words = [[w for w, _ in entries] for entries in expected]
    assert rising == all(w == sorted(set(w)) for w in words)


@given(
    docs=st.lists(st.sampled_from([9, 10, 99, 10**6, 9999999, 10**7, 12345678, 10**8]), max_size=40)
)
def test_document_numbers_of_any_length(docs):
    docs = sorted(docs + docs)
    raw = "".join(f"{doc} {i + 1} 1\n" for i, doc in enumerate(docs)).encode()
    limits = {"n_documents": 10**9, "n_words": 100, "slack": 10**9, "document": 0, "word": 0}
    documents, bad, *_ = parse(_text.parse_triples, raw, _text.LEAST_TRIPLE, n_threads=1, **limits)
    expected = {}
    for i, doc in enumerate(docs):
        expected.setdefault(doc - 1, []).append((i, 1))
    assert documents == list(expected.items())
    assert not len(bad)


def test_similar_line_prefixes_start_a_new_document():
    raw = b"1 1 1\n" * 3 + b"2  1 1\n" + b"1 1 1\n" * 20
    limits = {"n_documents": 9, "n_words": 9, "slack": SLACK, "document": 0, "word": 0}
    documents, bad, *_ = parse(_text.parse_triples, raw, _text.LEAST_TRIPLE, n_threads=1, **limits)
    assert documents == [(0, [(0, 1)] * 3), (1, [(0, 1)])]
    assert bad[:, 2].tolist() == list(range(4, 24))


def large(rng, n_lines, *, order=True):
    """Return more than 1 MiB of triples of all lengths, with some invalid lines."""
    docs = rng.integers(1, 5000, n_lines) ** 2 // 5000 + 1
    if order:
        docs = np.sort(docs)
    words = (rng.integers(1, 10, n_lines) * 10.0 ** rng.integers(0, 8, n_lines)).astype(int)
    counts = (rng.random(n_lines) ** -1).astype(int) + 1
    lines = [f"{d} {w} {c}" for d, w, c in zip(docs, words, counts, strict=True)]
    for at in rng.integers(0, n_lines, 300):
        lines[at] = rng.choice(["", "x", "1 1", lines[at] + " ", "9999999 1 1", "3 3 3"])
    return ("\n".join(lines) + "\n").encode()


@pytest.mark.parametrize("order", [True, False])
def test_parse_triples_is_independent_of_threads(order):
    raw = large(np.random.default_rng(5), 110_000, order=order)
    assert len(raw) > 2**20
    options = {"n_documents": 5001, "n_words": 10**8, "slack": SLACK, "document": 7, "word": 3}
    one = parse(_text.parse_triples, raw, _text.LEAST_TRIPLE, n_threads=1, **options)
    expected, _ = plain_triples(raw.split(b"\n"), 5001, 10**8)
    if not order:  # the document before the chunk counts, too
        assert len(one[1]) > 50_000
    for n_threads in (2, 3, 4, 8):
        many = parse(_text.parse_triples, raw, _text.LEAST_TRIPLE, n_threads=n_threads, **options)
        assert many[0] == one[0]
        assert (many[1] == one[1]).all()
        assert many[2:4] == one[2:4]
        assert (many[4] == one[4]).all()
    if order:
        kept = {doc: entries for doc, entries in expected.items() if doc + 1 >= 7}
        assert one[0] == list(kept.items())


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_sorted_words_are_detected(n_threads):
    options = {"n_documents": 9, "n_words": 10**8, "slack": SLACK, "n_threads": n_threads}
    lines = [b"1 %d 1\n" % word for word in range(1, 100_000)]

    def rising(lines, document=0, word=0):
        raw = b"".join(lines)
        least = _text.LEAST_TRIPLE
        return call(_text.parse_triples, raw, least, document=document, word=word, **options)[-1]

    assert rising(lines)
    assert rising(lines[5:], 1, 5)
    assert not rising(lines[5:], 1, 6)
    for at in (10, 50_000, 99_000):
        assert not rising([*lines[:at], lines[at - 1], *lines[at:]])
        assert rising([*lines[:at], *(b"2" + line[1:] for line in lines)])
        pairs = b"".join(b"2 %d:1 %d:1\n" % (i, i + (i != at)) for i in range(100_000))
        args = (_text.parse_pairs, pairs, _text.LEAST_PAIR)
        assert not call(*args, first_id=0, n_words=10**6, n_threads=n_threads)[-1]


def test_parse_pairs_is_independent_of_threads():
    rng = np.random.default_rng(6)
    rows = [rng.integers(0, 10 ** rng.integers(1, 9), rng.integers(0, 40)) for _ in range(8_000)]
    lines = [" ".join([str(len(row)), *(f"{w}:{w % 13 + 1}" for w in row)]) for row in rows]
    for at in rng.integers(0, len(lines), 200):
        lines[at] = rng.choice(["", "x", "1 1", lines[at] + " ", lines[at] + " 1:1", "0"])
    raw = "\n".join(lines).encode()
    assert len(raw) > 2**20
    options = {"first_id": 0, "n_words": 10**9}
    one = parse(_text.parse_pairs, raw, _text.LEAST_PAIR, n_threads=1, **options)
    expected, passed_over = plain_pairs(raw.split(b"\n"), 0, 10**9)
    assert [entries for _, entries in one[0]] == expected
    assert one[1][:, 2].tolist() == passed_over
    for n_threads in (2, 3, 4):
        many = parse(_text.parse_pairs, raw, _text.LEAST_PAIR, n_threads=n_threads, **options)
        assert many[0] == one[0]
        assert (many[1] == one[1]).all()
        assert many[2:4] == one[2:4]
        assert (many[4] == one[4]).all()


def test_small_output_arrays_are_rejected():
    data = np.frombuffer(b"1 1 1\n" * 10, np.uint8)
    words, counts = np.empty(10, np.int32), np.empty(11, np.float32)
    options = {"offset": 0, "line": 1, "first_id": 0, "n_words": 5, "n_threads": 1}
    for begin, end, at in ((0, 60, 0), (0, 61, 0), (-1, 5, 0), (5, 4, 0), (0, 6, -1), (0, 6, 11)):
        with pytest.raises(IndexError):
            _text.parse_pairs(data, begin, end, words, counts, at, **options)
    ends = np.array([0, 2], np.int64)
    for bad in (np.array([0, 2, 1]), np.array([0, 4]), np.array([-1, 1]), np.array([], int)):
        with pytest.raises(IndexError):
            _text.write_pairs(bad, words[:3], counts[:3])
    with pytest.raises(IndexError):
        _text.write_triples(ends, words[:3], counts[:2], 1)
