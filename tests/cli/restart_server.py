"""Streams that are killed: forks one for each line of standard input, a JSON object.

Importing takes longer than learning here, so that it is done once. Writes how each one ended, and
after how many seconds.
"""

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import polars as pl
import sklearn.utils  # noqa: F401

from opelda import TopicModel, load
from opelda.corpus import Vocabulary, stream
from opelda.corpus.sources import _followed
from opelda.errors import InputError
from opelda.learning._checkpoint import FILE

SIZE = 50


def opened(row: str, folder: Path, n_left: int):
    options = {"batch_size": SIZE, "n_jobs": 1}
    if row.startswith("a followed"):
        _followed.POLL, _followed.SETTLED = 0.005, 0.02
        while True:
            try:
                return stream(folder / "log", follow=True, limit=n_left, **options)
            except InputError:  # it is being rotated
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
        words = Vocabulary(growing=True)  # each has its column at once
        model.fit_stream(source, vocabulary=words, checkpoint=checkpoint, every=every)


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        kill_after = request.pop("kill_after")
        child = os.fork()
        if not child:
            try:
                learn(**request)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        started = time.perf_counter()
        done, status = os.waitpid(child, os.WNOHANG)
        while not done:
            time.sleep(0.002)
            if kill_after is not None and time.perf_counter() - started >= kill_after:
                os.kill(child, signal.SIGKILL)  # not reaped yet: nobody else can be killed
            done, status = os.waitpid(child, os.WNOHANG)
        seconds = time.perf_counter() - started
        print(os.waitstatus_to_exitcode(status), seconds, flush=True)


if __name__ == "__main__":
    main()
