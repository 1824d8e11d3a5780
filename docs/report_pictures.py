"""Pictures of the report page: every view, light on a desktop and dark on a phone.

    python docs/report_pictures.py --data DIR   (needs Chromium and the package playwright)

DIR holds arxiv/abstracts-250k.parquet; the model is of its first 20,000 abstracts, K = 60.
"""

import argparse
import io
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright

from opelda import TopicModel
from opelda.corpus import read, stream
from opelda.report import write_report
from opelda.report.page._live_page import LivePage
from opelda.serve._server import PageServer

FIGURES = Path(__file__).parent / "figures"
TEXT = (
    "We train a neural network on images of galaxies from a telescope survey, and compare its "
    "classifications with those of human volunteers."
)
VIEWS = {
    "overview": "#/",
    "time": "#/time",
    "about": "#/about",
    "topic": "#/topic/{topic}",
    "paste": "#/paste",
    "compare": "#/compare",
}
SCREENS = {"light": (1280, 800, 0.75), "dark": (390, 800, 0.75)}  # a desktop and a phone
GAP = 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--views", nargs="+", default=[*VIEWS, "live"], choices=[*VIEWS, "live"])
    given = parser.parse_args()
    source = given.data / "arxiv" / "abstracts-250k.parquet"
    corpus = read(source, limit=20_000)
    model, other = (TopicModel(k, random_state=0).fit(corpus) for k in (60, 40))
    topic = int(model.components_[:, list(model.vocabulary_).index("galaxy")].argmax())
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = write_report(
            model, source, Path(folder, "arxiv.html"), title="arXiv abstracts", limit=20_000,
            compare=other, compare_name="forty.opelda", name="sixty.opelda",
        )  # fmt: skip
        print(f"{page.stat().st_size / 1e6:.1f} MB")
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name in given.views:
            if name == "live":
                with learned(source) as url:
                    save(browser, name, url)
            else:
                save(browser, name, page.as_uri() + VIEWS[name].format(topic=topic))
        browser.close()


@contextmanager
def learned(source):
    """Serve the page of a stream from which a part was learned."""
    shown = LivePage(source.name, "state")
    model = TopicModel(40, random_state=0, callbacks=[shown])
    pages = {"/": ("text/html", shown.html), "/meta.json": ("application/json", shown.json)}
    server = PageServer("127.0.0.1", 0, pages)
    server.start()
    model.fit_stream(stream(source, batch_size=1000, limit=40_000))
    yield server.site.url
    server.close()


def save(browser, name, url):
    """Write a view as it looks on every screen."""
    shots = [shot(browser, url, scheme) for scheme in SCREENS]
    path = FIGURES / f"report-{name}.png"
    beside(shots).quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path.name, f"{path.stat().st_size / 1e3:.0f} kB")


def shot(browser, url, scheme):
    """Return a picture of a view."""
    width, height, scale = SCREENS[scheme]
    context = browser.new_context(
        viewport={"width": width, "height": height}, device_scale_factor=scale,
        color_scheme=scheme, reduced_motion="reduce",
    )  # fmt: skip
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("main:not([aria-busy]) h1")
    if url.endswith("#/paste"):
        page.fill("textarea", TEXT)
        page.wait_for_selector("figure[data-theta]")
    page.wait_for_timeout(500)
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    context.close()
    return image


def beside(images):
    """Return pictures side by side."""
    height = max(image.height for image in images)
    width = sum(image.width for image in images) + GAP * (len(images) - 1)
    sheet = Image.new("RGB", (width, height), "white")
    x = 0
    for image in images:
        sheet.paste(image, (x, 0))
        x += image.width + GAP
    return sheet


if __name__ == "__main__":
    main()
