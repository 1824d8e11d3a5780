"""Topics of labels, and free topics."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import opelda
from opelda import TopicClassifier
from opelda.errors import InputError
from opelda.learning._classes import Classes
from tests.cases import cases

WORDS = {
    "tea": ["green", "black", "milk", "leaf"],
    "wine": ["red", "white", "dry", "grape"],
    "beer": ["dark", "pale", "malt", "hops"],
}


def drinks(n=300, seed=0, mixed=0.0):
    """Texts of a label's words and common words; a share has words of two labels."""
    rng = np.random.default_rng(seed)
    names, texts, labels = list(WORDS), [], []
    for _ in range(n):
        own = rng.choice(names, 2 if rng.random() < mixed else 1, replace=False)
        words = [rng.choice(WORDS[name], 5) for name in own]
        texts.append(" ".join([*np.concatenate(words), *rng.choice(["drink", "good", "cup"], 4)]))
        labels.append(tuple(map(str, own)))
    return texts, labels


@pytest.fixture(scope="module")
def fitted():
    texts, labels = drinks()
    known = [label[0] if n % 5 == 0 else None for n, label in enumerate(labels)]
    return TopicClassifier(4, random_state=0, n_jobs=2).fit(texts, known), texts, labels


def test_documents_without_label_get_theirs(fitted):
    model, texts, labels = fitted
    assert model.classes_.tolist() == ["beer", "tea", "wine"]
    assert model.score(texts, [label[0] for label in labels]) > 0.98
    shares = model.predict_proba(texts)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert np.array_equal(model.classes_[shares.argmax(axis=1)], model.predict(texts))


def test_topics_have_the_names_and_words_of_their_labels(fitted):
    model = fitted[0]
    assert model.topic_labels_[:3] == ["beer", "tea", "wine"]
    for name, words in zip(["beer", "tea", "wine"], model.top_words(4), strict=False):
        assert len(set(words) & set(WORDS[name])) >= 3


def test_labels_of_one_document_can_be_several():
    texts, labels = drinks(600, mixed=0.5)
    model = TopicClassifier(4, random_state=0).fit(texts, labels)
    shares = model.predict_proba(texts)
    has = np.array([[name in label for name in model.classes_] for label in labels])
    assert shares[has].mean() > shares[~has].mean() + 0.3
    indicator = TopicClassifier(4, random_state=0).fit(texts, has.astype(int))
    assert np.array_equal(indicator.classes_, [0, 1, 2])
    assert np.array_equal(indicator.components_, model.components_)


def test_a_labelled_document_has_no_tokens_in_topics_of_other_labels():
    y = ["a", None, ("b", "c"), "c", ""]
    classes, member = Classes.of(y, 8, 2)
    allowed = classes.allowed(member)
    assert allowed.tolist() == [
        [1, 1, 0, 0, 0, 0, 1, 1],
        [1] * 8,
        [0, 0, 1, 1, 1, 1, 1, 1],
        [0, 0, 0, 0, 1, 1, 1, 1],
        [1] * 8,
    ]


def test_files_copies_and_edits_keep_labels(fitted, tmp_path):
    model, texts, _ = fitted
    opelda.save(model, tmp_path / "m")
    again = opelda.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(texts), model.predict_proba(texts))
    assert clone(model).get_params() == model.get_params()
    again.merge_topics([1, 3])
    assert again.classes_.tolist() == ["beer", "tea", "wine"]
    assert again.predict_proba(texts).shape == (len(texts), 3)


def test_pipelines_and_cross_validation_take_it():
    texts, labels = drinks(150)
    y = [label[0] for label in labels]
    model = TopicClassifier(4, random_state=0, n_sweeps=10)
    scores = cross_val_score(make_pipeline(FunctionTransformer(), model), texts, y, cv=3)
    assert scores.min() > 0.9


def test_threads_do_not_change_topics(fitted):
    model, texts, labels = fitted
    known = [label[0] if n % 5 == 0 else None for n, label in enumerate(labels)]
    again = TopicClassifier(4, random_state=0, n_jobs=1).fit(texts, known)
    assert np.array_equal(again.components_, model.components_)


def test_several_topics_for_a_label():
    texts, labels = drinks()
    model = TopicClassifier(7, topics_per_label=2, random_state=0)
    model.fit(texts, [label[0] for label in labels])
    assert model.topic_labels_[:6] == [f"{n} {i}" for n in ("beer", "tea", "wine") for i in (1, 2)]
    assert model.score(texts, [label[0] for label in labels]) > 0.98


@cases(
    ("y", "settings", "said"),
    [
        (None, {}, "y is missing"),
        ([None] * 300, {}, "y has no label"),
        (["a"] * 3, {}, "y has 3 labels for 300 documents"),
        (list("abc") * 100, {"n_components": 2}, "n_components must be at least 3, 1 for each"),
        (list("abc") * 100, {"preset": "fast"}, "preset needs sweeps"),
        ([{}] * 300, {}, "labels are texts, numbers"),
        (list("abc") * 100, {"topics_per_label": 0}, "topics_per_label must be"),
    ],
)
def test_mistakes_have_one_sentence(y, settings, said):
    with pytest.raises(InputError, match=said):
        TopicClassifier(**{"n_components": 4} | settings).fit(drinks()[0], y)
