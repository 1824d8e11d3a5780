"""Events of a stream for other programs: lines of JSON, and a command for each."""

import json
import os
import subprocess
import sys
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Thread
from typing import Any, ClassVar

from opelda.cli._options import Show
from opelda.cli._paths import check_output
from opelda.cli._show import count
from opelda.cli._standard_streams import note, safe_json, tell
from opelda.errors import InputError

LOOKED_AT = 2**18  # bytes at the end of a file that may hold the same events already
MOST_WAITING = 100
PATIENCE = 10.0  # seconds, for the last commands at the end of a stream


def line_of(event: Any, encoding: str | None = None) -> str:
    """Return an event as a line of JSON."""
    text = json.dumps(event.as_dict(), ensure_ascii=False, allow_nan=False)
    return safe_json(text, encoding) + "\n"


class Notes:
    """A callback that tells the user of events."""

    needs_gap: ClassVar[bool] = False

    def __init__(self, show: Show) -> None:
        self._show = show

    def __call__(self, report: Any) -> None:
        """Tell them."""
        for event in report.events:
            note(self._show, str(event))


class Lines:
    """A callback that writes events to standard output (-) or at the end of a file, at once.

    A stream that goes on from a checkpoint notices again what it noticed after that: the lines of
    those events are in the file already, and are not written twice.
    """

    needs_gap: ClassVar[bool] = False

    def __init__(self, target: str, sources: list[str]) -> None:
        self._path = None if target == "-" else check_output(target, sources)
        self._written: list[Any] = [] if self._path is None else _last_lines(self._path)
        self._file: Any = None

    def begin(self, model: Any) -> None:
        """Open the file; a stream that begins has written nothing yet."""
        if not hasattr(model, "_state"):
            self._written = []
        if self._path is None:
            self._file = sys.stdout
            return
        self._file = open(self._path, "a+b", buffering=0)  # noqa: SIM115 (`end` closes it)
        if self._file.tell():
            self._file.seek(-1, os.SEEK_END)
            if self._file.read(1) != b"\n":  # a line that was cut off
                self._file.write(b"\n")

    def __call__(self, report: Any) -> None:
        """Write them."""
        for event in report.events:
            if event.as_saved() in self._written:
                continue
            if self._path is None:
                self._file.write(line_of(event, self._file.encoding))
                self._file.flush()
            else:
                self._file.write(line_of(event).encode())

    def end(self, model: Any) -> None:
        """Close the file."""
        if self._path is not None and self._file is not None:
            self._file.close()


def _last_lines(path: Path) -> list[Any]:
    """Return the last events of a file, without their times; refuse a file of anything else."""
    if not path.exists():
        return []
    with open(path, "rb") as file:
        if file.read(1) not in (b"", b"{"):
            raise InputError(
                f"{path} exists and holds no events; it is not written to: choose another file."
            )
        file.seek(0, os.SEEK_END)
        file.seek(max(file.tell() - LOOKED_AT, 0))
        lines = file.read().splitlines()
    found = []
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:  # cut off, at the front here or by a kill
            continue
        if isinstance(event, dict):
            found.append({name: value for name, value in event.items() if name != "time"})
    return found


class Commands:
    """A callback that runs a command for each event, with its line as standard input.

    One at a time, while learning goes on; its output goes to standard error. Events for which there
    is no room in the queue are left out, and told of once, as is the first failure.
    """

    needs_gap: ClassVar[bool] = False

    def __init__(self, command: str) -> None:
        if not command.strip() or "\0" in command:
            raise InputError("--on-event needs a command to run; give one, or leave it out.")
        self._command = command
        self._waiting: Queue[str | None] = Queue(MOST_WAITING)
        self._n_left_out = 0
        self._failed = False

    def begin(self, model: Any) -> None:
        """Wait for events."""
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    def __call__(self, report: Any) -> None:
        """Queue them."""
        for event in report.events:
            try:
                self._waiting.put_nowait(line_of(event))
            except Full:
                if not self._n_left_out:
                    tell("events come faster than --on-event takes them; some are left out.")
                self._n_left_out += 1

    def end(self, model: Any) -> None:
        """Let the last commands end, but do not wait for ever."""
        try:
            self._waiting.put(None, timeout=PATIENCE)
        except Full:
            pass
        else:
            self._thread.join(PATIENCE)
        if self._thread.is_alive():
            self._drop_waiting()
            tell("the command of --on-event is still running; it is not waited for.")
        if self._n_left_out:
            tell(f"{count(self._n_left_out, 'event')} left out of --on-event.")

    def _drop_waiting(self) -> None:
        try:
            while True:
                self._n_left_out += self._waiting.get_nowait() is not None
        except Empty:
            pass

    def _work(self) -> None:
        while (line := self._waiting.get()) is not None:
            try:
                done = subprocess.run(
                    self._command, shell=True, input=line.encode(), stdout=2, check=False
                )
                problem = f"ended with {done.returncode}" if done.returncode else ""
            except OSError as error:
                problem = f"cannot be run: {error.strerror}"
            if problem and not self._failed:
                self._failed = True
                tell(f"the command of --on-event {problem}; the stream goes on.")
