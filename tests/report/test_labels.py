"""Names of topics: by words and phrases, a callable, or a command."""

import random
import re
import sys
import tempfile
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opelda
from opelda.cli import main
from opelda.corpus import Tokenizer, read
from opelda.errors import InputError
from opelda.learning.persistence._stored_model import StoredModel
from opelda.report import label_topics, topic_table
from tests.cases import cases

TEXTS = ["cats chase dogs at night"] * 9 + ["bonds rise and bonds fall"] * 6 + ["tea in a cup"] * 3


CLAUSES = [
    ["the interest rate was cut", "banks and banking", "an interest in a rate", "a bank"],
    ["the health care bill passed", "policy and policies", "bills of health", "care is due"],
]


@pytest.fixture(scope="module")
def model():
    return opelda.TopicModel(3, random_state=0).fit(TEXTS)


def test_labeller_gets_heaviest_topics_first_with_words_and_documents(model):
    asked = []

    def name(topic):
        asked.append(topic)
        return f"  'Topic {topic.topic}.'\nbecause of its words"

    labels = label_topics(model, with_=name, corpus=TEXTS)
    assert labels == [f"Topic {k}" for k in range(3)]
    rows = topic_table(model, 15)
    heaviest = sorted(rows, key=lambda row: -row.weight)
    assert [topic.topic for topic in asked] == [row.topic for row in heaviest]
    for number, topic in enumerate(asked):
        assert topic.words == rows[topic.topic].words
        assert topic.taken == tuple(f"Topic {before.topic}" for before in asked[:number])
        assert set(topic.documents) <= set(TEXTS)
        assert all(word in topic.prompt for word in (*topic.words, *topic.documents, *topic.taken))
    # each has its own documents
    assert len({topic.documents[0] for topic in asked}) == 3


def test_duplicate_labels_are_requested_again(model):
    answers = iter(["tea", "tea", "bonds", "tea", "tea", "tea"])
    labels = label_topics(model, with_=lambda topic: next(answers))
    assert sorted(label.split(" (")[0] for label in labels) == ["bonds", "tea", "tea"]
    assert len(set(labels)) == 3
    assert next(answers, None) is None


def test_labels_of_some_topics_without_documents(model):
    asked = []
    labels = label_topics(model, with_=lambda t: asked.append(t) or f"t{t.topic}", only=[2, 0, 2])
    assert labels == ["t2", "t0", "t2"]
    assert sorted(topic.topic for topic in asked) == [0, 2]
    assert all(topic.documents == () for topic in asked)


@cases(
    ("options", "message"),
    [
        ({"with_": 3}, "with_ must be callable"),
        ({"with_": lambda topic: None}, "for topic . returned None"),
        ({"with_": lambda topic: "  \n"}, "with_ must return a name"),
        ({"corpus": TEXTS}, "corpus has no effect without with_"),
        ({"with_": len, "only": [3]}, "only must be"),
    ],
)
def test_invalid_options_are_rejected(model, options, message):
    with pytest.raises(InputError, match=message):
        label_topics(model, **options)


def test_shell_command_labels_topics(model, tmp_path, capfd):
    path = tmp_path / "m.opelda"
    opelda.save(model, path)
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(TEXTS))
    program = "import sys; print(sys.stdin.read().split('Words: ')[1].split(',')[0].upper())"
    command = f'{sys.executable} -c "{program}"'
    assert main(["topics", str(path), str(texts), "--label-with", command, "--json"]) == 0
    labels = opelda.load(path).topic_labels_
    assert labels == [words[0].upper() for words in model.top_words(1)]
    shown = capfd.readouterr().out
    assert all(label in shown for label in labels)
    before = path.read_bytes()
    assert main(["topics", str(path), "--label-with", "exit 3"]) != 0
    assert "ended with 3 for topic" in capfd.readouterr().err
    assert path.read_bytes() == before


@settings(max_examples=10)
@given(st.integers(0, 99))
def test_labels_have_phrases_of_adjacent_words_and_no_stem_twice(seed):
    chance = random.Random(seed)
    texts = [". ".join(chance.choices(clauses, k=9)) for clauses in CLAUSES for _ in range(60)]
    corpus = read(texts, max_df=1.0, min_df=1)
    beside = Counter()  # the oracle: adjacent words of the texts, whatever is between
    for text in texts:
        words = re.findall(r"\w\w+", text.lower())
        beside.update({" ".join(pair) for pair in pairwise(words)})
    known = set(corpus.words)
    assert all(beside[phrase] >= 10 for phrase in corpus.vocabulary.phrases)
    assert {part for phrase in corpus.vocabulary.phrases for part in phrase.split()} <= known
    assert {"interest rate", "health care"} <= set(corpus.vocabulary.phrases)
    model = opelda.TopicModel(2, preset="fast", random_state=seed).fit(corpus)
    for label in model.topic_labels_:
        stems = [word[:4] for word in label.replace(",", "").split()]
        assert len(stems) == len(set(stems))
    with tempfile.TemporaryDirectory() as folder:
        opelda.save(model, f"{folder}/m.opelda")
        stored = StoredModel.read(f"{folder}/m.opelda").topics()
        assert [topic.label for topic in stored] == model.topic_labels_
        assert opelda.load(f"{folder}/m.opelda").topic_labels_ == model.topic_labels_


@given(st.integers(0, 999))
def test_words_of_a_theme_in_any_order_are_no_phrases(seed):
    chance = random.Random(seed)
    themes = [["star", "galaxy", "orbit", "comet"], ["bread", "flour", "oven", "dough"]]
    texts = [" ".join(chance.choices(themes[i % 2], k=20)) for i in range(100)]
    assert read(texts).vocabulary.phrases == ()


def test_labels_have_no_stop_words_and_phrases_none_between():
    texts = [f"the {word} of the king and of {word}s" for word in ("bank", "ship")] * 50
    corpus = read(texts, tokenizer=Tokenizer(stop_words=None), max_df=1.0)
    label = label_topics(opelda.TopicModel(1, random_state=0).fit(corpus))[0]
    assert not {"the", "of", "and"} & set(re.findall(r"\w+", label))
    assert read(texts, max_df=1.0).vocabulary.phrases == ()
