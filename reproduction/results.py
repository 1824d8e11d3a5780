"""The cache of runs, and an experiment's files: each whole or not there."""

import hashlib
import io
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import polars
from matplotlib.figure import Figure

import opelda
from reproduction.data import Data
from reproduction.experiment import Run, Verdict
from reproduction.rows import Rows
from reproduction.settings import Settings

# a run is repeated when any Python file in these folders has changed
PACKAGES = (Path(opelda.__file__).parent, Path(__file__).parent)


class RunCache:
    """The rows of runs, a file each, named by everything that they depend on.

    joblib's Memory would not do: its key is the source of the measuring function alone, not of all
    the code below it.

    Examples
    --------
    >>> import tempfile
    >>> from opelda.corpus import generate
    >>> from reproduction.data import prepare
    >>> settings = Settings(n_test=10)
    >>> data = prepare(generate(30, n_words=9, n_topics=2).X, settings, label="generated")
    >>> cache = RunCache(Path(tempfile.mkdtemp()), data, settings)
    >>> run = Run("a run", dict, {"size": 3})
    >>> cache.read(run) is None
    True
    >>> cache.write(run, [{"size": 3, "seconds": 0.5}])
    >>> cache.read(run)
    [{'size': 3, 'seconds': 0.5}]
    """

    def __init__(self, folder: Path, data: Data, settings: Settings) -> None:
        self.folder = folder
        self._fixed = {
            "code": " ".join([opelda.__version__, *(sources_hash(path) for path in PACKAGES)]),
            "data": data.fingerprint,
            # a run has one seed, so that runs of fewer seeds are among the runs of more
            "settings": settings.changed(n_seeds=1).to_dict(),
        }

    def read(self, run: Run) -> Rows | None:
        """Return the rows of a run that is done, or None."""
        key, path = self._key(run), self._path(run)
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
            rows: Rows = entry.pop("rows")
            sound = entry.pop("checksum") == _hash(json.dumps(rows))
            return rows if sound and json.dumps(entry, sort_keys=True) == key else None
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None  # not there, or damaged: done again

    def write(self, run: Run, rows: Rows) -> None:
        """Keep the rows of a run."""
        checksum = _hash(json.dumps(rows, allow_nan=False))
        entry = {**json.loads(self._key(run)), "rows": rows, "checksum": checksum}
        _write(self._path(run), json.dumps(entry, indent=1).encode())

    def _key(self, run: Run) -> str:
        measure = f"{run.measure.__module__}.{run.measure.__qualname__}"
        key = {**self._fixed, "measure": measure, "parameters": run.parameters}
        return json.dumps(key, sort_keys=True)

    def _path(self, run: Run) -> Path:
        return self.folder / f"{_hash(self._key(run))}.json"


@cache
def sources_hash(package: Path) -> str:
    """Return a short text that changes with the Python files of a package.

    >>> sources_hash(PACKAGES[0]) == sources_hash(PACKAGES[1])
    False
    """
    files = sorted((path.relative_to(package).as_posix(), path) for path in package.rglob("*.py"))
    sums = [(name, hashlib.sha256(path.read_bytes()).hexdigest()) for name, path in files]
    return _hash(repr(sums))[:12]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def write_results(
    folder: Path, rows: Rows, figure: Figure, verdicts: list[Verdict], about: dict[str, Any]
) -> list[Path]:
    """Write an experiment's table, figure and verdicts; return the paths."""
    table = polars.DataFrame(rows, infer_schema_length=None)
    files: dict[str, bytes] = {"data.csv": table.write_csv().encode()}
    table.write_parquet(buffer := io.BytesIO())
    files["data.parquet"] = buffer.getvalue()
    for kind, metadata in (("png", None), ("svg", {"Date": None})):
        figure.savefig(buffer := io.BytesIO(), format=kind, metadata=metadata)
        files[f"figure.{kind}"] = buffer.getvalue()
    files["verdict.txt"] = "".join(f"{verdict}\n" for verdict in verdicts).encode()
    files["about.json"] = json.dumps(about, indent=1).encode()
    for name, content in files.items():
        _write(folder / name, content)
    return [folder / name for name in files]


def _write(path: Path, content: bytes) -> None:
    """Write a file in one step: an interruption leaves the former file, or no file."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
