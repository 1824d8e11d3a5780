"""Charts and tables are downloaded as CSV, SVG and PNG."""

import csv
import io
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import opelda
from tests.page.conftest import figure

PAGE = Path(__file__).parents[2] / "page"
BUILT = Path(opelda.__file__).parent / "report" / "page"


def saved(page, title, kind):
    with page.expect_download() as download:
        figure(page, title).locator(".files button", has_text=kind).click()
    return download.value.suggested_filename, download.value.path().read_bytes()


def test_table_behind_a_chart_is_a_csv(open_page, report):
    page = open_page(f"{report.url}#/topic/1?lambda=1")
    name, data = saved(page, "Words", "CSV")
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    assert name == "topic-1-words.csv"
    assert [row["word"] for row in rows[:5]] == report.model.top_words(5, by="probability")[1]
    figure(page, "Words").locator(".files button", has_text="Table").click()
    assert page.locator(".behind table tbody tr").count() == len(rows)


def test_two_groups_are_two_lines_with_their_means(open_page, report):
    page = open_page(f"{report.url}#/groups")
    page.select_option("#group-1", index=3)
    one, other = (
        page.locator(f"#group-{side} option:checked").inner_text().split()[0] for side in (0, 1)
    )
    chart = figure(page, "Both groups over time")
    chart.locator(".note", has_text=other).first.wait_for()
    assert one in chart.locator(".note .solid").inner_text()
    assert other in chart.locator(".note .dashed").inner_text()
    n_topics = len(report.model.components_)
    assert chart.locator("svg .solid .line").count() == n_topics
    assert chart.locator("svg .dashed .line").count() == n_topics
    _, data = saved(page, "Both groups over time", "CSV")
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    assert len(rows) == 2 * n_topics * 6  # years
    theta = report.model.transform(report.texts)
    kinds = np.array([name.split()[0] for name in report.names])
    years = np.array([2015 + number % 6 for number in range(len(kinds))])
    for row in rows:
        own = (kinds == row["section"]) & (years == int(row["date"][:4]))
        assert int(row["documents"]) == own.sum()
        # shares below 1% are not in the page
        wanted = theta[own, int(row["topic"])].mean()
        assert float(row["mean share"]) == pytest.approx(wanted, abs=0.01)


@pytest.mark.parametrize(
    ("address", "title"),
    [
        ("#/", "Map of topics"),
        ("#/topic/0", "Over time"),
        ("#/topic/0", "Words"),
        ("#/compare", "All similarities"),
    ],
)
def test_chart_is_svg_and_png(open_page, report, address, title):
    page = open_page(report.url + address)
    _, svg = saved(page, title, "SVG")
    root = ElementTree.fromstring(svg)
    written = " ".join(e.text or "" for e in root if e.tag.endswith("}text"))
    assert title.lower() in written.lower()  # the file is self-contained
    assert ("Topic 0, " in written) == (address == "#/topic/0")
    assert root.tag.endswith("svg")
    assert len(list(root.iter())) > 5
    assert b"var(" not in svg
    texts = [e for e in root.iter() if e.tag.endswith("}text")]
    assert texts
    assert all(text.get("fill", "").startswith("rgb") for text in texts)
    links = [e for e in root.iter() if e.tag.endswith("}a")]
    assert not any(link.get("href") for link in links)
    _, png = saved(page, title, "PNG")
    assert png.startswith(b"\x89PNG")
    assert len(png) > 2000


def test_list_of_documents_is_a_csv(open_page, report):
    page = open_page(f"{report.url}#/documents?topic=2")
    with page.expect_download() as download:
        page.locator(".tools button", has_text="CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text("utf-8-sig"))))
    assert len(rows) == int(page.inner_text("[role=status]").split()[0])
    assert rows[0]["name"] in report.names


def test_committed_script_matches_the_source(tmp_path):
    subprocess.run(["node", "build.js", f"{tmp_path}/"], cwd=PAGE, check=True)
    for name in ("page.js", "page.css"):
        committed = BUILT / name
        assert (tmp_path / name).read_bytes() == committed.read_bytes(), "run make page"


def test_script_is_small_and_fits_into_html():
    parts = [(BUILT / name).read_text("ascii").lower() for name in ("page.js", "page.css")]
    assert sum(map(len, parts)) < 300_000
    for ending in ("</script", "</style", "<!--"):
        assert not any(ending in part for part in parts)
