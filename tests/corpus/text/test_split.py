"""A user-defined function splits texts into words; model files hold its name."""

import numpy as np
import pytest

import opelda
from opelda.corpus import Tokenizer, Vocabulary, read, stream
from opelda.errors import InputError
from opelda.learning.persistence._model_arrays import as_parts
from tests.cases import cases

TEXTS = ["Tea-Cup-tea", "cup-<b>pot</b>-the", "pot-tea"] * 4


def by_hyphens(text):
    return text.split("-")


class Cutter:
    """A callable object."""

    def __call__(self, text):
        return tuple(by_hyphens(text))


def counted(tokenizer, texts=TEXTS):
    found = tokenizer.count(texts)
    return dict(zip(found.words, found.counts.sum(axis=0).tolist(), strict=True))


@cases("split", [by_hyphens, Cutter()])
def test_words_are_those_that_split_returns(split):
    tokenizer = Tokenizer(split=split, stop_words=["the"])
    assert counted(tokenizer) == {"tea": 12, "cup": 8, " pot ": 4, "pot": 4}
    raw = Tokenizer(split=split, stop_words=None, keep_markup=True, lower=False)
    assert counted(raw) == {"Tea": 4, "Cup": 4, "tea": 8, "cup": 4, "<b>pot</b>": 4, "the": 4} | {
        "pot": 4
    }
    pairs = Tokenizer(split=split, stop_words=["the"], ngrams=(2, 2))
    assert counted(pairs, ["a-the-b c"]) == {"a b c": 1}


def test_counts_are_independent_of_threads_and_blocks():
    tokenizer = Tokenizer(split=by_hyphens, stop_words=None)
    one = read(TEXTS * 2_000, tokenizer=tokenizer, n_jobs=1)
    assert (one.X != read(TEXTS * 2_000, tokenizer=tokenizer, n_jobs=3).X).nnz == 0
    assert one.vocabulary.copy().tokenizer == tokenizer.decided


@cases(
    ("settings", "message"),
    [
        ({"split": "x"}, "split must be None or a function that splits a text into words, got 'x'"),
        ({"split": by_hyphens, "pattern": "[a-z]+"}, "split and pattern are mutually exclusive"),
    ],
)
def test_invalid_settings_are_rejected(settings, message):
    with pytest.raises(InputError, match=message):
        Tokenizer(**settings)


@cases("returned", ["a text", None, 3, [3], ["\ud800"], {"a": 1}])
def test_invalid_results_of_split_are_rejected(returned):
    with pytest.raises(InputError, match="split must return"):
        Tokenizer(split=lambda _: returned, stop_words=None).count(["a"])


def test_model_file_holds_the_name_of_split(tmp_path):
    corpus = read(TEXTS, tokenizer=Tokenizer(split=by_hyphens, stop_words=None))
    model = opelda.OnlineOPE(2, random_state=0).fit(corpus)
    expected = model.transform(TEXTS)
    name = f"{__name__}.by_hyphens"
    assert as_parts(model)[1]["vocabulary"]["tokenizer"]["split"] == name
    opelda.save(model, tmp_path / "m")
    loaded = opelda.load(tmp_path / "m")
    for texts in (TEXTS, TEXTS[:1]):
        with pytest.raises(InputError, match=f"{name}, which is not in the file; pass it with"):
            loaded.transform(texts)
    assert np.array_equal(loaded.transform(corpus), expected)
    assert np.array_equal(loaded.transform(corpus.X), expected)
    opelda.save(loaded, tmp_path / "again")  # the name is kept
    again = opelda.load(tmp_path / "again", split=by_hyphens)
    assert np.array_equal(again.transform(TEXTS), expected)
    assert again.vocabulary_.tokenizer == corpus.vocabulary.tokenizer


def test_unneeded_split_is_rejected(tmp_path):
    for number, documents in enumerate((["tea cup", "cup"], np.eye(3))):
        opelda.save(opelda.OnlineOPE(2, random_state=0).fit(documents), tmp_path / str(number))
        with pytest.raises(InputError, match="split is not needed"):
            opelda.load(tmp_path / str(number), split=by_hyphens)


@pytest.mark.parametrize("way", ["stream", "vocabulary"])
def test_checkpointed_stream_resumes_with_split(tmp_path, way):
    tokenizer = Tokenizer(split=by_hyphens, stop_words=None)

    def learn(texts):
        model = opelda.OnlineOPE(2, random_state=0, batch_size=4)
        if way == "stream":
            given = {"source": stream(texts, batch_size=4, tokenizer=tokenizer)}
        else:
            words = Vocabulary(growing=True, tokenizer=tokenizer)
            given = {"source": texts, "vocabulary": words}
        return model.fit_stream(**given, checkpoint=tmp_path / way)

    learn(TEXTS)
    model = learn([*TEXTS, "new-new"])
    assert model.n_docs_seen_ == len(TEXTS) + 1
    assert model.transform(["tea-pot"]).shape == (1, 2)
