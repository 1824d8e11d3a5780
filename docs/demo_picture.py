"""Draw what `opelda demo` prints, as a terminal shows it: docs/figures/demo.svg.

python docs/demo_picture.py
"""

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir

from rich.console import Console
from rich.text import Text

WIDTH, TARGET = 100, Path(__file__).parent / "figures" / "demo.svg"


def printed() -> str:
    """Return what the demo prints on a terminal, with its colours."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "opelda", "demo"]
    run = subprocess.Popen(
        command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment, cwd=gettempdir()
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            more = os.read(ours, 65_536)
        except OSError:  # how a terminal ends on Linux
            break
        if not more:
            break
        shown += more
    if run.wait():
        raise SystemExit("opelda demo failed; run it by hand.")
    return shown.decode().replace("\r\n", "\n")


def main() -> None:
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi("$ opelda demo\n" + printed()))
    svg = console.export_svg(title="opelda demo", unique_id="demo")
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # fonts would be downloaded
    lines = (line.rstrip() for line in svg.splitlines() if line.strip())
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
