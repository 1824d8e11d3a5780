"""The page on the architecture names files and folders that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PLACES = ("src", "native", "page/src", "tests", "benchmarks", "reproduction", "docs", "examples")
PATHS = {
    path.relative_to(ROOT).as_posix() + "/" * path.is_dir()
    for place in PLACES
    for path in [ROOT / place, *(ROOT / place).rglob("*")]
}
NAMED = sorted(set(re.findall(r"`([\w./]+(?:/|\.(?:py|hpp|cpp|cu|c|js|css|html)))`", PAGE)))


def test_every_file_and_folder_exists():
    known = [f"/{path}" for path in PATHS]
    assert len(NAMED) > 150
    assert [name for name in NAMED if not any(path.endswith(f"/{name}") for path in known)] == []
