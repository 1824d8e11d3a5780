"""Vocabulary files: their paths and their content."""

import gzip
import io
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.corpus import Corpus, Vocabulary
from opelda.corpus.formats import FORMATS, Options, _vocab, _writing, count_matrices
from opelda.corpus.formats._input import Input
from opelda.errors import InputError
from tests.cases import cases

characters = st.characters(exclude_categories=["Cs"])
words = st.text(characters, max_size=6)


def written_and_read(words):
    corpus = Corpus(sparse.csr_array((0, len(words)), dtype=np.float32), Vocabulary(words))
    path, content = _writing.sidecar_of(corpus, "x.txt")
    assert path == "x.txt.vocab"
    return _vocab.read_vocabulary(Input.of(io.BytesIO(content)))


@given(found=st.lists(words.filter(lambda word: not set("\r\n") & set(word)), unique=True))
def test_vocabulary_round_trip(found):
    assert written_and_read(found) == found


def test_first_word_with_a_byte_order_mark_round_trips():
    for found in (["\ufeff"], ["\ufeffa", "b"], ["\ufeff\ufeff"], ["a", "\ufeff"]):
        assert written_and_read(found) == found


@cases(
    ("raw", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"\xef\xbb\xbfa\nb", ["a", "b"]),
        (b" a \n\nb\x0b\xc2\x85\xe2\x80\xa8\n", [" a ", "", "b\x0b\x85\u2028"]),
    ],
)
def test_vocabulary_has_one_word_per_line(raw, expected):
    assert _vocab.read_vocabulary(Input.of(io.BytesIO(raw))) == expected


def test_invalid_vocabularies_name_the_line(tmp_path, monkeypatch):
    path = tmp_path / "v.txt"
    path.write_bytes(b"a\nb\nc\nb\n")
    with pytest.raises(
        InputError, match=r"v\.txt has the word 'b' in line 2 and a duplicate in line 4"
    ):
        _vocab.read_vocabulary(Input.of(path))
    path.write_bytes(b"a\ncaf\xe9\n")
    with pytest.raises(InputError, match=r"v\.txt, line 2 is not utf-8"):
        _vocab.read_vocabulary(Input.of(path))
    assert _vocab.read_vocabulary(Input.of(path), "latin-1") == ["a", "café"]
    for encoding in ("klingon", "rot13", "a\0b"):
        with pytest.raises(InputError, match="encoding must be a text encoding"):
            _vocab.read_vocabulary(Input.of(path), encoding)
    monkeypatch.setattr(_vocab, "MOST_BYTES", 3)
    with pytest.raises(InputError, match="too many for a vocabulary"):
        _vocab.read_vocabulary(Input.of(path))
    for word in ("a\nb", "a\r"):
        with pytest.raises(InputError, match="contains a line break"):
            written_and_read([word])


@cases(
    ("file", "vocabulary"),
    [
        ("docword.KOS.txt.gz", "vocab.KOS.txt"),
        ("docword.kos.txt", "vocab.kos.txt.xz"),
        ("docword.kos.txt", "docword.kos.txt.vocab"),
        ("ap.dat", "ap.dat.vocab"),
        ("ap.dat", "ap.vocab"),
        ("ap.dat.gz", "ap.vocab.txt"),
        ("ap.dat", "vocab.txt"),
        ("ap.dat", "vocabulary.txt.gz"),
    ],
)
def test_vocabulary_is_found_next_to_the_counts(tmp_path, file, vocabulary):
    raw = b"one\ntwo\n"
    if vocabulary.endswith(".gz"):
        raw = gzip.compress(raw)
    if vocabulary.endswith(".xz"):
        raw = lzma.compress(raw)
    (tmp_path / vocabulary).write_bytes(raw)
    source = Input.of(tmp_path / file)
    assert FORMATS["uci"].words(source, Options()) == ["one", "two"]
    assert FORMATS["lines"].words(source, Options()) is None  # texts are always tokenized


def test_unrelated_files_are_no_vocabulary(tmp_path):
    for name in ("vocab.a.txt", "vocab.b.txt", "my-voca.md"):
        (tmp_path / name).write_text("one\n")
    for file in ("docword.c.txt", "ap.dat"):
        assert _vocab.locate(Input.of(tmp_path / file), Options()) is None
    assert _vocab.locate(Input.of(io.BytesIO()), Options()) is None
    named = Options(column_words=str(tmp_path / "my-voca.md"))
    for name in ("lines", "ldac"):
        assert FORMATS[name].words(Input.of(io.BytesIO()), named) == ["one"]
        with pytest.raises(InputError, match="There is no file"):
            FORMATS[name].words(Input.of(tmp_path / "x"), Options(column_words="none"))


@cases(
    ("path", "expected"),
    [
        ("-", None),
        ("a/b.jsonl.ZST", "a/b.jsonl.vocab"),
        ("B.txt", "B.txt.vocab"),
        ("b/", "b.vocab"),
        ("a/docword.b.txt", "a/docword.b.txt.vocab"),
    ],
)
def test_vocabulary_path_of_a_target(path, expected):
    assert _writing.sidecar_path(path) == expected


def test_vocabulary_path_of_a_uci_target():
    assert _writing.sidecar_path("a/docword.b.txt.gz", "uci") == "a/vocab.b.txt"
    assert _writing.sidecar_path("a/b.docword", "uci") == "a/b.docword.vocab"


def test_fractional_counts_are_named():
    X = sparse.csr_array(np.array([[0, 1], [2, 1.5]], np.float32))
    with pytest.raises(InputError, match=r"Document 1 counts 'b' as 1\.5, but UCI supports whole"):
        count_matrices.check_whole(Corpus(X, Vocabulary(["a", "b"])), "UCI")
    with pytest.raises(InputError, match="Document 0 counts column 1 as inf"):
        count_matrices.check_whole(Corpus(sparse.csr_array([[0.0, np.inf]])), "UCI")
