"""Statements of docs/installing.md about package size, contents and licences."""

import re
from importlib.metadata import PackageNotFoundError, distribution, metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/installing.md").read_text(encoding="utf-8")
WHEELS = sorted((ROOT / "dist").glob("opelda-*.whl"))


@pytest.mark.skipif(not WHEELS, reason="`make wheels` makes them")
@pytest.mark.parametrize("wheel", WHEELS, ids=str)
def test_wheel_size_is_as_stated(wheel):
    [megabytes] = re.findall(r"A wheel has at most (\d+\.\d) MB", PAGE)
    assert wheel.stat().st_size < float(megabytes) * 1e6


def test_number_of_dependencies_is_as_stated():
    [most] = re.findall(r"at most (\d+) packages come with it", PAGE)
    assert len(required("opelda") - {"opelda"}) <= int(most)


FAMILIES = re.compile("MIT|BSD|Zlib|CC0|Apache|ISC|PSF|Python Software Foundation|MPL|[AL]?GPL")


def families(text):
    """Return the kinds of licence that a text names."""
    return {name.replace("Python Software Foundation", "PSF") for name in FAMILIES.findall(text)}


def said_of_itself(name):
    """Return the kinds of licence that an installed package's metadata names."""
    facts = distribution(name).metadata
    classes = [line for line in facts.get_all("Classifier") or () if line.startswith("License")]
    return families(facts.get("License-Expression") or " ".join(classes) or facts["License"][:40])


def test_listed_licences_are_correct():
    table = PAGE.partition("## Licences")[2]
    listed = {
        name: families(licence)
        for licence, *names in re.findall(
            r"^\| ([^|]+) \| ([^|]*)\|([^|]*)\|$", table, re.MULTILINE
        )
        for name in re.findall(r"[\w-]+", " ".join(names))
    }
    assert required("opelda") - {"opelda"} <= set(listed)
    for name, licences in listed.items():
        try:
            found = said_of_itself(name)
        except PackageNotFoundError:
            continue  # of an extra
        assert found, name
        assert found <= licences, name
        assert not any("GPL" in licence for licence in found), name


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
