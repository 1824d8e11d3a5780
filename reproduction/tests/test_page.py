"""The page on the paper's experiments agrees with the kept measurements."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from reproduction import page as script
from tests.cases import cases

DOCS = script.DOCS
PAGE = script.PAGE.read_text(encoding="utf-8")
PICTURES = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return {path.name: path for path in script.draw(script.read(), tmp_path_factory.mktemp("f"))}


def test_tables_equal_the_measurements():
    assert script.filled(PAGE, script.read()) == PAGE


def test_claims_and_verdicts_equal_the_measurements():
    summary = PAGE.partition("## Which claims hold")[2].partition("\n## ")[0]
    _, *rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", summary, re.MULTILINE)
    assert dict(rows) == script.verdicts(script.read())


def test_no_placeholder_is_left():
    assert re.findall(r"\b[A-Z]{3,}_[A-Z_]+\b|\bTODO\b|\bADVICE\b|\bAGREEMENT\b", PAGE) == []


def test_every_table_is_on_the_page():
    there = {name for _, name, _, _ in script.PART.findall(PAGE)}
    assert set(script.TABLES) <= there


def test_every_picture_is_drawn_and_every_collection_described(drawn):
    assert {Path(picture).name for picture in PICTURES} == set(drawn)
    for corpus, _ in script.read():
        assert f"`{corpus}`" in PAGE


@cases("picture", PICTURES)
def test_pictures_are_small_and_undated(picture):
    text = (DOCS / picture).read_text(encoding="utf-8")
    ET.fromstring(text)
    assert len(text) < 200_000
    assert "dc:date" not in text


@cases("picture", PICTURES)
def test_pictures_equal_the_scripts_output(picture, drawn, check_picture):
    check_picture(DOCS / picture, drawn[Path(picture).name])


def test_full_runs_are_large_enough_and_used_the_papers_settings():
    about = {p: json.loads(p.read_text()) for p in sorted(script.SUMMARIES.glob("*/*.json"))}
    sizes = {path.parent.name: found["documents"] for path, found in about.items()}
    assert sizes["arxiv"] >= 100_000
    assert sizes["reddit"] >= 300_000
    for path, found in about.items():
        used = found["settings"]
        assert used["n_topics"] == 100
        assert not used["quick"]
        if not path.parent.name.endswith("-advice"):
            assert (used["batch_size"], used["learning_decay"]) == (5000, 0.9)
            assert (used["learning_offset"], used["n_iter"]) == (1.0, 50)
