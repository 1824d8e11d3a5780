"""`--prevalence` of `opelda fit`, and its columns in `opelda transform` and `--effect`."""

import json

import numpy as np
import polars as pl
import pytest

import opelda
from opelda import TopicModel
from opelda.corpus import read, stream
from opelda.report import estimate_effect
from tests.cases import cases

FORMULA = "party + s(year, 3)"


@pytest.fixture
def folder(tmp_path, texts):
    """Texts with columns in two formats, and without."""
    table = pl.DataFrame(
        {
            "text": texts,
            "party": [("left", "right")[i % 3 == 0] for i in range(len(texts))],
            "year": [2000 + i % 7 for i in range(len(texts))],
        }
    )
    table.write_csv(tmp_path / "t.csv")
    table.write_ndjson(tmp_path / "t.jsonl")
    table.select("text", "year").write_csv(tmp_path / "less.csv")
    return tmp_path


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_columns_are_used_as_in_python(cli, folder, name):
    X = read(folder / name, text_column="text", metadata=["party", "year"])
    model = TopicModel(3, random_state=0, n_sweeps=9).fit(X, prevalence=FORMULA)
    given = ("-t", "text", "-k", 3, "--sweeps", 9, "-o", "m", "--quiet")
    done = cli("fit", name, *given, "--prevalence", FORMULA)
    assert (done.code, done.err) == (0, "")
    loaded = opelda.load(folder / "m")
    assert np.array_equal(loaded.components_, model.components_)
    for corpus, wanted in ((name, model.transform(X)), ("less.csv", model.transform(X.X))):
        done = cli("transform", "m", corpus, "-t", "text", "--dense", "-o", "theta.jsonl")
        assert done.code == 0, done.err
        lines = (folder / "theta.jsonl").read_text().splitlines()
        np.testing.assert_allclose([json.loads(x)["theta"] for x in lines], wanted, atol=1e-5)
        lacks = "the documents lack 'party'; their topics do not depend on columns."
        assert (lacks in done.err) == (corpus == "less.csv")
    assert not np.array_equal(model.transform(X), model.transform(X.X))


def test_effects_take_formulas(cli, folder):
    assert cli("fit", "t.csv", "-t", "text", "-k", 3, "--sweeps", 2, "-o", "m").code == 0
    how = ("topics", "m", "t.csv", "-t", "text", "--json")
    done = cli(*how, "--effect", "party * year")
    assert done.code == 0, done.err
    terms = {row["term"] for row in json.loads(done.out)["effects"]}
    assert terms == {"intercept", "party=right", "year", "party=right:year"}
    both = cli(*how, "--effect", "party + year")
    assert both.out == cli(*how, "--effect", "party", "--effect", "year").out


@cases(
    ("args", "said"),
    [
        (("--prevalence", "place"), "has no column 'place'; available: 'text', 'party', 'year'"),
        (("--prevalence", "party +"), "The formula 'party +' is invalid; write columns joined by"),
        (("--prevalence", "s(party)"), "s(party) needs a column of numbers or times"),
        (("--prevalence", "party", "--groups", 5), "cannot be combined with --groups"),
        (("--prevalence", "party", "--preset", "fast"), "--prevalence needs sweeps"),
        (("--prevalence", "party", "--continue", "m"), "--prevalence has no effect with"),
    ],
)
def test_mistakes_have_one_sentence(cli, folder, args, said):
    done = cli("fit", "t.csv", "-t", "text", *args, "-o", "new")
    assert done.code == 2
    assert said in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert not (folder / "new").exists()


def test_command_line_learns_and_shows_words_of_groups(cli, tmp_path):
    sides = {"r": "tax bill saves jobs and growth", "d": "tax bill hurts families and schools"}
    lines = ["text,party"] + [f"{sides[side]},{side}" for side in "rd" * 30]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    done = cli("fit", "t.csv", "-k", 1, "--content", "party", "-o", "m.opelda")
    assert done.code == 0, done.err
    shown = cli("topics", "m.opelda", "--content").out
    (first,) = (line for line in shown.splitlines() if " r " in line)
    assert {"saves", "jobs", "growth"} <= {*first.replace(",", " ").split()}
    assert "families" not in first.split(" r ")[1]
    done = cli("transform", "m.opelda", "t.csv", "-o", "o.csv")
    assert (done.code, "lack" in done.err) == (0, False)
    scores = []
    for corpus in ("t.csv", "less.csv"):
        (tmp_path / "less.csv").write_text("\n".join(line.split(",")[0] for line in lines))
        done = cli("evaluate", "m.opelda", corpus, "-t", "text", "--json")
        assert done.code == 0, done.err
        scores.append(json.loads(done.out)["log_predictive_probability"])
    assert scores[0] > scores[1] + 0.1
    (tmp_path / "new.txt").write_text("tax bill\n")
    done = cli("transform", "m.opelda", "new.txt", "-o", "o.csv")
    assert "the documents lack 'party'" in done.err


def test_predicted_shares_and_clusters_match_python(cli, folder):
    X = read(folder / "t.csv", text_column="text", metadata=["party", "year"])
    model = TopicModel(2, random_state=0, n_sweeps=3).fit(X)
    opelda.save(model, folder / "m")
    given = ("topics", "m", "t.csv", "-t", "text", "--effect", "party")
    for options, how in (
        (("--at", "party"), {"at": "party"}),
        (("--clusters", "year"), {"clusters": "year"}),
    ):
        done = cli(*given, *options, "--json")
        assert done.code == 0, done.err
        wanted = estimate_effect(model, X, "party", **how)
        found = {(row["topic"], row["term"]): row for row in json.loads(done.out)["effects"]}
        assert len(found) == len(wanted)
        for row in wanted:
            assert found[row.topic, row.term]["estimate"] == pytest.approx(row.estimate)
            assert found[row.topic, row.term]["se"] == pytest.approx(row.se)
    done = cli("plot", *given[1:], "--at", "party", "-o", "p.svg")
    assert done.code == 0, done.err
    assert "predicted share" in (folder / "p.svg").read_text()
    done = cli("topics", "m", "t.csv", "-t", "text", "--by", "party", "--at", "party")
    assert (done.code, done.err) == (2, "opelda: --at requires --effect; add --effect FORMULA.\n")


def test_streams_take_levels_and_resume(cli, folder):
    given = ("-t", "text", "-k", 3, "--batch-size", 60, "-q")
    lines = (folder / "t.jsonl").read_text().splitlines(keepends=True)
    for name, ends in (("whole", [240]), ("parts", [120, 240])):
        for end in ends:
            (folder / "grows.jsonl").write_text("".join(lines[:end]))
            formula = ("--prevalence", "party") if end == ends[0] else ()  # then the model's own
            done = cli("stream", "grows.jsonl", "--checkpoint", name, *given, *formula)
            assert (done.code, done.err) == (0, "")
    model = TopicModel(3, random_state=0, batch_size=60)
    source = stream(folder / "t.jsonl", batch_size=60, text_column="text", metadata="party")
    model.fit_stream(source, prevalence=["party"])
    for name in ("whole", "parts"):
        found = opelda.load(folder / name / "checkpoint.opelda")
        assert np.array_equal(found.components_, model.components_)
        assert np.array_equal(found._state.prevalence.shares, model._state.prevalence.shares)
    table = read(folder / "t.jsonl", text_column="text", metadata="party")
    done = cli("transform", "whole", "t.jsonl", "-t", "text", "--dense", "-o", "theta.jsonl")
    assert done.code == 0, done.err
    theta = [json.loads(x)["theta"] for x in (folder / "theta.jsonl").read_text().splitlines()]
    np.testing.assert_allclose(theta, model.transform(table), atol=1e-5)
    assert not np.array_equal(model.transform(table), model.transform(table.X))


@cases(
    ("args", "said"),
    [
        (("--prevalence", "place"), "has no column 'place'; available: 'text', 'party', 'year'"),
        (("--prevalence", "party + s(year)"), "--prevalence must be columns of levels joined by +"),
        (("--prevalence", "party + year"), "--prevalence has the column 'year' of numbers"),
        (("--prevalence", "party", "--preset", "fast"), "--prevalence needs sweeps"),
        (("--prevalence", "party", "--checkpoint", "c"), "--prevalence differs from the columns"),
    ],
)
def test_mistakes_of_streams_have_one_sentence(cli, folder, args, said):
    assert cli("stream", "t.csv", "-t", "text", "-k", 2, "--checkpoint", "c", "-q").code == 0
    done = cli("stream", "t.csv", "-t", "text", "--checkpoint", "new", *args)
    assert done.code == 2
    assert said in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert not (folder / "new" / "checkpoint.opelda").exists()
