"""The sections of the page of commands, made from the command line's own declarations."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "src"))  # the site is built without installing

import typer

from opelda.cli._app import with_commands


def sections() -> str:
    """Return a table of the commands and a section for each, as Markdown."""
    commands = typer.main.get_command(with_commands()).commands
    rows = [[f"[`{name}`](#{name})", paragraphs(made)[0]] for name, made in commands.items()]
    parts = [table("command", "purpose", rows=rows)]
    for name, command in commands.items():
        parts += section(name, command)
    return "\n\n".join(parts)


def section(name: str, command: Any) -> Iterator[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    yield f"## {name}"
    yield from paragraphs(command)
    usage = " ".join(["opelda", name, "[OPTIONS]", *map(argument_name, arguments)])
    yield f"```text\n{usage}\n```"
    yield "**Examples**"
    examples = re.findall(r"\[cyan\](.*?)\[/cyan\]", command.epilog)
    yield "\n".join(["```sh", *examples, "```"])
    if arguments:
        rows = [[f"`{argument_name(p)}`", p.help] for p in arguments]
        yield table("argument", "meaning", rows=rows)
    # options of a panel follow the common ones and may be declared in several places
    options.sort(key=lambda p: p.rich_help_panel or "")
    for panel, listed in groupby(options, key=lambda p: p.rich_help_panel or "Options"):
        yield f"**{panel}**"
        yield table("option", "meaning", rows=[[option_name(p), meaning(p)] for p in listed])


def paragraphs(command: Any) -> list[str]:
    """Return the paragraphs of the help, with code in the place of the terminal's styles."""
    text = re.sub(r"\[(bold|cyan)\](.*?)\[/\1\]", r"`\2`", command.help).replace("\\[", "[")
    return [" ".join(part.split()) for part in text.split("\n\n")]


def argument_name(parameter: Any) -> str:
    name = parameter.metavar.strip("[]") + ("..." if parameter.nargs == -1 else "")
    return name if parameter.required else f"[{name}]"


def option_name(parameter: Any) -> str:
    names = [*sorted(parameter.opts, key=len), *parameter.secondary_opts]
    if parameter.metavar:
        names[-1] += f" {parameter.metavar}"
    return ", ".join(f"`{name}`" for name in names)


def meaning(parameter: Any) -> str:
    """Return the help of an option, its range and its default."""
    said = parameter.help
    if parameter.required:
        said += " Required."
    low, high = parameter.min, parameter.max
    if low is not None:
        said += f" At least {low}." if high is None else f" {low} to {high}."
    if parameter.default not in (None, False) and "default" not in said:
        said += f" Default: {parameter.default}."
    return said


def table(*head: str, rows: list[list[str]]) -> str:
    lines = [[*head], ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
