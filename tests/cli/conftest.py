"""Fixtures: a small corpus, its model, and runners of commands."""

import io
import os
import random
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from opelda.cli import main
from tests.cli.forking import Server

THEMES = (
    ["star", "galaxy", "telescope", "orbit", "planet", "comet", "nebula"],
    ["bread", "flour", "oven", "butter", "sugar", "recipe", "dough"],
    ["court", "judge", "lawyer", "trial", "verdict", "jury", "appeal"],
)


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


def make_texts(n_docs, seed=0):
    chance = random.Random(seed)
    texts = []
    for number in range(n_docs):
        words = chance.choices(THEMES[number % len(THEMES)], k=12)
        texts.append("The " + " and the ".join(words))
    return texts


@pytest.fixture(scope="session")
def themes():
    return THEMES


@pytest.fixture(scope="session")
def texts():
    return make_texts(240)


@pytest.fixture(scope="session")
def corpus_file(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("corpus") / "texts.txt"
    path.write_text("\n".join(texts) + "\n")
    return path


@pytest.fixture(scope="session")
def model_file(tmp_path_factory, corpus_file):
    path = tmp_path_factory.mktemp("model") / "small.opelda"
    assert main(["fit", str(corpus_file), "-k", "3", "-o", str(path), "--quiet"]) == 0
    return path


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    """Run a command in this process, in a temporary folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPELDA_DEBUG", raising=False)

    def run(*args, stdin=None):
        if stdin is not None:
            data = stdin if isinstance(stdin, bytes) else stdin.encode()
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        capsys.readouterr()
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return Result(code, out, err)

    return run


@pytest.fixture
def largest_file():
    """Limit the size of the files that this process writes, in bytes."""
    resource = pytest.importorskip("resource")

    @contextmanager
    def limited(n_bytes):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited


@pytest.fixture(scope="session")
def faulty_server(tmp_path_factory):
    """Give a server whose processes can be disturbed at their system calls."""
    if not Path("/proc/self/fd").exists() or shutil.which("cc") is None:
        pytest.skip("system calls are disturbed by a library that a C compiler makes on Linux")
    source, built = Path(__file__).with_name("faults.c"), tmp_path_factory.mktemp("c") / "faults.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", built, source, "-ldl"], check=True)
    with Server(built) as server:
        yield server


def command(*args):
    return [sys.executable, "-m", "opelda", *(str(arg) for arg in args)]


@pytest.fixture
def process(tmp_path):
    """Run a command as a process."""

    def run(*args, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        env = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "100"}
        if options.pop("wait", True):
            return subprocess.run(
                command(*args), cwd=tmp_path, env=env, capture_output=True, text=True, **options
            )
        # background jobs of a shell ignore SIGINT, and jobs of nohup ignore SIGHUP; child
        # processes inherit ignored signals, but not handlers
        for number in (signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_IGN:
                signal.signal(number, lambda *_: None)
        return subprocess.Popen(
            command(*args),
            cwd=tmp_path,
            env=env,
            text=True,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        )

    return run
