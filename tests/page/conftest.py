"""Reports of small models, and a browser without network that fails on any error."""

import os
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import sync_playwright

from opelda import TopicModel
from opelda.corpus import Tokenizer, read
from opelda.corpus.text import WHITESPACE
from opelda.report import write_report

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
AXE = Path(__file__).parents[2] / "page" / "node_modules" / "axe-core" / "axe.min.js"
THEMES = {
    "law": "court judge trial appeal jury verdict lawyer crime prison statute",
    "sport": "team goal match league player coach season score stadium cup",
    "money": "bank market shares profit bonds trade price stock fund credit",
    "health": "patient doctor hospital vaccine disease drug therapy nurse surgery virus",
    "space": "planet orbit rocket moon galaxy telescope comet satellite launch stars",
    "food": "recipe oven butter flour sugar garlic sauce kitchen bread cheese",
}
N_DOCS = 400


def texts_of(themes, n_docs, seed):
    """Return texts with two themes each, and the themes."""
    rng = np.random.default_rng(seed)
    texts, names = [], []
    kinds = list(themes)
    for number in range(n_docs):
        first, second = rng.choice(len(kinds), 2, replace=False)
        words = [
            rng.choice(themes[kinds[first if rng.random() < 0.7 else second]].split())
            for _ in range(30)
        ]
        texts.append(" ".join(words))
        names.append(f"{kinds[first]} and {kinds[second]} {number}")
    return texts, names


class Report:
    """A page and its model."""

    def __init__(self, path, model, texts, names, title="Small news", other=None, **columns):
        self.model, self.texts, self.names = model, texts, names
        records = pl.DataFrame({"title": names, "text": texts, **columns})
        write_report(model, records, path, title=title, compare=other, text_column="text")
        self.path, self.url = path, path.as_uri()


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    texts, names = texts_of(THEMES, N_DOCS, 0)
    model = TopicModel(6, random_state=0).fit(texts)
    other = TopicModel(5, random_state=1).fit(texts)
    dates = [f"{2015 + number % 6}-03-01" for number in range(N_DOCS)]
    groups = [name.split()[0] for name in names]
    path = tmp_path_factory.mktemp("page") / "report.html"
    return Report(path, model, texts, names, date=dates, section=groups, other=other)


@pytest.fixture(scope="session")
def dated(tmp_path_factory):
    """A report of daily news in March, April and August: law goes, space comes."""
    rng = np.random.default_rng(0)
    months = {3: ("law", "food", "sport"), 4: ("space", "food", "sport"), 8: ("food", "sport")}
    drawn = [(month, day, kind) for month, kinds in months.items() for day in range(1, 29)
             for kind in kinds for _ in range(4)]  # fmt: skip
    texts = [" ".join(rng.choice(THEMES[kind].split(), 30)) for *_, kind in drawn]
    names = [f"{kind} on {day}/{month}" for month, day, kind in drawn]
    model = TopicModel(4, random_state=0).fit(texts)
    path = tmp_path_factory.mktemp("page") / "dated.html"
    found = Report(path, model, texts, names, date=[f"2021-{m:02}-{d:02}" for m, d, _ in drawn])
    words = list(model.vocabulary_)
    found.rising_falling = [
        int(model.components_[:, words.index(word)].argmax()) for word in ("orbit", "court")
    ]
    return found


HOSTILE = {
    "markup": "<script>window.hacked=1</script> <img/src=x/onerror=window.hacked=1> &lt; </script>",
    "quotes": "\"'>window.hacked=1<' ` ${window.hacked=1} {{data}} \\u003c </style> <!--",
    "formulas": '=1+1 +cmd|x -2+3 @SUM(1) =HYPERLINK("http://x") \'=2',
    "letters": "😀😀 👩‍👩‍👧 مرحبا שלום हिन्दी \u202egnirts \u0627\u0644\u0639 Ünïcödé naïve",
}
LONG = 100_000


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    texts, names = texts_of(HOSTILE, N_DOCS, 0)
    names = [f"{name} {HOSTILE[name.split()[0]]}" for name in names]
    texts[0] = (texts[0] + " ") * (LONG // len(texts[0]) + 1)
    tokenizer = Tokenizer(pattern=WHITESPACE, stop_words=None)
    model = TopicModel(4, random_state=0).fit(read(texts, tokenizer=tokenizer, min_df=1))
    path = tmp_path_factory.mktemp("page") / "hostile.html"
    title = HOSTILE["markup"] + HOSTILE["quotes"]
    model.set_topic_labels({0: title[:200]})
    return Report(path, model, texts, names, title=title)


@pytest.fixture(scope="session")
def browser():
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.exit("These tests need Chromium: install it, or name one with CHROMIUM=path.", 2)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Open addresses; errors, dialogs and requests fail the test at teardown."""
    wrong, contexts = [], []

    def opened(url, *, expect="main:not([aria-busy]) h1", allowed=None, offline=True, **how):
        context = browser.new_context(offline=offline, accept_downloads=True, **how)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)  # a hang, not slowness
        page.on("console", lambda m: wrong.append(m.text) if m.type != "debug" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        own = (url.split("#")[0], "blob:", "data:", *(allowed or ()))
        page.on("request", lambda r: None if r.url.startswith(own) else wrong.append(r.url))
        page.goto(url)
        page.wait_for_selector(expect)
        drawn(page)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def figure(page, title):
    """Return the chart with a title."""
    return page.locator("figure", has=page.get_by_role("heading", name=title, exact=True))


def drawn(page):
    """Wait for the charts: each is drawn in the frame after its width is known."""
    page.evaluate("() => new Promise(go => requestAnimationFrame(() => setTimeout(go)))")


def show(page, address):
    """Navigate to a view of the open page."""
    page.evaluate("hash => { location.hash = hash }", address)
    page.wait_for_function(
        "hash => document.querySelector('main').dataset.shown === hash", arg=address
    )
    drawn(page)
