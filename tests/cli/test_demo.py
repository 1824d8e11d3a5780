"""`opelda demo` as a new user runs it, on a part of the docstrings here."""

import sys
from math import isclose

import numpy as np
import pytest

import opelda
from opelda.cli.commands._docstrings import docstrings
from opelda.cli.commands.demo import EXAMPLES, certified_example, count_words
from opelda.report import topic_table

LIMIT = 1200
SMALL = ("demo", "--limit", LIMIT, "-k", 6, "-j", 1)


@pytest.fixture(scope="module")
def texts():
    return docstrings(LIMIT)


def test_it_prints_topics_an_example_and_what_to_do_next(process, cli):
    done = process(*SMALL)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "docstrings" in done.stdout.splitlines()[0]
    table = done.stdout.split("\n\n")[1].splitlines()[1:]
    assert len(table) == 2 * 6
    assert sorted(int(line.split()[0]) for line in table[::2]) == list(range(6))
    assert all("." in line or line.strip() for line in table[1::2])
    for part in ("Certified", "gap", "docs/s", "opelda fit", "opelda topics", "opelda transform"):
        assert part in done.stdout
    again = cli(*SMALL).out
    assert again.split("learning")[0] == done.stdout.split("learning")[0]


def test_the_model_is_saved(cli, tmp_path, texts):
    done = cli(*SMALL, "-o", "m.opelda", "--seed", 1)
    assert done.code == 0, done.err
    model = opelda.load(tmp_path / "m.opelda")
    assert f"of {len(texts):,} docstrings from" in done.out
    assert "saved as  m.opelda" in done.out
    for row in topic_table(model, 8):
        assert " ".join(row.words[:3]) in done.out


def test_the_certificate_holds(cli, texts):
    assert cli(*SMALL, "-o", "m.opelda").code == 0
    model, corpus = opelda.load("m.opelda"), count_words(texts, 1)
    example = certified_example(model, corpus, texts)
    known = [name for name in EXAMPLES if name in texts]
    assert not known or example["name"] == known[0]
    assert example["text"] == texts[example["name"]]
    assert isclose(sum(example["mixture"]), 1, rel_tol=1e-4)
    x = corpus.X[[list(texts).index(example["name"])]].toarray()[0]
    topics = model.components_.astype(float)

    def likelihood(theta):
        return float(x @ np.log(theta @ topics))

    last = example["steps"][-1]
    mine = likelihood(np.array(example["mixture"]))
    assert isclose(mine, last["log_likelihood"], rel_tol=1e-3)
    best = np.full(6, 1 / 6)  # to the maximum by EM
    for _ in range(5000):
        best = best * (topics @ (x / (best @ topics))) / x.sum()
    for step in example["steps"]:
        missing = likelihood(best) - step["log_likelihood"]
        assert -1e-3 <= missing <= step["likelihood_loss"] + 1e-3 <= step["gap"] + 2e-3
    losses = [step["likelihood_loss"] for step in example["steps"]]
    assert losses == sorted(losses, reverse=True)


def test_names_of_the_library_are_words():
    texts = {f"random.f{i}": f"Walk {'random mypack' * (i < 6)}" for i in range(40)}
    texts |= {"mypack.f": "random mypack walk"}
    assert count_words(texts, 1).words == ("random",)  # walk is everywhere


def test_words_of_packages_and_of_documentation_are_left_out(texts):
    corpus = count_words(texts, 1)
    words = set(corpus.vocabulary.words)
    installed = {name.split(".")[0] for name in texts} - sys.stdlib_module_names
    assert not (installed | {"parameters", "returns", "the", "none"}) & words
    assert {"file", "module", "line"} <= words
    assert corpus.X.max() <= 3
    assert corpus.names == list(texts)


def test_mistakes_are_sentences(cli, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for args, part in (
        (("-o", "notes.txt"), "not a model"),
        (("-o", "no/where/m.opelda"), "folder"),
        (("-k", 1), "topics"),
        (("--limit", 0), "limit"),
    ):
        done = cli("demo", *args)
        assert done.code == 2
        assert done.out == ""
        assert len(done.err.splitlines()) == 1
        assert part in done.err
    assert (tmp_path / "notes.txt").read_text() == "mine"
