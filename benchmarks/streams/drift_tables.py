"""Tables and figures of streams with known change, from the lines alone.

    python -m benchmarks.streams.drift_tables FILE.jsonl [FOLDER]

An event is about the theme if its topic is among the three that the theme's held-out titles have
most of beyond what other titles have, at the next point that was measured, or if half of its words
or more are typical of the theme (in one in 200 of its titles at least, and ten times as frequent as
in others). The delay is the documents from a stretch's begin to the first such event of a kind
within it; a topic of the theme that fades afterwards marks its end. Every event before the
first change is a false alarm, and in a stationary stream every event at all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from . import tables
from .tables import Line, finish, grouped, spread

ONSET = ("topic rising", "new topic", "topic changed", "new words", "prediction dropped")
KINDS = (*ONSET, "topic fading")
FILLED = 400_000  # documents, and the window is full
SOON = 20_000
BEFORE = 100_000  # documents that figures begin before the first change

LOOKS = tables.LOOKS | {
    "TopicModel, forgets at once": ("#AA4499", "-"),
    "TopicModel, never forgets": ("#117733", "-"),
    "OnlineOPE, D = 100,000": ("#0072B2", "--"),
}
MARKS = {
    "topic rising": "^",
    "topic fading": "v",
    "topic changed": "D",
    "new topic": "*",
    "new words": "s",
    "prediction dropped": "X",
}


def about_theme(event: Line, points: list[Line]) -> bool:
    """Tell whether an event is about the theme, by the first point after it, or the last."""
    if event["words"] and 2 * event["typical"] >= len(event["words"]):
        return True
    after = [point for point in points if point["documents"] >= event["document"]]
    topics = (after or points)[0 if after else -1].get("topics", [])
    return event["topic"] is not None and event["topic"] in [topic for topic, *_ in topics]


def delays(line: Line, stretch: int) -> dict[str, int]:
    """Return how many documents after a stretch's begin each kind of event was about the theme.

    Fading is counted from its end on, up to the next stretch.
    """
    begin, end = line["stretches"][stretch]
    nexts = [first for first, _ in line["stretches"] if first > begin]
    found: dict[str, int] = {}
    for event in line["events"]:
        fades, at = event["kind"] == "topic fading", event["document"]
        first, last = (end, min([*nexts, line["n_docs"]])) if fades else (begin, end)
        if first < at <= last and about_theme(event, line["points"]):
            found.setdefault(event["kind"], at - first)
    return found


def others(line: Line) -> list[Line]:
    """Return the events since the first change that are not about the theme."""
    begin = line["stretches"][0][0]
    since = [event for event in line["events"] if event["document"] > begin]
    return [event for event in since if not about_theme(event, line["points"])]


def false_alarms(line: Line) -> list[Line]:
    """Return the events before anything changed."""
    change = line["stretches"][0][0] if line["stretches"] else line["n_docs"]
    return [event for event in line["events"] if event["document"] <= change]


def while_on(line: Line) -> float | None:
    """Return the mean score of what came next while the theme was on."""
    scores = [
        point["lpp"]
        for point in line["points"]
        if "lpp" in point and any(a <= point["documents"] < b for a, b in line["stretches"])
    ]
    return float(np.mean(scores)) if scores else None


def at(line: Line, documents: int) -> Line:
    """Return the point after that number of documents."""
    return next(point for point in line["points"] if point["documents"] == documents)


def found_again(line: Line) -> tuple[bool, bool]:
    """Tell whether a theme that returned has its former topic: soon, and at the end."""
    former, (begin, end) = line["stretches"][0][1], line["stretches"][1]
    topic, *later = (at(line, n)["topics"][0][0] for n in (former, begin + SOON, end))
    return later[0] == topic, later[1] == topic


def arranged(lines: list[Line]) -> list[Line]:
    """Return the lines sorted by system and seed."""
    return sorted(lines, key=lambda line: (line["system"], line["seed"]))


def markdown(lines: list[Line]) -> str:
    """For each stream: scores, the theme's topic, and events."""
    rows = []
    for (stream, n_docs), found in grouped(arranged(lines), "corpus", "n_docs").items():
        stretches = found[0]["stretches"]
        on = " and ".join(f"{a:,} to {b:,}" for a, b in stretches)
        rows.append(f"\n{stream}, {n_docs:,} documents{on and f', theme on from {on}'}:\n")
        rows += scores(found)
        if stretches:
            rows += ["", *topics(found)]
        if any(line["events"] for line in found):
            rows += ["", *(noticed(found) if stretches else alarms(found))]
    return "\n".join(rows)


def boundaries(line: Line) -> list[int]:
    """Return the points of a theme: its start, soon after, its end, and the end of the stream."""
    some = [n for begin, end in line["stretches"] for n in (begin, begin + SOON, end)]
    return sorted({*some, line["n_docs"]})


def scores(lines: list[Line]) -> list[str]:
    """Return rows of log predictive probabilities."""
    marks = boundaries(lines[0]) if lines[0]["stretches"] else []
    head = ["system", "prequential LPP"]
    head += ["while it is on", *(f"theme at {n:,}" for n in marks)] if marks else []
    rows = header([*head, "seeds"])
    for (system,), runs in grouped(lines, "system").items():
        cells = [system, spread([run["prequential"] for run in runs])]
        if marks:
            cells.append(spread([while_on(run) for run in runs]))
            cells += [spread([at(run, n)["theme_lpp"] for run in runs]) for n in marks]
        rows.append(row([*cells, len(runs)]))
    return rows


def topics(lines: list[Line]) -> list[str]:
    """Return rows of how much of the theme its first topic has, and of others; its words."""
    marks, returns = boundaries(lines[0]), len(lines[0]["stretches"]) > 1
    head = ["system", *(f"its topic at {n:,}" for n in marks)]
    head += ["the former topic soon", "at its end"] if returns else []
    rows = header([*head, "its words at the first end"])
    for (system,), runs in grouped(lines, "system").items():
        if system == "frequencies":  # one topic
            continue
        cells = [system]
        for n in marks:
            own, other = np.mean([at(run, n)["topics"][0][1:] for run in runs], axis=0)
            number = f"{at(runs[0], n)['topics'][0][0]}: " if len(runs) == 1 else ""
            cells.append(f"{number}{own:.1%} ({other:.1%})")
        if returns:
            cells += [
                f"{sum(each)} of {len(runs)}" for each in zip(*map(found_again, runs), strict=True)
            ]
        words = at(runs[0], lines[0]["stretches"][0][1])["words"][:6]
        rows.append(row([*cells, " ".join(words)]))
    return rows


def noticed(lines: list[Line]) -> list[str]:
    """Return rows of delays, a number for each seed, and of events about something else."""
    rows = header(["system", "since", *KINDS, "others since", "before"])
    for (system,), runs in grouped(with_events(lines), "system").items():
        for number, (begin, _) in enumerate(runs[0]["stretches"]):
            found = [delays(run, number) for run in runs]
            cells = [
                ", ".join(f"{each[kind]:,}" if kind in each else "-" for each in found)
                for kind in KINDS
            ]
            sums = [[len(part(run)) for run in runs] for part in (others, false_alarms)]
            sums = [", ".join(map(str, part)) if number == 0 else "" for part in sums]
            rows.append(row([system, f"{begin:,}", *cells, *sums]))
    return rows


def alarms(lines: list[Line]) -> list[str]:
    """Return rows of false alarms per million documents, by kind."""
    head = ["system", *KINDS, f"first {FILLED:,}", "later", "a million documents"]
    rows = header(head)
    for (system,), runs in grouped(with_events(lines), "system").items():
        events = [event for run in runs for event in run["events"]]
        kinds = [sum(event["kind"] == kind for event in events) for kind in KINDS]
        early = sum(event["document"] <= FILLED for event in events)
        rate = len(events) / sum(run["n_docs"] for run in runs) * 1e6
        rows.append(row([system, *kinds, early, len(events) - early, f"{rate:.1f}"]))
    return rows


def with_events(lines: list[Line]) -> list[Line]:
    """Return the runs of systems that have events."""
    known = {line["system"] for line in lines if line["events"]}
    return [line for line in lines if line["system"] in known]


def header(cells: list[str]) -> list[str]:
    return [row(cells), "|" + "---|" * len(cells)]


def row(cells: list[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def draw(lines: list[Line], folder: Path) -> list[Path]:
    """Draw an SVG per stream: the score of the theme or of the next documents, and the events."""
    from reproduction.plots import panels, style

    paths = []
    for (stream, n_docs), found in grouped(arranged(lines), "corpus", "n_docs").items():
        stretches = found[0]["stretches"]
        name, label = ("theme_lpp", "the theme's") if stretches else ("lpp", "the next")
        begin = stretches[0][0] - BEFORE if stretches else 0
        with style():
            figure, axes = panels(1, width=9.0, height=4.4)
            for a, b in stretches:
                axes[0, 0].axvspan(a, b, color="#000000", alpha=0.07, lw=0)
            for (system,), runs in grouped(found, "system").items():
                curve(axes[0, 0], system, runs, name, begin)
            mark(axes[0, 0], found, begin)
            filled = "; an event's mark is filled if about the theme" if stretches else ""
            axes[0, 0].set_xlabel(f"documents so far{filled}")
            axes[0, 0].set_ylabel(f"LPP of {label} 1,000 documents")
            axes[0, 0].set_xlim(begin, n_docs)
            axes[0, 0].locator_params(axis="x", nbins=6)
            path = folder / f"drift-{stream}.svg"
            finish(figure, axes[0, 0], f"{stream}, {n_docs:,} documents", path)
        paths.append(path)
    return paths


def curve(axes: Any, system: str, runs: list[Line], name: str, begin: int) -> None:
    """Draw a system's mean over seeds, and from the least to the most."""
    colour, dash = LOOKS[system]
    points = [[p for p in run["points"] if p["documents"] >= begin and name in p] for run in runs]
    documents = [point["documents"] for point in points[0]]
    values = np.array([[point[name] for point in some] for some in points])
    axes.plot(documents, values.mean(axis=0), color=colour, ls=dash, label=system)
    axes.fill_between(
        documents, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.2, lw=0
    )


def mark(axes: Any, lines: list[Line], begin: int) -> None:
    """Mark the events of `TopicModel`'s first seed above the axis, filled if about the theme."""
    line = next((line for line in lines if line["system"] == "TopicModel"), None)
    known: set[str] = set()
    for event in line["events"] if line else []:
        if event["document"] < begin:
            continue
        kind, fill = event["kind"], "full" if about_theme(event, line["points"]) else "none"
        axes.plot(
            event["document"], 0.03, MARKS[kind], color="#000000", ms=6, fillstyle=fill,
            transform=axes.get_xaxis_transform(), label=None if kind in known else kind,
        )  # fmt: skip
        known.add(kind)


if __name__ == "__main__":
    import sys

    read = tables.read(Path(sys.argv[1]))
    print(markdown(read))
    if sys.argv[2:]:
        print(*draw(read, Path(sys.argv[2])), sep="\n")
