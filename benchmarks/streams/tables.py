"""Tables and figures from the lines alone.

python -m benchmarks.streams.tables FILE.jsonl [FOLDER]
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

Line = dict[str, Any]
COLUMNS = ("prequential", "lpp", "npmi")
# Colours of the paper's learners as in its figures.
LOOKS = {
    "frequencies": ("#888888", ":"),
    "OnlineOPE": ("#0072B2", "-"),
    "StreamingOPE": ("#56B4E9", "-"),
    "MLOPE": ("#D55E00", "-"),
    "TopicModel": ("#000000", "-"),
    "TopicModel, fast": ("#000000", "--"),
    "TopicModel, fit": ("#000000", ":"),
    "gensim": ("#009E73", "-"),
    "scikit-learn": ("#E69F00", "-"),
    "river": ("#882255", "-"),
    "vowpal-wabbit": ("#CC79A7", "-"),
}


def read(path: Path) -> list[Line]:
    """Return the lines of a file; of a run that is in it twice, the later one."""
    text = path.read_text() if path.exists() else ""
    latest = {}
    for line in map(json.loads, text.splitlines()):
        latest[line["corpus"], line["n_docs"], line["system"], line["seed"]] = line
    return list(latest.values())


def grouped(lines: Iterable[Line], *keys: str) -> dict[tuple[Any, ...], list[Line]]:
    groups: dict[tuple[Any, ...], list[Line]] = {}
    for line in lines:
        groups.setdefault(tuple(line[key] for key in keys), []).append(line)
    return groups


def markdown(lines: list[Line]) -> str:
    """For each stream and system: means over seeds, and half of the way from least to most."""
    rows = []
    for (corpus, n_docs), found in grouped(lines, "corpus", "n_docs").items():
        rows += [
            f"\n{corpus}, {n_docs:,} documents:\n",
            "| system | prequential LPP | held-out LPP | NPMI | documents a second | seeds |",
            "|---|---|---|---|---|---|",
        ]
        for (system,), runs in grouped(found, "system").items():
            cells = [spread([run[name] for run in runs]) for name in COLUMNS]
            rate = np.mean([run["documents"] / max(run["seconds"], 1e-9) for run in runs])
            done = np.mean([run["documents"] for run in runs])
            label = system if done == n_docs else f"{system}, its first {done:,.0f}"
            rows.append(f"| {label} | {' | '.join(cells)} | {rate:,.0f} | {len(runs)} |")
    return "\n".join(rows)


def spread(values: list[float | None]) -> str:
    """Write a mean, and how far the values are from it."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    mean = f"{np.mean(known):.3f}"
    return mean if len(known) == 1 else f"{mean} ± {(max(known) - min(known)) / 2:.3f}"


def draw(lines: list[Line], folder: Path) -> list[Path]:
    """Draw an SVG per stream: the score of the next documents against the documents so far."""
    from reproduction.plots import panels, style

    paths = []
    for (corpus, n_docs), found in grouped(lines, "corpus", "n_docs").items():
        with style():
            figure, axes = panels(1, width=8.0, height=4.4)
            for (system,), runs in grouped(found, "system").items():
                curve(axes[0, 0], system, runs)
            axes[0, 0].set(xlabel="documents so far", ylabel="LPP of the next 1,000 documents")
            path = folder / f"streams-{corpus}.svg"
            finish(figure, axes[0, 0], f"{corpus}, {n_docs:,} documents", path)
        paths.append(path)
    return paths


def finish(figure: Any, axis: Any, title: str, path: Path) -> None:
    """Give a figure over documents its title and legend, and write it; the same bytes each time."""
    from reproduction.plots import tidy

    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.set_title(title, loc="left")
    tidy(axis)
    figure.legend(loc="outside right upper")
    figure.savefig(path, metadata={"Date": None})


def curve(axes: Any, system: str, runs: list[Line]) -> None:
    """Draw a system's mean over seeds; one that had all documents at once as a level."""
    colour, dash = LOOKS[system]
    shared = min(len(run["points"]) for run in runs)
    if not shared:
        if all(run["documents"] == run["n_docs"] for run in runs):
            level = float(np.mean([run["lpp"] for run in runs]))
            axes.axhline(level, color=colour, ls=dash, lw=1, label=f"{system} (held-out)")
        return
    at = [documents for documents, *_ in runs[0]["points"][:shared]]
    scores = np.array([[point[2] for point in run["points"][:shared]] for run in runs])
    axes.plot(at, scores.mean(axis=0), color=colour, ls=dash, label=system)
    axes.fill_between(at, scores.min(axis=0), scores.max(axis=0), color=colour, alpha=0.2, lw=0)


if __name__ == "__main__":
    import sys

    known = read(Path(sys.argv[1]))
    print(markdown(known))
    if sys.argv[2:]:
        print(*draw(known, Path(sys.argv[2])), sep="\n")
