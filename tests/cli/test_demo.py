"""`opelda demo` as a new user runs it."""

import contextlib
import io
import json
import lzma
import re
import shlex

import numpy as np
import pytest

import opelda
from opelda.cli import main
from opelda.cli.commands.demo import EXAMPLE
from opelda.corpus import ABSTRACTS, read
from opelda.report import topic_table
from tests.report.page_data import element

SMALL = ("demo", "-k", 6, "-j", 1, "--preset", "fast")
LAYMEN = re.compile(r"\b(nats|LPP|NPMI|likelihood|perplexity|tokens?|prior|gap)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo run")


@pytest.fixture(scope="module")
def shown(folder):
    """Everything that it prints; its files are in the folder."""
    files = {"-o": "m.opelda", "--corpus": "papers.jsonl", "--report": "p.html"}
    given = [str(part) for key, name in files.items() for part in (key, folder / name)]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main([*map(str, SMALL), *given]) == 0
    return out.getvalue()


def test_it_prints_topics_changes_an_example_and_where_the_files_are(shown, folder):
    topics, table, changes, example, following, files = shown.split("\n\n")
    assert "4,000 papers" in topics
    assert "6 topics" in topics
    model, lines = opelda.load(folder / "m.opelda"), table.splitlines()[1:]
    for row, line in zip(sorted(topic_table(model, 8), key=by_weight), lines[::2], strict=True):
        number, share, words = line.split(maxsplit=2)
        assert (int(number), words.strip()) == (row.topic, ", ".join(row.words))
        assert float(share.rstrip("%")) == pytest.approx(100 * row.weight, abs=0.06)
    titles = [re.fullmatch(r" +(\S.*) \((\S+), (\d{4})\) *", line) for line in lines[1::2]]
    assert {title[1] for title in titles} <= set(read(ABSTRACTS).names)
    assert len(changes.splitlines()) == 2 + 6
    assert EXAMPLE in example
    assert files.splitlines()[0] == f"The model: {folder / 'm.opelda'}"
    assert files.splitlines()[1].startswith(f"The page: {folder / 'p.html'} (")
    assert LAYMEN.search(shown) is None
    assert f"opelda fit '{folder}/papers.jsonl' -k" in following


def by_weight(row):
    return -row.weight, row.topic


def test_the_mixture_is_the_best_as_it_says(shown, folder):
    model, corpus = opelda.load(folder / "m.opelda"), read(ABSTRACTS)
    x = corpus.X[[corpus.names.index(EXAMPLE)]].toarray()[0]
    topics = model.components_.astype(float)
    best = np.full(6, 1 / 6)  # to the maximum by EM
    for _ in range(5000):
        best = best * (topics @ (x / (best @ topics))) / x.sum()
    said = {int(k): float(p) for p, k in re.findall(r"^ +([\d.]+)%  topic (\d+): ", shown, re.M)}
    assert said == {k: pytest.approx(100 * p, abs=0.3) for k, p in enumerate(best) if p >= 0.02}
    [(words, percent)] = re.findall(r"makes the (\d+) words .* more than (\d+)% likelier", shown)
    assert (int(words), percent) == (x.sum(), "1")


def test_the_page_has_years_and_fields(shown, folder):
    meta = json.loads(element((folder / "p.html").read_text(), "meta"))
    assert meta["corpus"]["n_docs"] == 4_000
    assert "2019" in json.dumps(meta["time"])
    assert "quant-ph" in json.dumps(meta["groups"])


def test_the_abstracts_are_what_read_reads(shown, folder):
    path = folder / "papers.jsonl"
    assert path.read_bytes() == lzma.decompress(ABSTRACTS.read_bytes())
    written, own = read(path), read(ABSTRACTS)
    assert (written.words, written.names) == (own.words, own.names)
    assert np.array_equal(written.X.data, own.X.data)


def test_the_same_seed_prints_the_same_whatever_the_threads(cli, shown):
    again = cli("demo", "-k", 6, "-j", 2, "--preset", "fast")
    assert again.code == 0, again.err
    assert again.out.split("What to try")[0] == shown.split("What to try")[0]
    other = cli(*SMALL, "--seed", 1)
    assert other.out.split("What to try")[0] != shown.split("What to try")[0]


@pytest.mark.heavy
def test_what_to_try_next_works_as_printed(cli):
    out = cli(*SMALL).out
    lines = re.findall(r"^  (opelda .*?)(?:  |$)", out.partition("What to try next")[2], re.M)
    assert len(lines) == 6
    for line in lines:
        done = cli(*shlex.split(line)[1:])
        assert done.code == 0, f"{line}\n{done.err}"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("-o", "notes.jsonl"), "not a model"),
        (("-o", "no/where/m.opelda"), "folder"),
        (("-k", 1), "topics"),
        (("--preset", "slow"), "preset"),
        (("--report", "page.txt"), ".html"),
        (("--corpus", "papers.csv"), ".jsonl"),
        (("--corpus", "notes.jsonl"), "overwrite"),
    ],
)
def test_mistakes_are_sentences(cli, tmp_path, arguments, part):
    (tmp_path / "notes.jsonl").write_text("mine")
    done = cli("demo", *arguments)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert part in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.jsonl"]
    assert (tmp_path / "notes.jsonl").read_text() == "mine"
