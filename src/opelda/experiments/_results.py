"""Runs that are done and kept, and what an experiment writes: each file whole or not there."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import opelda
from opelda.experiments._data import Data
from opelda.experiments._experiment import Rows, Run, Verdict
from opelda.experiments._settings import Settings


class Kept:
    """The rows of runs, a file each, named by everything that they depend on.

    Parameters
    ----------
    folder : path
    data : Data
    settings : Settings

    Examples
    --------
    >>> import tempfile
    >>> from opelda.corpus import generate
    >>> from opelda.experiments._data import prepare
    >>> settings = Settings(n_test=10)
    >>> data = prepare(generate(30, n_words=9, n_topics=2).X, settings, label="generated")
    >>> kept = Kept(Path(tempfile.mkdtemp()), data, settings)
    >>> run = Run("a run", dict, {"size": 3})
    >>> kept.read(run) is None
    True
    >>> kept.write(run, [{"size": 3, "seconds": 0.5}])
    >>> kept.read(run)
    [{'size': 3, 'seconds': 0.5}]
    """

    def __init__(self, folder: Path, data: Data, settings: Settings) -> None:
        self.folder = folder
        self._fixed = {
            "version": opelda.__version__,
            "data": data.fingerprint,
            "settings": settings.to_dict(),
        }

    def read(self, run: Run) -> Rows | None:
        """Return the rows of a run that is done, or None."""
        try:
            kept = json.loads(self._path(run).read_text(encoding="utf-8"))
        except (OSError, ValueError):  # not there, or damaged: done again
            return None
        rows = kept.pop("rows", None) if isinstance(kept, dict) else None
        sound = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
        return rows if sound and _as_text(kept) == self._name(run) else None

    def write(self, run: Run, rows: Rows) -> None:
        """Keep the rows of a run."""
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = {**json.loads(self._name(run)), "rows": rows}
        text = json.dumps(kept, indent=1, allow_nan=False)
        write_whole(self._path(run), text.encode())

    def _name(self, run: Run) -> str:
        measure = f"{run.measure.__module__}.{run.measure.__qualname__}"
        return _as_text({**self._fixed, "measure": measure, "parameters": run.parameters})

    def _path(self, run: Run) -> Path:
        return self.folder / f"{hashlib.sha256(self._name(run).encode()).hexdigest()[:24]}.json"


def _as_text(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True)


def write_results(
    folder: Path, rows: Rows, figure: Any, verdicts: list[Verdict], about: dict[str, Any]
) -> list[Path]:
    """Write an experiment's table, figure and verdict; return the paths."""
    import io

    import polars

    table = polars.DataFrame(rows, infer_schema_length=None)
    files: dict[str, bytes] = {"data.csv": table.write_csv().encode()}
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    files["data.parquet"] = buffer.getvalue()
    for kind, metadata in (("png", None), ("svg", {"Date": None})):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, metadata=metadata)
        files[f"figure.{kind}"] = buffer.getvalue()
    files["verdict.txt"] = "".join(f"{verdict}\n" for verdict in verdicts).encode()
    files["about.json"] = json.dumps(about, indent=1).encode()
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_whole(folder / name, content)
    return [folder / name for name in files]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place, then put it there in one step."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
