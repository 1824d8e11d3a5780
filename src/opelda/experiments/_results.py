"""Runs that are done and kept, and what an experiment writes: each file whole or not there."""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import opelda
from opelda.experiments._data import Data
from opelda.experiments._experiment import Rows, Run, Verdict
from opelda.experiments._settings import Settings

PACKAGE = Path(opelda.__file__).parent


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
            "code": f"{opelda.__version__} {sources_hash(PACKAGE)}",
            "data": data.fingerprint,
            # a run is of one seed: those of fewer seeds are among those of more
            "settings": settings.changed(n_seeds=1).to_dict(),
        }

    def read(self, run: Run) -> Rows | None:
        """Return the rows of a run that is done, or None."""
        name, path = self._name(run), self._path(run)
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            rows: Rows = kept.pop("rows")
            sound = kept.pop("checksum") == _hash(json.dumps(rows))
            return rows if sound and _as_text(kept) == name else None
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None  # not there, or damaged: done again

    def write(self, run: Run, rows: Rows) -> None:
        """Keep the rows of a run."""
        self.folder.mkdir(parents=True, exist_ok=True)
        checksum = _hash(json.dumps(rows, allow_nan=False))
        kept = {**json.loads(self._name(run)), "rows": rows, "checksum": checksum}
        _write(self._path(run), json.dumps(kept, indent=1).encode())

    def _name(self, run: Run) -> str:
        measure = f"{run.measure.__module__}.{run.measure.__qualname__}"
        return _as_text({**self._fixed, "measure": measure, "parameters": run.parameters})

    def _path(self, run: Run) -> Path:
        return self.folder / f"{_hash(self._name(run))}.json"


@cache
def sources_hash(package: Path) -> str:
    """Return a short text that changes with the Python files of a package.

    >>> sources_hash(PACKAGE) == sources_hash(PACKAGE / "experiments")
    False
    """
    files = sorted((path.relative_to(package).as_posix(), path) for path in package.rglob("*.py"))
    sums = [(name, hashlib.sha256(path.read_bytes()).hexdigest()) for name, path in files]
    return _hash(repr(sums))[:12]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


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
        _write(folder / name, content)
    return [folder / name for name in files]


def _write(path: Path, content: bytes) -> None:
    from opelda.corpus.formats._files import write_in_one_step

    with write_in_one_step(path) as file:
        file.write(content)
