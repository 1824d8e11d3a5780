"""From settings and data to a folder of tables, figures and verdicts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import opelda
from opelda.errors import InputError
from opelda.experiments._data import Data
from opelda.experiments._experiment import Experiment, Rows, Run, Verdict
from opelda.experiments._results import Kept, write_results
from opelda.experiments._settings import Settings

# in the paper's order; each is a module of this package
NAMES = (
    "learning-time",
    "learning-documents",
    "sensitivity",
    "inference-time",
    "stability",
    "methods-table",
    "short-text",
)
# told the run, its number from 0, how many there are, and the share of it that is done
Progress = Callable[[Run, int, int, float], None]


@dataclass(frozen=True)
class Result:
    """What an experiment found.

    Attributes
    ----------
    experiment : Experiment
    rows : list of dict
        The table behind the figure.
    verdicts : list of Verdict
    files : list of path
        What was written: table, figure, verdict.
    n_runs, n_kept : int
        Runs it takes, and those of them that had been done before.
    """

    experiment: Experiment
    rows: Rows
    verdicts: list[Verdict]
    files: list[Path]
    n_runs: int
    n_kept: int


def experiment(name: str) -> Experiment:
    """Return an experiment by its name.

    Examples
    --------
    >>> experiment("learning-time").place
    'Figure 1'
    """
    if name not in NAMES:
        raise InputError(f"There is no experiment {name!r}; choose one of {', '.join(NAMES)}.")
    module = import_module(f"opelda.experiments.{name.replace('-', '_')}")
    found: Experiment = module.EXPERIMENT
    return found


def reproduce(
    name: str,
    data: Data,
    out: str | PathLike[str],
    settings: Settings | None = None,
    *,
    progress: Progress | None = None,
) -> Result:
    """Run an experiment and write its table, figure and verdict to ``out/name``.

    Runs that are done are kept in ``out/runs``: after an interruption the same call goes on where
    it was, and experiments that need the same runs share them.

    Parameters
    ----------
    name : str
        One of `opelda.experiments.NAMES`.
    data : Data
        See `prepare`.
    out : path
        A folder; made if it is not there.
    settings : Settings, optional
        The paper's, if left out.
    progress : callable, optional
        Called with the run, its number, how many there are, and the share of it that is done.

    Returns
    -------
    Result

    Examples
    --------
    >>> import tempfile
    >>> from opelda.corpus import generate
    >>> from opelda.experiments import prepare
    >>> settings = Settings.small(n_topics=3, n_passes=1)
    >>> data = prepare(generate(600, n_words=60, n_topics=3).X, settings, label="generated")
    >>> result = reproduce("stability", data, tempfile.mkdtemp(), settings)
    >>> sorted(path.name for path in result.files)[:3]
    ['about.json', 'data.csv', 'data.parquet']
    """
    chosen = experiment(name)
    settings = settings or Settings()
    style = figure_style()
    folder = _folder(out, name)
    kept = Kept(folder / "runs", data, settings)
    runs = chosen.runs(settings, data)
    rows: Rows = []
    n_kept = 0
    for number, run in enumerate(runs):
        tell = _teller(progress, run, number, len(runs))
        found = kept.read(run)
        if found is None:
            tell(0.0)
            found = run.measure(data, settings, tell, **run.parameters)
            kept.write(run, found)
        else:
            n_kept += 1
        tell(1.0)
        rows += found
    verdicts = chosen.judge(rows)
    with style:
        files = write_results(
            folder / name, rows, chosen.draw(rows), verdicts, _about(chosen, data, settings, runs)
        )
    return Result(chosen, rows, verdicts, files, len(runs), n_kept)


def _teller(
    progress: Progress | None, run: Run, number: int, total: int
) -> Callable[[float], None]:
    def tell(share: float) -> None:
        if progress is not None:
            progress(run, number, total, share)

    return tell


def figure_style() -> Any:
    """Return the context to draw in; complains where nothing can be drawn, so call it early."""
    try:
        from opelda.experiments._plots import style
    except ImportError:
        raise InputError(
            "Figures are drawn with matplotlib; install it with pip install 'opelda[plot]'."
        ) from None
    return style()


def _folder(out: str | PathLike[str], name: str) -> Path:
    """Make the folders before anything takes long."""
    folder = Path(out)
    for place in (folder, folder / "runs", folder / name):
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"The folder {place} cannot be made: {error.strerror}; choose another to write to."
            ) from None
    return folder


def _about(
    chosen: Experiment, data: Data, settings: Settings, runs: Sequence[Run]
) -> dict[str, Any]:
    import os
    import platform

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
