"""Fork a stream or command for each line of stdin, in JSON.

Imports take longer than learning, so they are done once. Prints how each process ended, after
how many seconds, and its system calls on the folder of the faults.
"""

import ctypes
import io
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from contextlib import redirect_stderr
from pathlib import Path

import polars as pl
import sklearn.feature_extraction.text
import sklearn.utils  # noqa: F401

from opelda import TopicModel, load
from opelda.cli import main
from opelda.cli._app import with_commands
from opelda.corpus import Vocabulary, _counting, _read, stream  # noqa: F401
from opelda.corpus.sources import _followed
from opelda.errors import InputError
from opelda.learning.persistence._stored_model import CHECKPOINT_FILE as FILE

SIZE = 50


def opened(row: str, folder: Path, n_left: int):
    options = {"batch_size": SIZE, "n_jobs": 1}
    if row.startswith("a followed"):
        _followed.POLL, _followed.SETTLED = 0.005, 0.02
        while True:
            try:
                return stream(folder / "log", follow=True, limit=n_left, **options)
            except InputError:  # the log is being rotated
                time.sleep(0.001)
    if row == "a pipe":
        pipe = subprocess.Popen(["cat", folder / "log"], stdout=subprocess.PIPE)
        return stream(pipe.stdout, **options)
    if row == "an iterable":
        return (line for line in (folder / "log").read_text().splitlines())
    if row == "a column or a matrix":
        return stream(pl.Series((folder / "log").read_text().splitlines()), **options)
    if row == "several files":
        return stream(folder / "*.txt", **options)
    return stream(next(folder.glob("log*")), **options)


def learn(row: str, folder: str, checkpoint: str, every: int, n_docs: int) -> None:
    path = Path(checkpoint, FILE)
    n_left = n_docs - (load(path).n_docs_seen_ if path.exists() else 0)
    if n_left > 0:
        model = TopicModel(3, batch_size=SIZE, n_sweeps=2, random_state=0, n_jobs=1)
        source = opened(row, Path(folder), n_left)
        words = Vocabulary(growing=True)  # each word gets its column at once
        model.fit_stream(source, vocabulary=words, checkpoint=checkpoint, every=every)


def command(args: list[str], folder: str, faults: list | None = None) -> None:
    """Run a command in a folder, with its messages in a file."""
    os.chdir(folder)
    said = os.open("said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    if faults is not None:
        place, *numbers = faults
        library.faults_arm(place.encode(), *numbers)
    os._exit(main(args))


def serve() -> None:
    with_commands()
    with redirect_stderr(io.StringIO()):
        main(["info", f"{os.devnull}/none"])  # imports the modules of commands
    for line in sys.stdin:
        request = json.loads(line)
        kill_after = request.pop("kill_after")
        child = os.fork()
        if not child:
            try:
                (command if "args" in request else learn)(**request)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        started = time.perf_counter()
        done, status = os.waitpid(child, os.WNOHANG)
        while not done:
            time.sleep(0.002)
            if kill_after is not None and time.perf_counter() - started >= kill_after:
                os.kill(child, signal.SIGKILL)  # not reaped yet, so its id is not reused
            done, status = os.waitpid(child, os.WNOHANG)
        seconds = time.perf_counter() - started
        calls = range(1, library.faults_calls() + 1) if request.get("faults") else ()
        names = [library.faults_name(n).decode() for n in calls]
        print(json.dumps([os.waitstatus_to_exitcode(status), seconds, names]), flush=True)


if __name__ == "__main__":
    library = ctypes.CDLL(None)
    if "LD_PRELOAD" in os.environ:
        library.faults_arm.argtypes = ctypes.c_char_p, *[ctypes.c_int] * 5
        library.faults_name.restype = ctypes.c_char_p
        del os.environ["LD_PRELOAD"]
    serve()
