"""Callbacks of the command line: progress, summaries, events, a live page."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Thread
from typing import Any, ClassVar

from opelda.cli._outputs import check_output
from opelda.cli._terminal import VERBOSITY, count, heaviest, note, print_topics, safe_json, tell
from opelda.errors import InputError

MARKUP = """
accessdate amp apos bgcolor br cellpadding cellspacing colspan div eacute gif gt hellip href htm
http https img jpeg jpg ldquo lsquo lt m3u8 mdash mp4 nbsp ndash nofollow nowrap php png px quot
rdquo rowspan rsquo rt span src svg tbody td tr twimg u2019 utm valign wikitable www x200b xmlns
"""
# also words or abbreviations: "div" is dividend in the news
AMBIGUOUS = {"amp", "br", "div", "gif", "gt", "lt", "php", "px", "rt", "span", "src", "td", "tr"}


def learning_display(*, lines: bool = False) -> Any:
    """Return a callback that shows progress: a bar on a terminal, `lines` elsewhere, or None."""
    if VERBOSITY.quiet or not (VERBOSITY.verbose or lines or sys.stderr.isatty()):
        return None
    from opelda.learning._listeners import ProgressBar, ProgressLines

    if VERBOSITY.verbose:
        display: Any = ProgressLines(interval=0.0)
    else:
        display = ProgressBar() if sys.stderr.isatty() else ProgressLines()
    display.needs_gap = VERBOSITY.verbose  # certificates take time, and a bar has no room for them
    return display


def name_markup(words: Any, document_frequency: Any, n_docs: int) -> None:
    """Name frequent words that look like mark-up; an ambiguous one only beside others."""
    markup, enough = MARKUP.split(), max(3, 0.01 * n_docs)
    pairs = zip(words, document_frequency, strict=True)
    found = {word: n for word, n in pairs if word in markup and n >= enough}
    if len(found) > 1 or found.keys() - AMBIGUOUS:
        named = ", ".join(sorted(found, key=lambda word: (-found[word], word)))
        note(f"these words look like markup: {named}; exclude them with --stop-words +FILE.")


class StreamNotes:
    """A callback that prints events, regular summaries of topics, and a notice of mark-up."""

    needs_gap: ClassVar[bool] = False

    def __init__(self, summary_every: str) -> None:
        from opelda._validation import Every  # imports NumPy

        self._knows_markup = False
        self._every = Every("summary_every", summary_every) if summary_every != "0" else None

    def __call__(self, report: Any) -> None:
        if VERBOSITY.quiet:
            return
        words = report.model._state.vocabulary
        if not self._knows_markup and words is not None and words.n_docs >= 1_000:
            self._knows_markup = True
            name_markup(words, words.document_frequency, words.n_docs)
        if self._every is not None and self._every.is_due(report.n_docs):
            n_docs, n_words = count(report.model.n_docs_seen_, "document"), report.n_words
            tell(f"{n_docs}, {count(n_words, 'word')}, {report.docs_per_second:,.0f} docs/s")
            print_topics(heaviest(report.model), error=True)
            self._every.done()
        for event in report.events:
            tell(str(event))


def _line_of(event: Any, encoding: str | None = None) -> str:
    text = json.dumps(event.as_dict(), ensure_ascii=False, allow_nan=False)
    return safe_json(text, encoding) + "\n"


class EventLines:
    """A callback that appends events to standard output (-) or a file without buffering.

    Events that a resumed stream repeats after its checkpoint are skipped.
    """

    needs_gap: ClassVar[bool] = False

    def __init__(self, target: str, sources: list[str]) -> None:
        self._path = None if target == "-" else check_output(target, sources)
        self._written: list[Any] = [] if self._path is None else _last_events(self._path)
        self._file: Any = None

    def begin(self, model: Any) -> None:
        """Open the file; a new stream has no events in it."""
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
        for event in report.events:
            if event.as_saved() in self._written:
                continue
            if self._path is None:
                self._file.write(_line_of(event, self._file.encoding))
                self._file.flush()
            else:
                self._file.write(_line_of(event).encode())

    def end(self, model: Any) -> None:
        """Close the file."""
        if self._path is not None and self._file is not None:
            self._file.close()


def _last_events(path: Path) -> list[Any]:
    """Return the last events of a file, without their times; reject other files."""
    if not path.exists():
        return []
    with open(path, "rb") as file:
        if file.read(1) not in (b"", b"{"):
            raise InputError(f"{path} exists and has no events; choose another file.")
        # a checkpoint is never behind by more events than these bytes hold
        file.seek(max(file.seek(0, os.SEEK_END) - 2**18, 0))
        lines = file.read().splitlines()
    found = []
    for line in lines:
        with suppress(ValueError):  # cut off, at the front here or by a kill
            event = json.loads(line)
            if isinstance(event, dict):
                found.append({name: value for name, value in event.items() if name != "time"})
    return found


class EventCommands:
    """A callback that runs a command for each event, with its line as standard input.

    Commands run one at a time in a thread. Events beyond the queue's capacity are dropped.
    """

    needs_gap: ClassVar[bool] = False

    def __init__(self, command: str, room: int = 100, patience: float = 10.0) -> None:
        if not command.strip() or "\0" in command:
            raise InputError(
                "--on-event needs a command to run; pass a command or remove --on-event."
            )
        self._command, self._patience = command, patience
        self._waiting: Queue[str | None] = Queue(room)
        self._n_left_out = 0
        self._failed = False

    def begin(self, model: Any) -> None:
        """Start the thread."""
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    def __call__(self, report: Any) -> None:
        for event in report.events:
            try:
                self._waiting.put_nowait(_line_of(event))
            except Full:
                if not self._n_left_out:
                    tell(
                        "events arrive faster than --on-event handles events; some events "
                        "are dropped."
                    )
                self._n_left_out += 1

    def end(self, model: Any) -> None:
        """Wait at most `patience` seconds for the last commands."""
        with suppress(Full):
            self._waiting.put(None, timeout=self._patience)
            self._thread.join(self._patience)
        if self._thread.is_alive():
            with suppress(Empty):
                while True:
                    self._n_left_out += self._waiting.get_nowait() is not None
            tell(
                "the command of --on-event is still running; opelda does not wait for the command."
            )
        if self._n_left_out:
            tell(f"{count(self._n_left_out, 'event')} dropped by --on-event.")

    def _work(self) -> None:
        while (line := self._waiting.get()) is not None:
            done = subprocess.run(
                self._command, shell=True, input=line.encode(), stdout=2, check=False
            )
            if done.returncode and not self._failed:
                self._failed = True
                ended = f"ended with {done.returncode}"
                tell(f"the command of --on-event {ended}; the stream continues.")


def address_of(given: str) -> tuple[str, int]:
    """Return the host and the port of a value of ``--serve``."""
    host, _, port = given.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise InputError(f"must be HOST:PORT, such as 127.0.0.1:8000, not {given!r}.", "serve")
    return host, int(port)


class LiveSite:
    """A callback that serves a page about the stream while it is learned."""

    needs_gap: ClassVar[bool] = False
    needs_score: ClassVar[bool] = True

    def __init__(self, address: str, title: str, name: str) -> None:
        # start-up time, and packages of an extra
        from opelda.report.page._live_page import LivePage
        from opelda.serve import part

        host, port = address_of(address)
        self._page = LivePage(title, name)
        pages = {
            "/": ("text/html", self._page.html),
            "/meta.json": ("application/json", self._page.json),
        }
        self._server = part("_server").PageServer(host, port, pages)

    def tell(self) -> None:
        """Report the address of the page, and whether other machines can reach the page."""
        note(f"page about this stream: {self._server.site.url}")
        if not self._server.site.is_local:
            tell("everybody who reaches this machine can read the page; it has no authentication.")

    def begin(self, model: Any) -> None:
        """Start the server."""
        self._page.begin(model)
        self._server.start()

    def __call__(self, report: Any) -> None:
        self._page(report)

    def end(self, model: Any) -> None:
        """Stop the server."""
        self._server.close()
