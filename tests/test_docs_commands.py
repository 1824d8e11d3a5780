"""The page of commands in the reference has what the program's own help prints."""

import pkgutil
import re
from pathlib import Path

import pytest

from opelda.cli import commands, main
from tests.cases import cases

NAMES = [module.name for module in pkgutil.iter_modules(commands.__path__)]


@pytest.fixture(scope="module")
def sections():
    """The page's section of each command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[1] / "docs")
        import command_reference

        _, *parts = command_reference.sections().split("\n## ")
    return {part.split("\n")[0]: part for part in parts}


def test_every_command_has_a_section(sections):
    assert sorted(sections) == sorted(NAMES)


@cases("name", NAMES)
def test_sections_have_every_option_and_example_of_the_help(name, sections, capsys):
    assert main([name, "--help"]) == 0
    said = capsys.readouterr().out
    options = set(re.findall(r"^│ \*? *(--[\w-]+)", said, re.MULTILINE)) - {"--help"}
    listed = re.findall(r"^\| .*?`(--[\w-]+)", sections[name], re.MULTILINE)
    assert sorted(listed) == sorted(options)
    assert {"--quiet", "--verbose"} <= options
    examples = said.split("Examples")[1].split()
    assert examples == re.search(r"```sh\n(.*?)```", sections[name], re.DOTALL)[1].split()
