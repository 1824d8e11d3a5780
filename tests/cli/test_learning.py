"""`opelda fit` gives the models of the library, option by option, and reports its work."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import opelda
from opelda import OnlineVB, TopicModel
from opelda._names import PRESETS
from opelda.cli._callbacks import learning_display
from opelda.cli._options import LEARNERS
from opelda.cli._terminal import VERBOSITY
from opelda.cli.commands.fit import to_score
from opelda.corpus import read
from opelda.inference import OPE

QUICK = ("--passes", 2, "--batch-size", 30, "--limit", 60)


def same(ours, theirs):
    return ours.components_.tobytes() == theirs.components_.tobytes()


@pytest.mark.parametrize("preset", PRESETS)
def test_preset_gives_the_bytes_of_topic_model(cli, corpus_file, preset):
    done = cli("fit", corpus_file, "-k", 50, "--preset", preset, "--seed", 0, "-o", "m")
    assert done.code == 0
    theirs = TopicModel(50, preset=preset, random_state=0).fit(read(corpus_file))
    ours = opelda.load("m")
    assert same(ours, theirs)
    assert (
        ours.transform(read(corpus_file).X).tobytes()
        == theirs.transform(read(corpus_file).X).tobytes()
    )
    opelda.save(theirs, "n")
    assert Path("m").read_bytes() == Path("n").read_bytes()


def test_defaults_are_topic_model_with_seed_0(cli, corpus_file):
    done = cli("fit", corpus_file, "-v")
    assert same(opelda.load("model.opelda"), TopicModel(random_state=0).fit(read(corpus_file)))
    for part in (
        "100 topics",
        "preset best",
        "2 passes",
        "110 closing sweeps",
        "seed 0",
    ):
        assert part in done.err
    assert "try -k 4." in done.err  # 240 documents


@pytest.mark.parametrize("name", LEARNERS)
def test_learner_gives_the_topics_of_its_class(cli, corpus_file, name):
    done = cli("fit", corpus_file, "-k", 4, "--learner", name, "--json")
    assert json.loads(done.out)["learner"] == name
    theirs = getattr(opelda, LEARNERS[name])(4, random_state=0).fit(read(corpus_file))
    assert same(opelda.load("model.opelda"), theirs)


@pytest.mark.parametrize(
    ("option", "value", "given"),
    [
        ("--alpha", 0.2, {"doc_topic_prior": 0.2}),
        ("--eta", 0.3, {"topic_word_prior": 0.3}),
        ("--iterations", 7, {"inference": OPE(n_iter=7)}),
        ("--batch-size", 17, {"batch_size": 17}),
        ("--seed", 5, {"random_state": 5}),
        ("--passes", 2, {"n_passes": 2}),
        ("--sweeps", 0, {"n_sweeps": 0}),
        ("--sweeps", 4, {"n_sweeps": 4}),
        ("--transform-method", "vb", {"transform_method": "vb"}),
    ],
)
@pytest.mark.parametrize("preset", ["best", "paper"])
def test_each_option_sets_one_parameter(cli, corpus_file, preset, option, value, given):
    args = ("-k", 3, "--preset", preset, option, value, "--limit", 60, "-o", "m", "-q")
    assert cli("fit", corpus_file, *args).code == 0
    theirs = TopicModel(3, preset=preset, **({"random_state": 0} | given))
    theirs.fit(read(corpus_file, limit=60))
    ours = opelda.load("m")
    assert same(ours, theirs)
    assert ours.get_params() == theirs.get_params()


def test_options_of_a_learner_set_its_parameters(cli, corpus_file):
    args = ("--alpha", 0.2, "--iterations", 7, "--batch-size", 17, "--passes", 2, "--seed", 5)
    args += ("--transform-method", "em")
    assert cli("fit", corpus_file, "-k", 3, "--learner", "online-vb", *args, "-o", "m").code == 0
    theirs = OnlineVB(
        3,
        doc_topic_prior=0.2,
        n_iter=7,
        batch_size=17,
        n_passes=2,
        random_state=5,
        transform_method="em",
    ).fit(read(corpus_file))
    ours = opelda.load("m")
    assert same(ours, theirs)
    assert ours.get_params() == theirs.get_params()


MADE = [("--preset", name) for name in PRESETS] + [("--learner", name) for name in LEARNERS]


@pytest.mark.parametrize(
    ("how", "more"),
    [*((how, ()) for how in MADE), *((MADE[n], ("--iterations", 9)) for n in (0, -1))],
    ids=lambda option: option[1] if option else "as made",
)
def test_every_model_can_be_continued(cli, corpus_file, tmp_path, how, more):
    (tmp_path / "more.txt").write_text("star galaxy unheard\nbread oven butter\n" * 35)
    options = (*QUICK, *more, *(("--sweeps", 2) if how[0] == "--preset" else ()))
    assert cli("fit", corpus_file, "-k", 3, *how, *options, "-o", "m", "-q").code == 0
    before = opelda.load("m")
    assert cli("fit", "more.txt", "--continue", "m", "-o", "n").code == 0
    after = opelda.load("n")
    assert after.n_docs_seen_ == before.n_docs_seen_ + 70
    assert after.get_params() == before.get_params()
    assert after.vocabulary_.words == before.vocabulary_.words
    assert np.isfinite(after.components_).all()
    changed = ("--iterations", 11, "--batch-size", 20, "--passes", 3)
    changed += ("--transform-method", "same", "--valid", corpus_file)
    done = cli("fit", "more.txt", "--continue", "m", "-o", "n", *changed, "--json")
    assert done.code == 0, done.err
    found, after = json.loads(done.out), opelda.load("n")
    assert (found["documents_seen"], found["passes"], found["sweeps"]) == (
        before.n_docs_seen_ + 210,
        3,
        0,
    )
    assert after.n_batch_iter_ == before.n_batch_iter_ + 3 * 4
    n_iter = after.n_iter if how[0] == "--learner" else after.inference.n_iter
    assert (n_iter, after.batch_size, after.transform_method) == (11, 20, "same")
    useless = [("--alpha", 1), ("--seed", 1), (how[0], how[1]), ("--sweeps", 3)]
    for option, value in useless:
        refused = cli("fit", "more.txt", "--continue", "m", option, value)
        assert refused.code == 2
        assert f"{option} has no effect" in refused.err


def test_iterations_are_rejected_for_cvb0(cli, corpus_file):
    model = TopicModel(3, preset="paper", inference="cvb0", random_state=0).fit(read(corpus_file))
    opelda.save(model, "m")
    done = cli("fit", corpus_file, "--continue", "m", "--iterations", 5)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "--iterations has no effect here: CVB0" in done.err


def test_continued_fit_is_scored(cli, corpus_file, model_file):
    done = cli("fit", corpus_file, "--continue", model_file, "-o", "n", "--valid", corpus_file)
    assert done.out.startswith("prediction  1 in ")
    assert "held-out" in done.out


def test_training_score_is_shown(cli, corpus_file):
    done = cli("fit", corpus_file, "-k", 3, "--preset", "fast", "-v")
    assert "of documents learned from" in done.out
    found = json.loads(cli("fit", corpus_file, "-k", 3, "--preset", "fast", "--json").out)
    assert np.log(1 / 21) < found["training_score"] < np.log(1 / 7) + 0.05
    assert found["held_out_score"] is None
    assert cli("fit", corpus_file, "-k", 3, "--preset", "fast", "-q").err == ""


def test_summary_has_learner_preset_and_seed(cli, corpus_file):
    found = json.loads(cli("fit", corpus_file, "-k", 3, "--seed", 7, "--json").out)
    values = [found[key] for key in ("learner", "preset", "passes", "sweeps", "batch_size", "seed")]
    assert values == ["topic-model", "best", 2, 110, 50, 7]
    assert found["updates"] == 2 * 5 + 110


class Display:
    needs_gap = False

    def __init__(self):
        self.reports, self.ended = [], 0

    def begin(self, model):
        self.reports = []

    def __call__(self, report):
        self.reports.append(report)

    def end(self, model):
        self.ended += 1


def test_scored_documents_are_few_and_have_two_tokens():
    X = np.ones((3000, 4))
    X[::2] = 0, 1, 0, 0
    X = sparse.csr_array(X)
    chosen = to_score(X)
    assert chosen.shape[0] == 200
    assert (chosen.sum(axis=1) >= 2).all()
    assert to_score(X[::2]) is None
    assert to_score(X[:9]).shape[0] == 4


def test_quiet_fit_has_no_display(monkeypatch):
    monkeypatch.setattr(VERBOSITY, "quiet", True)
    assert learning_display(lines=True) is None
    monkeypatch.setattr(VERBOSITY, "quiet", False)
    assert learning_display() is None
    assert learning_display(lines=True) is not None


def test_suggested_commands_read_the_documents_in_the_same_way(cli, texts, tmp_path):
    rows = "".join(f"{n},{text},café\n" for n, text in enumerate(texts))
    (tmp_path / "t.csv").write_text("id,body,note\n" + rows, encoding="latin-1")
    how = ("--text-column", "body", "--encoding", "latin-1")
    done = cli("fit", "t.csv", *how, "-k", 3, "--preset", "fast", "-o", "m.opelda")
    assert done.code == 0, done.err
    commands = re.findall("^  opelda (.*)$", done.err, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        assert cli(*command.split()).code == 0, command
        assert ("t.csv" in command) == (" ".join(how) in command)
        assert "--format" not in command


def test_default_number_of_topics_warns_for_few_documents(cli, texts, tmp_path):
    enough = 50 * TopicModel().n_components
    for n_docs, is_noted in ((enough - 1, True), (enough, False), (enough + 1, False)):
        (tmp_path / "t.txt").write_text("\n".join((texts * enough)[:n_docs]))
        done = cli("fit", "t.txt", "--preset", "fast", "--passes", 1, "-o", "m.opelda")
        assert ("too many topics for this number of documents" in done.err) == is_noted, n_docs


def test_path_is_not_wrapped_in_a_narrow_terminal(cli, model_file, tmp_path, monkeypatch):
    monkeypatch.setattr("opelda.cli._terminal.width", lambda: 40)
    path = tmp_path / ("long" * 20)
    path.write_bytes(model_file.read_bytes())
    assert path.name in cli("info", path).out


def test_long_documents_that_dominate_are_reported(cli, tmp_path, texts):
    lines = [" ".join(text.split()) for text in texts[:100]]
    for name, last in (("even.txt", lines[-1]), ("log.txt", "star bread " * 2000)):
        (tmp_path / name).write_text("\n".join([*lines[:-1], last]))
        done = cli("fit", name, "-k", 2, "--preset", "fast", "-o", "m")
        assert done.code == 0, done.err
        told = "the longest document has 77% of all words" in done.err
        assert told == (name == "log.txt"), done.err
