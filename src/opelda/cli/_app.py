"""The application: how commands and their options are declared, and how a command runs."""

import inspect
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from importlib import import_module
from typing import Annotated, Any, ClassVar, dataclass_transform, get_type_hints

import typer

import opelda
from opelda.cli._exit import OPTIONS, Code, handled, reported
from opelda.cli._terminal import VERBOSITY, escaping_odd_characters, warnings_noted

# in the order of the help; each is a module that declares itself with `command`
COMMANDS = (
    "demo", "fit", "choose", "stream", "topics", "search", "edit", "plot", "report", "transform",
    "serve", "evaluate", "convert", "info",
)  # fmt: skip

RUNNING = "Advanced: running"  # a panel of the help

app = typer.Typer(
    name="opelda",
    help="Learn topics from texts, inspect topics and infer topics of new documents.",
    epilog=(
        "[bold]Begin[/bold] with [cyan]opelda demo[/cyan], or with your own texts:\n\n"
        "[cyan]opelda fit texts.jsonl -k 50 -o model.opelda[/cyan]\n\n"
        "[cyan]opelda topics model.opelda[/cyan]"
    ),
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def option(
    flags: str, help: str, default: Any = None, *, choices: Iterable[str] = (),
    panel: str | None = None, **settings: Any,
) -> Any:  # fmt: skip
    """Declare an option such as ``--topics -k K``: the default of a parameter or a group's field.

    The parameter has the library's name, so that errors can name the option. The help lists the
    option in the panel: None is the group's own, "" the first. The shell offers the choices.
    """
    words = flags.split()
    names = [word for word in words if word.startswith("-")]
    metavar = " ".join(words[len(names) :])
    if not choices and "|" in metavar and metavar.islower():
        choices = metavar.split("|")
    if choices:  # a dictionary has their help
        told = choices if isinstance(choices, dict) else dict.fromkeys(choices, "")
        settings["autocompletion"] = lambda incomplete: [
            (name, help) if help else name
            for name, help in told.items()
            if name.startswith(incomplete)
        ]
    made = partial(
        typer.Option, *names, help=help, metavar=metavar or None,
        show_default=isinstance(default, int | float) and not isinstance(default, bool), **settings,
    )  # fmt: skip
    name = names[0].partition("/")[0]
    return field(default=default, metadata={"made": made, "panel": panel, "option": name})


def argument(metavar: str, help: str, default: Any = ..., **settings: Any) -> Any:
    """Declare an argument: the default of a command's parameter."""
    made = partial(typer.Argument, metavar=metavar, help=help, **settings)
    return field(default=default, metadata={"made": made, "panel": "", "option": None})


# how much each command says
SHARED = {
    "quiet": option("--quiet -q", "Print results and errors only.", False),
    "verbose": option(
        "--verbose -v", "Print settings, measures and each update.", False, panel=RUNNING
    ),
    "debug": option("--debug", "Show tracebacks (or set OPELDA_DEBUG=1).", False, panel=RUNNING),
}


@dataclass_transform(frozen_default=True)
class Group:
    """Options that several commands share, listed in a panel of the help.

    A command with a parameter of a subclass has its options, and receives an instance.
    """

    PANEL: ClassVar[str] = ""

    def __init_subclass__(cls, panel: str | None = None) -> None:
        cls.PANEL = cls.PANEL if panel is None else panel
        dataclass(frozen=True)(cls)


def command(*examples: str) -> Callable[[Any], Any]:
    """Register a function as the command of its name, with examples in its help."""
    shown = "\n\n".join(("[bold]Examples[/bold]", *(f"[cyan]{line}[/cyan]" for line in examples)))

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        hints = get_type_hints(function)
        groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
        parameters: list[inspect.Parameter] = []
        for name, given in inspect.signature(function).parameters.items():
            if name not in groups:
                parameters.append(_parameter(name, hints[name], given.default))
                continue
            kind = groups[name]
            types = get_type_hints(kind)
            parameters += [
                _parameter(part.name, types[part.name], part, kind.PANEL) for part in fields(kind)
            ]

        parameters += [_parameter(name, bool, said) for name, said in SHARED.items()]

        def run(**values: Any) -> None:
            VERBOSITY.quiet, VERBOSITY.verbose = values.pop("quiet"), values.pop("verbose")
            with reported(debug=values.pop("debug")):
                for group, kind in groups.items():
                    own = {part.name: values.pop(part.name) for part in fields(kind)}
                    values[group] = kind(**own)
                with warnings_noted():
                    function(**values)

        # all that typer looks at
        run.__doc__ = function.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        app.command(function.__name__, epilog=shown)(run)
        return function

    return register


def _parameter(name: str, kind: Any, declared: Any, panel: str = "") -> inspect.Parameter:
    """Return a parameter as typer reads it, and note the option that sets it."""
    own = declared.metadata
    made = own["made"](rich_help_panel=(panel if own["panel"] is None else own["panel"]) or None)
    if own["option"] is not None:
        OPTIONS.setdefault(name, own["option"])
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=declared.default,
        annotation=Annotated[kind, made],
    )  # fmt: skip


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"opelda {opelda.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Learn topics from texts, inspect topics and infer topics of new documents."""


def with_commands(words: Sequence[str] = ()) -> typer.Typer:
    """Return the application with all commands, or with the named one."""
    for name in words[:1] if words and words[0] in COMMANDS else COMMANDS:
        import_module(f"opelda.cli.commands.{name}")
    # where several were run in one process they were imported in some other order
    app.registered_commands.sort(key=lambda each: COMMANDS.index(str(each.name)))
    return app


def run(args: Sequence[str] | None) -> int:
    """Run a command; return its exit code."""
    words = sys.argv[1:] if args is None else list(args)
    try:
        with escaping_odd_characters(), handled(signal.default_int_handler), reported():
            # a shell that asks what to offer gives no words
            application = typer.main.get_command(with_commands(words))
            code = application.main(words, prog_name="opelda", standalone_mode=False)
            return code if isinstance(code, int) else 0
    except typer.Abort:
        return Code.INTERRUPTED
    except typer.Exit as ended:
        return ended.exit_code
