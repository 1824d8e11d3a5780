"""Tables in markdown from the lines: what each peer ends with, and opelda's time to get there."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

Line = dict[str, Any]
OURS = "opelda"
MARKS = (1, 50, 200)  # passes that have a row of their own beside the end of a run


def read(path: Path) -> list[Line]:
    """Return the lines of a file; of a run that is in it twice, the later one."""
    text = path.read_text() if path.exists() else ""
    lines = [json.loads(line) for line in text.splitlines()]
    latest: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines:
        run = latest.setdefault(name(line), [])
        if run and line["documents"] <= run[-1]["documents"]:
            run.clear()
        run.append(line)
    return [line for run in latest.values() for line in run]


def name(line: Line) -> tuple[str, str, str]:
    return line["corpus"], line["system"], line["label"]


def runs(lines: Iterable[Line]) -> list[list[Line]]:
    """Group lines into runs, sorted by seconds within a run, runs in their given order."""
    return [sorted(run, key=lambda line: line["seconds"]) for _, run in groupby(lines, name)]


def time_to(lpp: float, lines: Iterable[Line]) -> Line | None:
    """Return the earliest checkpoint that predicts at least as well, or None."""
    good = [line for line in lines if line["lpp"] >= lpp]
    return min(good, key=lambda line: line["seconds"], default=None)


def at_marks(run: list[Line]) -> list[Line]:
    """Return a run's checkpoints at the marks, and its last."""
    marked = [next((line for line in run if line["passes"] >= mark), None) for mark in MARKS]
    chosen = [
        line
        for line, mark in zip(marked, MARKS, strict=True)
        if line is not None and line["passes"] < 1.05 * mark
    ]
    return chosen if run[-1] in chosen else [*chosen, run[-1]]


def markdown(lines: list[Line]) -> str:
    parts = []
    for corpus in dict.fromkeys(line["corpus"] for line in lines):
        of_corpus = [line for line in lines if line["corpus"] == corpus]
        parts += [f"\n## {corpus}\n", against(of_corpus), "", best(of_corpus)]
    return "\n".join(parts)


def against(lines: list[Line]) -> str:
    """For each peer's run: its quality and seconds, and how soon opelda is as good."""
    ours = [line for line in lines if line["system"] == OURS]
    rows = [
        "| peer | settings | passes | seconds | LPP | NPMI | memory, MB "
        "| opelda is there after | times as fast |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for run in runs(line for line in lines if line["system"] != OURS):
        for line in at_marks(run):
            there = time_to(line["lpp"], ours)
            when = "not reached | "
            if there is not None:
                ratio = line["seconds"] / there["seconds"]
                when = f"{there['seconds']:.2f} s ({there['label']}) | {ratio:,.0f}x"
            rows.append(
                f"| {line['system']} | {line['label']} | {line['passes']:g} "
                f"| {line['seconds']:.1f} | {line['lpp']:.3f} | {line['npmi']:.3f} "
                f"| {line['memory_mb']:,} | {when} |"
            )
    return "\n".join(rows)


def best(lines: list[Line]) -> str:
    """For each system the best it reached at any time, with any settings."""
    rows = [
        "| system | best LPP | after, s | settings | best NPMI | after, s | settings |",
        "|---|---|---|---|---|---|---|",
    ]
    for system in dict.fromkeys(line["system"] for line in lines):
        own = [line for line in lines if line["system"] == system]
        cells = []
        for measure in ("lpp", "npmi"):
            top = max(own, key=lambda line: line[measure])
            cells.append(f"{top[measure]:.3f} | {top['seconds']:.1f} | {top['label']}")
        rows.append(f"| {system} | {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    import sys

    print(markdown(read(Path(sys.argv[1]))))
