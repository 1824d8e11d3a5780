"""The sdist is reproducible at any time and place."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILD = "from scikit_build_core.build import build_sdist; build_sdist('dist')"


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="the files are those tracked by git")
def test_sdist_is_reproducible(tmp_path):
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    made = []
    for folder, date, zone in (("here", 10**9, "UTC"), ("elsewhere", 1_700_000_001, "Asia/Tokyo")):
        for name in sorted(listed, reverse=folder == "here"):
            place = tmp_path / folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, place)
            os.utime(place, (date, date))
        environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000", "TZ": zone}
        subprocess.run(
            [sys.executable, "-c", BUILD], cwd=tmp_path / folder, env=environment, check=True
        )
        made += (tmp_path / folder / "dist").iterdir()
    assert made[0].name == made[1].name
    with tarfile.open(made[0]) as files:
        assert {member.mtime for member in files} == {1_700_000_000}
        assert len(files.getnames()) > 100
    assert made[0].read_bytes() == made[1].read_bytes()
