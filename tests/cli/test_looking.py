"""`opelda topics` and `opelda info`."""

import json

import pytest

import opelda
from opelda.report import topic_table


def test_topics_as_a_table(cli, model_file):
    shown = cli("topics", model_file, "--words", 4)
    assert (shown.code, shown.err) == (0, "")
    header, *rows = shown.out.splitlines()
    assert header.split() == ["topic", "weight", "label", "words"]
    table = {row.topic: row for row in topic_table(opelda.load(model_file), 4)}
    weights = []
    for line in rows:
        row = table[int(line.split()[0])]
        assert line.rstrip().endswith(" ".join(row.words))
        assert row.label in line
        weights.append(row.weight)
    assert weights == sorted(weights, reverse=True)
    assert len(rows) == 3


@pytest.mark.parametrize("rank", ["probability", "relevance", "frex"])
def test_topics_as_json(cli, model_file, rank):
    weight = ("--lambda", 0.2) if rank == "relevance" else ()
    shown = cli("topics", model_file, "--json", "--rank", rank, *weight, "--sort", "number")
    found = json.loads(shown.out)
    table = topic_table(opelda.load(model_file), 10, by=rank, lambda_=0.2)
    assert [topic["topic"] for topic in found["topics"]] == [0, 1, 2]
    for topic, row in zip(found["topics"], table, strict=True):
        assert topic["label"] == row.label
        assert topic["weight"] == pytest.approx(row.weight)
        assert [entry["word"] for entry in topic["words"]] == list(row.words)
        assert [entry["probability"] for entry in topic["words"]] == pytest.approx(
            row.probabilities
        )


def test_only_selects_topics(cli, model_file):
    shown = cli("topics", model_file, "--only", 2, "--only", 0, "--json", "--sort", "number")
    assert [topic["topic"] for topic in json.loads(shown.out)["topics"]] == [2, 0]


def test_control_characters_in_words_are_escaped(cli, tmp_path):
    from opelda.corpus import Vocabulary

    model = opelda.OnlineOPE(2, random_state=0)
    model.fit_stream([["\x1b[31mred\x1b[0m", "tea"]] * 9, vocabulary=Vocabulary(growing=True))
    opelda.save(model, "odd.opelda")
    shown = cli("topics", "odd.opelda")
    assert "\x1b" not in shown.out
    assert "\\x1b[31mred" in shown.out


def test_info_of_the_installation(cli):
    shown = cli("info")
    assert shown.code == 0
    assert opelda.__version__ in shown.out
    for name in ("polars", "numpy", "jsonl", "online-ope", "best", "--install-completion"):
        assert name in shown.out
    found = json.loads(cli("info", "--json").out)
    assert found["opelda"] == opelda.__version__
    assert "missing" not in found["dependencies"].values()


def test_info_of_a_model(cli, model_file):
    found = json.loads(cli("info", model_file, "--json").out)
    assert (found["learner"], found["topics"], found["words"]) == ("topic-model", 3, 21)
    assert found["documents"] == 240
    assert found["documents_seen"] == 240 * (2 + 110)  # passes, then sweeps
    assert found["size"] == model_file.stat().st_size
    assert found["vocabulary"]["stop_words"] == "english"
    assert found["parameters"]["preset"] == "best"
    assert not {"n_jobs", "engine", "verbose", "callbacks"} & set(found["parameters"])
    model = opelda.load(model_file)
    assert found["coherence"] == pytest.approx(model.coherence_.mean())
    assert found["incoherent_topics"] == (model.coherence_ < 0).sum()
    shown = cli("info", model_file).out
    assert "preset best" in shown
    assert f"coherence          {found['coherence']:.10g}\n" in shown
    opelda.save(model.partial_fit(["the tea"]), model_file.parent / "more.opelda")
    more = model_file.parent / "more.opelda"
    assert json.loads(cli("info", more, "--json").out)["coherence"] is None
    assert "coherence          -\n" in cli("info", more).out


def test_labels_are_shown_literally(cli, model_file):
    labels = {0: "<script>", 1: "=1+1", 2: "[red]\u202ex 🧪"}
    opelda.save(opelda.load(model_file).set_topic_labels(labels), "named.opelda")
    found = json.loads(cli("topics", "named.opelda", "--json").out)
    assert {topic["topic"]: topic["label"] for topic in found["topics"]} == labels
    shown = cli("topics", "named.opelda").out
    assert "<script>" in shown
    assert "=1+1" in shown
    assert "[red]" in shown
    assert "\u202e" not in shown


def test_info_of_a_corpus(cli, corpus_file):
    found = json.loads(cli("info", corpus_file, "--json", "--limit", 100).out)
    assert found["format"] == "lines"
    assert found["frequent_words"][0] == "the"
    assert "first 100" in found["documents"]
    assert "lines" in cli("info", corpus_file).out
