"""The learning curves of Figures 1 and 2: the seven learners' runs, read and drawn."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from reproduction.data import Data
from reproduction.experiment import Report, Run
from reproduction.learners import NAMES, NO_TOPICS, SEVEN, learning_curve, word_frequencies
from reproduction.plots import LOOKS, draw_line, legend, panels, tidy
from reproduction.rows import Rows, grouped, mean_row, where
from reproduction.settings import Settings

AVERAGED = ("seconds", "inference_seconds", "lpp", "lpp_error", "lpp_micro", "npmi", "incoherent")
MEASURES = {"lpp": "log predictive probability", "npmi": "NPMI of the top words"}


def curves(settings: Settings, data: Data) -> Sequence[Run]:
    """Return a run for each learner and seed, and one of word frequencies alone."""
    n_points = 5 if settings.quick else 16
    return [
        *(
            Run(name, learning_curve, {"learner": name, "seed": seed, "n_points": n_points})
            for seed in settings.seeds()
            for name in NAMES
        ),
        Run(NO_TOPICS, without_topics),
    ]


def without_topics(data: Data, settings: Settings, report: Report) -> Rows:
    """Return one row, of what word frequencies predict."""
    about = {"learner": NO_TOPICS, "seed": settings.seed, "documents": data.train.shape[0]}
    return [{**about, "pass": 1, **word_frequencies(data, settings)}]


def frequencies_alone(rows: Rows) -> float | None:
    """Return the LPP of word frequencies, if it was measured."""
    return next((row["lpp"] for row in where(rows, learner=NO_TOPICS)), None)


def curve(rows: Rows, learner: str) -> Rows:
    """Return one learner's points in their order, means over its seeds."""
    points = grouped(where(rows, learner=learner), "documents")
    return [mean_row(points[documents], AVERAGED) for documents in sorted(points)]


def last(rows: Rows) -> Rows:
    """Return each learner's last point."""
    return [curve(rows, name)[-1] for name in grouped(rows, "learner") if name in NAMES]


def ends(rows: Rows, measure: str) -> dict[str, list[float]]:
    """Return each learner's final values, one per seed."""
    found: dict[str, list[float]] = {}
    for (name, _), own in grouped(rows, "learner", "seed").items():
        if name in NAMES:
            end = max(own, key=lambda row: row["documents"])
            found.setdefault(name, []).append(end[measure])
    return found


def untestable(rows: Rows) -> str | None:
    """Return the reason against a verdict on the seven learners, or None."""
    return None if set(grouped(rows, "learner")) >= set(SEVEN) else "it takes all seven learners"


def draw_curves(rows: Rows, x: str, label: str) -> Figure:
    """Draw both measures of all learners against a column."""
    figure, axes = panels(2, width=5.2, height=4.2)
    for panel, (measure, title) in zip(axes.flat, MEASURES.items(), strict=True):
        for name in NAMES:
            points = curve(rows, name)
            if points:
                draw_line(panel, name, [p[x] for p in points], [p[measure] for p in points])
        if measure == "lpp" and (alone := frequencies_alone(rows)) is not None:
            look = LOOKS[NO_TOPICS]
            panel.axhline(alone, color=look.colour, ls=look.dash, lw=1.6, label=NO_TOPICS)
        panel.set(xscale="log", xlabel=label, ylabel=title)
        tidy(panel)
    legend(figure, axes)
    return figure
