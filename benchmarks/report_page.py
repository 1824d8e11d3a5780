"""Size of the report page, seconds to write it and seconds to its first view, by number of topics.

    python benchmarks/report_page.py --data DIR [-k 20 100 1000]   (needs Chromium and playwright)

DIR holds arxiv/abstracts-250k.parquet: 100,000 abstracts with 100,000 words. Each number of
topics has its own process, so that the largest memory is that page's.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from opelda import TopicModel
from opelda.corpus import read
from opelda.report import write_report

N_DOCS = N_WORDS = 100_000
OPENED = 5
READY = "main:not([aria-busy]) h1"


def first_views(page: Path) -> list[float]:
    """Open the page in fresh browsers; return the seconds until it shows its first view."""
    seconds = []
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        for _ in range(OPENED):
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            view = browser.new_page()
            start = time.perf_counter()
            view.goto(page.as_uri())
            view.wait_for_selector(READY)
            seconds.append(time.perf_counter() - start)
            browser.close()
    return sorted(seconds)


def measure(source: Path, n_topics: int) -> None:
    corpus = read(source, limit=N_DOCS, min_df=1, max_features=N_WORDS)
    model = TopicModel(n_topics, preset="fast", random_state=0).fit(corpus)
    with TemporaryDirectory() as folder:
        start = time.perf_counter()
        page = write_report(model, source, Path(folder, "page.html"), limit=N_DOCS)
        took = time.perf_counter() - start
        memory = getrusage(RUSAGE_SELF).ru_maxrss / 1e6
        views = first_views(page)
        print(
            f"| {n_topics:,} | {len(model.vocabulary_):,} | {corpus.X.shape[0]:,} "
            f"| {page.stat().st_size / 1e6:.1f} MB | {views[0]:.1f} to {views[-1]:.1f} s "
            f"| {took:.0f} s | {memory:.1f} GB |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("-k", type=int, nargs="+", default=[20, 100, 1000])
    given = parser.parse_args()
    if len(given.k) == 1:
        measure(given.data / "arxiv" / "abstracts-250k.parquet", given.k[0])
        return
    print("| topics | words | documents | file | first view | written in | memory |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for k in given.k:
        command = [sys.executable, __file__, "--data", str(given.data), "-k", str(k)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
