"""Word and topic intrusion with scripted judges."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opelda
from opelda.corpus import Corpus
from opelda.errors import InputError
from opelda.metrics import topic_intrusion, word_intrusion
from tests.cases import cases

THEMES = [[f"{theme}{i}" for i in range(8)] for theme in ("ab", "cd", "ef", "gh", "ij")]
WORDS = sorted(word for theme in THEMES for word in theme)
OWN = np.array([[word in theme for word in WORDS] for theme in THEMES])
TOPICS = OWN * (1.0 + np.arange(len(WORDS))) + 0.01


def odd_one(question):
    """Return the number of the word of another theme than the rest."""
    themes = [word[:2] for word in question.choices]
    return 1 + next(i for i, theme in enumerate(themes) if themes.count(theme) == 1)


def absent(question):
    """Return the topic of which the document has no word."""
    words = set(question.document.split())
    return next(c for c in question.choices if not words & set(c.split(", ")))


def documents(seed, n=60):
    """Make texts of three themes each, with a little of a fourth."""
    chance = random.Random(seed)
    return [
        " ".join(
            word
            for theme, n_words in zip(chance.sample(THEMES, 4), (6, 6, 6, 2), strict=True)
            for word in chance.sample(theme, n_words)
        )
        for _ in range(n)
    ]


@pytest.fixture(scope="module")
def model():
    # one theme per document, so that topics are the themes
    texts = [" ".join(theme * 3) for theme in THEMES for _ in range(10)]
    return opelda.TopicModel(5, random_state=0).fit(
        texts,
    )


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_word_questions_have_one_improbable_word_of_another_topic(seed, n_questions):
    table = np.random.default_rng(seed).dirichlet(np.ones(len(WORDS)), len(THEMES))
    found = word_intrusion(
        table, lambda q: 1, n_questions=n_questions, feature_names=WORDS, random_state=seed
    )
    top = [{WORDS[j] for j in np.argsort(-row)[:5]} for row in table]
    for answer in found.answers:
        own, shown = top[answer.topic], answer.question.choices
        assert len(set(shown)) == len(shown) == 6
        assert set(shown) - own == {answer.intruder}
        others = set.union(*top) - own
        assert answer.intruder in others
        share = table[answer.topic]
        lower = [
            word
            for word in others
            if share[WORDS.index(word)] < share[WORDS.index(answer.intruder)]
        ]
        assert 2 * len(lower) <= len(others)
    assert sorted(found.by_topic) == list(range(5))


@given(st.integers(0, 10**6), st.permutations(range(5)))
def test_knowing_judge_finds_every_word_in_any_order_of_topics(seed, order):
    found = word_intrusion(TOPICS, odd_one, n_questions=3, feature_names=WORDS, random_state=seed)
    assert found.precision == 1.0 == min(found.by_topic.values())
    assert found.chance == pytest.approx(1 / 6)
    moved = word_intrusion(
        TOPICS[order], odd_one, n_questions=3, feature_names=WORDS, random_state=seed
    )
    for new, old in enumerate(order):
        assert asked(moved, new) == asked(found, old)
    other = word_intrusion(
        TOPICS, odd_one, n_questions=3, feature_names=WORDS, random_state=seed + 1
    )
    assert [a.question for a in other.answers] != [a.question for a in found.answers]


def asked(found, topic):
    return [a.question for a in found.answers if a.topic == topic]


@settings(max_examples=5)
@given(st.integers(0, 999))
def test_random_judge_is_right_by_chance(seed):
    chance = random.Random(seed)
    rng = np.random.default_rng(seed)
    found = word_intrusion(
        rng.dirichlet(np.full(300, 0.1), 60),
        lambda q: chance.randint(1, 6),
        n_questions=20,
        random_state=seed,
    )
    # 1,200 answers: the bound is more than 5 standard deviations
    assert abs(found.precision - 1 / 6) < 0.06
    # Wilson's limits are the p at which the precision is 1.96 standard deviations off
    for p in found.interval:
        off = abs(found.precision - p) / np.sqrt(p * (1 - p) / len(found.answers))
        assert off == pytest.approx(1.959964, rel=1e-5)


@settings(max_examples=5)
@given(st.integers(0, 999))
def test_topic_questions_follow_the_mixtures_in_any_order_of_documents(model, seed):
    texts = documents(seed)
    found = topic_intrusion(model, texts, absent, n_questions=2, random_state=seed)
    assert found.precision == 1.0
    assert found.chance == 0.25
    assert [answer.topic for answer in found.answers] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    theta = model.transform(texts)
    shown = [", ".join(words) for words in model.top_words(8, by="probability")]
    for answer in found.answers:
        assert answer.question.document == texts[answer.document]
        assert answer.intruder == shown[answer.topic]
        share = theta[answer.document]
        largest = [shown[k] for k in np.argsort(-share)[:3]]
        assert sorted(answer.question.choices) == sorted([*largest, answer.intruder])
        assert share[answer.topic] <= 0.2 * np.sort(share)[-3]
    moved = topic_intrusion(model, texts[::-1], absent, n_questions=2, random_state=seed)
    assert [a.question for a in moved.answers] == [a.question for a in found.answers]
    other = topic_intrusion(model, texts, absent, n_questions=2, random_state=seed + 1)
    assert [a.question for a in other.answers] != [a.question for a in found.answers]


def test_documents_without_texts_are_shown_by_names_and_rare_words(model):
    X = (
        model.vocabulary_.tokenizer.count(documents(0))
        and opelda.corpus.read(documents(0), vocabulary=model.vocabulary_).X
    )
    names = [f"report {i}" for i in range(60)]
    named = Corpus(X, model.vocabulary_, names)
    found = topic_intrusion(model, named, absent, random_state=0)
    assert found.precision == 1.0
    for answer in found.answers:
        name, words = answer.question.document.split(": ")
        assert name == names[answer.document]
        assert set(words.split()) == set(documents(0)[answer.document].split())


@cases(
    "answer",
    ["{n}", "{n}. {word}", " {n}\n", "{n}) because it differs", "{word}", '"{word}."', "{WORD}", 0],
)
def test_answers_of_language_models_are_understood(answer):
    def judge(question):
        n = odd_one(question)
        word = question.choices[n - 1]
        assert f"{n}. {word}" in question.prompt.splitlines()
        return n if answer == 0 else answer.format(n=n, word=word, WORD=word.upper())

    found = word_intrusion(TOPICS, judge, feature_names=WORDS, random_state=0)
    assert found.precision == 1.0


@cases(
    ("judge", "message"),
    [
        (None, "judge must be callable"),
        (lambda q: None, "from 1 to 6, but for topic 0 returned None"),
        (lambda q: 0, "returned 0"),
        (lambda q: 7, "returned 7"),
        (lambda q: "", "returned ''"),
        (lambda q: "I do not know", "returned 'I do not know'"),
    ],
)
def test_other_answers_are_errors(model, judge, message):
    with pytest.raises(InputError, match=message):
        word_intrusion(TOPICS, judge, feature_names=WORDS)


def test_errors_of_judges_are_raised():
    with pytest.raises(ZeroDivisionError):
        word_intrusion(TOPICS, lambda question: 1 / 0)


def test_topics_without_an_intruder_are_errors(model):
    with pytest.raises(InputError, match="no intruder"):
        word_intrusion(np.full((3, 10), 0.1), odd_one)
    with pytest.raises(InputError, match="no intruder"):
        topic_intrusion(model, ["unknown words"] * 3, absent)
    with pytest.raises(InputError, match="must be a fitted model"):
        topic_intrusion(TOPICS, documents(0), absent)
    with pytest.raises(InputError, match="n_topics"):
        topic_intrusion(model, documents(0), absent, n_topics=5)
