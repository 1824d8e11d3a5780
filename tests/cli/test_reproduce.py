"""`opelda reproduce`: from a command to tables, figures and verdicts, also in two goes."""

import json
import re
import signal
import subprocess
import sys
from dataclasses import fields
from functools import wraps

import numpy as np
import pytest

from opelda.cli._experiment_options import EXPERIMENTS, Setup
from opelda.experiments import NAMES, Settings
from opelda.experiments._learning import NAMES as WITH_TOPICS
from opelda.experiments._learning import NO_TOPICS
from opelda.experiments._settings import QUICK

pytest.importorskip("matplotlib")

TINY = ("-k", 3, "--passes", 1, "--test-docs", 30, "--splits", 1, "--iterations", 5, "-j", 1)
LEARNERS = (*WITH_TOPICS, NO_TOPICS)
SMALL = ("--quick", "--data", "generated:small:400", *TINY)
FILES = ["about.json", "data.csv", "data.parquet", "figure.png", "figure.svg", "verdict.txt"]


def test_all_experiments(cli, tmp_path):
    done = cli("reproduce", "all", *SMALL, "--out", "look")
    assert done.code == 0, done.err
    assert done.err == (
        "opelda: generated (small): 370 documents of 600 words to learn from, 30 to test on.\n"
    )
    for name in NAMES:
        assert sorted(path.name for path in (tmp_path / "look" / name).iterdir()) == FILES
        assert f"\n{name} (" in f"\n{done.out}"
        for verdict in (tmp_path / "look" / name / "verdict.txt").read_text().splitlines():
            assert f"  {verdict}\n" in done.out


def test_names_agree_with_what_they_name():
    assert tuple(EXPERIMENTS) == NAMES
    assert {field.name for field in fields(Setup)} == set(Settings.names()) - {"n_jobs", "quick"}


def test_the_help_tells_the_papers_settings(cli):
    shown = cli("reproduce", "--help")
    assert shown.code == 0
    assert "Examples" in shown.out
    for field in fields(Setup):
        option = field.type.__metadata__[0]
        paper = getattr(Settings(), field.name)
        expected = "1/topics" if paper is None else str(paper).removesuffix(".0")
        told = option.help.removesuffix(".").split("; ")[-1]
        assert told.split(", quick ")[0] == expected
        assert (
            (f"quick {QUICK[field.name]}" in told) if field.name in QUICK else "quick" not in told
        )


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from opelda.cli import main; main(['reproduce', '--help']);"
        "heavy = {'numpy', 'scipy', 'polars', 'matplotlib'} & set(sys.modules);"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


GIVEN = {
    "--topics": ("n_topics", 4),
    "--alpha": ("doc_topic_prior", 0.2),
    "--eta": ("topic_word_prior", 0.3),
    "--batch-size": ("batch_size", 90),
    "--learning-decay": ("learning_decay", 0.7),
    "--learning-offset": ("learning_offset", 3.0),
    "--iterations": ("n_iter", 6),
    "--passes": ("n_passes", 1),
    "--test-docs": ("n_test", 25),
    "--splits": ("n_splits", 3),
    "--held-out": ("held_out", 0.4),
    "--words": ("n_words", 6),
    "--scoring": ("scoring", "ope"),
    "--seeds": ("n_seeds", 2),
    "--seed": ("seed", 11),
    "--jobs": ("n_jobs", 1),
}


def test_options_reach_the_experiments(cli, tmp_path):
    flat = [part for option, (_, value) in GIVEN.items() for part in (option, value)]
    data = ("--data", "generated:small", "--limit", 200)
    done = cli("reproduce", "learning-time", "-o", "o", *data, "--quick", "--json", *flat)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["settings"] == dict(GIVEN.values()) | {"quick": True}
    assert (found["documents"], found["test_documents"], found["splits"]) == (175, 25, 3)
    assert found["experiments"][0]["runs"] == 2 * len(WITH_TOPICS) + 1
    about = json.loads((tmp_path / "o" / "learning-time" / "about.json").read_text())
    assert about["settings"] == found["settings"]


def test_a_machine_reads_one_object(cli):
    done = cli(
        "reproduce", "learning-time", "learning-documents", *SMALL, "-o", "o", "--json", "-q"
    )
    assert done.err == ""
    found = json.loads(done.out)
    first, second = found["experiments"]
    assert (first["name"], first["place"], first["runs_kept"]) == ("learning-time", "Figure 1", 0)
    assert second["runs_kept"] == second["runs"] == len(LEARNERS)  # it shares them
    assert sorted(path.rsplit("/", 1)[1] for path in first["files"]) == FILES
    for verdict in first["verdicts"]:
        assert set(verdict) == {"claim", "outcome", "why"}


def test_lines_for_those_who_want_them(cli):
    done = cli("reproduce", "learning-time", *SMALL, "-o", "o", "--verbose")
    told = re.findall(r"learning-time: run (\d+) of 10, (.*)", done.err)
    assert told == [(str(n + 1), name) for n, name in enumerate(LEARNERS)]


def test_a_bar_for_those_who_watch(cli, monkeypatch):
    shown = []

    def update(bar, task, **what):
        shown.append((what["completed"], what["total"], what["description"]))

    monkeypatch.setattr("opelda.cli._experiment_view.is_terminal", lambda: True)
    monkeypatch.setattr("rich.progress.Progress.update", update)
    assert cli("reproduce", "learning-time", *SMALL, "-o", "o").code == 0
    assert shown[0] == (0, 10, "learning-time: run 1/10, ML-OPE")
    assert shown[-1] == (10, 10, "learning-time: run 10/10, no topics")
    assert shown == sorted(shown, key=lambda call: call[0])


def test_texts_of_several_files(cli, tmp_path, texts):
    for name, part in {"a.txt": texts[:100], "b.txt": texts[100:]}.items():
        (tmp_path / name).write_text("\n".join(part))
    data = ("--data", "a.txt", "--data", "b.txt", "--max-features", 20)
    done = cli("reproduce", "learning-time", *data, "--quick", *TINY, "-o", "o", "--json")
    found = json.loads(done.out)
    assert found["data"] == "a.txt, b.txt"
    assert (found["documents"], found["words"], found["test_documents"]) == (210, 20, 30)


def test_without_quick_the_settings_are_the_papers(cli, corpus_file):
    few = ("--test-docs", 20, "--passes", 1, "--iterations", 2, "--splits", 1)
    done = cli("reproduce", "learning-time", "--data", corpus_file, "-o", "o", "--json", *few)
    assert done.code == 0, done.err
    changed = {"n_test": 20, "n_passes": 1, "n_iter": 2, "n_splits": 1}
    assert json.loads(done.out)["settings"] == Settings(**changed).to_dict()


@pytest.fixture
def split_folder(tmp_path, themes):
    """Test documents of two of the themes, split, over words of all; the numbers count from 1."""
    folder = tmp_path / "split"
    folder.mkdir()
    words = ["aardvark", *sorted(word for theme in themes for word in theme), "zebra"]
    (folder / "voca.txt").write_text("\n".join(words))
    rng = np.random.default_rng(0)
    for split in (1, 2):
        for part in (1, 2):
            lines = []
            for number in range(40):
                drawn = rng.choice(themes[number % 2], 5, replace=False)
                lines.append("5 " + " ".join(f"{words.index(word) + 1}:1" for word in drawn))
            (folder / f"test_{split}_part_{part}.txt").write_text("\n".join(lines))
    return folder


def test_documents_are_counted_over_the_test_documents_words(cli, corpus_file, split_folder):
    few = ("-k", 3, "--passes", 2, "--iterations", 5, "-j", 1)
    args = ("reproduce", "learning-documents", "--data", corpus_file, "--test", split_folder)
    done = cli(*args, "--quick", *few, "-o", "o", "--json")
    assert done.code == 0, done.err
    assert "seem to count from 1" in done.err
    found = json.loads(done.out)
    assert (found["documents"], found["words"]) == (240, 23)
    assert (found["test_documents"], found["splits"]) == (40, 2)
    given = cli(*args, "--quick", *few, "-o", "o", "--json", "--first-id", 1)
    assert "seem to count" not in given.err
    assert json.loads(given.out)["experiments"][0]["runs_kept"] == len(LEARNERS)
    # words one place on are other words: topics of the right ones foretell those within a theme
    score = best(found)
    shifted = cli(*args, "--quick", *few, "-o", "o", "--json", "--first-id", 0)
    assert score > best(json.loads(shifted.out)) + 0.2


def best(found):
    why = found["experiments"][0]["verdicts"][0]["why"]
    return max(float(number) for number in re.findall(r"-\d+\.\d+", why))


MISTAKES = {
    "no experiment": (["magic"], "no experiment 'magic'"),
    "no data": (["learning-time"], "--data"),
    "no shape": (["learning-time", "--data", "generated:what"], "generated:nyt"),
    "no number": (["learning-time", "--data", "generated:nyt:many"], "how many"),
    "no file": (["learning-time", "--data", "gone.txt"], "gone.txt"),
    "mixed": (["learning-time", "--data", "generated:small", "--data", "t.txt"], "alone"),
    "generated and test": (["learning-time", "--quick", "--test", "split"], "alone"),
    "counted already": (["learning-time", "--quick", "--min-df", "2"], "--min-df has no effect"),
    "not read": (["learning-time", "--quick", "--format", "csv"], "--format has no effect"),
    "few documents": (["learning-time", "--data", "t.txt"], "--test-docs"),
    "bad share": (["learning-time", "--quick", "--held-out", "1"], "--held-out"),
    "bad topics": (["learning-time", "--quick", "-k", "0"], "-k"),
    "bad scoring": (["learning-time", "--quick", "--scoring", "magic"], "magic"),
    "out is a file": (["learning-time", "--quick", "--out", "t.txt"], "t.txt is a file"),
    "out is below a file": (["learning-time", "--quick", "--out", "t.txt/o"], "t.txt/o"),
    "out is read": (["learning-time", "--data", "split", "--out", "split/o"], "the documents"),
    "no test": (["learning-time", "--data", "t.txt", "--test", "gone"], "gone"),
    "split already": (
        ["learning-time", "--data", "t.txt", "--test", "split", "--splits", "3"],
        "--splits has no effect",
    ),
    "words given": (
        ["learning-time", "--data", "t.txt", "--test", "split", "--max-features", "3"],
        "--max-features has no effect",
    ),
    "other columns": (
        ["learning-time", "--data", "c.npz", "--test", "split"],
        "4 columns without words, but they are to be counted over 23 words",
    ),
    "no words": (["learning-time", "--data", "other.txt", "--test", "split"], "no words"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(cli, tmp_path, corpus_file, split_folder, name):
    from scipy import sparse

    (tmp_path / "t.txt").write_text(corpus_file.read_text())
    (tmp_path / "other.txt").write_text("nothing known\n" * 9)
    sparse.save_npz(tmp_path / "c.npz", sparse.csr_array(np.eye(4)))
    args, said = MISTAKES[name]
    before = sorted(tmp_path.rglob("*"))
    done = cli("reproduce", *args, *(() if "--out" in args else ("--out", "o")))
    assert done.code == 2, done.err
    assert done.out == ""
    last = done.err.splitlines()[-1]
    assert last.startswith("opelda: ")
    assert said in last
    assert last.endswith(".")
    assert sorted(tmp_path.rglob("*")) == before


def test_out_must_be_given(cli):
    assert "--out" in cli("reproduce", "all", "--quick").err


def test_an_interrupted_command_goes_on(cli, monkeypatch):
    from opelda.experiments import _curves

    original, done_before = _curves.learning_curve, []

    @wraps(original)
    def measured(*args, **options):
        if len(done_before) == 2:
            raise KeyboardInterrupt
        done_before.append(options)
        return original(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(_curves, "learning_curve", measured)
        done = cli("reproduce", "learning-time", *SMALL, "-o", "o", "-q")
    assert done.code == 130
    assert done.out == ""
    assert done.err == (
        "opelda: stopped; 2 runs are kept in o/runs, and the same command goes on from there.\n"
    )
    again = cli("reproduce", "learning-time", *SMALL, "-o", "o")
    assert "10 runs in" in again.out
    assert "(2 of them done before)" in again.out


def test_stopped_before_anything_was_done(cli, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("opelda.experiments._sources.generated", interrupted)
    done = cli("reproduce", "learning-time", *SMALL, "-o", "o")
    assert done.code == 130
    assert done.err == "opelda: stopped before a run was done.\n"


def test_ctrl_c_while_it_runs(process, tmp_path):
    args = ("reproduce", "learning-time", "--quick", "-o", "o", "--passes", 20, "-v")
    running = process(*args, wait=False)
    line = ""
    while "run 3 of 10" not in line:
        line = running.stderr.readline()
        assert line, running.communicate()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate()
    assert running.returncode == 130, err
    assert out == ""
    assert "Traceback" not in err
    kept = list((tmp_path / "o" / "runs").iterdir())
    assert len(kept) >= 2
    assert all(json.loads(path.read_text())["rows"] for path in kept)
    assert f"{len(kept)} runs are kept" in err.splitlines()[-1]
