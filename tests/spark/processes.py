"""Processes of a driver, and killing them."""

import os
import signal
from pathlib import Path


def executors_of(driver):
    """Return the ids of executor processes that descend from a process."""
    parents, executors = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes()
        except OSError:  # it ended
            continue
        number = int(folder.name)
        parents[number] = int(state[1])
        if b"CoarseGrainedExecutorBackend" in command and state[0] != "Z":
            executors.append(number)
    return [number for number in executors if driver in ancestors(number, parents)]


def ancestors(number, parents):
    found = []
    while number in parents:
        number = parents[number]
        found.append(number)
    return found


def kill(number):
    """Kill one process."""
    os.kill(number, signal.SIGKILL)
