"""The application: what all commands have in common."""

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

import opelda
from opelda.cli._errors import reported
from opelda.cli._groups import spread

app = typer.Typer(
    name="opelda",
    help="Topics from text: learn them, look at them, and use them on new documents.",
    epilog=(
        "[bold]Begin[/bold] with [cyan]opelda demo[/cyan], or with texts of your own:\n\n"
        "[cyan]opelda fit texts.jsonl -k 50 -o model.opelda[/cyan]\n\n"
        "[cyan]opelda topics model.opelda[/cyan]"
    ),
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command(name: str, *examples: str, **settings: Any) -> Callable[[Any], Any]:
    """Register a function as a command whose failures are sentences.

    `examples` are shown below its help. Parameters that are dataclasses become options; a group
    ``show`` says with ``show.debug`` whether tracebacks are wanted.
    """
    shown = "\n\n".join(("[bold]Examples[/bold]", *(f"[cyan]{line}[/cyan]" for line in examples)))

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        flat = spread(function)

        @wraps(flat)
        def run(**values: Any) -> None:
            with reported(debug=bool(values.get("debug"))):
                flat(**values)

        run.__signature__ = flat.__signature__  # type: ignore[attr-defined]
        del run.__wrapped__
        app.command(name, epilog=shown if examples else None, **settings)(run)
        return function

    return register


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"opelda {opelda.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """Topics from text: learn them, look at them, and use them on new documents."""
