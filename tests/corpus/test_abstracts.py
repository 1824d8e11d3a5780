"""The abstracts shipped with opelda, and their license."""

import lzma
import re
from collections import Counter
from datetime import date

import polars as pl
import pytest

from opelda import TopicModel
from opelda.cli import main
from opelda.corpus import ABSTRACTS, read

LICENCE = (ABSTRACTS.parent / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def papers():
    return pl.read_ndjson(lzma.decompress(ABSTRACTS.read_bytes()))


def test_records_are_complete_and_distinct(papers):
    assert papers.columns == ["id", "date", "category", "title", "text"]
    assert len(papers) == 4_000
    for name in ("id", "title", "text"):
        assert papers[name].n_unique() == 4_000, name
    for name in papers.columns:
        texts = papers[name].to_list()
        assert texts == [" ".join(text.split()) for text in texts], name
    assert papers["text"].str.len_chars().min() >= 200
    assert all(re.fullmatch(r"\d{4}\.\d{4,5}|[a-z-]+/\d{7}", name) for name in papers["id"])


def test_fields_are_balanced_and_order_is_random(papers):
    assert set(Counter(papers["category"]).values()) == {400}
    years = Counter(date.fromisoformat(day).year for day in papers["date"])
    assert set(years) == set(range(1993, 2020))
    assert max(years.values()) < 300
    # in random order, the first tenth resembles all papers
    first = Counter(papers["category"].head(400)).values()
    assert len(first) == 10
    assert 20 <= min(first) <= max(first) <= 60


def test_file_is_small_and_has_a_license():
    assert ABSTRACTS.stat().st_size < 1.5e6
    assert "CC0 1.0" in LICENCE
    assert ABSTRACTS.name in LICENCE


def test_abstracts_are_accepted_as_a_source(papers, tmp_path):
    corpus = read(ABSTRACTS, metadata="auto")
    assert corpus.names == papers["title"].to_list()
    assert corpus.metadata.to_dict(as_series=False) == papers["date", "category"].to_dict(
        as_series=False
    )
    model = TopicModel(5, preset="fast", random_state=0)
    assert model.fit_stream(ABSTRACTS).n_docs_seen_ == 4_000
    counts = tmp_path / "counts.npz"
    assert main(["convert", str(ABSTRACTS), str(counts), "--quiet"]) == 0
    assert len(read(counts)) == 4_000
