"""`--seed-words FILE`: seed words from lines or JSON, with errors named by line."""

import json
from pathlib import Path

import pytest

import opelda
from opelda import TopicModel
from opelda.corpus import read
from opelda.learning import SeedWarning
from tests.cases import cases

LINES = "# mine\n\ncooking: bread, Dough, yeast\nskies: star, comet\n"
WORDS = {"cooking": ["bread", "Dough", "yeast"], "skies": ["star", "comet"]}
QUICK = ("--passes", 2, "--sweeps", 3, "-k", 5)


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("seeds.txt").write_text(LINES)
    Path("seeds.json").write_text(json.dumps(WORDS))


@pytest.mark.parametrize("file", ["seeds.txt", "seeds.json"])
def test_seed_files_give_the_bytes_of_the_library(cli, corpus_file, file):
    done = cli("fit", corpus_file, *QUICK, "--seed-words", file, "-o", "m")
    assert done.code == 0
    assert done.err.count("seed words that do not occur: 'yeast'.") == 1
    model = TopicModel(5, n_passes=2, n_sweeps=3, seeds=WORDS, random_state=0)
    with pytest.warns(SeedWarning):
        model.fit(read(corpus_file))
    ours = opelda.load("m")
    assert ours.components_.tobytes() == model.components_.tobytes()
    assert ours.topic_labels_[:2] == ["cooking", "skies"]
    assert set(ours.top_words(3)[0]) <= {
        "bread",
        "dough",
        "flour",
        "oven",
        "butter",
        "sugar",
        "recipe",
    }


@cases(
    ("text", "message"),
    [
        ("a: b\nno words here\n", "seeds.txt, line 2 lacks a name or words"),
        ("a: b\n\na: c\n", "seeds.txt, line 3 has the duplicate name 'a'"),
        ("a: , ,\n", "seeds.txt, line 1 lacks a name or words"),
        ("# nothing\n", "seeds.txt has no seed words"),
        ("a: telephone\n", "--seed-words has no word of 'a' that occurs"),
        (
            "a: star\nb: star\nc: star\nd: star\ne: star\nf: star\n",
            "name fewer topics, or set --topics 6",
        ),
    ],
)
def test_errors_are_one_sentence(cli, corpus_file, text, message):
    Path("seeds.txt").write_text(text)
    done = cli("fit", corpus_file, *QUICK, "--seed-words", "seeds.txt", "-o", "m", "--quiet")
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not Path("m").exists()


@cases(
    ("text", "message"),
    [
        ('{"a": ["b"],\n "c": }', "seeds.json, line 2 is not valid JSON"),
        ('{"a": "b"}', "a list of words for 'a'"),
    ],
)
def test_errors_in_json_are_one_sentence(cli, corpus_file, text, message):
    Path("seeds.json").write_text(text)
    done = cli("fit", corpus_file, "--seed-words", "seeds.json", "--quiet")
    assert done.code == 2
    assert message in done.err


def test_unusable_seed_options_are_rejected(cli, corpus_file):
    for options, sentence in (
        (("--seed-words", "seeds.txt", "--learner", "ml-ope"), "has no effect with --learner"),
        (("--seed-words", "missing.txt"), "missing.txt cannot be read"),
    ):
        done = cli("fit", corpus_file, "--quiet", *options)
        assert done.code == 2
        assert sentence in done.err


def test_resumed_stream_requires_the_same_seeds(cli, corpus_file):
    again = ("stream", corpus_file, "--checkpoint", "state", "-k", 5, "--seed-words", "seeds.txt")
    done = cli(*again)
    assert done.code == 0
    assert done.err.count("do not occur so far: 'yeast'.") == 1
    assert cli(*again).code == 0
    assert opelda.load("state").topic_labels_[:2] == ["cooking", "skies"]
    Path("seeds.txt").write_text("cooking: bread\n")
    done = cli(*again)
    assert done.code == 2
    assert "made with other --seed-words" in done.err
