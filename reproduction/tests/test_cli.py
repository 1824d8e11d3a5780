"""`python -m reproduction`: tables, figures and verdicts of a command, also after an interrupt."""

import json
import os
import re
import signal
import subprocess
import sys
from functools import wraps
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from reproduction import NAMES, Settings, curves
from reproduction import cli as module
from reproduction.learners import NAMES as WITH_TOPICS
from reproduction.learners import NO_TOPICS
from reproduction.options import SETTINGS
from reproduction.settings import QUICK
from tests.cases import cases

ROOT = Path(module.__file__).parents[1]
LEARNERS = (*WITH_TOPICS, NO_TOPICS)
TINY = ("-k", 3, "--passes", 1, "--test-docs", 30, "--splits", 1, "--iterations", 5, "-j", 1)
SMALL = ("--quick", "--data", "generated:small:400", *TINY)
FILES = ["about.json", "data.csv", "data.parquet", "figure.png", "figure.svg", "verdict.txt"]
THEMES = (
    ["star", "galaxy", "telescope", "orbit", "planet", "comet", "nebula"],
    ["bread", "flour", "oven", "butter", "sugar", "recipe", "dough"],
    ["court", "judge", "lawyer", "trial", "verdict", "jury", "appeal"],
)


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in a separate folder; return the exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(*args):
        capsys.readouterr()
        code = module.main([str(arg) for arg in args])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def about(tmp_path):
    """Return a command's files of an experiment."""
    return lambda name: json.loads((tmp_path / "o" / name / "about.json").read_text())


@pytest.fixture
def texts(tmp_path):
    rng = np.random.default_rng(0)
    lines = [" and the ".join(rng.choice(THEMES[n % 3], 12)) for n in range(240)]
    for name, part in {"t.txt": lines, "a.txt": lines[:100], "b.txt": lines[100:]}.items():
        (tmp_path / name).write_text("\n".join(part) + "\n")


@pytest.fixture
def split_folder(tmp_path):
    """Test documents of two of the themes, split, over words of all; the numbers count from 1."""
    folder = tmp_path / "split"
    folder.mkdir()
    words = ["aardvark", *sorted(word for theme in THEMES for word in theme), "zebra"]
    (folder / "voca.txt").write_text("\n".join(words))
    rng = np.random.default_rng(0)
    for split in (1, 2):
        for part in (1, 2):
            lines = []
            for number in range(40):
                drawn = rng.choice(THEMES[number % 2], 5, replace=False)
                lines.append("5 " + " ".join(f"{words.index(word) + 1}:1" for word in drawn))
            (folder / f"test_{split}_part_{part}.txt").write_text("\n".join(lines))
    return folder


def test_all_experiments(run, tmp_path):
    code, out, err = run("all", *SMALL, "--out", "o")
    assert code == 0, err
    assert "370 documents of 600 words to learn from, 30 to test on." in err
    for name in NAMES:
        assert sorted(path.name for path in (tmp_path / "o" / name).iterdir()) == FILES
        for verdict in (tmp_path / "o" / name / "verdict.txt").read_text().splitlines():
            assert f"  {verdict}\n" in out


def test_help_states_the_papers_settings(run, capsys):
    assert {option.parameter for option in SETTINGS} == set(Settings.names()) - {"quick"}
    for option in SETTINGS:
        paper = getattr(Settings(), option.parameter)
        expected = "1/topics" if paper is None else str(paper).removesuffix(".0")
        told = option.help.split("; ")[-1].split(", quick ")
        assert told == [expected, *map(str, filter(None, [QUICK.get(option.parameter)]))]
    with pytest.raises(SystemExit, match="0"):
        run("--help")
    assert "--learning-offset" in capsys.readouterr().out


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


def test_options_reach_the_experiments(run, about):
    flat = [part for option, (_, value) in GIVEN.items() for part in (option, value)]
    data = ("--data", "generated:small", "--limit", 200)
    code, _, err = run("learning-time", "-o", "o", *data, "--quick", *flat)
    assert code == 0, err
    found = about("learning-time")
    assert found["settings"] == dict(GIVEN.values()) | {"quick": True}
    assert (found["documents"], found["test_documents"], found["test_splits"]) == (175, 25, 3)
    assert found["runs"] == 2 * len(WITH_TOPICS) + 1


def test_default_settings_are_the_papers(run, about, texts):
    few = ("--test-docs", 20, "--passes", 1, "--iterations", 2, "--splits", 1)
    code, _, err = run("learning-time", "--data", "t.txt", "-o", "o", *few)
    assert code == 0, err
    changed = {"n_test": 20, "n_passes": 1, "n_iter": 2, "n_splits": 1}
    assert about("learning-time")["settings"] == Settings(**changed).to_dict()


def test_experiments_share_runs_and_lines_tell_of_them(run):
    code, out, err = run("learning-time", "learning-documents", *SMALL, "-o", "o", "--verbose")
    assert code == 0
    assert f"runs: {len(LEARNERS)} in" in out
    assert f"({len(LEARNERS)} of them done before)" in out
    told = re.findall(r"learning-time: run (\d+) of 10, (.*)", err)
    assert told == [(str(n + 1), name) for n, name in enumerate(LEARNERS)]
    assert "learning-documents: run" not in err


def test_texts_of_several_files(run, about, texts):
    data = ("--data", "a.txt", "--data", "b.txt", "--max-features", 20, "--min-df", "1%")
    assert run("learning-time", *data, "--quick", *TINY, "-o", "o")[0] == 0
    found = about("learning-time")
    assert found["data"] == "a.txt, b.txt"
    assert (found["documents"], found["words"], found["test_documents"]) == (210, 20, 30)


def test_documents_are_counted_over_the_test_documents_words(run, about, texts, split_folder):
    few = ("-k", 3, "--passes", 2, "--iterations", 5, "-j", 1, "--quick", "-o", "o")
    args = ("learning-documents", "--data", "t.txt", "--test", split_folder, *few)
    code, _, err = run(*args)
    assert code == 0, err
    assert "seem to count from 1" in err
    found = about("learning-documents")
    assert (found["documents"], found["words"]) == (240, 23)
    assert (found["test_documents"], found["test_splits"]) == (40, 2)
    _, out, err = run(*args, "--first-id", 1)
    assert "seem to count" not in err
    assert f"({len(LEARNERS)} of them done before)" in out
    # words one place on are other words: topics of the right ones foretell those within a theme
    right = (Path("o") / "learning-documents" / "data.csv").read_text()
    run(*args, "--first-id", 0)
    wrong = (Path("o") / "learning-documents" / "data.csv").read_text()
    assert best_lpp(right) > best_lpp(wrong) + 0.2


def best_lpp(table):
    head, *lines = (line.split(",") for line in table.splitlines() if "start kept" not in line)
    return max(float(line[head.index("lpp")]) for line in lines)


MISTAKES = {
    "no experiment": (["magic"], "no experiment 'magic'"),
    "no name": ([], "which experiment"),
    "no data": (["learning-time"], "--data"),
    "no shape": (["learning-time", "--data", "generated:what"], "generated:nyt"),
    "no number": (["learning-time", "--data", "generated:nyt:many"], "how many"),
    "no file": (["learning-time", "--data", "gone.txt"], "gone.txt"),
    "no option": (["learning-time", "--quick", "--magic"], "--magic"),
    "mixed": (["learning-time", "--data", "generated:small", "--data", "t.txt"], "alone"),
    "generated and test": (["learning-time", "--quick", "--test", "split"], "alone"),
    "counted already": (["learning-time", "--quick", "--min-df", "2"], "--min-df has no effect"),
    "not read": (["learning-time", "--quick", "--format", "csv"], "--format has no effect"),
    "few documents": (["learning-time", "--data", "t.txt"], "--test-docs"),
    "bad share": (["learning-time", "--quick", "--held-out", "1"], "--held-out"),
    "bad bound": (["learning-time", "--data", "t.txt", "--min-df", "few"], "--min-df must be"),
    "bad topics": (["learning-time", "--quick", "-k", "0"], "--topics"),
    "no topics": (["learning-time", "--quick", "-k", "many"], "many"),
    "bad scoring": (["learning-time", "--quick", "--scoring", "magic"], "magic"),
    "nowhere": (["learning-time", "--quick", "--out", ""], "--out"),
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
        "4 columns without words",
    ),
    "no words": (["learning-time", "--data", "other.txt", "--test", "split"], "no words"),
}


@cases("name", MISTAKES)
def test_bad_commands_print_one_sentence(run, texts, split_folder, name):
    folder = Path.cwd()
    (folder / "other.txt").write_text("nothing known\n" * 9)
    sparse.save_npz(folder / "c.npz", sparse.csr_array(np.eye(4)))
    args, said = MISTAKES[name]
    before = sorted(folder.rglob("*"))
    code, out, err = run(*args, *(() if "--out" in args else ("--out", "o")))
    assert (code, out) == (2, ""), err
    last = err.splitlines()[-1]
    assert last.startswith("reproduction: ")
    assert said in last
    assert last.endswith(".")
    assert sorted(folder.rglob("*")) == before


def test_unexpected_error_is_one_sentence_or_a_traceback_with_debug(run, monkeypatch):
    def broken(*args, **options):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(module, "reproduce", broken)
    code, _, err = run("learning-time", *SMALL, "-o", "o", "-q")
    assert (code, err.count("\n")) == (1, 1)
    assert "ZeroDivisionError" in err
    assert "Traceback" in run("learning-time", *SMALL, "-o", "o", "--debug")[2]


def test_interrupted_command_resumes(run, monkeypatch):
    original, done_before = curves.learning_curve, []

    @wraps(original)
    def measured(*args, **options):
        if len(done_before) == 2:
            raise KeyboardInterrupt
        done_before.append(options)
        return original(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(curves, "learning_curve", measured)
        code, out, err = run("learning-time", *SMALL, "-o", "o", "-q")
    assert (code, out) == (130, "")
    assert "2 of its runs are kept in o/runs" in err
    assert "(2 of them done before)" in run("learning-time", *SMALL, "-o", "o")[1]


def test_ctrl_c_while_it_runs(tmp_path):
    args = ("learning-time", "--quick", "-o", str(tmp_path / "o"), "--passes", "20", "-v")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # a shell's background jobs ignore Ctrl-C, and so would their children
        signal.signal(signal.SIGINT, signal.default_int_handler)
    running = subprocess.Popen(
        [sys.executable, "-m", "reproduction", *args],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    line = ""
    while "run 3 of 10" not in line:
        line = running.stderr.readline()
        assert line, running.communicate()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate()
    assert (running.returncode, out) == (130, ""), err
    assert "Traceback" not in err
    cached = list((tmp_path / "o" / "runs").iterdir())
    assert len(cached) >= 2
    assert all(json.loads(path.read_text())["rows"] for path in cached)
    assert f"{len(cached)} of its runs are kept" in err.splitlines()[-1]
