"""README as an index of packages shows it, without the repository: its links are absolute.

scikit-build-core calls it (`[[tool.dynamic-metadata]]` in pyproject.toml).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

README = Path(__file__).parents[1] / "README.md"
RELATIVE = re.compile(r"(!?)(\[[^\]]*\]\()(?!#|\w+:)")


def dynamic_metadata(settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, Any]:
    """Return the field `readme`: pictures lead to the file itself, links to its page."""
    address = project["urls"]["Repository"]

    def absolute(link: re.Match[str]) -> str:
        return f"{link[0]}{address}/{'raw' if link[1] else 'blob'}/main/"

    text = RELATIVE.sub(absolute, README.read_text(encoding="utf-8"))
    return {"readme": {"text": text, "content-type": "text/markdown"}}
