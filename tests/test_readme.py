"""What README says runs."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_python_blocks(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a block saves a model
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    shape, words, score, loss = capsys.readouterr().out.strip().split("\n")
    assert shape == "(100, 20)"
    assert len(re.findall(r"'x\d+'", words)) == 5
    assert -7 < float(score) < -4
    assert float(loss) >= 0


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
