"""Every way a command can fail, as one sentence and an exit code."""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from opelda.cli._wording import with_options
from opelda.errors import EngineError, InputError, ModelFileError

MISTAKE, UNEXPECTED, INTERRUPTED, BROKEN_PIPE = 2, 1, 130, 141


class StoppedError(Exception):
    """The user stopped the command; the message says what became of the work."""


@contextmanager
def reported(debug: bool = False) -> Iterator[None]:
    """Turn what goes wrong into a line on standard error and an exit code.

    2 is a mistake of the user's, 1 one of ours, 130 Ctrl-C, 141 a reader that went away.
    """
    debug = debug or os.environ.get("OPELDA_DEBUG", "") not in ("", "0")
    try:
        yield
        sys.stdout.flush()
    except typer.Exit:
        raise
    except BrokenPipeError:
        silence()
        raise typer.Exit(BROKEN_PIPE) from None
    except (KeyboardInterrupt, StoppedError) as error:
        tell(str(error) or "stopped.")
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if is_usage_error(error):
            raise
        if debug:
            traceback.print_exc()
            raise typer.Exit(exit_code(error)) from None
        tell(sentence(error))
        raise typer.Exit(exit_code(error)) from None


def is_usage_error(error: BaseException) -> bool:
    """Whether it comes from the parsing of the command line (whose classes typer keeps private)."""
    return hasattr(error, "format_message")


def exit_code(error: Exception) -> int:
    """Return 2 where the user can put it right, 1 where we have to.

    >>> exit_code(InputError("Give more.")), exit_code(ZeroDivisionError())
    (2, 1)
    """
    mistakes = (InputError, ModelFileError, EngineError, OSError, MemoryError)
    return MISTAKE if isinstance(error, mistakes) else UNEXPECTED


def sentence(error: Exception) -> str:
    """Say what happened in one line.

    >>> sentence(FileNotFoundError(2, "No such file or directory", "a.txt"))
    'a.txt: No such file or directory.'
    >>> sentence(ZeroDivisionError("division by zero"))  # doctest: +ELLIPSIS
    'unexpected error: ZeroDivisionError: division by zero; run again with --debug and report ...'
    """
    text = " ".join(str(error).split())
    if isinstance(error, InputError | ModelFileError | EngineError):
        return with_options(text)
    if isinstance(error, MemoryError):
        return "There is not enough memory; try fewer topics, --max-features or `opelda stream`."
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{where}{error.strerror}."
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"unexpected error: {what}; run again with --debug and report it."


def tell(message: str) -> None:
    """Write a line on standard error, whoever may read it."""
    try:
        sys.stderr.write(f"opelda: {printable(message)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody does
        pass


def printable(text: str) -> str:
    r"""Keep a text from moving the cursor: file names and words come from anywhere.

    >>> printable("a\x1b[31m\nb")
    'a\\x1b[31m\\nb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def silence() -> None:
    """Let the interpreter flush standard output at its end without complaint."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # not a file of the system's
        pass
