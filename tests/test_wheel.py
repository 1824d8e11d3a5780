"""The package as it is built: as small as docs/installing.md says, and shown as it should be."""

import re
from importlib.metadata import distribution, metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/installing.md").read_text(encoding="utf-8")
WHEELS = sorted((ROOT / "dist").glob("opelda-*.whl"))


@pytest.mark.skipif(not WHEELS, reason="`make wheels` makes them")
@pytest.mark.parametrize("wheel", WHEELS, ids=str)
def test_wheels_are_as_small_as_it_says(wheel):
    [megabytes] = re.findall(r"A wheel has at most (\d+\.\d) MB", PAGE)
    assert wheel.stat().st_size < float(megabytes) * 1e6


def test_no_more_packages_come_with_it_than_it_says():
    [most] = re.findall(r"at most (\d+) packages come with it", PAGE)
    assert len(required("opelda") - {"opelda"}) <= int(most)


def test_its_description_has_no_relative_links():
    """An index of packages shows it without the repository."""
    links = re.findall(r"\]\((\S+?)\)", metadata("opelda").get_payload())
    assert links
    assert [link for link in links if not link.startswith("https://")] == []


def required(name, found=None):
    """Return the names of all that a package needs where it is installed, its own among them."""
    found = set() if found is None else found
    name = re.sub(r"[-_.]+", "-", name).lower()
    if name not in found:
        found.add(name)
        for requirement in distribution(name).requires or ():
            needed, _, condition = requirement.partition(";")
            if not condition:
                required(re.match(r"[\w.-]+", needed)[0], found)
    return found
