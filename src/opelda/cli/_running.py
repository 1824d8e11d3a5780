"""A command from its arguments to its exit code."""

from collections.abc import Sequence
from importlib import import_module

import typer

from opelda.cli._app import app
from opelda.cli._errors import INTERRUPTED, MISTAKE, is_usage_error, reported, tell
from opelda.cli._signals import ending_like_ctrl_c

__all__ = ["app", "run"]

# in the order of the help; each module registers its command
for _name in (
    "demo",
    "fit",
    "stream",
    "topics",
    "transform",
    "evaluate",
    "convert",
    "reproduce",
    "info",
):
    import_module(f"opelda.cli.commands.{_name}")


def run(args: Sequence[str] | None) -> int:
    """Run a command; return its exit code."""
    try:
        with ending_like_ctrl_c(), reported():
            code = typer.main.get_command(app).main(
                None if args is None else list(args), prog_name="opelda", standalone_mode=False
            )
            return code if isinstance(code, int) else 0
    except typer.Abort:
        return INTERRUPTED
    except typer.Exit as error:
        return error.exit_code
    except Exception as error:
        if not is_usage_error(error):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":  # the help has been shown
            return MISTAKE
        context = getattr(error, "ctx", None)
        where = "opelda" if context is None else context.command_path
        message = " ".join(error.format_message().split()).rstrip(".")  # type: ignore[attr-defined]
        tell(f"{message}; see '{where} --help'.")
        return MISTAKE
