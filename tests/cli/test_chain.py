"""From a file of texts to topics, mixtures and scores: one command each."""

import json
import re
import shlex
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import opelda
from tests.cli.test_spreadsheets import rows_of

FACTS = ["document", "tokens", "unknown_tokens", "loss"]


def test_fit_prints_topics_and_next_commands_and_everything_with_v(cli, corpus_file, texts):
    done = cli("fit", corpus_file, "-k", 3, "-o", "m.opelda")
    assert done.code == 0
    assert len(done.out.splitlines()) == 4  # a header and three topics
    *_, last, saved, topics, report, transform = done.err.splitlines()
    assert last == "opelda: learning 3 topics: done"
    assert saved == "opelda: saved as m.opelda. Next:"
    for command, line in (("topics", topics), ("report", report), ("transform", transform)):
        assert line.startswith(f"  opelda {command} m.opelda ")
    assert transform.endswith(" -o theta.xlsx")
    everything = cli("fit", corpus_file, "-k", 3, "-o", "m.opelda", "-v")
    assert "documents   240" in everything.out
    assert "21 (2,880 tokens)" in everything.out  # without English stop words
    assert "3 topics, preset best" in everything.err
    model = opelda.load("m.opelda")
    assert model.n_components == 3
    assert model.transform(texts[:3]).argmax(axis=1).tolist() == [
        model.transform([text])[0].argmax() for text in texts[3:6]
    ]


def test_commands_suggested_by_fit_run(cli, tmp_path, texts):
    rows = [f"{number};Nothing here;{text}" for number, text in enumerate(texts)]
    (tmp_path / "my texts.csv").write_text("id;title;said\n" + "\n".join(rows))
    done = cli("fit", "my texts.csv", "-t", "said", "-f", "csv", "-k", 3)
    assert done.code == 0
    output = re.findall("^  opelda (.*)$", done.err, re.MULTILINE)
    assert [line.split()[0] for line in output] == ["topics", "report", "transform"]
    for line in output:
        assert cli(*shlex.split(line)).code == 0, line
    assert len(rows_of(tmp_path / "theta.xlsx")) == 1 + len(texts)


def test_topics_match_the_themes(cli, model_file, themes):
    found = json.loads(cli("topics", model_file, "--json", "--words", 7).out)
    sets = {frozenset(entry["word"] for entry in topic["words"]) for topic in found["topics"]}
    assert sets == {frozenset(theme) for theme in themes}


def test_same_command_gives_identical_bytes(cli, corpus_file, tmp_path):
    for name in ("a", "b"):
        assert cli("fit", corpus_file, "-k", 3, "-o", name, "-q").code == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_options_reach_the_tokenizer(cli, tmp_path):
    pytest.importorskip("snowballstemmer")  # an optional dependency
    (tmp_path / "t.txt").write_text("Running RUNNERS run far away\n" * 60)
    (tmp_path / "stop.txt").write_text("far\n")
    bounds = ("--min-df", "1", "--max-df", "100%")
    args = ("fit", "t.txt", "-k", 2, "--stop-words", "stop.txt", *bounds, "-o")
    assert cli(*args, "m", "--stem", "english", "--ngrams", 2).code == 0
    assert set(opelda.load("m").vocabulary_.words) == {
        "run",
        "runner",
        "away",
        "run runner",
        "runner run",
        "run away",
    }
    assert cli(*args, "m", "--no-lower", "--pattern", "[A-Z]+").code == 0
    assert set(opelda.load("m").vocabulary_.words) == {"R", "RUNNERS"}


def test_fit_reads_several_files_and_standard_input(cli, corpus_file, texts):
    both = json.loads(cli("fit", corpus_file, corpus_file, "-k", 2, "--json").out)
    assert both["documents"] == 480
    piped = json.loads(cli("fit", "-", "-k", 2, "--json", stdin="\n".join(texts)).out)
    assert piped["documents"] == 240


def test_fit_reports_a_held_out_score(cli, corpus_file):
    done = cli("fit", corpus_file, "-k", 3, "--valid", corpus_file)
    assert "held-out" in done.out
    score = json.loads(cli("fit", corpus_file, "-k", 3, "--valid", corpus_file, "--json").out)
    # between a uniform guess and the known theme of every text
    assert np.log(1 / 21) < score["held_out_score"] < np.log(1 / 7) + 0.01


def test_continued_fit_keeps_the_vocabulary(cli, corpus_file, model_file, tmp_path):
    before = opelda.load(model_file)
    (tmp_path / "more.txt").write_text("star galaxy unheard\n" * 70)
    done = cli("fit", "more.txt", "--continue", model_file, "-o", "more.opelda")
    assert done.code == 0
    after = opelda.load("more.opelda")
    assert after.vocabulary_.words == before.vocabulary_.words
    assert after.n_docs_seen_ == before.n_docs_seen_ + 70
    assert after.n_batch_iter_ > before.n_batch_iter_


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.tsv.gz", "t.jsonl", "t.npz"])
def test_transform_writes_what_the_model_infers(cli, corpus_file, model_file, texts, name):
    done = cli("transform", model_file, corpus_file, "-o", name, "--dense")
    assert (done.code, done.out) == (0, "")
    model = opelda.load(model_file)
    expected = model.infer(model.vocabulary_.count(texts))
    if name.endswith(".npz"):
        found = np.load(name)
        theta = found["theta"]
    else:
        found = _frame(name)
        assert found.columns[:4] == FACTS
        if "theta" in found.columns:
            theta = np.array(found["theta"].to_list())
        else:
            theta = found.select([f"topic_{k}" for k in range(3)]).to_numpy()
    assert np.allclose(theta, expected.theta, atol=1e-6)
    assert np.allclose(found["loss"], expected.loss)
    assert np.allclose(found["tokens"], 12)
    assert not np.asarray(found["unknown_tokens"]).any()


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.jsonl", "t.npz"])
def test_sparse_mixtures_keep_weights_above_the_minimum(cli, corpus_file, model_file, texts, name):
    options = ("--sparse", "--min-weight", 0.2)
    assert cli("transform", model_file, corpus_file, "-o", name, *options).code == 0
    theta = opelda.load(model_file).transform(texts)
    keep = theta >= 0.2
    keep[np.arange(len(theta)), theta.argmax(axis=1)] = True
    if name.endswith(".npz"):
        found = sparse.load_npz(name).toarray()
    else:
        found = np.zeros_like(theta)
        frame = _frame(name)
        if "topics" in frame.columns:
            frame = frame.explode("topics").unnest("topics")
        found[frame["document"].to_numpy(), frame["topic"].to_numpy()] = frame["weight"]
    assert np.allclose(found, np.where(keep, theta, 0), atol=1e-6)


def test_sparse_mixtures_keep_the_heaviest_topic(cli, corpus_file, model_file, texts):
    options = ("--sparse", "--min-weight", 1.0)
    assert cli("transform", model_file, corpus_file, "-o", "t.parquet", *options).code == 0
    found = pl.read_parquet("t.parquet")
    assert found["document"].to_list() == list(range(240))
    theta = opelda.load(model_file).transform(texts)
    assert found["topic"].to_list() == theta.argmax(axis=1).tolist()
    assert np.allclose(found["weight"], theta.max(axis=1))


def test_transform_writes_names_and_unknown_words(cli, model_file, tmp_path):
    lines = [
        {"id": "first", "text": "star galaxy unheard"},
        {"id": "second", "text": ""},
        {"id": "third", "text": "unheard of things"},
    ]
    (tmp_path / "n.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = cli("transform", model_file, "n.jsonl", "--name-column", "id")
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [row["document"] for row in found] == ["first", "second", "third"]
    assert [row["tokens"] for row in found] == [2, 0, 0]
    assert found[0]["unknown_tokens"] == 1
    assert found[2]["unknown_tokens"] > 0
    assert done.err == ""


def test_block_size_does_not_change_the_output(cli, corpus_file, model_file, monkeypatch):
    assert cli("transform", model_file, corpus_file, "-o", "whole.parquet").code == 0
    monkeypatch.setattr("opelda.cli._inputs.BLOCK", 7)
    for name in ("parts.parquet", "parts.csv", "parts.npz"):
        assert cli("transform", model_file, corpus_file, "-o", name, "--dense").code == 0
    whole = pl.read_parquet("whole.parquet")
    assert pl.read_parquet("parts.parquet").equals(whole)
    assert pl.read_csv("parts.csv").shape == whole.shape
    assert np.array_equal(np.load("parts.npz")["loss"], whole["loss"].to_numpy())
    sparse_options = ("--sparse", "--min-weight", 0.0)
    assert cli("transform", model_file, corpus_file, "-o", "s.npz", *sparse_options).code == 0
    assert np.array_equal(sparse.load_npz("s.npz").toarray(), np.load("parts.npz")["theta"])


def test_evaluate_matches_the_metrics(cli, corpus_file, model_file, texts):
    from opelda.metrics import coherence as npmi
    from opelda.metrics import topic_diversity

    found = json.loads(cli("evaluate", model_file, corpus_file, "--json", "--splits", 3).out)
    model = opelda.load(model_file)
    X = model.vocabulary_.count(texts)
    score = found["log_predictive_probability"]
    assert score == pytest.approx(model.score(X, n_splits=3), rel=1e-5)
    assert found["perplexity"] == pytest.approx(np.exp(-score))
    assert found["npmi"] == pytest.approx(npmi(model.components_, X).mean())
    assert found["topic_diversity"] == topic_diversity(model.components_)
    certificate = model.infer(X)
    assert found["loss"]["median"] == pytest.approx(np.median(certificate.loss))
    for nats, share in found["share_within"].items():
        assert share == (certificate.loss <= float(nats)).mean()
    assert found["tokens"] == 2880
    assert found["unknown_tokens"] == 0
    told = cli("evaluate", model_file, corpus_file, "--splits", 3)
    assert (told.code, told.err) == (0, "")
    assert "perplexity" in told.out
    assert f"{score:.4f}" in told.out
    assert found["npmi_learned_from"] == pytest.approx(model.coherence_.mean())
    learned = f"{model.coherence_.mean():.3f} of the documents it learned from; "
    assert (
        f"coherence of top words      {learned}{found['npmi']:.3f} of these 240 documents"
        in told.out
    )


def test_evaluate_flags_coherence_on_few_documents(cli, tmp_path):
    rng = np.random.default_rng(0)
    words = [[f"{name}{n}" for n in range(10)] for name in ("tea", "sea")]
    texts = [" ".join(rng.choice(words[i % 2], 6)) for i in range(2000)]
    (tmp_path / "all.txt").write_text("\n".join(texts))
    (tmp_path / "few.txt").write_text("\n".join(texts[:30]))
    model = opelda.TopicModel(2, preset="fast", random_state=0).fit(texts)
    opelda.save(model, tmp_path / "m.opelda")
    few, enough = (
        json.loads(cli("evaluate", tmp_path / "m.opelda", tmp_path / name, "--json").out)
        for name in ("few.txt", "all.txt")
    )
    assert enough["npmi"] == pytest.approx(enough["npmi_learned_from"])
    assert enough["pairs_never_met"] == 0
    held = [[set(text.split()) for text in texts[:30]], model.top_words(10)]
    pairs = [(a, b) for topic in held[1] for a, b in combinations(topic, 2)]
    never = np.mean([not any({a, b} <= text for text in held[0]) for a, b in pairs])
    assert few["pairs_never_met"] == pytest.approx(never)
    told = cli("evaluate", tmp_path / "m.opelda", tmp_path / "few.txt").out
    assert f"of these 30 documents, which does not compare: {never:.0%} of the pairs" in told
    assert "not compare" not in cli("evaluate", tmp_path / "m.opelda", tmp_path / "all.txt").out


def test_requested_accuracy_is_met(cli, corpus_file, model_file):
    asked = ("--max-loss", 0.001)
    assert cli("transform", model_file, corpus_file, "-o", "t.parquet", *asked).code == 0
    assert (_frame("t.parquet")["loss"] <= 0.001).all()
    found = json.loads(cli("evaluate", model_file, corpus_file, "--json", *asked).out)
    assert found["share_within"] == {"0.01": 1.0, "0.1": 1.0, "1": 1.0}
    told = cli("evaluate", model_file, corpus_file, *asked)
    assert "100.0% within 0.01" in told.out
    # the score uses the certified mixtures
    plain = json.loads(cli("evaluate", model_file, corpus_file, "--json").out)
    assert found["log_predictive_probability"] != plain["log_predictive_probability"]
    refused = cli("transform", model_file, corpus_file, "--max-loss", 0)
    assert (refused.code, refused.out) == (2, "")
    assert "--max-loss must be a number from 1e-09" in refused.err


def test_exact_sparse_mixtures_are_written_unchanged(cli, corpus_file, model_file, texts):
    options = ("--sparse", "--transform-method", "exact")
    assert cli("transform", model_file, corpus_file, "-o", "e.npz", *options).code == 0
    model = opelda.load(model_file).set_params(transform_method="exact", sparse_output=True)
    expected = model.transform(model.vocabulary_.count(texts))
    opelda.save(model, "sparse.opelda")
    assert cli("transform", "sparse.opelda", corpus_file, "-o", "s.csv").code == 0
    found = sparse.load_npz("e.npz")
    assert found.nnz == expected.nnz < np.prod(expected.shape)
    assert np.array_equal(found.toarray(), expected.toarray())


def test_unproved_documents_are_counted(cli, model_file, tmp_path):
    words = opelda.load(model_file).vocabulary_.words[:8]
    rows = [[3, 2, 1, 0, 0, 1, 2, 4], [5e12, 1e12, 2e12, 0, 7e12, 0, 1, 9e12]]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    sparse.save_npz(tmp_path / "counts.npz", sparse.csr_matrix(rows))
    told = cli(
        "transform",
        model_file,
        tmp_path / "counts.npz",
        "--column-words",
        tmp_path / "vocab.txt",
        "--max-loss",
        1e-6,
    )
    assert told.code == 0
    assert "1 document missed the requested accuracy" in told.err


def _frame(name):
    if name.endswith(".parquet"):
        return pl.read_parquet(name)
    if ".tsv" in name:
        return pl.read_csv(name, separator="\t")
    return pl.read_csv(name) if name.endswith(".csv") else pl.read_ndjson(name)
