"""Project files agree with the project."""

import importlib.util
import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def test_hosted_ci_runs_the_same_make_targets():
    [stages] = re.findall(
        r"^test-all: (.*\n(?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    ours = re.findall(r"^make (.*)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert "test-all" in ours
    words = {word for line in [stages, *ours] for word in line.split()}
    targets = {word for word in words if re.match(r"[a-z][a-z-]+$", word)} - {"test-all"}
    hosted = (ROOT / ".github/workflows/test.yml").read_text()
    [listed] = re.findall(r"^ +target: \[(.*)\]$", hosted, re.MULTILINE)
    assert targets == set(listed.split(", "))


def test_ci_dependencies_are_pinned():
    lines = (ROOT / ".ci/constraints.txt").read_text().splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    versions = {}
    for pin in pins:
        [version] = pin.specifier
        assert (version.operator, pin.url, pin.marker) == ("==", None, None), pin
        versions[canonicalize_name(pin.name)] = version.version
    assert len(versions) == len(pins)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    asked = project["build-system"]["requires"] + project["project"]["dependencies"]
    for name in ("test", "reproduction", "lint", "page", "docs", "spark"):
        asked += extras[name]
    for requirement in map(Requirement, asked):
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)])


def test_workflows_use_existing_make_targets():
    makefile = (ROOT / "Makefile").read_text()
    for workflow in (ROOT / ".github/workflows").iterdir():
        for target in re.findall(r"run: make ([\w-]+)", workflow.read_text()):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{workflow.name}: {target}"


def test_address_is_written_in_few_places():
    """A fork changes these two lines, and one in pyproject.toml."""
    files = [ROOT / name for name in ("README.md", "CITATION.cff", "SECURITY.md", "Makefile")]
    files += [*(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.*")]
    named = [path.name for path in files if "github.com/opelda" in path.read_text()]
    assert named == ["README.md", "installing.md"]


def test_links_of_project_files_resolve():
    for page in ("SECURITY.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md"):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text()):
            assert (ROOT / link).exists(), f"{page}: {link}"


def test_links_shown_by_a_package_index_resolve():
    """The long description is README; links of either are found by another rule than it uses."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    [entry] = project["tool"]["dynamic-metadata"]
    path = ROOT / entry["provider"]["path"] / f"{entry['provider']['module']}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = module.dynamic_metadata({}, project["project"])["readme"]["text"]

    links = re.findall(r"\]\((\S+?)\)", text)
    assert len(links) == len(re.findall(r"\]\(", (ROOT / "README.md").read_text())) > 20
    address = project["project"]["urls"]["Repository"]
    for link in links:
        kind, name = re.fullmatch(rf"{address}/(blob|raw)/main/(\S+?)(?:#.*)?", link).groups()
        assert (ROOT / name).is_file(), link
        assert (kind == "raw") == (name.endswith((".svg", ".png"))), link
