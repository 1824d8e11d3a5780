"""The application: how commands and their options are declared, and how a command runs."""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass
from importlib import import_module
from typing import Annotated, Any, TypeVar, dataclass_transform, get_type_hints

import typer

import opelda
from opelda.cli._exit import (
    INTERRUPTED,
    MISTAKE,
    OPTIONS,
    ending_like_ctrl_c,
    is_usage_error,
    reported,
)
from opelda.cli._standard_streams import escaping_odd_characters, tell, warnings_noted

# in the order of the help; each is a module that declares itself with `command`
COMMANDS = (
    "demo", "fit", "choose", "stream", "topics", "search", "edit", "plot", "report", "transform",
    "serve", "evaluate", "convert", "info",
)  # fmt: skip

# by pydantic's types of errors
WANTED = {
    "greater_than_equal": "at least {ge}", "less_than_equal": "at most {le}",
    "int_parsing": "a whole number", "float_parsing": "a number",
}  # fmt: skip
METAVARS = {int: "N", int | None: "N", list[int] | None: "N", float | None: "X"}

Group = TypeVar("Group")

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


def option(
    default: Any, *names: str, help: str, choices: Iterable[str] = (), panel: str = "",
    common: bool = False, **settings: Any,
) -> Any:  # fmt: skip
    """Declare an option, as the default of a command's parameter or of a group's field.

    The parameter is named as the library's, so that errors name the option. The help lists the
    option in a panel: a group's own if none is given, and the first one if it is `common`. The
    shell offers the `choices`; other values may be valid too.
    """
    if choices:
        settings = {"metavar": "|".join(choices), "autocompletion": one_of(choices)} | settings
    shown = isinstance(default, int | float) and not isinstance(default, bool)
    declared = typer.Option(
        *names, help=help, show_default=shown, rich_help_panel=panel or None, **settings
    )
    return field(default=default, metadata={"typer": declared, "common": common})


@dataclass_transform(frozen_default=True)
def group(panel: str) -> Callable[[type[Group]], type[Group]]:
    """Make a class a group of options that several commands share, listed in a panel of the help.

    A command has the options of each group among its parameters, and receives the group itself.
    """

    def declare(cls: type[Group]) -> type[Group]:
        cls.PANEL = panel  # type: ignore[attr-defined]
        return dataclass(frozen=True)(cls)

    return declare


def one_of(names: Iterable[str]) -> Callable[[str], Iterator[Any]]:
    """Offer the names that begin with the typed text; a dictionary gives each its help."""

    def complete(incomplete: str) -> Iterator[Any]:
        found = names.items() if isinstance(names, dict) else ((name, "") for name in names)
        return (pair if pair[1] else pair[0] for pair in found if pair[0].startswith(incomplete))

    return complete


def command(name: str, *examples: str) -> Callable[[Any], Any]:
    """Register a function as a command whose failures are sentences, with examples in its help."""
    shown = "\n\n".join(("[bold]Examples[/bold]", *(f"[cyan]{line}[/cyan]" for line in examples)))

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        hints = get_type_hints(function, include_extras=True)
        groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
        parameters: list[inspect.Parameter] = []
        for name_, given in inspect.signature(function).parameters.items():
            if name_ not in groups:
                parameters.append(_parameter(name_, hints[name_], given.default))
                continue
            kinds = get_type_hints(groups[name_], include_extras=True)
            for part in fields(groups[name_]):
                panel = groups[name_].PANEL
                parameters.append(_parameter(part.name, kinds[part.name], part, panel))

        def run(**values: Any) -> None:
            from opelda.cli._outputs import check_given  # which imports this module

            with reported(debug=bool(values.get("debug"))):
                for group, kind in groups.items():
                    own = {part.name: values.pop(part.name) for part in fields(kind)}
                    values[group] = kind(**own)
                check_given(values.get("model"), values.get("corpus"))
                with warnings_noted(values["show"]):
                    function(**values)

        # all that typer looks at
        run.__doc__ = function.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        app.command(name, epilog=shown if examples else None)(run)
        return function

    return register


def _parameter(name: str, kind: Any, declared: Any, panel: str = "") -> inspect.Parameter:
    """Return a parameter as typer reads it, and note the option that sets it."""
    default = declared
    if isinstance(declared, Field):
        default, option = declared.default, declared.metadata.get("typer")
        if option is not None:
            if not declared.metadata["common"]:
                option.rich_help_panel = option.rich_help_panel or panel or None
            option.metavar = option.metavar or METAVARS.get(kind)
            kind = Annotated[kind, option]
    for each in getattr(kind, "__metadata__", ()):
        if isinstance(each, typer.models.OptionInfo):
            # typer takes the first name for a default until it has seen the annotation
            given = each.default if isinstance(each.default, str) else f"--{name.replace('_', '-')}"
            OPTIONS.setdefault(name, given.partition("/")[0])
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


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
    """Topics from text: learn them, look at them, and use them on new documents."""


def with_commands(words: Sequence[str] = ()) -> typer.Typer:
    """Return the application with all its commands, or the one that the words begin with."""
    for name in words[:1] if words and words[0] in COMMANDS else COMMANDS:
        import_module(f"opelda.cli.commands.{name}")
    # where several were run in one process they were imported in some other order
    app.registered_commands.sort(key=lambda each: COMMANDS.index(str(each.name)))
    return app


def run(args: Sequence[str] | None) -> int:
    """Run a command; return its exit code."""
    words = sys.argv[1:] if args is None else list(args)
    with escaping_odd_characters():
        try:
            with ending_like_ctrl_c(), reported():
                # a shell that asks what to offer gives no words
                application = typer.main.get_command(with_commands(words))
                code = application.main(words, prog_name="opelda", standalone_mode=False)
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
            message = " ".join(_usage(error).split())
            tell(f"{message.rstrip('.')}; see '{where} --help'.")
            return MISTAKE


def _usage(error: Any) -> str:
    """Say what is wrong with the command line, in our words where pydantic checked a value."""
    cause = error.__cause__
    for found in cause.errors() if hasattr(cause, "errors") else ():
        if found["type"] in WANTED:
            wanted = WANTED[found["type"]].format(**found.get("ctx", {}))
            return f"{' / '.join(error.param.opts)} must be {wanted}, got {found['input']!r}"
    return str(error.format_message())
