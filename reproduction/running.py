"""From settings and data to a folder of tables, figures and verdicts."""

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import opelda
from opelda.errors import InputError
from reproduction import (
    inference_time,
    learning_documents,
    learning_time,
    methods_table,
    sensitivity,
    short_text,
    stability,
)
from reproduction.data import Data
from reproduction.experiment import Experiment, Run, Verdict
from reproduction.plots import style
from reproduction.results import RunCache, write_results
from reproduction.rows import Rows
from reproduction.settings import Settings

# in the paper's order
MODULES = (
    learning_time,
    learning_documents,
    sensitivity,
    inference_time,
    stability,
    methods_table,
    short_text,
)
EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT for module in MODULES
}
NAMES = tuple(EXPERIMENTS)
# called with the run, its number from 0, the number of runs, and the finished share of the run
Progress = Callable[[Run, int, int, float], None]


@dataclass(frozen=True)
class Result:
    """The outcome of an experiment."""

    experiment: Experiment
    rows: Rows  # the table behind the figure
    verdicts: list[Verdict]
    files: list[Path]  # table, figure, verdicts, and their settings
    n_runs: int
    n_cached: int  # runs that had been done before


def find_experiment(name: str) -> Experiment:
    """Return an experiment by its name, or by its number in the paper.

    Examples
    --------
    >>> find_experiment("figure-1").name
    'learning-time'
    """
    for chosen in EXPERIMENTS.values():
        if name.lower() in (chosen.name, chosen.number):
            return chosen
    known = ", ".join(map(str, EXPERIMENTS.values()))
    raise InputError(f"There is no experiment {name!r}; choose one of {known}.")


def reproduce(
    name: str,
    data: Data,
    out: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    progress: Progress | None = None,
) -> Result:
    """Run an experiment and write its table, figure and verdicts to ``out/name``.

    Runs that are done are cached in ``out/runs``: after an interruption the same call resumes where
    it was, and experiments that need the same runs share them.

    `name` may be its number in the paper, "figure-1"; without settings they are the paper's.
    `progress` is called with the run, its number, how many there are, and the share of it done.

    Examples
    --------
    >>> import tempfile
    >>> from opelda.corpus import generate
    >>> from reproduction import prepare
    >>> settings = Settings.small(n_topics=3, n_passes=1)
    >>> data = prepare(generate(600, n_words=60, n_topics=3).X, settings, label="generated")
    >>> result = reproduce("stability", data, tempfile.mkdtemp(), settings)
    >>> sorted(path.name for path in result.files)[:3]
    ['about.json', 'data.csv', 'data.parquet']
    """
    chosen = find_experiment(name)
    settings = settings or Settings()
    folder = Path(out)
    for needed in (folder / "runs", folder / chosen.name):  # before anything takes long
        try:
            needed.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"The folder {needed} cannot be made: {error.strerror}; choose another to write to."
            ) from None
    cache = RunCache(folder / "runs", data, settings)
    runs = chosen.runs(settings, data)
    rows: Rows = []
    n_cached = 0
    for number, run in enumerate(runs):

        def report(share: float, run: Run = run, number: int = number) -> None:
            if progress is not None:
                progress(run, number, len(runs), share)

        found = cache.read(run)
        if found is None:
            report(0.0)
            found = run.measure(data, settings, report, **run.parameters)
            cache.write(run, found)
        else:
            n_cached += 1
        report(1.0)
        rows += found
    verdicts = chosen.judge(rows)
    about = _about(chosen, data, settings, runs) | {"verdicts": [asdict(v) for v in verdicts]}
    with style():
        files = write_results(folder / chosen.name, rows, chosen.draw(rows), verdicts, about)
    return Result(chosen, rows, verdicts, files, len(runs), n_cached)


def _about(
    chosen: Experiment, data: Data, settings: Settings, runs: Sequence[Run]
) -> dict[str, Any]:
    return {
        "experiment": chosen.name,
        "place": chosen.place,
        "data": data.label,
        "fingerprint": data.fingerprint,
        "documents": data.train.shape[0],
        "words": data.train.shape[1],
        "test_documents": data.test.shape[0],
        "test_splits": len(data.splits),
        "test_share_held_out": round(float(data.splits[0][1].sum() / data.test.sum()), 3),
        "settings": settings.to_dict(),
        "runs": len(runs),
        "opelda": opelda.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }
