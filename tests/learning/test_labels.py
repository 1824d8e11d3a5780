"""Topic labels: stored with the model, shown everywhere, treated as untrusted input."""

import copy
import pickle
import threading
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import opelda
from opelda import MLOPE, OnlineOPE, _store
from opelda._word_ranking import distinct
from opelda.corpus import generate, read
from opelda.errors import InputError, ModelFileError
from opelda.learning.persistence._model_arrays import as_parts
from opelda.learning.persistence._stored_model import FORMAT, KIND, checksum
from opelda.learning.streaming import _window_sweeps as _stream_sweeps
from opelda.report import label_topics, topic_table
from tests.cases import cases

TEXTS = ["green tea cup", "black tea pot", "red wine glass", "white wine bottle", "loud jazz"] * 20
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x>',
    "עברית ‮x",
    "🧪👩‍🔬",
    "=1+1",
    "[red]x[/red]",
]


def made(**options):
    return OnlineOPE(**{"n_components": 6, "batch_size": 20, "random_state": 0} | options)


@pytest.fixture
def model():
    return made().fit(TEXTS)


def test_given_labels_replace_word_labels(model):
    own = label_topics(model)
    assert model.topic_labels_ == own
    assert model.set_topic_labels({2: " hot drinks ", np.int64(4): "noise"}) is model
    assert model.topic_labels_ == [*own[:2], "hot drinks", own[3], "noise", own[5]]
    assert [row.label for row in topic_table(model)] == model.topic_labels_
    assert [row.label for row in topic_table(model, only=[4, 0])] == ["noise", own[0]]
    model.set_topic_labels({2: None, 4: " "})
    assert model.topic_labels_ == own
    assert model._state.labels == {}


def test_labels_of_words_follow_the_topics(model):
    before = model.topic_labels_
    assert model.topic_labels_ == before
    for _ in range(30):
        model.partial_fit(["loud jazz trumpet", "loud jazz"] * 30)
    assert model.topic_labels_ == label_topics(model) != before


@cases(
    ("labels", "said"),
    [
        ({6: "x"}, "No topic 6 to label; topic numbers are 0 to 5"),
        ({-1: "x"}, "No topic -1"),
        ({"1": "x"}, "No topic '1'"),
        ({True: "x"}, "No topic True"),
        ({1.0: "x"}, "No topic 1.0"),
        ({1: 3}, "The label of topic 1 must be text, got 3"),
        ({1: b"x"}, "must be text"),
        ({1: "x" * (201)}, "has 201 characters; use at most 200"),
        ({1: "a\nb"}, r"has the character '\\n'"),
        ({1: "a\x1b[31m"}, r"has the character '\\x1b'"),
        ({1: "a\x9bb"}, r"'\\x9b'"),
        ({1: "a\u2028b"}, r"'\\u2028'"),
        ({1: "\ud800"}, r"'\\ud800'"),
        ({1: "a\0"}, r"'\\x00'"),
        (["x"], "labels must map topic numbers to labels"),
        ("x", "labels must map"),
        (None, "labels must map"),
    ],
)
def test_bad_labels_change_nothing(model, labels, said):
    model.set_topic_labels({0: "kept"})
    if isinstance(labels, dict):
        labels = {3: "not taken", **labels}
    with pytest.raises(InputError, match=said):
        model.set_topic_labels(labels)
    assert model._state.labels == {0: "kept"}


def test_labels_survive_copies_files_and_streams_but_not_fit(model, tmp_path):
    labels = dict(enumerate(HOSTILE))
    model.set_topic_labels(labels)
    for kept in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert kept.topic_labels_ == HOSTILE
    opelda.save(model, tmp_path / "m")
    loaded = opelda.load(tmp_path / "m")
    assert loaded.topic_labels_ == HOSTILE
    assert loaded.partial_fit(TEXTS).topic_labels_ == HOSTILE
    assert loaded.fit_stream(TEXTS, checkpoint=tmp_path / "c").topic_labels_ == HOSTILE
    assert opelda.load(tmp_path / "c").topic_labels_ == HOSTILE
    went_on = made().fit_stream(TEXTS * 2, checkpoint=tmp_path / "c")
    assert went_on.topic_labels_ == HOSTILE
    assert not hasattr(clone(model), "_state")
    assert model.fit(TEXTS)._state.labels == {}


def test_file_without_labels_stores_none(model):
    assert not [name for name in as_parts(model)[0] if name.startswith("labels")]


def damaged(**parts):
    """Return a file's parts with other labels and the checksum that belongs to them."""
    arrays, header = as_parts(made().fit(TEXTS).set_topic_labels({1: "tea", 3: "wine"}))
    arrays |= {f"labels.{name}": np.array(part) for name, part in parts.items()}
    return arrays, header | {"checksum": checksum(arrays, header)}


def packed(*texts):
    raw = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, raw)])
    return {"bytes": np.frombuffer(b"".join(raw), np.uint8), "offsets": ends.astype(np.int64)}


@cases(
    "parts",
    [
        {"topics": [1, 6]},
        {"topics": [-1, 3]},
        {"topics": [3, 1]},
        {"topics": [1, 1]},
        {"topics": [1]},
        {"topics": [1.0, 3.0]},
        {"topics": [[1, 3]]},
        {"offsets": [0, 3, 99]},
        {"bytes": np.full(7, 255, np.uint8)},
        packed("tea", "\x1b]0;x\x07"),
        packed("tea", "a\nb"),
        packed("tea", " wine"),
        packed("tea", ""),
        packed("tea", "x" * (201)),
    ],
    ids=str,
)
def test_bad_labels_in_a_file_are_rejected(tmp_path, parts):
    arrays, header = damaged(**parts)
    _store.write(tmp_path / "m", arrays, header, kind=KIND, version=FORMAT)
    with pytest.raises(ModelFileError, match="is not a model this version can use") as error:
        opelda.load(tmp_path / "m")
    assert str(error.value).isprintable()


def test_unusual_text_labels_load(tmp_path):
    arrays, header = damaged(**packed("x" * 200, HOSTILE[2]))
    _store.write(tmp_path / "m", arrays, header, kind=KIND, version=FORMAT)
    assert opelda.load(tmp_path / "m")._state.labels == {1: "x" * 200, 3: HOSTILE[2]}


def test_refit_topics_keep_matching_labels():
    before = np.repeat(np.arange(4), 10).astype(np.uint16)
    now = np.repeat([2, 3, 0, 1], 10).astype(np.uint16)
    now[30:36] = [0, 0, 2, 2, 3, 3]  # most tokens of the last topic have moved
    order, others = _stream_sweeps._numbers(before, now, 4)
    assert order.tolist() == [2, 3, 0, 1]
    assert others == [3]


def test_labels_while_a_stream_is_learned():
    seen = []

    def name(report):
        worker = threading.Thread(target=report.model.set_topic_labels, args=({0: "named"},))
        worker.start()
        worker.join()
        seen.append(report.model.topic_labels_[0])

    made(callbacks=name).fit_stream(TEXTS)
    assert seen
    assert set(seen) == {"named"}


# columns of frames


@given(st.lists(st.sampled_from(["a", "b", "a (0)", "a (1)", "a (0) (1)", "b (2)"]), max_size=8))
def test_column_names_are_distinct_and_contain_the_label(names):
    found = distinct(names)
    assert len(set(found)) == len(names)
    assert all(made.startswith(name) for made, name in zip(found, names, strict=True))
    assert len(set(names)) < len(names) or found == names


def test_frame_columns_are_labels_and_rows_are_documents(model):
    model.set_topic_labels({0: "tea", 1: "wine", 2: "tea"}).set_output(transform="pandas")
    expected = ["tea (0)", "wine", "tea (2)", *label_topics(model)[3:]]
    assert model.get_feature_names_out().tolist() == distinct(["tea", "wine", "tea", *expected[3:]])
    frame = pd.DataFrame({"text": TEXTS[:3], "other": 1}, index=["a", "b", "b"])
    found = model.transform(frame["text"])
    assert list(found.columns[:3]) == expected[:3]
    plain = clone(model).set_output(transform="default").fit(TEXTS).transform(TEXTS[:3])
    np.testing.assert_array_equal(found.to_numpy(), plain)
    corpus = read(frame["text"], vocabulary=model.vocabulary_)
    corpus = replace(corpus, names=TEXTS[:3])
    for given_documents, index in (
        (frame["text"], ["a", "b", "b"]),
        (corpus, TEXTS[:3]),
        (TEXTS[:3], [0, 1, 2]),
        (corpus.X, [0, 1, 2]),
    ):
        shown = model.transform(given_documents)
        assert list(shown.index) == index
        np.testing.assert_array_equal(shown.to_numpy(), plain)
    series = pd.Series(TEXTS, index=np.arange(len(TEXTS)) + 7)
    learned = made().set_output(transform="pandas").fit_transform(series)
    assert list(learned.index) == list(series.index)
    shown = model.set_output(transform="polars").transform(corpus)
    assert isinstance(shown, pl.DataFrame)
    assert list(shown.columns[:3]) == expected[:3]


def test_vectorizer_words_are_a_vocabulary(tmp_path):
    """In a pipeline the matrix between the steps is sparse and has no names of columns."""
    steps = make_pipeline(CountVectorizer(), OnlineOPE(3, random_state=0)).fit(TEXTS)
    counts, model = steps
    before = model.transform(counts.transform(TEXTS))
    assert model.topic_labels_[0].startswith("x")
    assert "set_feature_names" in model._repr_html_inner()
    names = counts.get_feature_names_out()
    expected = model.top_words(4, feature_names=names)
    with pytest.raises(InputError, match=f"has 1 words but .* {len(names)} columns"):
        model.set_feature_names(["tea"])
    assert model.set_feature_names(names) is model
    assert "set_feature_names" not in model._repr_html_inner()
    for known in (model, round_trip(model, tmp_path)):
        assert known.top_words(4) == expected
        assert known.topic_labels_ == label_topics(model.components_, feature_names=names)
        assert [list(row.words[:4]) for row in topic_table(known)] == expected
    assert steps.get_feature_names_out().tolist() == distinct(model.topic_labels_)
    assert np.array_equal(steps.transform(TEXTS), before)
    with pytest.raises(InputError, match="already"):
        model.set_feature_names(names)


def round_trip(model, folder):
    opelda.save(model, folder / "m")
    return opelda.load(folder / "m")


def test_columns_without_words_are_numbered():
    model = made(n_components=3).fit(generate(60, n_words=20, n_topics=3).X)
    assert model.get_feature_names_out().tolist() == ["onlineope0", "onlineope1", "onlineope2"]
    model.set_topic_labels({1: "onlineope0"})
    assert model.get_feature_names_out().tolist() == [
        "onlineope0 (0)",
        "onlineope0 (1)",
        "onlineope2",
    ]


# notebooks


class Table(HTMLParser):
    """The cells of a page's last table, and every tag of the page."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.tags, self._open = [], [], False
        self.feed(page[page.rindex("<table>") :])

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, *attributes))
        if tag == "tr":
            self.rows.append([])
        self._open = tag in ("td", "bdi", "th")
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self._open = self._open and tag not in ("td", "th")

    def handle_data(self, data):
        if self._open:
            self.rows[-1][-1] += data


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_column_transformer_are_named_by_labels(make):
    """Whose column of texts has a name, while the model's own columns are words."""
    frame = make({"body": TEXTS, "length": [len(text) for text in TEXTS]})
    model = OnlineOPE(3, random_state=0)
    columns = make_column_transformer((model, "body"), ("passthrough", ["length"]))
    labels = clone(model).fit(TEXTS).topic_labels_
    expected = [*(f"onlineope__{name}" for name in distinct(labels)), "passthrough__length"]
    assert columns.fit(frame).get_feature_names_out().tolist() == expected
    kind = "pandas" if make is pd.DataFrame else "polars"
    shown = columns.set_output(transform=kind).fit_transform(frame)
    assert list(shown.columns) == expected
    mixtures = clone(model).fit_transform(TEXTS)
    assert np.array_equal(shown.to_numpy()[:, :3].astype(np.float32), mixtures)


def test_notebook_representation_shows_the_topics(model):
    model.set_topic_labels(dict(enumerate(HOSTILE)))
    page = model._repr_mimebundle_()["text/html"]
    assert model._repr_html_().count("<table>") == page.count("<table>")
    table = Table(page)
    assert table.rows[0] == ["topic", "weight", "label", "words"]
    assert "<caption>Topics, heaviest first</caption>" in page
    rows = sorted(topic_table(model), key=lambda row: -row.weight)
    assert table.rows[1:] == [
        [str(row.topic), f"{row.weight:.1%}", row.label, " ".join(row.words)] for row in rows
    ]
    plain = {"table", "caption", "thead", "tbody", "tr", "th", "td", "bdi"}
    assert {tag for tag, *_ in table.tags} == plain
    assert all(len(tag) == 1 for tag in table.tags)  # no attributes
    assert "sk-" in page[: page.rindex("<table>")]  # scikit-learn's diagram stays
    assert repr(model) == repr(clone(model))


def test_notebook_representation_shows_at_most_twenty_topics():
    X = generate(60, n_words=50, n_topics=3).X
    assert len(Table(made(n_components=25).fit(X)._repr_html_()).rows) == 21
    table = Table(MLOPE(3, random_state=0).fit(X)._repr_html_())
    assert [row[:2] for row in table.rows[1:]] == [["0", ""], ["1", ""], ["2", ""]]
    assert "onlineope" not in made()._repr_html_()
    assert "<caption>" not in made()._repr_html_()
