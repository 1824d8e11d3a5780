"""axe reports no violation in any view: light and dark, desktop and phone."""

import pytest

from tests.page.conftest import AXE, show

VIEWS = ("#/", "#/topics", "#/topic/1", "#/documents", "#/document/3", "#/paste", "#/compare")
VIEWS += ("#/word/court", "#/nowhere", "#/time", "#/groups", "#/about")
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 375, "height": 800}


def violations(page):
    page.wait_for_timeout(200)
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_views_have_no_violations(open_page, report, scheme, size):
    page = open_page(report.url, color_scheme=scheme, viewport=size)
    for address in VIEWS:
        show(page, address)
        if address == "#/paste":
            page.fill("textarea", report.texts[3])
            page.wait_for_selector("figure[data-theta]")
        if address == "#/topic/1":
            page.wait_for_selector(".card")
        for summary in page.locator("summary").all():
            summary.click()
        for button in page.locator(".files button", has_text="Table").all():
            button.click()
        assert violations(page) == [], address
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dialogs_have_no_violations(open_page, report, scheme):
    page = open_page(report.url, color_scheme=scheme)
    page.keyboard.press("?")
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("court")
    page.wait_for_selector(".search [role=option]")
    assert violations(page) == []


def test_all_controls_are_reachable_by_tab(open_page, report):
    page = open_page(report.url)
    seen = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        seen.add(
            page.evaluate(
                "document.activeElement.className?.baseVal ?? document.activeElement.tagName"
            )
        )
    assert {"map", "INPUT", "BUTTON", "A"} <= seen


def test_reduced_motion_disables_animation(open_page, report):
    page = open_page(f"{report.url}#/topic/1", reduced_motion="reduce")
    page.locator("input[type=range]").fill("0")
    places = "() => [...document.querySelectorAll('g.word')].map(g => g.getAttribute('transform'))"
    first = page.evaluate(places)
    page.wait_for_timeout(300)
    assert page.evaluate(places) == first


def test_print_hides_buttons(open_page, report):
    page = open_page(f"{report.url}#/topic/1", color_scheme="dark")
    page.emulate_media(media="print")
    assert not page.is_visible(".top")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
