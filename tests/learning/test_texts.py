"""Models with a vocabulary accept texts, and corpora with other vocabularies."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from opelda import MLOPE, OnlineOPE, load, save
from opelda.corpus import Tokenizer, Vocabulary, read, stream
from opelda.errors import InputError
from tests.cases import cases

SPACE = "The star shines in a galaxy of stars near the nebula"
LIFE = "A cell divides and the protein of the cells folds"
TEXTS = [SPACE, LIFE] * 60


@pytest.fixture(scope="module")
def model():
    corpus = read(TEXTS, tokenizer=Tokenizer(stop_words="en", stem="english"))
    return OnlineOPE(2, batch_size=20, n_passes=3, random_state=0).fit(corpus)


@cases("make", [list, tuple, np.array, pd.Series, pl.Series])
def test_texts_are_counted_with_the_models_own_settings(model, make):
    expected = model.transform(model.vocabulary_.count(TEXTS))
    assert (model.transform(make(TEXTS)) == expected).all()
    assert model.infer(make(TEXTS)).theta.shape == (120, 2)
    assert model.score(make(TEXTS)) < 0
    # this model stems "stars" to "star", in any case
    assert (model.transform(["STARS"]) == model.transform(["star"])).all()


def test_the_settings_are_saved(model, tmp_path):
    save(model, tmp_path / "m.opelda")
    again = load(tmp_path / "m.opelda")
    assert again.vocabulary_ == model.vocabulary_
    assert again.vocabulary_.tokenizer == Tokenizer(stop_words="en", stem="english").decided
    assert (again.transform(TEXTS) == model.transform(TEXTS)).all()
    assert again.top_words(3) == model.top_words(3)


def test_corpus_with_another_vocabulary_is_mapped_to_the_models(model):
    tokenizer = model.vocabulary_.tokenizer
    other = read([SPACE + " zebra", LIFE], tokenizer=tokenizer)
    assert other.words != model.vocabulary_.words
    assert (model.transform(other) == model.transform([SPACE, LIFE])).all()


def test_vocabulary_and_validation_go_with_fit():
    corpus = read(TEXTS)
    by_hand = OnlineOPE(2, batch_size=20, random_state=0)
    by_hand.fit(corpus.X, vocabulary=corpus.vocabulary, validation=TEXTS[:10])
    assert by_hand.vocabulary_ == corpus.vocabulary
    assert by_hand.vocabulary_ is not corpus.vocabulary
    whole = OnlineOPE(2, batch_size=20, random_state=0).fit(corpus, validation=corpus)
    assert (whole.components_ == by_hand.components_).all()
    more = MLOPE(2, random_state=0).partial_fit(corpus).partial_fit(TEXTS)
    assert more.n_docs_seen_ == 240


def test_refit_replaces_the_vocabulary():
    corpus = read(TEXTS)
    model = OnlineOPE(2, random_state=0).fit(corpus)
    model.fit(np.ones((4, 3)))
    with pytest.raises(AttributeError, match="no vocabulary"):
        _ = model.vocabulary_


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [(Vocabulary(["a"]), "1 words but X has"), (["a", "b"], "must be a Vocabulary")],
)
def test_mismatched_vocabularies_are_rejected(vocabulary, message):
    model = OnlineOPE(2)
    with pytest.raises(InputError, match=message):
        model.fit(read(TEXTS).X, vocabulary=vocabulary)
    assert not hasattr(model, "_state")


def test_texts_for_a_model_without_words():
    model = OnlineOPE(2, random_state=0).fit(np.ones((4, 3)))
    for use in (model.transform, model.partial_fit, model.score):
        with pytest.raises(
            InputError, match="X contains documents, but the model was fitted to counts"
        ):
            use(["tea"])
    for source in (["tea"], pl.Series(["tea"]), read(["tea"]), stream(["tea"])):
        with pytest.raises(InputError, match="with words, but earlier documents were counts"):
            model.fit_stream(source)
    assert model.n_docs_seen_ == 4


@cases(
    "make",
    [
        iter,
        lambda texts: (text for text in texts),
        pa.array,
        lambda texts: [["star", "galaxi"], {"star": 1, "galaxi": 1}] * 60,
        lambda texts: [["star", "galaxi"], np.array(["galaxi", "star"])] * 60,
    ],
)
def test_iterables_of_texts_are_documents(model, make):
    expected = model.transform(["star galaxy"] * 120)
    assert (model.transform(make(["star galaxy"] * 120)) == expected).all()


def test_rows_of_numbers_are_counts(model):
    X = model.vocabulary_.count(TEXTS[:3])
    assert (model.transform(X.toarray().tolist()) == model.transform(X)).all()


def test_empty_document_counts_as_a_document(model):
    assert model.transform([[]]).shape == (1, 2)
    assert (model.transform([[], ["star"]])[1] == model.transform([["star"]])[0]).all()


@cases(
    ("documents", "message"),
    [
        ([], "X has no documents"),
        (iter([]), "X has no documents"),
        (np.array([]), "X has no documents"),
        ("one text", r"X is one text.* pass \[text\], .* opelda\.corpus\.read\(path\)"),
        (Path("a.txt"), r"X is one text.* opelda\.corpus\.read\(path\)"),
        ([[(0, 1)]], r"lists of \(id, count\).* opelda\.corpus\.read\(X, column_words=...\)"),
        ({"star": 1}, r"X is one mapping.* pass \[document\]"),
        (["star", None], "Document 1 is not a document"),
        ([None], "Document 0 is not a document"),
        (iter(["star", 5]), "Document 1 is not a document"),
        (iter([5]), "Document 0 is not a document"),
    ],
)
def test_bad_documents_are_rejected(model, documents, message):
    with pytest.raises(InputError, match=message) as error:
        model.transform(documents)
    assert "\n" not in str(error.value)


@cases("documents", ["one text", Path("a.txt"), {"star": 1}, [], [[(0, 1)]], [5]])
def test_bad_training_documents_are_rejected(documents):
    for learn in ("fit", "partial_fit", "fit_transform"):
        learner = OnlineOPE(2)
        with pytest.raises(ValueError, match=r"^[^\n]*$|2D array"):
            getattr(learner, learn)(documents)
        assert not hasattr(learner, "_state")


FORMS = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "NumPy": np.array,
    "pandas": pd.Series,
    "polars": pl.Series,
    "Arrow": pa.array,
    "pandas frame": lambda texts: pd.DataFrame({"n": range(len(texts)), "body": texts}),
    "polars frame": lambda texts: pl.DataFrame({"n": range(len(texts)), "body": texts}),
    "lazy frame": lambda texts: pl.LazyFrame({"n": range(len(texts)), "body": texts}),
    "Arrow table": lambda texts: pa.table({"n": range(len(texts)), "body": texts}),
    "records": lambda texts: [{"n": n, "body": text} for n, text in enumerate(texts)],
}


def learner(**options):
    return OnlineOPE(2, batch_size=20, n_passes=3, random_state=0, **options)


def same(model, other):
    return (
        model.vocabulary_ == other.vocabulary_
        and model.components_.tobytes() == other.components_.tobytes()
    )


@pytest.mark.parametrize("form", FORMS)
def test_fit_on_texts_equals_fit_on_read_texts(form):
    make = FORMS[form]
    corpus = read(TEXTS)
    expected = learner().fit(corpus)
    model = learner().fit(make(TEXTS))
    assert same(model, expected)
    assert model.vocabulary_.tokenizer == Tokenizer(stop_words="en").decided
    mixtures = expected.transform(corpus)
    assert (model.transform(make(TEXTS)) == mixtures).all()
    assert (learner().fit_transform(make(TEXTS)) == mixtures).all()
    assert model.score(make(TEXTS)) == expected.score(corpus)
    parts = learner().partial_fit(make(TEXTS)).partial_fit(make(TEXTS[:30]))
    assert same(parts, learner().partial_fit(corpus).partial_fit(read(TEXTS[:30])))
    held_out = []
    learner(callbacks=[lambda report: held_out.append(report.held_out_score)]).fit(
        make(TEXTS), validation=make(TEXTS[:10]), validate_every=1
    )
    assert held_out[0] is not None


@pytest.mark.parametrize("form", FORMS)
def test_stream_of_texts_grows_a_vocabulary(form, tmp_path):
    make = FORMS[form]
    model = learner().fit_stream(make(TEXTS), validation=make(TEXTS[:10]))
    assert same(model, learner().fit_stream(stream(TEXTS, batch_size=20)))
    own = Vocabulary(growing=True, min_df=None, max_features=100_000)
    assert same(model, learner().fit_stream(TEXTS, vocabulary=own))
    assert set(model.vocabulary_) == set(read(TEXTS, min_df=1, max_df=1.0).words)
    assert model.vocabulary_.growing
    save(model, tmp_path / "m.opelda")
    again = load(tmp_path / "m.opelda")
    assert (again.transform(make(TEXTS)) == model.transform(TEXTS)).all()
    assert same(again.fit_stream(make(TEXTS)), model.fit_stream(TEXTS))


def test_stream_resumes_from_its_checkpoint(tmp_path):
    texts = TEXTS + [f"{SPACE} comet{i}" for i in range(60)]
    whole = learner().fit_stream(texts, checkpoint=tmp_path / "whole", every=1)
    learner().fit_stream(pl.Series(texts[:80]), checkpoint=tmp_path / "parts", every=1)
    parts = learner().fit_stream(pl.Series(texts), checkpoint=tmp_path / "parts", every=1)
    assert same(parts, whole)


def test_word_lists_and_counts_are_documents_too():
    lists = [text.split() for text in TEXTS]
    counts = [dict(Counter(words)) for words in lists]
    assert same(learner().fit(lists), learner().fit(read(lists)))
    assert same(learner().fit(counts), learner().fit(read(lists)))
    assert same(learner().fit_stream(lists), learner().fit_stream(counts))


def test_corpus_is_streamed_with_its_own_vocabulary():
    corpus = read(TEXTS)
    model = learner().fit_stream(corpus, validation=corpus)
    assert model.vocabulary_.words == corpus.words
    assert model.vocabulary_ is not corpus.vocabulary
    assert corpus.vocabulary.n_updates == 0
    assert (model.transform(TEXTS) == model.transform(corpus)).all()
    assert model.n_docs_seen_ == len(TEXTS)


def test_given_vocabulary_defines_the_columns():
    vocabulary = Vocabulary(["galaxy", "star", "cell"])
    model = learner().fit(TEXTS, vocabulary=vocabulary)
    assert model.vocabulary_.words == vocabulary.words
    mixtures = learner().fit_transform(iter(TEXTS), vocabulary=vocabulary)
    assert (mixtures == model.transform(TEXTS)).all()


def test_missing_texts_of_a_column_are_empty_documents(model):
    column = pd.Series(["star", None], dtype=object)
    assert (model.transform(column) == model.transform(["star", ""])).all()


def test_tables_of_numbers_stay_counts():
    X = np.random.default_rng(0).poisson(1.0, (30, 4))
    expected = learner().fit(X).components_
    for make in (pd.DataFrame, pl.DataFrame):
        model = learner().fit(make({name: X[:, i] for i, name in enumerate("abcd")}))
        assert (model.components_ == expected).all()
        assert model.feature_names_in_.tolist() == list("abcd")
        with pytest.raises(AttributeError, match="no vocabulary"):
            _ = model.vocabulary_


def test_vocabulary_that_differs_from_the_corpus_is_rejected():
    corpus = read(TEXTS)
    other = Vocabulary([f"x{j}" for j in range(len(corpus.vocabulary))])
    with pytest.raises(InputError, match="vocabulary does not match"):
        OnlineOPE(2, random_state=0).fit(corpus, vocabulary=other)
