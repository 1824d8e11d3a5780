"""Learning from streams: item types, batches, memory and errors."""

import weakref
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda import MLOPE, OnlineOPE, OnlineVB, StreamingOPE
from opelda.corpus import Corpus, Vocabulary, generate
from opelda.errors import InputError
from opelda.learning import LEARNERS, History
from opelda.learning.persistence._model_arrays import as_parts
from tests.cases import cases

WORDS = [f"w{j}" for j in range(30)]
X = generate(60, n_words=30, n_topics=3, n_tokens=20).X
ENTRIES = [dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in X]
MAPPINGS = [{WORDS[j]: n for j, n in entries.items()} for entries in ENTRIES]
TOKENS = [[word for word, n in entries.items() for _ in range(int(n))] for entries in MAPPINGS]
TEXTS = [" ".join(tokens).title() + "!" for tokens in TOKENS]


def made(cls=OnlineOPE, **parameters):
    return cls(**{"n_components": 3, "batch_size": 10, "random_state": 0} | parameters)


def fixed():
    return Vocabulary(WORDS)


def learned(model):
    """Everything that was learned, to the bit."""
    arrays, header = as_parts(model)
    header = {name: value for name, value in header.items() if name != "parameters"}
    return {name: array.tobytes() for name, array in arrays.items()} | header


def topics_of(model):
    return {name: learned(model)[name] for name in ("rows", "sums", "scale", "n_updates")}


@pytest.mark.parametrize("cls", LEARNERS.values())
def test_fit_stream_equals_partial_fit_on_each_matrix(cls):
    parts = [X[:10], X[10:13], X[13:13], X[13:20]]
    direct = made(cls)
    for part in parts:
        if part.shape[0]:
            direct.partial_fit(part)
    assert direct.n_batch_iter_ == 3
    for shape in (sparse.csc_array, sparse.coo_matrix, lambda m: m.toarray().astype(int)):
        assert learned(made(cls).fit_stream(map(shape, parts))) == learned(direct)
    frames = (pd.DataFrame(part.toarray()) for part in parts)
    assert learned(made(cls).fit_stream(frames)) == learned(direct)


@cases("cls", [MLOPE, OnlineOPE, StreamingOPE, OnlineVB])
def test_fit_stream_does_not_depend_on_document_format(cls):
    direct = made(cls, batch_size=16).partial_fit(X)
    assert direct.n_batch_iter_ == 4
    mixed = [(MAPPINGS, TOKENS, TEXTS)[i % 3][i] for i in range(60)]
    for documents in (MAPPINGS, TOKENS, TEXTS, mixed, [np.array(words) for words in TOKENS]):
        model = made(cls, batch_size=16).fit_stream(iter(documents), vocabulary=fixed())
        assert topics_of(model) == topics_of(direct)
        assert model.n_docs_seen_ == 60
        assert model.vocabulary_.words == tuple(WORDS)
    # lists of documents are mini-batches
    lists = (MAPPINGS[at : at + 16] for at in range(0, 60, 16))
    model = made(cls, batch_size=7).fit_stream(lists, vocabulary=fixed())
    assert topics_of(model) == topics_of(direct)


def test_streams_mix_documents_and_batches():
    source = [*MAPPINGS[:7], X[7:10], MAPPINGS[10:25], *TEXTS[25:30]]
    direct = made()
    for first, last in ((0, 5), (5, 7), (7, 10), (10, 25), (25, 30)):
        direct.set_params(batch_size=last - first).partial_fit(X[first:last])
    model = made(batch_size=5).fit_stream(source, vocabulary=fixed())
    assert topics_of(model) == topics_of(direct)


def test_continued_stream_equals_one_stream():
    whole = made().fit_stream(MAPPINGS, vocabulary=fixed())
    parts = made().fit_stream(MAPPINGS[:20], vocabulary=fixed()).fit_stream(MAPPINGS[20:])
    assert learned(parts) == learned(whole)


class Document(dict):
    """A mapping that can be watched."""


def test_at_most_one_batch_is_read_ahead():
    documents, seen = [], []

    def source():
        for mapping in MAPPINGS:
            document = Document(mapping)
            documents.append(weakref.ref(document))
            yield document
            del document

    def watch(report):
        n_held = sum(document() is not None for document in documents)
        seen.append((report.n_docs, len(documents), n_held))

    made(batch_size=8, callbacks=watch).fit_stream(source(), vocabulary=fixed())
    assert [docs for docs, _, _ in seen] == [8, 16, 24, 32, 40, 48, 56, 60]
    assert all(docs == read for docs, read, _ in seen)
    assert max(held for _, _, held in seen) <= 8


def test_stopping_callback_prevents_further_reads():
    source = iter(MAPPINGS)
    model = made(callbacks=lambda report: report.n_updates == 2)
    model.fit_stream(source, vocabulary=fixed())
    assert (model.n_batch_iter_, len(list(source))) == (2, 40)


@cases("source", [[], iter(()), [X[:0]]])
def test_empty_stream(source):
    with pytest.raises(InputError, match="no documents"):
        made().fit_stream(source, vocabulary=fixed())
    model = made().partial_fit(X)
    before = learned(model)
    assert learned(model.fit_stream([])) == before


@cases("cls", [MLOPE, OnlineOPE, StreamingOPE, OnlineVB])
def test_stream_may_start_with_empty_documents(cls):
    source = [{}, "", [], "a b", *MAPPINGS]
    model = made(cls, batch_size=2).fit_stream(source, vocabulary=Vocabulary(growing=True))
    assert model.components_.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert model.components_.min() > 0
    assert (model.n_docs_seen_, model.n_batch_iter_) == (64, 30)
    only = made(cls)
    with pytest.raises(InputError, match="no words"):
        only.fit_stream([{}, ""], vocabulary=Vocabulary(growing=True))
    assert not hasattr(only, "_state")


BAD = [
    ({"w1": -1}, "Item 9 counts the word 'w1' as -1"),
    ({"w1": np.nan}, "Item 9"),
    ({"w1": "many"}, "Item 9"),
    ({7: 1}, "Item 9 holds 7"),
    (["w1", None], "Item 9 holds None"),
    (b"bytes", "Item 9 .*decode"),
    ({"w1", "w2"}, "Item 9"),
    (7, "Item 9 is neither"),
    (None, "Item 9 is neither"),
    (X[9:10] * -1, r"Item 9\[0, 0\] is -"),
    (np.ones(30), "Item 9 .*shape"),
    (np.full((2, 30), np.inf), r"Item 9\[0, 0\] is inf"),
    ([{"w1": 1}, {"w1": -2}], "Document 1 of item 9"),
    ([{"w1": 1}, "w1"], "Item 9 mixes"),
]


@pytest.mark.parametrize("vocabulary", [fixed(), Vocabulary(growing=True, max_features=15)])
@pytest.mark.parametrize(("bad", "message"), BAD)
def test_bad_stream_item_is_named_and_earlier_items_are_learned(bad, message, vocabulary):
    model = made(batch_size=4)
    source = iter([*MAPPINGS[:9], bad, *MAPPINGS[9:]])
    with pytest.raises(InputError, match=message):
        model.fit_stream(source, vocabulary=vocabulary)
    before = made(batch_size=4).fit_stream(MAPPINGS[:9], vocabulary=vocabulary)
    assert learned(model) == learned(before)
    assert len(vocabulary) in (0, 30)  # the model has a copy
    rest = list(source)
    assert learned(model.fit_stream(rest)) == learned(before.fit_stream(rest))


def test_error_of_the_source_propagates():
    def source():
        yield from MAPPINGS[:20]
        raise ConnectionError("gone")

    model = made()
    with pytest.raises(ConnectionError, match="gone"):
        model.fit_stream(source(), vocabulary=fixed())
    assert learned(model) == learned(made().fit_stream(MAPPINGS[:20], vocabulary=fixed()))


@given(st.lists(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9)), min_size=1))
def test_words_without_a_column_are_counted_as_unknown(documents):
    model = made(batch_size=3).fit_stream(documents, vocabulary=Vocabulary(["a", "b"]))
    counts = sum((Counter(document) for document in documents), Counter())
    assert model.n_unknown_tokens_ == sum(n for word, n in counts.items() if word > "b")
    known = [{w: n for w, n in document.items() if w <= "b"} for document in documents]
    alike = made(batch_size=3).fit_stream(known, vocabulary=Vocabulary(["a", "b"]))
    assert topics_of(model) == topics_of(alike)


def test_extra_columns_are_counted_and_missing_ones_are_zero():
    wide = sparse.hstack([X[10:20], np.full((10, 2), 3.0)], format="csr")
    model = made().fit_stream([X[:10], wide, X[20:30, :12]])
    assert model.n_unknown_tokens_ == 60
    padded = X[20:30].toarray()
    padded[:, 12:] = 0
    direct = made().partial_fit(X[:20]).partial_fit(padded)
    assert topics_of(model) == topics_of(direct)
    assert model.n_features_in_ == 30
    # the first matrix of a fresh model says how many there are, a fitted model knows
    fitted = made().partial_fit(X[:10]).fit_stream([wide, X[20:30, :12]])
    assert learned(fitted) == learned(model)


@cases("width", [10, 30, 3000])
def test_validation_documents_of_any_width(width):
    history = History()
    held_out = sparse.csr_array(np.ones((5, width)))
    model = made(callbacks=history)
    model.fit_stream([X[:10], X[10:20]], validation=held_out, validate_every=2)
    first, second = (report.held_out_score for report in history.reports)
    assert first is None
    known = np.zeros((5, 30))
    known[:, :width] = 1
    assert second == pytest.approx(model.score(known, n_splits=1))


def test_validation_texts_are_counted_with_the_current_vocabulary():
    history = History()
    model = made(callbacks=history)
    growing = Vocabulary(growing=True)
    model.fit_stream(TEXTS[:30], vocabulary=growing, validation=TEXTS[30:], validate_every=3)
    counted = model.vocabulary_.count(TEXTS[30:])
    expected = model.score(counted, n_splits=1)
    assert history.reports[-1].held_out_score == pytest.approx(expected)
    with pytest.raises(InputError, match="Document 1"):
        made().fit_stream(TEXTS, vocabulary=growing, validation=["a", 5])


def test_the_vocabulary_given_must_be_the_models_own():
    model = made().fit_stream(MAPPINGS, vocabulary=fixed())
    before = learned(model)
    for other, why in (
        (Vocabulary(WORDS[::-1]), "other words"),
        (Vocabulary(WORDS, growing=True), "growing=False"),
        (Vocabulary(WORDS, max_features=40), "max_features=None"),
        (WORDS, "must be a Vocabulary"),
    ):
        with pytest.raises(InputError, match=why):
            model.fit_stream(MAPPINGS, vocabulary=other)
    assert learned(model) == before
    model.fit_stream(MAPPINGS, vocabulary=fixed())
    with pytest.raises(InputError, match="5 words but the model was fitted on 30"):
        made().fit(X).fit_stream(MAPPINGS, vocabulary=Vocabulary(WORDS[:5]))
    with pytest.raises(InputError, match="pass the vocabulary of these counts"):
        made().fit(X).fit_stream(MAPPINGS)


def test_bad_streams_and_parameters_are_rejected():
    for source in (5, "text", {"w1": 1}, X, None):
        with pytest.raises(InputError, match="source must be an iterable"):
            made().fit_stream(source, vocabulary=fixed())
    for name in ("every", "validate_every"):
        with pytest.raises(InputError, match=name):
            made().fit_stream(MAPPINGS, vocabulary=fixed(), **{name: 0})
    with pytest.raises(InputError, match="batch_size"):
        made(batch_size=0).fit_stream(MAPPINGS, vocabulary=fixed())
    with pytest.raises(InputError, match="checkpoint"):
        made().fit_stream(MAPPINGS, vocabulary=fixed(), checkpoint="")


def test_wider_validation_corpus_is_scored_on_the_streams_columns():
    rng = np.random.default_rng(0)
    wide = Corpus(sparse.csr_array(rng.poisson(0.01, (20, 5000)).astype(np.float32)), None)
    scores = []
    model = OnlineOPE(3, batch_size=20, random_state=0, callbacks=lambda r: scores.append(r))
    model.fit_stream([rng.poisson(1.0, (20, 20)) for _ in range(3)], validation=wide)
    assert model.n_batch_iter_ == len(scores) == 3
