"""Every way a command can fail, as one sentence and an exit code."""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from opelda.errors import EngineError, InputError, ModelFileError

MISTAKE, UNEXPECTED, INTERRUPTED, BROKEN_PIPE = 2, 1, 130, 141


# The options that set the library's parameters; other parameters have none.
OPTIONS = {
    "batch_size": "--batch-size",
    "checkpoint": "--checkpoint",
    "column_words": "--column-words",
    "doc_topic_prior": "--alpha",
    "encoding": "--encoding",
    "engine": "--engine",
    "every": "--every",
    "first_id": "--first-id",
    "format": "--format",
    "held_out": "--held-out",
    "lambda_": "--lambda",
    "learner": "--learner",
    "learning_decay": "--learning-decay",
    "learning_offset": "--learning-offset",
    "limit": "--limit",
    "max_df": "--max-df",
    "max_features": "--max-features",
    "min_df": "--min-df",
    "n_components": "-k",
    "n_iter": "--iterations",
    "n_jobs": "--jobs",
    "n_passes": "--passes",
    "n_seeds": "--seeds",
    "n_splits": "--splits",
    "n_sweeps": "--sweeps",
    "n_test": "--test-docs",
    "n_topics": "-k",
    "n_words": "--words",
    "name_column": "--name-column",
    "ngrams": "--ngrams",
    "on_error": "--on-error",
    "pattern": "--pattern",
    "preset": "--preset",
    "random_state": "--seed",
    "stem": "--stem",
    "stop_words": "--stop-words",
    "text_column": "--text-column",
    "topic_word_prior": "--eta",
    "transform_method": "--transform-method",
    "validation": "--valid",
}


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

    >>> sentence(InputError("must be positive, got 0.", "min_df"))
    '--min-df must be positive, got 0.'
    >>> sentence(FileNotFoundError(2, "No such file or directory", "a.txt"))
    'a.txt: No such file or directory.'
    >>> sentence(ZeroDivisionError("division by zero"))  # doctest: +ELLIPSIS
    'unexpected error: ZeroDivisionError: division by zero; run again with --debug and report ...'
    """
    text = error.worded(as_option) if isinstance(error, InputError) else str(error)
    text = " ".join(text.split())
    if isinstance(error, InputError | ModelFileError | EngineError):
        return text
    if isinstance(error, MemoryError):
        return "There is not enough memory; try fewer topics, --max-features or `opelda stream`."
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{where}{error.strerror}."
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"unexpected error: {what}; run again with --debug and report it."


def as_option(parameter: str, value: Any = ...) -> str:
    """Return the option that sets a parameter, with its value where one is given.

    >>> as_option("doc_topic_prior"), as_option("encoding", "latin-1"), as_option("y")
    ('--alpha', '--encoding latin-1', 'y')
    """
    option = OPTIONS.get(parameter, parameter)
    return option if value is ... else f"{option} {value}"


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
