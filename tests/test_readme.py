"""What README says runs."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_python_blocks(capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    shape, certificates, topics = capsys.readouterr().out.strip().split("\n", 2)
    assert shape == "(10, 50)"
    assert all(float(number) >= 0 for number in certificates.split())
    assert set(re.findall(r"\d+", topics)) <= {"0", "1", "2"}


def test_demo():
    run = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py"], capture_output=True, text=True, check=True
    )
    assert "OPE(n_iter=50)" in run.stdout
    assert "could be better by at most" in run.stdout


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
