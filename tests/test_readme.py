"""README's links lead somewhere, and so do those of the pages it leads to."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
