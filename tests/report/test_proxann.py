"""The JSON file for ProxAnn."""

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opelda
from opelda.corpus import read
from opelda.errors import InputError
from opelda.report import export_proxann, top_documents
from tests.cases import cases


def texts_of(seed, n=60):
    chance = random.Random(seed)
    themes = [[f"{theme}{i}" for i in range(9)] for theme in ("ab", "cd", "ef")]
    found = [
        " ".join(
            w
            for theme in chance.sample(themes, 2)
            for w in chance.choices(theme, k=chance.randint(1, 20))
        )
        for _ in range(n)
    ]
    return [*found, "only unknown words"]


@pytest.fixture(scope="module")
def model():
    return opelda.TopicModel(3, random_state=0).fit(texts_of(0, 200)[:-1])


@settings(max_examples=5)
@given(st.integers(0, 99), st.integers(1, 8))
def test_file_has_typical_and_stratified_documents(model, tmp_path_factory, seed, n):
    texts = texts_of(seed)
    path = tmp_path_factory.mktemp("out") / "proxann.json"
    assert export_proxann(model, texts, path, n_documents=n) == path
    (exported,) = json.loads(path.read_text("utf-8")).values()
    assert list(exported) == ["0", "1", "2"]
    theta, typical = model.transform(texts), top_documents(model, texts, n)
    for topic, found in ((int(key), value) for key, value in exported.items()):
        words = model.top_words(100, by="probability")[topic]
        assert found["topic_words"] == list(words)
        exemplars, evaluation = found["exemplar_docs"], found["eval_docs"]
        expected = [row.document for row in typical if row.topic == topic]
        assert [document["doc_id"] for document in exemplars] == expected
        assert len(evaluation) == n
        used = [*exemplars, *evaluation, found["distractor_doc"]]
        rows = [document["doc_id"] for document in used]
        assert len(set(rows)) == len(rows) == 2 * n + 1
        for document in used:
            assert document["text"] == texts[document["doc_id"]] != "only unknown words"
            assert document["prob"] == pytest.approx(theta[document["doc_id"], topic])
        for document in evaluation:
            own = theta[document["doc_id"]].argmax() == topic
            assert document["assigned_to_k"] is bool(own)
        shares = [document["prob"] for document in evaluation]
        assert shares == sorted(shares, reverse=True)
        # no document is closer to a step than the best of those chosen
        rest = np.delete(theta[:-1, topic], expected)
        for step in np.linspace(rest.max(), 0, n):
            assert min(abs(np.array(shares) - step)) <= min(abs(rest - step)) + 1e-6


def test_files_are_read_and_topics_chosen(model, tmp_path):
    lines = [json.dumps({"id": i, "body": text}) for i, text in enumerate(texts_of(1))]
    source = tmp_path / "in.jsonl"
    source.write_text("\n".join(lines))
    path = tmp_path / "out.json"
    export_proxann(model, source, path, topics=[2], text_column="body")
    (exported,) = json.loads(path.read_text()).values()
    assert list(exported) == ["2"]
    assert all(d["text"] == texts_of(1)[d["doc_id"]] for d in exported["2"]["eval_docs"])


@cases(
    ("given", "message"),
    [
        (lambda model: read(texts_of(0), vocabulary=model.vocabulary_), "corpus has no texts"),
        (lambda model: texts_of(0, 14), "has 14 documents with known words; pass more than 14"),
        (lambda model: [], "has 0 documents"),
    ],
)
def test_documents_that_do_not_suffice_are_errors(model, tmp_path, given, message):
    with pytest.raises(InputError, match=message):
        export_proxann(model, given(model), tmp_path / "out.json")
    assert not list(tmp_path.iterdir())
