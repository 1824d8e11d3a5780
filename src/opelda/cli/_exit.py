"""How a command ends: signals, errors as one sentence, and the exit code."""

import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import typer

from opelda.cli._terminal import tell
from opelda.errors import InputError, OpeldaError

if TYPE_CHECKING:
    from opelda.corpus import MiniBatch, Stream, Vocabulary


class Code(IntEnum):
    """Exit codes; the last is for a closed pipe."""

    UNEXPECTED, MISTAKE, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141


# Windows does not have the last
NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
SIGNALS = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))

# the option that sets each parameter, as the commands declare them
OPTIONS: dict[str, str] = {}


class StoppedError(Exception):
    """The user stopped the command; the message says which results are saved."""


@contextmanager
def reported(debug: bool = False) -> Iterator[None]:
    """Turn an exception into a line on standard error and an exit code."""
    debug = debug or os.environ.get("OPELDA_DEBUG", "") not in ("", "0")
    try:
        yield
        # part of the command: a full disk and a reader that went away are found out here
        sys.stdout.flush()
    except (typer.Exit, typer.Abort, SystemExit):
        raise
    except BrokenPipeError:
        # lets the interpreter flush standard output at its end without complaint
        with suppress(OSError, ValueError), open(os.devnull, "w") as null:
            os.dup2(null.fileno(), sys.stdout.fileno())
        raise typer.Exit(Code.BROKEN_PIPE) from None
    except (KeyboardInterrupt, StoppedError) as error:
        tell(str(error) or "stopped.")
        raise typer.Exit(Code.INTERRUPTED) from None
    except BaseException as error:  # panics of libraries in Rust are no Exceptions
        if hasattr(error, "format_message"):  # of the command line: typer keeps its classes private
            if type(error).__name__ != "NoArgsIsHelpError":  # the help has been shown
                context = getattr(error, "ctx", None)
                where = "opelda" if context is None else context.command_path
                message = " ".join(error.format_message().split())
                tell(f"{message.rstrip('.')}; see '{where} --help'.")
            raise typer.Exit(Code.MISTAKE) from None
        if debug:
            traceback.print_exc()
        else:
            tell(sentence(error))
        by_user = isinstance(error, OpeldaError | OSError | MemoryError)
        raise typer.Exit(Code.MISTAKE if by_user else Code.UNEXPECTED) from None


def sentence(error: BaseException) -> str:
    """Return the error message in one line."""
    text = error.worded(as_option) if isinstance(error, InputError) else str(error)
    text = " ".join(text.split())
    if isinstance(error, OpeldaError):
        return text
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return "Out of memory; use fewer topics, --max-features or `opelda stream`."
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{where}{error.strerror}."
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"unexpected error: {what}; run again with --debug and report it."


def as_option(parameter: str, value: Any = ...) -> str:
    """Return the option of a parameter, with its value if given."""
    option = OPTIONS.get(parameter, parameter)
    return option if value is ... else f"{option} {value}"


@contextmanager
def handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle the signals by this function within the block."""
    # Python runs handlers in the main thread, between two instructions
    in_main = threading.current_thread() is threading.main_thread()
    former = {number: signal.getsignal(number) for number in SIGNALS if in_main}
    # one that is ignored, as nohup and shells' background jobs have it, stays ignored
    former = {number: old for number, old in former.items() if old not in (signal.SIG_IGN, None)}
    for number in former:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in former.items():
            signal.signal(number, old)


class Stop:
    """A request to stop, which raises KeyboardInterrupt once, and only within `attempt`.

    It is also a learner's callback: Python drops an interrupt that strikes in a destructor.
    """

    needs_gap: ClassVar[bool] = False

    def __init__(self) -> None:
        self.stopped = False
        self._raises = False

    def __enter__(self) -> Self:
        self._handlers = handled(self._handle)
        self._handlers.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._handlers.__exit__(None, None, None)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.stopped = True
        if self._raises:
            # before it raises: the next signal may come before anybody has caught this one
            self._raises = False
            raise KeyboardInterrupt

    def attempt(self, work: Callable[[], Any]) -> Any:
        """Return the result of `work`; None if a signal interrupted or preceded the work."""
        try:
            # in this order: a signal between the two raises, one before the first is seen here
            self._raises = True
            result = None if self.stopped else work()
            self._raises = False
            return result
        except KeyboardInterrupt:
            return None
        finally:
            self._raises = False

    def __call__(self, report: Any) -> bool:
        """Return whether to stop training; this ends all runs."""
        if self.stopped and report.n_runs > 1:
            raise KeyboardInterrupt
        return self.stopped


class Stoppable:
    """A `DocumentStream` that wraps a stream and ends after Ctrl-C, as at the end of the source.

    A learner finishes its mini-batch first, so that model and position always agree. Documents
    read from a pipe are given before it ends.
    """

    def __init__(self, stream: "Stream", stop: Stop) -> None:
        self._stream, self._stop = stream, stop
        stream.end_when(lambda: stop.stopped)

    def __getattr__(self, name: str) -> Any:  # label, position, problems, seek, vocabulary
        return getattr(self._stream, name)

    def batches(
        self, vocabulary: "Vocabulary | None" = None, n_words: int | None = None
    ) -> "Iterator[MiniBatch]":
        """Yield the stream's batches until it is stopped."""
        batches = self._stream.batches(vocabulary, n_words)
        if self._stream.once:
            yield from batches
        # one that is cut off here was not learned from, and the position is still before it
        while (batch := self._stop.attempt(lambda: next(batches, None))) is not None:
            yield batch
