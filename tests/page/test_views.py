"""Every view of the report shows the model, by mouse and by keyboard."""

import json
import math
import re

import numpy as np
import pytest

from opelda import TopicModel
from opelda.report import topics_by, words_by_group
from opelda.report.page._write import page as page_of
from tests.page.conftest import THEMES, Report, figure, show
from tests.report.page_data import element


def words_shown(page):
    return page.locator("svg.words g.word a text").all_text_contents()


def shares_of_documents(report):
    rows = topics_by(report.model, report.texts, ["all"] * len(report.texts))
    return np.array([row.corrected_share for row in sorted(rows, key=lambda row: row.topic)])


JARGON = ("nats", "LPP", "NPMI", "\u03bb", "lambda", "perplexity", "keep_start", "random_state")


def test_overview_tells_topics_changes_and_groups_without_jargon(open_page, report):
    page = open_page(report.url)
    assert page.title() == "Small news"
    assert page.inner_text(".lede >> nth=0") == ("400 documents, 2015 Q1 to 2020 Q1, in 6 topics.")
    headings = ["What it is about", "What changed", "How groups differ", "Map of topics"]
    assert page.locator("main h2").all_inner_texts() == headings
    order = np.argsort(-shares_of_documents(report))
    assert page.locator(".subjects .name").all_inner_texts() == [
        report.model.topic_labels_[k] for k in order
    ]
    theta = report.model.transform(report.texts)
    assert page.locator(".subjects .typical").all_inner_texts() == [
        report.names[int(theta[:, k].argmax())] for k in order
    ]
    assert page.locator("svg.multiples .name").count() == 6
    assert page.locator(".subjects .size").all_inner_texts() == [
        f"{shares_of_documents(report)[k]:.0%}" for k in order
    ]
    note = page.get_by_text("Percentages are shares of documents")
    assert note.count() == 1
    assert not page.get_by_text("Shares are corrected").is_visible()
    sentence, charts = page.locator(".lede").nth(1), page.locator("svg.multiples")
    assert sentence.bounding_box()["y"] < charts.bounding_box()["y"]
    shown = page.inner_text("main")
    assert [word for word in JARGON if word in shown] == []


def test_measures_are_explained_with_a_scale(open_page, report):
    page = open_page(f"{report.url}#/about")
    shown = page.inner_text(".measures")
    assert f"1 in {round(math.exp(-report.model.score(report.texts)))}\n" in shown
    assert "no other mixture of these topics explains its words noticeably better." in shown
    assert page.locator(".measure").count() == page.locator(".measure .scale .mark").count() == 5
    assert [word for word in JARGON if word in shown] == []
    for summary in page.locator(".measure summary").all():
        summary.click()
    assert "LPP" in page.inner_text(".measures")
    for name in ("Learning", "Coherence of topics"):
        assert figure(page, name).locator("svg").count() == 1
    assert "Every document and every topic." in page.inner_text(".held")


def test_unstable_topics_are_marked_and_explained(open_page, report, tmp_path):
    text = report.path.read_text()
    meta = json.loads(element(text, "meta"))
    stable = [0.9, 0.49, 0.5, None, 0.2, 1.0]
    for topic, value in zip(meta["topics"], stable, strict=True):
        topic["stability"] = value
    path = tmp_path / "unstable.html"
    path.write_text(page_of(meta))
    page = open_page(path.as_uri())
    marked = page.locator(".subjects li", has_text="varies between runs").locator(".name")
    assert set(marked.all_inner_texts()) == {meta["topics"][k]["label"] for k in (1, 4)}
    page.locator(".subjects .mark-of").first.click()
    told = page.inner_text("dialog .wanted")
    assert told.startswith("Stability\nHow well a topic recurs in runs")
    assert "1 if all runs have the topic, 0 if a single run has it" in told


def test_group_table_tells_what_each_has_more_of(open_page, report):
    page = open_page(f"{report.url}#/groups")
    names = [page.locator(f"#group-{side} option:checked").inner_text() for side in (0, 1)]
    one, other = (name.split()[0] for name in names)
    rows = topics_by(report.model, report.texts, [name.split()[0] for name in report.names])
    share = {(row.bin, row.label): row.corrected_share for row in rows}
    answer = page.locator(".contrast .lede")
    halves = rf"More in {one} than in {other}: (.+)\. More in {other} than in {one}: (.+)\."
    told = re.fullmatch(halves, answer.inner_text())
    one_topic = r"(?:^|, | and )(.+?) \((.+?)%.*? against (.+?)%\)"
    for part, more, less in ((told[1], one, other), (told[2], other, one)):
        for name, high, low in re.findall(one_topic, part):
            assert float(high) == pytest.approx(100 * share[more, name], abs=0.51)
            assert float(low) == pytest.approx(100 * share[less, name], abs=0.51)
            assert float(high) > float(low)
    ends = page.locator("svg.moves .share").all_text_contents()
    assert all(re.fullmatch(rf"{one} [\d.<]+%, {other} [\d.<]+%", text) for text in ends)
    rows = page.locator("table.groups tbody tr")
    assert rows.count() == len(THEMES)
    best = {
        theme: report.model.vocabulary_.index(text.split()[0]) for theme, text in THEMES.items()
    }
    for row in rows.all():
        theme = row.locator("th").inner_text().split()[0]
        topic = int(report.model.components_[:, best[theme]].argmax())
        assert row.locator("td a").first.inner_text() == report.model.topic_labels_[topic]


def test_one_document_is_not_compared(open_page, report, tmp_path):
    meta = json.loads(element(report.path.read_text(), "meta"))
    groups = meta["groups"]
    groups["n_docs"][-1] = 1
    path = tmp_path / "one.html"
    path.write_text(page_of(meta))
    page = open_page(f"{path.as_uri()}#/groups")
    chart = figure(page, "Topics that differ most")
    assert chart.is_visible()
    page.select_option("#group-1", index=len(groups["names"]) - 1)
    name = groups["names"][-1]
    told = f"{name} has 1 document, which is too few to compare; it takes 5."
    assert page.inner_text(".contrast .lede") == told
    assert not chart.is_visible()
    assert name not in page.locator("table.groups th").all_inner_texts()
    assert page.get_by_text("The 5 largest of 6 groups.").is_visible()


def test_overview_says_how_many_documents_have_dates(open_page, report, tmp_path):
    dates = [None if n % 4 else f"2021-{1 + n % 3:02}-05" for n in range(len(report.texts))]
    made = tmp_path / "few.html", report.model, report.texts, report.names
    page = open_page(Report(*made, date=dates).url)
    assert f"({dates.count(None) // 3} with a date), in 6 topics." in page.inner_text(".lede")


def test_two_periods_are_compared_in_a_sentence(open_page, dated):
    page = open_page(f"{dated.url}#/time")
    answer = page.locator(".contrast .lede")
    assert re.fullmatch(
        r"Between March 2021 and April 2021, (.+) rose from \d+% to \d+% of documents and (.+) "
        r"fell from \d+% to [\d.]+% of documents\.",
        answer.inner_text(),
    )
    links = answer.locator("a").all_inner_texts()
    assert [list(dated.model.topic_labels_).index(name) for name in links] == dated.rising_falling
    cards = page.locator(".of-both .cards")
    cards.locator(".card").nth(1).wait_for()
    assert cards.locator("h3.whole").all_inner_texts() == [
        "Typical of April 2021",
        "Typical of March 2021",
    ]
    heads = page.locator("svg.multiples .head").all_text_contents()
    for place in page.locator("svg.multiples g:has(> .head)").all():  # each begins a row
        assert place.get_attribute("transform").startswith("translate(0,")
    assert [head.split(" (")[0][2:] for head in heads][:2] == ["Rising", "Falling"]
    ends = page.locator("svg.moves .share").all_text_contents()
    assert all(re.fullmatch(r"[\d.<]+% → [\d.<]+%", text) for text in ends)
    page.select_option("#period-1", label=page.locator("#period-0 option").first.inner_text())
    page.select_option("#period-0", index=0)
    assert "no topic differs" in answer.inner_text()
    assert "from=2021-03" in page.url
    # no line is drawn from April to August
    line = page.locator("svg.multiples .line").first.get_attribute("d")
    assert line.count("M") == 2


def test_topics_have_the_numbers_and_words_of_the_model(open_page, report):
    page = open_page(report.url)
    for topic, words in enumerate(report.model.top_words(8)):
        show(page, f"#/topic/{topic}")
        assert page.inner_text(".steps").startswith("←\nTopic") or topic == 0
        assert f"Topic {topic}" in page.inner_text(".steps")
        assert words_shown(page)[:8] == words


def test_map_selects_by_mouse_and_keys(open_page, report):
    page = open_page(report.url)
    heading = page.locator(".selected-topic .eyebrow")
    page.locator(".map [role=option]").nth(3).click(force=True)
    chosen = heading.inner_text()
    number = int(chosen.split()[1])
    assert f"topic={number}" in page.url
    assert page.get_attribute(".map .selected", "aria-selected") == "true"
    page.focus(".map")
    place = """() => [...document.querySelectorAll('.map .topic')].map(each => {
        const [x, y] = each.getAttribute('transform').match(/[\\d.]+/g).map(Number);
        return {x, y, selected: each.classList.contains('selected')};
    })"""
    for key, axis, last in (
        ("ArrowLeft", "x", min),
        ("ArrowUp", "y", min),
        ("ArrowRight", "x", max),
        ("ArrowDown", "y", max),
    ):
        for _ in report.model.components_:
            page.keyboard.press(key)
        places = page.evaluate(place)
        found = next(each[axis] for each in places if each["selected"])
        assert found == last(each[axis] for each in places)
    weights = shares_of_documents(report)
    for key, wanted in (("Home", -1), ("PageDown", -2), ("End", 0), ("PageUp", 1)):
        page.keyboard.press(key)
        assert heading.inner_text() == f"Topic {np.argsort(weights)[wanted]}"
    page.keyboard.press("+")
    page.wait_for_timeout(400)
    page.keyboard.press("0")
    last = int(heading.inner_text().split()[1])
    page.keyboard.press("Enter")
    page.wait_for_selector(".editable h1")
    assert f"#/topic/{last}" in page.url


def test_hovering_shows_words_and_keeps_the_selection(open_page, report):
    page = open_page(report.url)
    heading = page.locator(".selected-topic .eyebrow")
    before = heading.inner_text()
    page.locator(".map [role=option]").nth(4).hover(force=True)
    assert heading.inner_text() != before
    page.mouse.move(5, 5)
    assert heading.inner_text() == before


def test_slider_ranks_words_by_relevance(open_page, report):
    beta = np.array(report.model.components_, np.float64)
    weights = report.model._state.weights.sums / report.model._state.weights.sums.sum()
    names = list(report.model.vocabulary_)
    page = open_page(f"{report.url}#/topic/2")
    for value in (0.0, 0.35, 1.0):
        page.locator("input[type=range]").fill(str(value))
        relevance = np.log(beta[2]) - (1 - value) * np.log(weights @ beta)
        page.wait_for_timeout(450)
        shown = page.locator("svg.words g.word").evaluate_all(
            """lines => lines
            .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
            .map(line => line.querySelector('a text').textContent)"""
        )
        assert shown[:6] == [names[j] for j in np.argsort(-relevance, kind="stable")[:6]]
        assert ("lambda" in page.url) is (value != 0.6)
    page.reload()
    page.wait_for_selector("input[type=range]")
    assert page.input_value("input[type=range]") == "1"


def test_label_is_changed_and_removed(open_page, report):
    page = open_page(f"{report.url}#/topic/1")
    page.click("text=Rename")
    page.fill(".rename input", "it's $(mine)")
    page.keyboard.press("Enter")
    assert page.inner_text("h1") == "it's $(mine)"
    command = page.inner_text("pre")
    assert command == r"opelda topics model.opelda --label '1=it'\''s $(mine)'"
    with page.expect_download() as download:
        page.click("text=Labels as JSON")
    assert download.value.path().read_text() == '{\n "1": "it\'s $(mine)"\n}'
    show(page, "#/topics")
    assert "it's $(mine)" in page.inner_text("table")
    show(page, "#/topic/1")
    page.click("text=Rename")
    page.fill(".rename input", "another")
    page.keyboard.press("Escape")
    assert page.inner_text("h1") == "it's $(mine)"


def test_topic_has_typical_documents_trend_and_relatives(open_page, report):
    page = open_page(f"{report.url}#/topic/0")
    page.wait_for_selector(".card .of")
    theta = report.model.transform(report.texts)
    best = report.names[int(theta[:, 0].argmax())]
    assert page.locator(".card h3").first.inner_text() == best
    for name in ("Over time", "By section", "Related topics"):
        assert figure(page, name).count() == 1
    page.keyboard.press("]")
    page.wait_for_function("() => location.hash === '#/topic/1'")


def test_documents_are_found_and_opened(open_page, report):
    theta = report.model.transform(report.texts)
    page = open_page(f"{report.url}#/documents?topic=3&q=law")
    found = page.locator(".documents .name").all_text_contents()
    known = [
        name for name, text in zip(report.names, report.texts, strict=True) if "law" in name + text
    ]
    assert set(found) <= set(known)
    shares = [theta[report.names.index(name), 3] for name in found]
    assert (np.diff(shares) <= 1e-4).all()  # shares are stored in steps of 1/65535
    page.fill("#q", "jury")
    page.wait_for_function(
        "() => document.querySelector('[role=status]').textContent.includes(' of ')"
    )
    page.wait_for_function("() => location.hash.includes('q=jury')")
    page.locator(".documents .name").first.click()
    page.wait_for_selector(".certificate")
    number = int(page.inner_text(".steps").split()[-2 if "→" in page.inner_text(".steps") else -1])
    assert page.inner_text("h1") == report.names[number]
    assert "jury" in page.inner_text(".text")
    assert "explains the document\u2019s words" in page.inner_text(".certificate")
    page.click(".certificate summary")
    assert "times as probable" in page.inner_text(".certificate")
    assert page.locator(".text .of").count() > 10


def test_words_of_one_topic_are_highlighted(open_page, report):
    page = open_page(f"{report.url}#/document/5")
    chip = page.locator(".legend .chip").first
    chip.click()
    assert chip.get_attribute("aria-pressed") == "true"
    lit = page.locator(".text .lit").count()
    assert 0 < lit < page.locator(".text .of").count()
    page.check("text=Topic numbers in the text")
    assert "numbered" in page.get_attribute(".text", "class")


def test_views_are_a_menu_on_a_phone(open_page, report):
    page = open_page(report.url, viewport={"width": 375, "height": 800})
    names = page.locator("nav a").all_text_contents()
    menu = page.get_by_role("button", name="Overview")
    assert not any(link.is_visible() for link in page.locator("nav a").all())
    menu.click()
    for link in page.locator("nav a").all():
        box = link.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 375
    page.get_by_role("link", name=names[-1], exact=True).click()
    page.wait_for_function("() => document.title.startsWith('About')")
    assert page.inner_text(".menu") == "About"
    assert not page.locator("nav a").first.is_visible()
    for address in ("#/", "#/time", "#/topic/1", "#/groups", "#/compare"):
        show(page, address)
        sizes = page.locator("svg .axis text, svg .tick text, .heat text").evaluate_all(
            "texts => texts.map(text => parseFloat(getComputedStyle(text).fontSize))"
        )
        assert min(sizes) >= 12


def test_word_view_lists_its_topics(open_page, report):
    page = open_page(f"{report.url}#/word/court")
    best = int(report.model.components_[:, list(report.model.vocabulary_).index("court")].argmax())
    assert f"are in topic {best}" in page.inner_text(".lede")
    show(page, "#/word/nowhere")
    assert "unknown or too rare" in page.inner_text(".lede")


def test_comparison_matches_two_models(open_page, report):
    page = open_page(f"{report.url}#/compare")
    assert page.locator(".pairs li").count() == 5
    assert page.locator(".card .side").count() == 1
    page.locator(".heat").hover(position={"x": 60, "y": 60})
    assert re.search(r"Topic \d, .* of the other", page.inner_text(".chart > .note"))


def test_search_finds_topics_words_and_documents(open_page, report):
    page = open_page(report.url)
    page.keyboard.press("/")
    page.fill(".search input", "court")
    page.wait_for_selector(".search [role=option]")
    assert page.locator(".search .eyebrow").all_text_contents() == ["Topics", "Words", "Documents"]
    options = page.locator(".search [role=option]").all_text_contents()
    for _ in range(options.index("court")):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash === '#/word/court'")
    page.keyboard.press("/")
    page.fill(".search input", "law and sport")
    page.wait_for_selector(".search [role=option]")
    assert "law and sport" in page.inner_text(".search")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")


def test_help_theme_and_turning_keys_off(open_page, report):
    page = open_page(report.url, color_scheme="light")
    page.keyboard.press("t")
    assert page.get_attribute("html", "data-theme") == "dark"
    page.keyboard.press("?")
    assert "Coherence" in page.inner_text("dialog .glossary")
    page.uncheck("text=Enable single-key shortcuts")
    page.click("dialog button")
    page.keyboard.press("t")
    assert page.get_attribute("html", "data-theme") == "dark"


@pytest.mark.parametrize(
    "address", ["#/topic/99", "#/topic/x", "#/document/9999", "#/nowhere", "#/word/%", "#/live"]
)
def test_unknown_addresses_show_a_message(open_page, report, address):
    page = open_page(f"{report.url}{address}")
    assert page.inner_text(".lede").endswith(".")


def test_back_restores_the_scroll_position(open_page, report):
    page = open_page(f"{report.url}#/documents")
    page.evaluate("scrollTo(0, 900)")
    page.locator(".documents .name").nth(15).click()
    page.wait_for_selector(".certificate")
    assert page.evaluate("scrollY") == 0
    page.go_back()
    page.wait_for_selector(".documents")
    page.wait_for_function("() => scrollY === 900")


def test_charts_lead_to_their_documents(open_page, report):
    page = open_page(f"{report.url}#/topic/2")
    bar = figure(page, "By section").locator("g.bar a").first
    kind = bar.text_content().split()[0]
    bar.locator("rect.value").click()
    page.wait_for_selector("ol.documents")
    assert page.input_value("#group") == kind
    assert "with this topic among their main ones" in page.inner_text("[role=status]")
    names = page.locator("ol.documents .name").all_inner_texts()
    assert names
    assert all(name.startswith(kind) for name in names)
    page.select_option("#group", "")
    page.select_option("#topic", "")
    page.select_option("#time", "2017")
    wanted = sum(number % 6 == 2 for number in range(len(report.names)))
    assert page.inner_text("[role=status]") == f"{wanted} documents of {len(report.names)}"
    show(page, "#/documents?group=nosuch")
    assert page.inner_text("[role=status]") == f"0 documents of {len(report.names)}"


def test_search_reports_no_results(open_page, report):
    page = open_page(report.url)
    page.keyboard.press("/")
    page.keyboard.type("zzzzqq")
    page.wait_for_function("() => document.querySelector('.search .note').textContent")
    assert page.inner_text(".search .note").startswith("No topic, word or document")


def test_topic_shows_words_by_group(open_page, tmp_path):
    texts = ["the tax bill saves jobs"] * 20 + ["the tax bill hurts families"] * 20
    party = ["left"] * 20 + ["right"] * 20
    model = TopicModel(1, random_state=0).fit(texts, content="party", data={"party": party})
    names = [f"Speech {i}" for i in range(40)]
    report = Report(tmp_path / "r.html", model, texts, names, party=party)
    page = open_page(f"{report.url}#/topic/0")
    cells = page.get_by_role("region", name="Words by party").locator("td").all_inner_texts()
    rows = words_by_group(model, 6)
    assert cells == [cell for row in rows for cell in (row.group, ", ".join(row.words))]
    assert len(rows) == 2
