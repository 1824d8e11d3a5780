"""The script of the report page against Python: mixtures, losses and words."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.report.page_cases import cases

TEST = Path(__file__).parents[2] / "page" / "test" / "cases.test.js"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_script_matches_python(tmp_path):
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases(None)))
    done = subprocess.run(
        ["node", "--test", TEST],
        env={"PATH": str(Path(shutil.which("node")).parent), "CASES": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
