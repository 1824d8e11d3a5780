"""The file of a page: its data, read as the page reads them."""

import base64
import datetime as dt
import hashlib
import json
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

import opelda.report.page._gathered as gathered
import opelda.report.page._write as write
from opelda import MLOPE, TopicModel
from opelda.corpus import Corpus, read
from opelda.errors import InputError
from opelda.inference import infer
from opelda.report import top_documents, topics_over_time, write_report
from opelda.report._times import LENGTHS, UNITS, fitting_unit, time_bins
from opelda.report._unmixing import Unmixing
from opelda.report.page._gathered import SummedShares
from tests.report.page_data import dense, element, texts, unpacked

HOSTILE = [
    "</script><script>alert(1)</script>",
    "\u2028 <!-- \u202e ' \" & \0 \x1b[31m",
    "{{script}} {{data}} <img src=x onerror=alert(1)>",
    "😀 مرحبا שלום",
    "=HYPERLINK(1)",
]
SUBJECTS = [
    "cats dogs pets fur claws",
    "bonds stocks yields banks rates",
    "stars planets orbit moon sky",
]


def records(n=120, seed=0):
    random = np.random.default_rng(seed)
    made = []
    for i in range(n):
        kind = i % 3
        words = random.choice(SUBJECTS[kind].split(), 25)
        made.append(
            {
                "title": f"{HOSTILE[i % len(HOSTILE)]} {i}",
                "text": " ".join(words),
                "date": f"20{10 + i % 4}-0{1 + i % 9}-11",
                "section": ["zoo", "bank", "</script>"][kind],
            }
        )
    return made


@pytest.fixture(scope="module")
def model():
    return TopicModel(3, random_state=0).fit([record["text"] for record in records()])


@pytest.fixture(scope="module")
def other():
    return TopicModel(2, random_state=1).fit([record["text"] for record in records()])


@pytest.fixture(scope="module")
def written(model, other, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    model.set_topic_labels({1: HOSTILE[0]})
    write_report(model, records(), path, text_column="text", compare=other, title=HOSTILE[2])
    return path.read_text("utf-8")


def facts(path):
    return json.loads(element(path.read_text(), "meta"))


@pytest.fixture(scope="module")
def meta(written):
    return json.loads(element(written, "meta"))


def test_content_security_policy_allows_only_embedded_code(written):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', written)[1]
    assert policy.startswith("default-src 'none'; ")
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", written, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert "connect-src" not in policy
    # three of the four scripts are data, which cannot close their element
    assert written.count("</script>") == 4 + written.split("<script>")[-1].count("</script>") - 1


def test_hostile_texts_round_trip(written, meta):
    assert meta["title"] == HOSTILE[2]
    assert meta["topics"][1]["label"] == HOSTILE[0]
    assert "</script>" in meta["groups"]["names"]
    header, arrays = unpacked(element(written, "documents"))
    names = texts(arrays["names"], "\n")
    assert names == [" ".join(record["title"].split()) for record in records()]
    assert header["n_docs"] == 120
    assert texts(arrays["texts"], "\0") == [record["text"] for record in records()]


def test_topics_keep_the_numbers_of_the_model(model, written, meta):
    header, arrays = unpacked(element(written, "topics"))
    assert texts(arrays["vocabulary"], "\0") == list(model.vocabulary_)
    np.testing.assert_allclose(dense(header, arrays), model.components_, rtol=1e-3, atol=1e-9)
    offsets = np.frombuffer(base64.b64decode(meta["ranked"]["offsets"]), "<u4")
    ids = np.frombuffer(base64.b64decode(meta["ranked"]["words"]), "<u4")
    for k, best in enumerate(model.top_words(3)):
        words = {meta["words"][j] for j in ids[offsets[k] : offsets[k + 1]]}
        assert set(best) <= words


def test_documents_have_mixtures_and_certificates(model, written):
    _, arrays = unpacked(element(written, "documents"))
    found = model.infer([record["text"] for record in records()])
    np.testing.assert_allclose(arrays["loss"], found.loss, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(arrays["tokens"], 25)
    for i in range(120):
        own = slice(*arrays["offsets"][i : i + 2])
        weights = arrays["weight"][own] / 65535
        assert (np.diff(weights) <= 0).all()
        np.testing.assert_allclose(weights, found.theta[i][arrays["topic"][own]], atol=1e-4)


def test_typical_documents_match_top_documents(model, written):
    _, arrays = unpacked(element(written, "documents"))
    rows = top_documents(model, [record["text"] for record in records()], n=10)
    for k in range(3):
        own = arrays["typical"][slice(*arrays["typical_offsets"][k : k + 2])]
        assert arrays["number"][own].tolist() == [r.document for r in rows if r.topic == k]


def test_shares_by_group_and_over_time_are_means(model, meta):
    counts = model.vocabulary_.count([record["text"] for record in records()])
    theta, unmixing = model.transform(counts), Unmixing(model)
    words = unmixing.frequencies(counts)[0]
    assert meta["shares"] == pytest.approx(
        unmixing.likeliest(words.mean(axis=0)[None])[0], abs=1e-5
    )
    groups = [record["section"] for record in records()]
    for name, n_docs, shares, means in zip(
        *(meta["groups"][k] for k in ("names", "n_docs", "shares", "means")), strict=True
    ):
        of = [group == name for group in groups]
        assert n_docs == sum(of)
        assert shares == pytest.approx(
            unmixing.likeliest(words[of].mean(axis=0)[None])[0], abs=1e-5
        )
        assert means == pytest.approx(theta[of].mean(axis=0), abs=1e-5)
    time = meta["time"]
    assert time["column"] == "date"
    assert sum(time["n_docs"]) == 120
    for name, shares in zip(time["bins"], time["shares"], strict=True):
        of = [quarter(record["date"], time["unit"]) == name for record in records()]
        assert shares == pytest.approx(
            unmixing.likeliest(words[of].mean(axis=0)[None])[0], abs=1e-5
        )


def test_page_has_the_bins_and_intervals_of_topics_over_time(model, meta):
    dates, texts = ([record[key] for record in records()] for key in ("date", "text"))
    for time in (meta["time"], meta["time"]["periods"]):
        rows = topics_over_time(model, texts, dates, unit=time["unit"])
        auto = time_bins(dates)
        if time is meta["time"]:
            assert (time["unit"], time["bins"]) == (auto.unit, auto.labels)
        for row in rows:
            i, k = time["bins"].index(row.bin), row.topic
            assert time["n_docs"][i] == row.n_docs
            found = [time[name][i][k] for name in ("shares", "low", "high", "means")]
            wanted = [row.corrected_share, row.low, row.high, row.mean_share]
            assert found == pytest.approx(wanted, abs=2e-5)


@given(
    st.integers(0, 5),
    st.lists(st.integers(0, 400), min_size=2, max_size=60, unique=True),
    st.integers(1, 30),
)
@example(3, list(range(0, 200, 3)), 30)  # weeks
def test_page_and_time_bins_choose_the_same_unit(scale, steps, n_docs):
    """In any order, though a page holds sums of the longest unit that may still be chosen."""
    length = [dt.timedelta(seconds=1), *LENGTHS.values(), dt.timedelta(days=40)][scale]
    times = [dt.datetime(1987, 2, 26) + step * length for step in steps for _ in range(n_docs)]
    sums = SummedShares(unit="minute")
    for some in (times[::2], times[1::2]):
        sums.add(some, np.ones((len(some), 1)))
    held = UNITS[UNITS.index(sums.unit) :]
    assert fitting_unit(sums.sums, len(times), held) == time_bins(times).unit
    assert sum(sums.n_docs.values()) == sum(sums.sums.values()).sum() == len(times)


def quarter(date, unit):
    year, month = date[:4], int(date[5:7])
    return {"year": year, "quarter": f"{year}-Q{(month + 2) // 3}", "month": date[:7]}[unit]


def test_facts_match_the_documents(model, other, meta):
    found = model.infer([record["text"] for record in records()])
    for nats, share in meta["guarantee"]["within"]:
        assert share == pytest.approx((found.loss <= nats).mean())
    assert meta["corpus"]["n_docs"] == meta["model"]["n_docs"] == 120  # for any number of passes
    assert meta["corpus"]["n_tokens"] == 120 * 25
    assert meta["compare"]["n_topics"] == 2
    assert len(meta["compare"]["matches"]) == 2
    compared = [topic["coherence"] for topic in meta["compare"]["topics"]]
    assert compared == pytest.approx(other.coherence_)
    assert meta["coherence"]["mean"] == pytest.approx(model.coherence_.mean())
    assert [topic["coherence"] for topic in meta["topics"]] == pytest.approx(
        model.coherence_, abs=1e-4
    )
    assert all(0 < topic["stability"] <= 1 for topic in meta["topics"])


def test_large_corpora_list_a_stated_sample(model, tmp_path, monkeypatch):
    monkeypatch.setattr(gathered, "MOST_DOCUMENTS", 30)
    monkeypatch.setattr(gathered, "NEW_AT_ONCE", 20)
    monkeypatch.setattr(gathered, "TEXT_BYTES", 2_000)
    monkeypatch.setattr(gathered, "SHORTER", (1_000, 100, 20))
    text = write_report(model, records(600), tmp_path / "r.html", text_column="text").read_text()
    meta, (header, arrays) = json.loads(element(text, "meta")), unpacked(element(text, "documents"))
    typical = set(arrays["typical"].tolist())
    assert len(typical) <= header["n_docs"] <= 30 + len(typical)
    assert typical <= set(arrays["text_of"].tolist())
    shown = texts(arrays["texts"], "\0")
    assert sum(map(len, shown)) <= 2_000 + 2 * len(shown)
    assert any("of 600 documents are listed" in output for output in meta["sampled"])
    assert any("cut after" in output for output in meta["sampled"])
    assert meta["corpus"]["n_docs"] == 600
    numbers = arrays["number"].tolist()
    assert numbers == sorted(set(numbers))


def test_documents_without_texts_show_counts(tmp_path):
    random = np.random.default_rng(0)
    X = sparse.csr_array(random.poisson(0.5, (80, 40)).astype(np.float32))
    model = MLOPE(4, random_state=0).fit(X)
    text = write_report(model, X, tmp_path / "r.html", stability=False).read_text()
    meta, (_, arrays) = json.loads(element(text, "meta")), unpacked(element(text, "documents"))
    assert "texts" not in arrays
    assert meta["tokenizer"]["why_not"]
    rows = np.repeat(arrays["text_of"], np.diff(arrays["count_offsets"].astype(int)))
    back = sparse.csr_array((arrays["counts"], (rows, arrays["count_words"])), X.shape)
    assert (back != X).nnz == 0
    theta = infer(X, model.components_, method=model._transform_method()).theta
    weights = X.sum(axis=1) @ theta / X.sum()
    assert [t["weight"] for t in meta["topics"]] == pytest.approx(weights, abs=1e-4)


def test_in_memory_corpus_keeps_its_names(model, tmp_path):
    corpus = read(records(), text_column="text", vocabulary=model.vocabulary_)
    assert isinstance(corpus, Corpus)
    text = write_report(model, corpus, tmp_path / "r.html", stability=False).read_text()
    _, arrays = unpacked(element(text, "documents"))
    assert texts(arrays["names"], "\n")[3].endswith(" 3")
    meta = json.loads(element(text, "meta"))
    assert (meta["title"], meta["corpus"]["name"]) == ("Topics", "")


def test_page_of_a_file_is_titled_by_its_name(model, tmp_path):
    (tmp_path / "pets.txt").write_text("\n".join(record["text"] for record in records()))
    text = write_report(model, tmp_path / "pets.txt", tmp_path / "r.html").read_text()
    meta = json.loads(element(text, "meta"))
    assert (meta["title"], meta["corpus"]["name"]) == ("pets.txt", "pets.txt")


def test_invalid_input_writes_no_page(model, tmp_path):
    path = tmp_path / "r.html"
    with pytest.raises(InputError, match="no documents"):
        write_report(model, [], path)
    with pytest.raises(InputError, match="'when'"):
        write_report(model, records(), path, text_column="text", time="when")
    with pytest.raises(InputError, match="not a supported time"):
        write_report(model, records(), path, text_column="text", time="section")
    assert not path.exists()


def test_group_sizes_count_every_document(model, tmp_path, monkeypatch):
    rows = [
        {"text": "cats dogs pets", "author": "staff" if i % 2 else f"reader {i}"}
        for i in range(300)
    ]
    how = {"text_column": "text", "by": "author", "stability": False}
    meta = facts(write_report(model, rows, tmp_path / "r.html", **how))
    counted = dict(zip(meta["groups"]["names"], meta["groups"]["n_docs"], strict=True))
    assert counted["staff"] == 150
    assert len(counted) + meta["groups"]["n_others"] == 151
    # known groups are still counted when new groups do not fit, and the page states this
    monkeypatch.setattr(gathered, "GROUP_SUMS", (3 + 9) * 40)  # words, and three sums of topics
    monkeypatch.setattr(write, "BLOCK", 16)
    meta = facts(write_report(model, rows, tmp_path / "r.html", **how))
    counted = dict(zip(meta["groups"]["names"], meta["groups"]["n_docs"], strict=True))
    assert counted["staff"] == 150
    assert sum(counted.values()) == 150 + 39
    assert any("111 documents of groups" in sentence for sentence in meta["sampled"])


def test_numeric_names_are_followed_by_the_text(model, tmp_path):
    rows = [{"id": 10**17 + i, "text": f"cats dogs {i}"} for i in range(5)]
    text = write_report(model, rows, tmp_path / "r.html", text_column="text").read_text()
    _, arrays = unpacked(element(text, "documents"))
    assert texts(arrays["names"], "\n")[3] == "100000000000000003: cats dogs 3"


def test_stop_words_are_not_unknown_words(tmp_path):
    rows = ["the cats of the dogs", "a bond in the banks"] * 20
    model = TopicModel(2, random_state=0).fit(rows)
    meta = facts(write_report(model, rows, tmp_path / "r.html"))
    assert {"the", "of"} <= set(meta["tokenizer"]["stop_words"])
