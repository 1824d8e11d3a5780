"""Learn topics of real corpora with one command each, and write docs/gallery.md.

python docs/gallery.py --data DIR [--scratch DIR]

DIR holds the corpora; the page omits missing corpora. Archives are first unpacked
into the scratch folder; scripts in examples/ convert three corpora.
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

The three heaviest topics of each corpus, as `opelda topics` reports them: share of the tokens,
label and most probable words. Other options of `opelda fit` have their defaults (preset `best`).
No topic was selected or edited.

Seconds run from start to saved model; the score is the log probability of a held-out token of
documents in the training collection (two cores of a shared x86-64 machine, 2026-11-16,
`python docs/gallery.py --data DIR`). The corpora are not part of the repository.

| corpus | documents | words | best: seconds, score | fast: seconds, score |
|---|---:|---:|---:|---:|
"""
PRESETS = ("fast", "best")  # the topics shown are those of the last
N_TOPICS, N_WORDS = 3, 7


class Corpus(NamedTuple):
    """A corpus: its folder, what to do first, what to fit, and how."""

    title: str
    file: str
    prepare: str
    source: str
    options: str


CORPORA = [
    Corpus("arXiv abstracts, 250,000", "arxiv/abstracts-250k.parquet", "", "{file}", "-k 100"),
    Corpus("arXiv abstracts as counts", "arxiv/counts-train-100k.npz", "", "{file}", "-k 100"),
    Corpus(
        "Reddit titles, 1.2 million",
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
        "20 Newsgroups",
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
        "New York Times, 1,000 articles",
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
            f"STTM: {name}",
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
            f"OCTIS: {name}",
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


class Entry(NamedTuple):
    """What the page shows of a corpus: the command, measurements by preset, and topics."""

    title: str
    command: str
    documents: int
    words: int
    measured: dict[str, tuple[float, float]]  # seconds and score
    topics: list[tuple[float, str, list[str]]]  # weight, label and words, the heaviest first


def fitted(corpus: Corpus, file: Path, scratch: Path) -> Entry:
    """Learn the topics of a corpus with each preset."""
    names = {"file": file.resolve(), "python": sys.executable, "examples": EXAMPLES.resolve()}
    scratch.mkdir(parents=True, exist_ok=True)
    if corpus.prepare:
        subprocess.run(corpus.prepare.format(**names), shell=True, check=True, cwd=scratch)
    program = [sys.executable, "-m", "opelda"]
    source = corpus.source.format(**names)
    command = ["fit", source, *corpus.options.split(), "-o", "model.opelda"]
    measured = {}
    for preset in PRESETS:
        started = time.perf_counter()
        run = subprocess.run(
            [*program, *command, "--preset", preset, "--json"],
            check=True,
            cwd=scratch,
            capture_output=True,
            text=True,
        )
        report = json.loads(run.stdout)
        measured[preset] = (time.perf_counter() - started, report["training_score"])
    look = [*program, "topics", "model.opelda", "--json"]
    shown = subprocess.run(look, check=True, cwd=scratch, capture_output=True, text=True)
    topics = [
        (topic["weight"], topic["label"], [word["word"] for word in topic["words"]])
        for topic in json.loads(shown.stdout)["topics"]
    ]
    name = Path(source).name if "{file}" in corpus.source else source
    return Entry(
        corpus.title,
        f"opelda fit {name} {corpus.options}",
        report["documents"],
        report["words"],
        measured,
        sorted(topics, reverse=True),
    )


def page(entries: list[Entry]) -> str:
    """Write a table of all corpora, and the topics of each."""
    lines = []
    for entry in entries:
        cells = [entry.title, f"{entry.documents:,}", f"{entry.words:,}"]
        for preset in reversed(PRESETS):
            seconds, score = entry.measured[preset]
            cells.append(f"{seconds:.1f}, {score:.2f}")
        lines.append(f"| {' | '.join(cells)} |\n")
    for entry in entries:
        lines.append(f"\n## {entry.title}\n\n    {entry.command}\n\n")
        for weight, label, words in entry.topics[:N_TOPICS]:
            lines.append(f"- {weight:.1%} **{label}**: {' '.join(words[:N_WORDS])}\n")
    return HEAD + "".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scratch", type=Path)
    options = parser.parse_args()
    entries = []
    with tempfile.TemporaryDirectory() as folder:
        for number, corpus in enumerate(CORPORA):
            file = options.data / corpus.file
            if not file.exists():
                print(f"left out, not there: {file.name}", file=sys.stderr)
                continue
            place = (options.scratch or Path(folder)) / str(number)
            entries.append(fitted(corpus, file, place))
            print(entries[-1], flush=True)
    PAGE.write_text(page(entries), encoding="utf-8")


if __name__ == "__main__":
    main()
