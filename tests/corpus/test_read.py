"""`read`: counts of a corpus, against scikit-learn's CountVectorizer."""

import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from opelda.corpus import Corpus, Tokenizer, Vocabulary, read
from opelda.errors import InputError
from tests.cases import cases

PATTERN = r"(?u)\b\w\w+\b"
PLAIN = Tokenizer(pattern=PATTERN, stop_words=None)

texts = st.lists(
    st.text(st.sampled_from("aAbBéß  12_-.漢\n"), max_size=30), min_size=1, max_size=25
)


def like_scikit_learn(documents, **settings):
    vectorizer = CountVectorizer(token_pattern=PATTERN, **settings)
    try:
        X = vectorizer.fit_transform(documents)
    except ValueError as error:
        return str(error)
    return X, list(vectorizer.get_feature_names_out())


@given(
    documents=texts,
    min_df=st.one_of(st.integers(1, 4), st.floats(0.0, 1.0)),
    max_df=st.one_of(st.integers(1, 9), st.floats(0.0, 1.0)),
    max_features=st.one_of(st.none(), st.integers(1, 5)),
    n_jobs=st.sampled_from([1, 2, 3]),
)
def test_read_matches_count_vectorizer(documents, min_df, max_df, max_features, n_jobs):
    settings = {"min_df": min_df, "max_df": max_df, "max_features": max_features}
    expected = like_scikit_learn(documents, **settings)
    if isinstance(expected, str):
        if "empty vocabulary" in expected:  # documents without words are kept
            assert read(documents, tokenizer=PLAIN, min_df=1, max_df=1.0).X.nnz == 0
            return
        with pytest.raises(InputError):
            read(documents, tokenizer=PLAIN, **settings)
        return
    X, words = expected
    corpus = read(documents, tokenizer=PLAIN, n_jobs=n_jobs, **settings)
    assert list(corpus.words) == words
    assert (corpus.X != X).nnz == 0
    assert corpus.X.dtype == np.float32
    assert corpus.X.has_canonical_format
    df = np.asarray((X > 0).sum(axis=0)).ravel()
    assert corpus.vocabulary.document_frequency.tolist() == df.tolist()


def test_block_size_does_not_change_the_matrix(monkeypatch):
    from opelda.corpus import _read

    rng = np.random.default_rng(0)
    names = np.array([f"w{i}" for i in range(200)])
    documents = [" ".join(rng.choice(names, rng.integers(0, 30))) for _ in range(300)]
    whole = read(documents)
    for block, n_jobs in ((1, 1), (7, 2), (299, 3)):
        monkeypatch.setattr(_read, "BLOCK", block)
        again = read(documents, n_jobs=n_jobs)
        assert again.words == whole.words
        assert (again.X != whole.X).nnz == 0


def test_given_vocabulary_counts_only_its_words():
    vocabulary = Vocabulary(["tea", "milk"], tokenizer=Tokenizer(lower=False))
    corpus = read(["tea Tea milk", "coffee tea", ""], vocabulary=vocabulary)
    assert corpus.X.toarray().tolist() == [[1, 1], [1, 0], [0, 0]]
    assert corpus.n_unknown_tokens == 2
    assert corpus.vocabulary is vocabulary
    assert corpus.n_empty == 1


def test_defaults_drop_stop_words_numbers_rare_and_common_words():
    documents = [
        f"The report of the committee on {topic} in 1987 and why it is important number{i}"
        for i, topic in enumerate(["fishing", "grain", "coffee", "oil"] * 30)
    ]
    words = set(read(documents).words)
    assert {"fishing", "grain", "coffee", "oil"} <= words
    assert not words & {"the", "of", "on", "in", "and", "1987", "report", "committee", "number1"}


def test_limit_and_progress():
    seen = []
    corpus = read(["tea"] * 10, limit=4, progress=lambda *how: seen.append(how))
    assert len(corpus) == 4
    assert seen[-1] == (4, None, None)


@pytest.fixture
def folder(tmp_path):
    lines = ["stars and galaxies", "", "cells and proteins", "galaxies of stars"]
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n")
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"id": i, "text": line}) + "\n" for i, line in enumerate(lines))
    return tmp_path


def test_same_documents_in_every_kind_of_file(folder, monkeypatch):
    memory = read((folder / "a.txt").read_text().splitlines())
    for corpus in (
        read(folder / "a.txt"),
        read(str(folder / "a.txt")),
        read(folder / "a.jsonl.gz"),
        read(io.BytesIO((folder / "a.txt").read_bytes())),
    ):
        assert corpus.words == memory.words
        assert (corpus.X != memory.X).nnz == 0
        assert corpus.n_empty == 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"stars\ngalaxies\n")))
    assert read("-").words == ("galaxies", "stars")


def test_several_files_are_one_corpus(folder):
    (folder / "b.txt").write_text("stars\nproteins\n")
    for source in ([folder / "a.txt", folder / "b.txt"], str(folder / "?.txt")):
        corpus = read(source)
        assert len(corpus) == 6
        assert corpus.X.sum() == 8


def test_name_column_names_documents(folder):
    assert read(folder / "a.jsonl.gz", name_column="id").names == ["0", "1", "2", "3"]


def test_malformed_documents_stop_or_are_skipped(folder):
    (folder / "bad.jsonl").write_text('{"text": "tea"}\n{"text"\n{"text": "cup"}\n')
    with pytest.raises(InputError, match=r"bad\.jsonl.*line 2"):
        read(folder / "bad.jsonl")
    corpus = read(folder / "bad.jsonl", on_error="skip")
    assert (len(corpus), corpus.n_skipped, len(corpus.problems)) == (2, 1, 1)
    assert "line 2" in corpus.problems[0]


@cases(
    ("source", "options", "message"),
    [
        ([], {}, "no documents"),
        ("no-such-file.txt", {}, "no-such-file.txt"),
        (["tea"], {"format": "jsonl"}, "requires files"),
        ("x", {"format": "word"}, "format must be auto or one of lines, .* got 'word'"),
        (["tea"], {"encoding": "klingon"}, "encoding must be a text encoding"),
        (["tea"], {"on_error": "cry"}, "'stop' or 'skip'"),
        (["tea"], {"limit": 0}, "limit"),
        (["tea"], {"min_df": 3, "max_df": 1}, "below min_df"),
        (["tea", "cup"], {"min_df": 2}, "None of the 2 words"),
        (["tea"], {"n_jobs": 0}, "n_jobs"),
        (["tea"], {"first_id": 2}, "first_id"),
        (12, {}, "source must be"),
    ],
)
def test_invalid_input_is_rejected(source, options, message):
    with pytest.raises(InputError, match=message):
        read(source, **options)


def test_repr_and_length():
    corpus = read(["tea", "cup"])
    assert isinstance(corpus, Corpus)
    assert (len(corpus), repr(corpus)) == (2, "Corpus(2 documents, 2 words)")


def test_stop_words_are_removed_from_counted_documents(tmp_path):
    (tmp_path / "a.ldac").write_text("2 0:1 1:2\n1 2:3\n")
    (tmp_path / "a.vocab").write_text("the\ntea\nand\n")
    corpus = read(tmp_path / "a.ldac", format="ldac")
    assert corpus.words == ("the", "tea", "and")
    without = read(tmp_path / "a.ldac", format="ldac", tokenizer=Tokenizer(stop_words="en"))
    assert without.words == ("tea",)
    assert without.X.toarray().tolist() == [[2], [0]]
    assert without.n_empty == 1


def test_strings_in_a_list_are_texts_not_paths(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for name, text in (("barn", "nebula"), ("shop", "comet")):
        (folder / name).mkdir()
        (folder / name / "1.txt").write_text(text)
    assert read(["barn", "shop"]).words == ("barn", "shop")
    assert read([Path("barn"), Path("shop")]).words == ("comet", "nebula")
    assert read([".", "..", "/"]).X.shape == (3, 0)
    with pytest.warns(UserWarning, match="pathlib"):
        assert read(["barn/1.txt", "shop/1.txt"], max_df=1.0).words == ("barn", "shop", "txt")
    with pytest.raises(InputError, match=r"missing\.txt"):
        read([Path("a.txt"), Path("missing.txt")])


def test_files_with_different_vocabularies_are_rejected(tmp_path):
    for name, words in (("a", "apple\nbanana\n"), ("b", "xray\nyoke\n")):
        (tmp_path / f"docword.{name}.txt").write_text("1\n2\n1\n1 1 3\n")
        (tmp_path / f"vocab.{name}.txt").write_text(words)
    with pytest.raises(InputError, match="a different vocabulary"):
        read(str(tmp_path / "docword.*"))
    (tmp_path / "vocab.b.txt").write_text("apple\nbanana\n")
    assert read(str(tmp_path / "docword.*")).X.toarray().tolist() == [[3, 0], [3, 0]]


def test_text_files_ignore_vocabulary_files(tmp_path):
    (tmp_path / "a.txt").write_text("Tea, cup\n")
    (tmp_path / "a.txt.vocab").write_text("stars\n")
    assert read(tmp_path / "a.txt").words == ("cup", "tea")


def test_models_of_counts_tokenize_texts(tmp_path):
    from opelda import OnlineOPE
    from opelda.corpus.formats import FORMATS

    corpus = read(["stars galaxy", "cell gene", "galaxy stars", "gene cell"] * 5)
    for name, file in (("uci", "docword.a.txt"), ("npz", "a.npz")):
        FORMATS[name].write(corpus, str(tmp_path / file))
        model = OnlineOPE(2, random_state=0).fit(read(tmp_path / file))
        assert model.vocabulary_.count(["Stars, GALAXY!"]).sum() == 2


def test_compressed_file_is_opened_once(tmp_path, monkeypatch):
    from opelda.corpus.formats._input import Input

    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"tea\n" * 7))
    opened = []
    plain = Input.open
    monkeypatch.setattr(Input, "open", lambda self, *args: opened.append(1) or plain(self, *args))
    read(path, format="lines")
    assert len(opened) == 1


def test_named_pipe_is_read(tmp_path):
    import os
    import threading

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write():
        with pipe.open("w") as file:
            file.write("tea cup\n" * 20)

    writer = threading.Thread(target=write)
    writer.start()
    assert len(read(pipe)) == 20
    writer.join()


def test_vocabulary_and_word_selection_are_exclusive():
    with pytest.raises(InputError, match="remove tokenizer"):
        read(["tea"], vocabulary=Vocabulary(["tea"]), min_df=2)
