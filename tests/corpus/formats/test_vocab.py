"""Vocabulary files: where they are looked for, what is read, words that text cannot hold."""

import gzip
import io
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.corpus import Corpus, Vocabulary
from opelda.corpus.formats import _vocab, _writing
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._registry import Options
from opelda.errors import InputError

characters = st.characters(exclude_categories=["Cs"])
words = st.text(characters, max_size=6)


def written_and_read(words):
    corpus = Corpus(sparse.csr_array((0, len(words)), dtype=np.float32), Vocabulary(words))
    path, content = _writing.sidecar_of(corpus, "x.txt")
    assert path == "x.txt.vocab"
    return _vocab.read_vocabulary(Input.of(io.BytesIO(content)))


@given(word=words)
def test_escaping_is_undone(word):
    escaped = _vocab.escape(word)
    assert _vocab.unescape(escaped) == word
    assert escaped.split() == [escaped]
    assert not set(":|") & set(escaped)
    assert escaped.isprintable() or not word.isprintable()
    assert (
        escaped == word
        or set(word) & set("%:|")
        or not word
        or not word.isascii()
        or any(c.isspace() or not c.isprintable() for c in word)
    )


@given(one=words, other=words)
def test_different_words_stay_different(one, other):
    assert (one == other) == (_vocab.escape(one) == _vocab.escape(other))


@pytest.mark.parametrize("text", ["100%", "%zz", "%C3", "%FF%FE", "a%", "%%", "é%41"])
def test_what_is_no_escape_is_left(text):
    expected = text.replace("%41", "A")
    assert _vocab.unescape(text) == expected


@given(found=st.lists(words.filter(lambda word: not set("\r\n") & set(word)), unique=True))
def test_vocabularies_are_read_as_written(found):
    assert written_and_read(found) == found


def test_a_first_word_that_looks_like_a_mark():
    for found in (["\ufeff"], ["\ufeffa", "b"], ["\ufeff\ufeff"], ["a", "\ufeff"]):
        assert written_and_read(found) == found


@pytest.mark.parametrize(
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
def test_a_word_a_line(raw, expected):
    assert _vocab.read_vocabulary(Input.of(io.BytesIO(raw))) == expected


def test_bad_vocabularies_say_where(tmp_path, monkeypatch):
    path = tmp_path / "v.txt"
    path.write_bytes(b"a\nb\nc\nb\n")
    with pytest.raises(InputError, match=r"v\.txt has the word 'b' in line 2 and again in line 4"):
        _vocab.read_vocabulary(Input.of(path))
    path.write_bytes(b"a\ncaf\xe9\n")
    with pytest.raises(InputError, match=r"v\.txt, line 2 is not utf-8"):
        _vocab.read_vocabulary(Input.of(path))
    assert _vocab.read_vocabulary(Input.of(path), "latin-1") == ["a", "café"]
    for encoding in ("klingon", "rot13", "a\0b"):
        with pytest.raises(InputError, match="There is no text encoding"):
            _vocab.read_vocabulary(Input.of(path), encoding)
    monkeypatch.setattr(_vocab, "MOST_BYTES", 3)
    with pytest.raises(InputError, match="too many for a vocabulary"):
        _vocab.read_vocabulary(Input.of(path))
    for word in ("a\nb", "a\r"):
        with pytest.raises(InputError, match="has a line break in it"):
            written_and_read([word])


@pytest.mark.parametrize(
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
        ("x.npz", "nyt_voca.txt"),
    ],
)
def test_found_beside_the_counts(tmp_path, file, vocabulary):
    raw = b"one\ntwo\n"
    if vocabulary.endswith(".gz"):
        raw = gzip.compress(raw)
    if vocabulary.endswith(".xz"):
        raw = lzma.compress(raw)
    (tmp_path / vocabulary).write_bytes(raw)
    source = Input.of(tmp_path / file)
    assert _vocab.find(source, Options(), counts=True) == ["one", "two"]
    sidecar = vocabulary.startswith(file.removesuffix(".gz"))
    assert (_vocab.find(source, Options()) is not None) == sidecar  # texts have their own only


def test_not_found(tmp_path):
    for name in ("vocab.a.txt", "vocab.b.txt", "my-voca.md"):
        (tmp_path / name).write_text("one\n")
    for file in ("docword.c.txt", "ap.dat"):
        assert _vocab.find(Input.of(tmp_path / file), Options(), counts=True) is None
    assert _vocab.find(Input.of(io.BytesIO()), Options(), counts=True) is None
    # a file does not name its own words
    (tmp_path / "vocab.a.txt").unlink()
    assert _vocab.find(Input.of(tmp_path / "vocab.b.txt"), Options(), counts=True) is None
    assert _vocab.find(Input.of(tmp_path / "ap.dat"), Options(), counts=True) == ["one"]
    named = Options(column_words=str(tmp_path / "my-voca.md"))
    assert _vocab.find(Input.of(io.BytesIO()), named) == ["one"]
    with pytest.raises(InputError, match="There is no file"):
        _vocab.find(Input.of(tmp_path / "x"), Options(column_words=str(tmp_path / "none")))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("-", None),
        ("a/b.jsonl.ZST", "a/b.jsonl.vocab"),
        ("B.txt", "B.txt.vocab"),
        ("b/", "b.vocab"),
        ("a/docword.b.txt", "a/docword.b.txt.vocab"),
    ],
)
def test_sidecar(path, expected):
    assert _writing.sidecar_path(path) == expected


def test_sidecar_of_uci():
    assert _writing.sidecar_path("a/docword.b.txt.gz", "uci") == "a/vocab.b.txt"
    assert _writing.sidecar_path("a/b.docword", "uci") == "a/b.docword.vocab"


@given(data=st.data())
def test_texts_repeat_words_by_count(monkeypatch, data):
    columns = data.draw(st.lists(words, min_size=1, max_size=4, unique=True))
    n_docs = data.draw(st.integers(0, 6))
    row = st.lists(st.integers(0, 3), min_size=len(columns), max_size=len(columns))
    dense = np.array([data.draw(row) for _ in range(n_docs)]).reshape(n_docs, len(columns))
    monkeypatch.setattr(_writing, "TOKENS_AT_ONCE", data.draw(st.sampled_from([1, 5, 10**6])))
    corpus = Corpus(sparse.csr_array(dense.astype(np.float32)), Vocabulary(columns))
    texts = list(_writing.texts_of(corpus))
    expected = [
        [word for word, n in zip(columns, counts, strict=True) for _ in range(n)]
        for counts in dense.tolist()
    ]
    assert [[_vocab.unescape(token) for token in text.split(" ") if text] for text in texts] == (
        expected
    )


def test_texts_that_cannot_be_written():
    X = sparse.csr_array(np.array([[0, 1], [2, 1.5]], np.float32))
    with pytest.raises(InputError, match=r"Document 1 counts 'b' as 1\.5, and text holds whole"):
        list(_writing.texts_of(Corpus(X, Vocabulary(["a", "b"]))))
    with pytest.raises(InputError, match="names no words"):
        list(_writing.texts_of(Corpus(X)))
    with pytest.raises(InputError, match=r"Document 1 has 1000000\d+ words"):
        list(_writing.texts_of(Corpus(sparse.csr_array([[0.0], [1e12]]), Vocabulary(["a"]))))
    with pytest.raises(InputError, match="Document 0 counts column 1 as inf"):
        _writing.check_whole(Corpus(sparse.csr_array([[0.0, np.inf]])), "text")
