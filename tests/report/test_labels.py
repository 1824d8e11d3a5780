"""Topics named by a callable, or by a command."""

import sys

import pytest

import opelda
from opelda.cli import main
from opelda.errors import InputError
from opelda.report import label_topics, topic_table
from tests.cases import cases

TEXTS = ["cats chase dogs at night"] * 9 + ["bonds rise and bonds fall"] * 6 + ["tea in a cup"] * 3


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
