"""Tests that need a process: signals, pipes, terminals, imports."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest

import opelda
from opelda.learning.persistence._stored_model import CHECKPOINT_FILE as FILE


def wait_for(reached, process, what):
    for _ in range(600):
        if reached():
            return
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.1)
    process.kill()
    pytest.fail(f"{what} never came")


def test_interrupted_fit_saves_the_model(process, corpus_file, tmp_path):
    running = process(
        "fit", corpus_file, "-k", 3, "-o", "m.opelda", "--passes", 1_000_000, "-v", wait=False
    )
    line = ""
    while "visits/s" not in line:  # a line per update
        line = running.stderr.readline()
        assert line, running.communicate()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate()
    assert running.returncode == 130, err
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert f"opelda fit {corpus_file} --continue m.opelda" in last
    model = opelda.load(tmp_path / "m.opelda")
    assert model.n_batch_iter_ > 0
    assert "documents" in out


def test_interrupted_stream_resumes(process, cli, texts, tmp_path):
    args = ("--checkpoint", "c", "-k", 3, "--batch-size", 20, "--every", 1000)
    running = process(
        "stream", "-", *args, "--summary-every", 120, wait=False, stdin=subprocess.PIPE
    )
    running.stdin.write("\n".join(texts[:130]) + "\n")
    running.stdin.flush()
    while "120 documents" not in (line := running.stderr.readline()):
        assert line, running.communicate()
    # the stream waits for the next batch
    running.send_signal(signal.SIGINT)
    _, err = running.communicate()
    assert running.returncode == 130, err
    assert "Traceback" not in err
    assert err.splitlines()[-1] == "opelda: stopped; run the same command to resume from c."
    assert opelda.load(tmp_path / "c" / FILE).n_docs_seen_ == 130  # lines of a pipe come once
    assert cli("stream", "-", *args, stdin="\n".join(texts) + "\n").code == 0
    assert opelda.load(tmp_path / "c" / FILE).n_docs_seen_ == 240


def test_followed_file_is_learned_as_it_grows(process, texts, tmp_path):
    feed = tmp_path / "feed.txt"
    feed.write_text("\n".join(texts[:50]) + "\n")
    args = ("stream", "feed.txt", "--follow", "--checkpoint", "c", "-k", 3, "--batch-size", 20)
    running = process(*args, "--every", 1, "-q", wait=False)
    checkpoint = tmp_path / "c" / FILE

    def seen(number):
        return checkpoint.exists() and opelda.load(checkpoint).n_docs_seen_ == number

    wait_for(lambda: seen(40), running, "the second batch")
    with feed.open("a") as file:
        file.write("\n".join(texts[50:120]) + "\n")
    wait_for(lambda: seen(120), running, "the sixth batch")
    running.send_signal(signal.SIGTERM)
    _, err = running.communicate()
    assert running.returncode == 130
    assert "run the same command to resume" in err


def test_closed_pipe_ends_the_command(model_file, corpus_file, tmp_path):
    many = tmp_path / "many.txt"
    many.write_text(corpus_file.read_text() * 40)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}

    def piped(command, reader):
        code = f"{sys.executable} -m opelda {command} | {reader}; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, env=env)
        assert done.stderr == ""
        return done.stdout.splitlines()

    first, status = piped(f"transform {model_file} {many} --dense", "head -n 1")
    assert json.loads(first)["document"] == 0
    assert status == "141"
    assert piped(f"topics {model_file}", "true") == ["141"]


def test_progress_bars_need_a_terminal(corpus_file, tmp_path):
    main, other = pty.openpty()
    args = [sys.executable, "-m", "opelda", "fit", str(corpus_file), "-k", "3", "--json"]
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    running = subprocess.Popen(
        args, cwd=tmp_path, stdout=subprocess.PIPE, stderr=other, env=env, text=True
    )
    os.close(other)
    shown = b""
    while True:
        if select.select([main], [], [], 60)[0]:
            try:
                chunk = os.read(main, 65536)
            except OSError:  # the process closed its end
                break
            if not chunk:
                break
            shown += chunk
    out, _ = running.communicate()
    os.close(main)
    assert running.returncode == 0
    json.loads(out)
    text = shown.decode()
    assert "\x1b[" in text
    assert "reading: 240 docs" in text
    assert "learning 3 topics: done" in text
    assert "saved as model.opelda" in text


@pytest.mark.parametrize("args", [["--help"], ["fit", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(args):
    code = (
        "import sys; from opelda.cli import main; main(sys.argv[1:]);"
        "heavy = {'numpy', 'scipy', 'sklearn', 'polars', 'zstandard'} & set(sys.modules);"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["topics", "info"])
def test_topics_and_info_import_no_learner(command, model_file):
    code = (
        "import sys; from opelda.cli import main; main(sys.argv[1:]);"
        "heavy = {'sklearn', 'polars', 'scipy.stats', 'scipy.sparse.linalg'} & set(sys.modules);"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    args = [sys.executable, "-c", code, command, model_file]
    done = subprocess.run(args, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    "start", [["-m", "opelda"], ["-c", "import sys; from opelda.cli import main; sys.exit(main())"]]
)
def test_ctrl_c_during_imports_is_one_message(start, tmp_path):
    """An early Ctrl-C strikes an import: here typer raises it."""
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, *start, "--version"], capture_output=True, text=True, env=env
    )
    assert done.returncode == 130
    assert (done.stdout, done.stderr) == ("", "opelda: stopped.\n")


@pytest.mark.parametrize("end", ["parquet", "npz", "csv"])
def test_table_beyond_the_largest_file_size_is_one_error(
    cli, model_file, corpus_file, tmp_path, largest_file, end
):
    with largest_file(2 * 1024):
        done = cli("transform", model_file, corpus_file, "-o", f"t.{end}")
    assert done.code == 2, done.err
    assert done.err == (
        f"opelda: t.{end} cannot be written: File too large; choose another path.\n"
    )
    assert list(tmp_path.iterdir()) == []
