"""Pages of unusual documents: counts, tables, empty documents, mixed times, one word."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import opelda.report.page._gathered as gathered
import opelda.report.page._write as write
from opelda import TopicModel
from opelda.corpus import Corpus, Vocabulary, read
from opelda.errors import InputError
from opelda.report import topics_by, write_report
from tests.report.page_data import element, texts, unpacked
from tests.report.test_page import records

RECORDS = records()


@pytest.fixture(scope="module")
def model():
    return TopicModel(3, random_state=0).fit([record["text"] for record in RECORDS])


@pytest.fixture
def facts(tmp_path):
    def made(model, corpus, **how):
        path = write_report(model, corpus, tmp_path / "r.html", **{"stability": False} | how)
        return json.loads(element(path.read_text(), "meta"))

    return made


@pytest.fixture(scope="module")
def counts():
    return np.random.default_rng(0).poisson(1.0, (300, 12)).astype(np.float32)


def test_shares_by_group_match_the_figure(model, facts):
    rows = [
        {"text": text, "section": section}
        for text, section in [
            ("cats dogs pets fur", "A"), ("", "A"), ("unknown", "A"), ("bonds stocks", "B"),
            ("stars moon", ""),
        ]
        for _ in range(30)
    ]  # fmt: skip
    groups = facts(model, rows, text_column="text")["groups"]
    corpus = read(rows, text_column="text", vocabulary=model.vocabulary_, metadata="section")
    found = topics_by(model, corpus, "section")
    assert dict(zip(groups["names"], groups["n_docs"], strict=True)) == {"A": 30, "B": 30}
    for name, *rows in zip(*(groups[key] for key in ("names", "shares", "means")), strict=True):
        shares = [(r.corrected_share, r.mean_share) for r in found if r.bin == name]
        np.testing.assert_allclose(np.transpose(rows), shares, atol=1e-5)


def test_one_given_column_leaves_the_other_detected(model, facts):
    meta = facts(model, RECORDS, text_column="text", time="date")
    assert (meta["time"]["column"], meta["groups"]["column"]) == ("date", "section")
    meta = facts(model, RECORDS, text_column="text", by="title")
    assert (meta["time"]["column"], meta["groups"]["column"]) == ("date", "title")


def test_words_with_line_breaks_keep_their_columns(tmp_path, counts):
    words = ["alpha\nbeta", "nul\0", *(f"w{j}" for j in range(10))]
    corpus = Corpus(sparse.csr_array(counts), Vocabulary(words))
    model = TopicModel(3, random_state=0).fit(corpus)
    path = write_report(model, corpus, tmp_path / "r.html", stability=False)
    _, arrays = unpacked(element(path.read_text(), "topics"))
    assert texts(arrays["vocabulary"], "\0") == [words[0], "nul ", *words[2:]]


@pytest.mark.parametrize("seed", range(1))
def test_score_is_independent_of_document_order(facts, seed):
    odd = ["stars bonds cats", "moon stocks dogs"] * 750
    usual = [record["text"] for record in records(seed=seed)] * 10
    model = TopicModel(3, random_state=seed).fit(usual[:120])
    first, last = (facts(model, each)["score"] for each in (odd + usual, usual + odd))
    assert first["n_docs"] == last["n_docs"] == 1000
    assert abs(first["lpp"] - last["lpp"]) < 6 * (first["error"] + last["error"])
    assert facts(model, ["zzz"] * 1500 + usual)["score"] is not None


@pytest.mark.parametrize(
    "kind",
    [
        list, lambda each: np.array(each, object), pd.Series, pl.Series,
        lambda each: pl.DataFrame({"text": each}), lambda each: pd.DataFrame({"text": each}),
    ],
)  # fmt: skip
def test_every_held_out_document_is_scored(model, facts, kind):
    held_out = [record["text"] for record in RECORDS] * 10
    assert (
        facts(model, RECORDS, text_column="text", held_out=kind(held_out))["score"]
        == (facts(model, RECORDS, text_column="text", held_out=model._checked(held_out))["score"])
    )
    assert facts(model, held_out, held_out=kind(held_out))["score"]["n_docs"] == 1200


def test_unscorable_held_out_documents_are_rejected_first(model, tmp_path, monkeypatch):
    monkeypatch.setattr(write, "Gathered", None)
    with pytest.raises(InputError, match="held_out holds no document with 2 words"):
        write_report(model, RECORDS, tmp_path / "r.html", held_out=["zzz", "cats"])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_tables_of_counts(facts, counts, frame):
    table = frame({f"w{j}": column for j, column in enumerate(counts.T)})
    model = TopicModel(3, random_state=0).fit(table)
    assert facts(model, table)["corpus"]["n_tokens"] == counts.sum()


def test_embedded_counts_are_bounded(tmp_path, counts, monkeypatch):
    monkeypatch.setattr(gathered, "TEXT_BYTES", 300)
    monkeypatch.setattr(gathered, "NEW_AT_ONCE", 20)
    monkeypatch.setattr(write, "BLOCK", 16)
    model = TopicModel(3, random_state=0).fit(counts)
    text = write_report(model, counts, tmp_path / "r.html", stability=False).read_text()
    _, arrays = unpacked(element(text, "documents"))
    typical = set(arrays["typical"].tolist())
    others = [i for i in arrays["text_of"].tolist() if i not in typical]
    ends = arrays["count_offsets"].astype(int)
    sizes = dict(zip(arrays["text_of"].tolist(), np.diff(ends), strict=True))
    assert sum(3 * sizes[i] for i in others) <= 300
    assert typical <= set(arrays["text_of"].tolist())
    sampled = json.loads(element(text, "meta"))["sampled"]
    assert any("words of" in sentence for sentence in sampled)


def test_kept_counts_do_not_reference_their_batch(counts, monkeypatch):
    model = TopicModel(3, random_state=0).fit(counts)
    found = gathered.Gathered(model, 2)
    for batch in write.stream(counts, batch_size=100).batches(None, 12, learn=False):
        found.add(batch)
    kept = [array for entry in found.entries.values() for array in entry.counts]
    assert kept
    assert all(array.base is None for array in kept)


def test_block_of_invalid_times_does_not_disable_the_column(model, facts, monkeypatch):
    monkeypatch.setattr(write, "BLOCK", 50)
    rows = [{"text": "cats dogs", "date": f"20{10 + i // 50}"} for i in range(150)]
    junk = [{"text": "cats dogs", "date": "junk"}] * 50
    for how in ({}, {"time": "date"}):
        assert facts(model, rows + junk, text_column="text", **how)["time"]["n_docs"] == [50] * 3
    with pytest.warns(UserWarning, match="'date' is not used for topics over time: 'junk' is not"):
        assert facts(model, rows[:50] + junk * 3, text_column="text")["time"] is None


def test_dates_whose_order_is_known_too_late_are_not_used(model, facts, monkeypatch):
    monkeypatch.setattr(write, "BLOCK", 50)
    early, late = ([{"text": "cats dogs", "date": date}] * 50 for date in ("1/2/1987", "26/2/1987"))
    with pytest.warns(
        UserWarning, match=r"'date' is not used .* '1/2/1987' was read with the month first"
    ):
        assert facts(model, early + late, text_column="text")["time"] is None
    with pytest.raises(InputError, match="'1/2/1987' was read with the month first"):
        facts(model, early + late, text_column="text", time="date")
    assert facts(model, late + early, text_column="text")["time"]["bins"] == [
        "1987-01-26",
        "1987-02-23",
    ]


def test_page_of_one_word(facts):
    model = TopicModel(2, random_state=0).fit(np.ones((30, 1)))
    assert facts(model, np.ones((30, 1)))["coherence"] is None


def test_title_with_a_lone_surrogate(model, tmp_path):
    path = write_report(model, RECORDS, tmp_path / "r.html", text_column="text", title="caf\udce9")
    assert "<title>caf?</title>" in path.read_text()
