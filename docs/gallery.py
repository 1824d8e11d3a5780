"""Learn topics of real corpora with one command each, and write docs/gallery.md.

python docs/gallery.py --data DIR [--scratch DIR]

DIR holds the corpora; those that are not there are left out of the page. Archives are unpacked and
three corpora converted (by the scripts in examples/) into the scratch folder first.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

EXAMPLES = Path(__file__).parents[1] / "examples"
PAGE = Path(__file__).parent / "gallery.md"
HEAD = """# Gallery

The five heaviest topics of each corpus, as `opelda topics` prints them: the share of the tokens, a
label, the ten most probable words. One command each, with the defaults of `opelda fit` (the preset
`best`) but for what is written here. Seconds are from start to saved model on two cores of a shared
machine, beside those of the other presets; the score is the log probability of a held-out token of
some of the documents learned from. Nothing was picked or polished, also not what reads badly. Made
by `python docs/gallery.py --data DIR`; the corpora are not part of this repository.
"""
PRESETS = ("paper", "fast", "best")  # the topics shown are those of the last


class Corpus(NamedTuple):
    """A corpus: its folder, what to do first, what to fit, and how."""

    title: str
    file: str
    prepare: str
    source: str
    options: str


CORPORA = [
    Corpus("arXiv abstracts, 250,000", "arxiv/abstracts-250k.parquet", "", "{file}", "-k 100"),
    Corpus(
        "arXiv abstracts, counted already", "arxiv/counts-train-100k.npz", "", "{file}", "-k 100"
    ),
    Corpus(
        "Reddit titles, 1.2 million, no header: the second column",
        "reddit_titles/titles-1.2M.tsv.xz",
        "",
        "{file}",
        "--text-column 2 -k 100",
    ),
    Corpus(
        "Tweets of the US Congress, July 2017",
        "congress_tweets_2017_07/congresstweets-2017-07.tar.xz",
        "tar -xJf {file}; {python} {examples}/tweets_to_jsonl.py *.json > tweets.jsonl",
        "tweets.jsonl",
        "-k 50",
    ),
    Corpus(
        "20 Newsgroups, a file a post",
        "20news_bydate/20news-bydate.tar.xz",
        "tar -xJf {file}",
        "20news-bydate-train",
        "--encoding latin-1 -k 40",
    ),
    Corpus(
        "Reuters-21578",
        "reuters21578/reuters21578-sgm.tar.xz",
        "tar -xJf {file}; {python} {examples}/reuters_to_jsonl.py *.sgm > reuters.jsonl",
        "reuters.jsonl",
        "-k 40",
    ),
    Corpus("English Wikinews", "wikinews/wikinews-en.tar.xz", "tar -xJf {file}", "AA", "-k 50"),
    Corpus("UCI: Daily Kos", "uci_kos/docword.kos.txt.gz", "", "{file}", "-k 20"),
    Corpus("UCI: NIPS papers", "uci_nips/docword.nips.txt.gz", "", "{file}", "-k 40"),
    Corpus(
        "New York Times, 1,000 documents of the paper's authors",
        "nyt_ope/nyt_ope.tar.xz",
        "tar -xJf {file}",
        "nyt/data_test_1_part_1.txt",
        "--first-id 1 -k 20",
    ),
    Corpus(
        "Associated Press (LDA-C)",
        "ap/ap.tgz",
        "tar -xzf {file}",
        "ap/ap.dat",
        "--stop-words en -k 30",
    ),
    *(
        Corpus(
            f"Short texts: {name}",
            "sttm_short/sttm-datasets.tar.xz",
            "tar -xJf {file}",
            f"{name}.txt",
            f"-k {topics}",
        )
        for name, topics in (
            ("SearchSnippets", 16),
            ("StackOverflow", 20),
            ("Biomedical", 20),
            ("GoogleNews", 50),
            ("Pascal_Flickr", 20),
            ("Tweet", 40),
        )
    ),
    *(
        Corpus(
            f"{name}, no header: the first column",
            "octis_small/octis-BBC-DBLP-M10.tar.xz",
            "tar -xJf {file}",
            f"{folder}/corpus.tsv",
            f"--text-column 1 -k {topics}",
        )
        for name, folder, topics in (
            ("BBC News", "BBC_News", 20),
            ("DBLP titles", "DBLP", 20),
            ("M10 titles", "M10", 20),
        )
    ),
    Corpus(
        "Debian package descriptions",
        "debian_descriptions/Translation-en.xz",
        "{python} {examples}/debian_to_jsonl.py {file} > debian.jsonl",
        "debian.jsonl",
        "-k 60",
    ),
]


def fitted(corpus: Corpus, file: Path, scratch: Path) -> tuple[str, dict[str, dict], list[dict]]:
    """Return the command, what it reported with each preset, and the heaviest topics."""
    names = {"file": file.resolve(), "python": sys.executable, "examples": EXAMPLES.resolve()}
    scratch.mkdir(parents=True, exist_ok=True)
    if corpus.prepare:
        subprocess.run(corpus.prepare.format(**names), shell=True, check=True, cwd=scratch)
    program = [sys.executable, "-m", "opelda"]
    source = corpus.source.format(**names)
    command = ["fit", source, *corpus.options.split(), "-o", "model.opelda"]
    reports = {}
    for preset in PRESETS:
        started = time.perf_counter()
        run = subprocess.run(
            [*program, *command, "--preset", preset, "--json"],
            check=True,
            cwd=scratch,
            capture_output=True,
            text=True,
        )
        reports[preset] = json.loads(run.stdout) | {"all_seconds": time.perf_counter() - started}
    look = [*program, "topics", "model.opelda", "--json"]
    shown = subprocess.run(look, check=True, cwd=scratch, capture_output=True, text=True)
    topics = sorted(json.loads(shown.stdout)["topics"], key=lambda topic: -topic["weight"])
    short = (
        f"opelda fit {Path(source).name if '{file}' in corpus.source else source} {corpus.options}"
    )
    return short, reports, topics[:5]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scratch", type=Path)
    options = parser.parse_args()
    parts = [HEAD]
    with tempfile.TemporaryDirectory() as folder:
        for number, corpus in enumerate(CORPORA):
            file = options.data / corpus.file
            if not file.exists():
                print(f"left out, not there: {file.name}", file=sys.stderr)
                continue
            place = (options.scratch or Path(folder)) / str(number)
            command, reports, topics = fitted(corpus, file, place)
            report = reports["best"]
            times = "; ".join(
                f"{preset} {reports[preset]['all_seconds']:.1f} s, score "
                f"{reports[preset]['training_score']:.2f}"
                for preset in reversed(PRESETS)
            )
            parts.append(
                f"## {corpus.title}\n\n    {command}\n\n"
                f"{report['documents']:,} documents, {report['words']:,} words: {times}.\n\n"
                "| weight | label | words |\n|---|---|---|\n"
                + "".join(
                    f"| {topic['weight']:.1%} | {topic['label']} | "
                    f"{' '.join(word['word'] for word in topic['words'])} |\n"
                    for topic in topics
                )
            )
            print(parts[-1], flush=True)
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
