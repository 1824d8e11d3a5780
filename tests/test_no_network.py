"""Nothing that opelda does, but `serve`, asks for an internet socket."""

import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.without_network import CALLS

pytestmark = pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() not in CALLS, reason="filters are Linux's"
)
RUN = [sys.executable, Path(__file__).with_name("without_network.py"), sys.executable]
TEXTS = ["star galaxy comet orbit", "bread oven flour dough", "court judge trial jury"] * 30
LIBRARY = """
import opelda
from opelda.report import write_report
texts = open("docs.txt").read().splitlines()
model = opelda.TopicModel(3, random_state=0, preset="fast", n_jobs=2).fit(texts)
model.transform(texts)
opelda.save(model, "m")
write_report(opelda.load("m"), "docs.txt", "page.html")
opelda.StreamingOPE(3, random_state=0).fit_stream(texts, checkpoint="kept")
"""
COMMANDS = [
    "fit docs.txt -k 3 --preset fast -o m",
    "topics m",
    "transform m docs.txt -o mixtures.csv",
    "evaluate m docs.txt",
    "search m docs.txt star",
    "report m docs.txt -o page.html",
    "convert docs.txt docs.mtx",
    "stream docs.txt -k 3 --checkpoint state",
    "info m",
]


def run(folder, *arguments):
    return subprocess.run([*RUN, *arguments], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6"])
def test_opening_a_socket_kills_the_process(tmp_path, family):
    asks = f"import socket; socket.socket(socket.{family})"
    assert run(tmp_path, "-c", asks).returncode == -signal.SIGSYS
    inner = f"import os, sys; os.execv(sys.executable, [sys.executable, '-c', {asks!r}])"
    assert run(tmp_path, "-c", inner).returncode == -signal.SIGSYS
    assert run(tmp_path, "-c", "import socket; socket.socketpair()").returncode == 0


def test_library_and_commands_open_no_socket(tmp_path):
    (tmp_path / "docs.txt").write_text("\n".join(TEXTS))
    commands = f"for line in {COMMANDS}:\n    assert main(line.split()) == 0, line"
    done = run(tmp_path, "-c", f"from opelda.cli import main\n{LIBRARY}\n{commands}")
    assert done.returncode == 0, done.stderr
