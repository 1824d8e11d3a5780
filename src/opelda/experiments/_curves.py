"""What Figures 1 and 2 share: the seven learners' ways, and how they are drawn."""

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from opelda.experiments._data import Data
from opelda.experiments._experiment import Report, Row, Rows, Run
from opelda.experiments._learning import NAMES, NO_TOPICS, SEVEN, learning_curve, word_frequencies
from opelda.experiments._settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AVERAGED = ("seconds", "inference_seconds", "lpp", "lpp_error", "lpp_micro", "npmi", "incoherent")
MEASURES = {"lpp": "log predictive probability", "npmi": "NPMI of the top words"}


def curves(settings: Settings) -> Sequence[Run]:
    """Return a run for each learner and seed, and one of word frequencies alone."""
    return [
        *(
            Run(name, learning_curve, {"learner": name, "seed": s, "n_points": _points(settings)})
            for s in settings.seeds()
            for name in NAMES
        ),
        Run(NO_TOPICS, without_topics),
    ]


def without_topics(data: Data, settings: Settings, report: Report) -> Rows:
    """Return one row, of what word frequencies predict."""
    none = dict.fromkeys(("seconds", "inference_seconds", "npmi", "incoherent"))
    about = {"learner": NO_TOPICS, "seed": settings.seed, "documents": data.train.shape[0]}
    return [{**about, "pass": 1, "updates": 0, **none, **word_frequencies(data, settings)}]


def frequencies_alone(rows: Rows) -> float | None:
    """Return the LPP of word frequencies, if it was measured."""
    return next((row["lpp"] for row in rows if row["learner"] == NO_TOPICS), None)


def _points(settings: Settings) -> int:
    return 5 if settings.quick else 16


def means(rows: Rows, learner: str) -> Rows:
    """Return one learner's points in their order, means over its seeds."""
    points: dict[int, Rows] = {}
    for row in rows:
        if row["learner"] == learner:
            points.setdefault(row["documents"], []).append(row)
    return [_mean(points[documents]) for documents in sorted(points)]


def _mean(rows: Rows) -> Row:
    return rows[0] | {
        name: fmean(row[name] for row in rows)
        for name in AVERAGED
        if name in rows[0] and all(row[name] is not None for row in rows)
    }


def last(rows: Rows) -> Rows:
    """Return each learner's last point."""
    names = dict.fromkeys(row["learner"] for row in rows if row["learner"] in NAMES)
    return [means(rows, name)[-1] for name in names]


def ends(rows: Rows, measure: str) -> dict[str, list[float]]:
    """Return what each learner ends with, a value for each of its seeds."""
    found: dict[str, dict[int, Row]] = {}
    for row in rows:
        if row["learner"] in NAMES:
            seeds = found.setdefault(row["learner"], {})
            if row["documents"] >= seeds.get(row["seed"], row)["documents"]:
                seeds[row["seed"]] = row
    return {name: [row[measure] for row in seeds.values()] for name, seeds in found.items()}


def complete(rows: Rows) -> bool:
    """Whether all seven learners of the paper are there."""
    return {row["learner"] for row in rows} >= set(SEVEN)


def listed(values: dict[str, str]) -> str:
    """Write names and values in a line."""
    return ", ".join(f"{name} {value}" for name, value in values.items())


def draw_curves(rows: Rows, x: str, label: str) -> "Figure":
    """Draw both measures of all learners against a column."""
    from opelda.experiments._plots import LOOKS, draw_line, legend, panels, tidy

    figure, axes = panels(2, width=5.2, height=4.2)
    for panel, (measure, title) in zip(axes.flat, MEASURES.items(), strict=True):
        for name in NAMES:
            points = means(rows, name)
            if points:
                draw_line(panel, name, [p[x] for p in points], [p[measure] for p in points])
        if measure == "lpp" and (alone := frequencies_alone(rows)) is not None:
            look = LOOKS[NO_TOPICS]
            panel.axhline(alone, color=look.colour, ls=look.dash, lw=1.6, label=NO_TOPICS)
        panel.set(xscale="log", xlabel=label, ylabel=title)
        tidy(panel)
    legend(figure, axes)
    return figure
