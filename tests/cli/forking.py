"""Processes forked from one with all imports done, to be killed and disturbed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("fork_server.py")
KILLED = -signal.SIGKILL if os.name == "posix" else None


class Server:
    """Runs streams and commands, one at a time, within a `with` block."""

    def __init__(self, preload: Path | None = None) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "100"}
        if preload is not None:
            environment["LD_PRELOAD"] = str(preload)
        self.process = subprocess.Popen(
            [sys.executable, SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def __enter__(self) -> "Server":
        self.process.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.process.__exit__(None, None, None)

    def run(self, kill_after: float | None = None, **request: Any) -> tuple[int, float, list[str]]:
        """Return the exit status, the seconds it took, and the calls that could be struck."""
        self.process.stdin.write(json.dumps(request | {"kill_after": kill_after}) + "\n")
        self.process.stdin.flush()
        return tuple(json.loads(self.process.stdout.readline()))
