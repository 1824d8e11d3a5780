"""What the site takes from elsewhere in the repository: pages, links to files, its address.

MkDocs calls these functions (`hooks` in mkdocs.yml).
"""

from __future__ import annotations

import html
import posixpath
import re
import tomllib
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

import command_reference
from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
# pages of the site that lie elsewhere in the repository
ELSEWHERE = {
    "README.md": "index.md",
    "benchmarks/README.md": "benchmarks.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
# as the extension arithmatex writes $...$ and $$...$$
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
FUNCTION = re.compile("<mi>(log|ln|exp)</mi>")  # TeX sets them off from their arguments
LINK = re.compile(r"(?<=\]\()(?![#:]|\w+:)([^)#\s]+)(?=[#)])")


def on_config(config: Any) -> Any:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.repo_url = project["urls"]["Repository"]
    config.repo_name = config.repo_url.partition("//")[2].partition("/")[2]
    return config


def on_files(files: Files, config: Any) -> Files:
    for path, name in ELSEWHERE.items():
        content = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=content))
    font = package_files("ziamath").joinpath("fonts/STIXTwoMath-Regular.ttf")
    files.append(File.generated(config, "math.ttf", content=font.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Let links lead to where their file is in the site, or else in the repository."""
    if page.file.src_uri == "reference/commands.md":
        markdown = f"{markdown}\n\n{command_reference.sections()}"
    pages = {name: path for path, name in ELSEWHERE.items()}
    here = pages.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def led(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), link[1]))
        name = ELSEWHERE.get(target, target.removeprefix("docs/"))
        if name == target and not target.startswith("docs/"):
            return f"{config.repo_url}/blob/main/{target}"
        return posixpath.relpath(name, posixpath.dirname(page.file.src_uri) or ".")

    return LINK.sub(led, markdown)


def on_page_content(content: str, page: Any, config: Any, files: Files) -> str:
    """Typeset formulas as MathML, which browsers show without a script."""

    def typeset(formula: re.Match[str]) -> str:
        display = "block" if formula[1] == "div" else "inline"
        made = convert(html.unescape(formula[2]), display=display)
        return FUNCTION.sub(r'<mo lspace="0.17em" rspace="0.17em">\1</mo>', made)

    return FORMULA.sub(typeset, content)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Let the link to the repository be a link alone: the theme asks a network about others."""
    return output.replace(' data-md-component="source"', "")


def on_post_template(output: str, template_name: str, config: Any) -> str:
    return on_post_page(output, None, config)
