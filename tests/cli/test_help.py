"""The help of commands: common options first, others in panels named "Advanced"."""

import typer

from opelda.cli import app
from tests.cases import cases

COMMANDS = typer.main.get_command(app).commands
LONG = ("fit", "stream", "choose", "topics", "transform", "report")


def panels(command):
    """Return the number of options in each panel."""
    found = {}
    for param in command.params:
        if param.param_type_name == "option":
            panel = param.rich_help_panel or ""
            found[panel] = found.get(panel, 0) + 1
    return found


@cases("name", COMMANDS)
def test_panels_are_common_or_advanced(name):
    assert all(panel.startswith("Advanced: ") for panel in panels(COMMANDS[name]) if panel)


@cases("name", LONG)
def test_long_commands_show_about_ten_common_options(name):
    assert 5 <= panels(COMMANDS[name])[""] <= 16


def test_common_options_of_fit():
    common = [p.opts[0] for p in COMMANDS["fit"].params if not getattr(p, "rich_help_panel", 0)]
    assert common[1:] == [
        "--topics", "--output", "--valid", "--continue", "--preset", "--seed-words", "--jobs",
        "--text-column", "--stop-words", "--json", "--quiet",
    ]  # fmt: skip
