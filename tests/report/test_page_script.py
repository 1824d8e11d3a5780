"""The report page's script beside Python: the same mixtures, losses and words for any seed."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.report.page_cases import cases

TEST = Path(__file__).parents[2] / "page" / "test" / "cases.test.js"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_script_agrees_with_python(tmp_path):
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
