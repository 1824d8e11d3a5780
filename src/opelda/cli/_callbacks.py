"""What the command line does after each update: progress, summaries, events, a notice of markup."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Thread
from typing import Any, ClassVar

from opelda.cli._options import Show
from opelda.cli._outputs import check_output
from opelda.cli._show import count, heaviest, print_topics
from opelda.cli._standard_streams import note, safe_json, tell
from opelda.errors import InputError

LOOKED_AT = 2**18  # bytes at the end of a file that may hold the same events already
MOST_WAITING = 100  # events for --on-event
LONGEST_WAIT = 10.0  # seconds, for the last commands at the end of a stream

MARKUP = """
accessdate amp apos bgcolor br cellpadding cellspacing colspan div eacute gif gt hellip href htm
http https img jpeg jpg ldquo lsquo lt m3u8 mdash mp4 nbsp ndash nofollow nowrap php png px quot
rdquo rowspan rsquo rt span src svg tbody td tr twimg u2019 utm valign wikitable www x200b xmlns
"""
# also words or abbreviations: "div" is dividend in the news
AMBIGUOUS = {"amp", "br", "div", "gif", "gt", "lt", "php", "px", "rt", "span", "src", "td", "tr"}
LEAST_SHARE, LEAST = 0.01, 3  # of the documents
ENOUGH = 1_000  # documents of a stream


def learning_display(show: Show, *, lines: bool = False) -> Any:
    """Return a callback that shows progress: a bar on a terminal, `lines` elsewhere, or None."""
    if show.quiet or not (show.verbose or lines or sys.stderr.isatty()):
        return None
    from opelda.learning._listeners import ProgressBar, ProgressLines

    if show.verbose:
        display: Any = ProgressLines(interval=0.0)
    else:
        display = ProgressBar() if sys.stderr.isatty() else ProgressLines()
    display.needs_gap = show.verbose  # certificates take time, and a bar has no room for them
    return display


class Summaries:
    """A callback that shows the heaviest topics after N documents, or after a time such as 5m."""

    needs_gap: ClassVar[bool] = False

    def __init__(self, show: Show, every: str) -> None:
        from opelda._validation import Every  # imports NumPy

        self._show, self._every = show, Every("summary_every", every)

    def __call__(self, report: Any) -> None:
        """Show them if it is time."""
        if self._show.quiet or not self._every.is_due(report.n_docs):
            return
        note(
            self._show,
            f"{count(report.model.n_docs_seen_, 'document')}, {count(report.n_words, 'word')}, "
            f"{report.docs_per_second:,.0f} docs/s",
        )
        print_topics(heaviest(report.model), error=True)
        self._every.done()


def name_markup(words: Any, document_frequency: Any, n_docs: int, show: Show) -> None:
    """Name frequent words that look like mark-up; an ambiguous one only beside others."""
    markup = MARKUP.split()
    enough = max(LEAST, LEAST_SHARE * n_docs)
    pairs = zip(words, document_frequency, strict=True)
    found = {word: n for word, n in pairs if word in markup and n >= enough}
    if len(found) > 1 or found.keys() - AMBIGUOUS:
        named = ", ".join(sorted(found, key=lambda word: (-found[word], word)))
        note(show, f"these look like mark-up: {named}; leave them out with --stop-words +FILE.")


class MarkupNotice:
    """A callback that names words of mark-up once, when a stream has given enough documents."""

    needs_gap: ClassVar[bool] = False

    def __init__(self, show: Show) -> None:
        self._show, self._done = show, False

    def __call__(self, report: Any) -> None:
        """Name them if it is time."""
        words = report.model._state.vocabulary
        if self._done or words is None or words.n_docs < ENOUGH:
            return
        self._done = True
        name_markup(words, words.document_frequency, words.n_docs, self._show)


def require_events(model: Any) -> None:
    """Reject a learner that notices no events."""
    from opelda.learning.callbacks import OnEvent

    OnEvent(print).begin(model)


def line_of(event: Any, encoding: str | None = None) -> str:
    """Return an event as a line of JSON."""
    text = json.dumps(event.as_dict(), ensure_ascii=False, allow_nan=False)
    return safe_json(text, encoding) + "\n"


class EventNotes:
    """A callback that prints events on standard error."""

    needs_gap: ClassVar[bool] = False

    def __init__(self, show: Show) -> None:
        self._show = show

    def __call__(self, report: Any) -> None:
        """Tell them."""
        for event in report.events:
            note(self._show, str(event))


class EventLines:
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


class EventCommands:
    """A callback that runs a command for each event, with its line as standard input.

    Commands run one at a time in a thread; their output goes to standard error. Events beyond the
    queue's room are dropped. The first failure and the number of dropped events are reported.
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
        with suppress(Full):
            self._waiting.put(None, timeout=LONGEST_WAIT)
            self._thread.join(LONGEST_WAIT)
        if self._thread.is_alive():
            with suppress(Empty):
                while True:
                    self._n_left_out += self._waiting.get_nowait() is not None
            tell("the command of --on-event is still running; it is not waited for.")
        if self._n_left_out:
            tell(f"{count(self._n_left_out, 'event')} left out of --on-event.")

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
