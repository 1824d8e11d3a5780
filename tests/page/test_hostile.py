"""Markup, quotes, formulas and unusual characters are shown as text."""

import csv
import io

from tests.page.conftest import HOSTILE, show


def test_titles_and_labels_are_shown_literally(open_page, hostile):
    page = open_page(hostile.url)
    assert page.title() == HOSTILE["markup"] + HOSTILE["quotes"]
    for address in ("#/", "#/topics", "#/topic/0", "#/topic/1", "#/documents", "#/paste"):
        show(page, address)
        page.wait_for_timeout(150)
        assert page.locator("main script, main img, main iframe").count() == 0
        assert page.evaluate("document.scripts.length") <= 4
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address


def test_every_word_has_a_page(open_page, hostile):
    page = open_page(hostile.url)
    for topic in range(4):
        show(page, f"#/topic/{topic}")
        links = page.locator("g.word a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
        for link in links:
            page.evaluate("hash => { location.hash = hash }", link)
            page.wait_for_function(
                "() => document.querySelector('.eyebrow')?.textContent === 'Word'"
            )
    assert page.evaluate("window.hacked") is None


def test_long_document_is_abbreviated(open_page, hostile):
    page = open_page(f"{hostile.url}#/document/0")
    text = page.locator("main .text").evaluate("body => body.textContent")
    assert len(text) > 10_000
    assert text.endswith("…")
    assert hostile.texts[0].startswith(text[:-1])
    show(page, "#/about")
    assert f"cut after {len(text) - 1:,} characters" in page.inner_text(".held")


def test_hostile_text_is_pasted_and_searched(open_page, hostile):
    page = open_page(f"{hostile.url}#/paste")
    page.fill("textarea", " ".join(HOSTILE.values()))
    page.wait_for_selector("figure[data-theta]")
    assert page.locator(".text").text_content() == " ".join(HOSTILE.values())
    page.locator("h1").click()
    page.keyboard.press("/")
    page.keyboard.type("<script>")
    page.wait_for_selector(".search [role=option]")
    page.keyboard.press("Enter")
    assert page.evaluate("window.hacked") is None


def test_names_in_csv_are_not_formulas(open_page, hostile):
    page = open_page(f"{hostile.url}#/documents")
    with page.expect_download() as download:
        page.locator(".tools button", has_text="CSV").click()
    for row in csv.reader(io.StringIO(download.value.path().read_text("utf-8-sig"))):
        for cell in row:
            assert not cell.startswith(("=", "+", "-", "@", "\t"))
            assert not any(c < " " or c == "\u202e" for c in cell)


def test_right_to_left_text_has_its_direction(open_page, hostile):
    page = open_page(f"{hostile.url}#/paste")
    page.fill("textarea", "שלום עולם")
    page.wait_for_selector(".result .text")
    assert page.locator(".result .text").get_attribute("dir") == "auto"
