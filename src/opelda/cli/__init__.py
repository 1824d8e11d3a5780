"""The command line."""

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["app", "main"]


def main(args: "Sequence[str] | None" = None) -> int:
    """Run a command; return its exit code.

    Parameters
    ----------
    args : sequence of str, optional
        Arguments after the program's name; by default the arguments of this process.

    Examples
    --------
    >>> from opelda.cli import main
    >>> main(["--version"])  # doctest: +ELLIPSIS
    opelda ...
    0
    """
    if "topics" in (sys.argv if args is None else args)[:2]:
        # before NumPy is imported: threads of BLAS wait busily, which doubled the CPU time
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        # within the block: the import takes a while, and Ctrl-C may strike
        from opelda.cli._app import run

        return run(args)
    except KeyboardInterrupt:
        print("opelda: stopped.", file=sys.stderr)
        return 130


def __getattr__(name: str) -> Any:
    if name == "app":
        from opelda.cli._app import with_commands

        return with_commands()
    raise AttributeError(f"module 'opelda.cli' has no attribute {name!r}")
