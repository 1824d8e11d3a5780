"""Documents' mixtures as files: Parquet, CSV, JSON Lines, NumPy; block by block."""

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opelda.errors import InputError

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = {".parquet": "parquet", ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".npz": "npz"}
COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")


@dataclass(frozen=True)
class Rows:
    """What was found for some consecutive documents."""

    first: int
    names: list[str] | None
    tokens: NDArray[np.float64]
    unknown_tokens: NDArray[np.float64]
    gap: NDArray[np.float64]
    likelihood_loss: NDArray[np.float64]
    theta: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.theta)

    @property
    def facts(self) -> dict[str, NDArray[np.float64]]:
        """The columns beside the topics."""
        return {
            "tokens": self.tokens,
            "unknown_tokens": self.unknown_tokens,
            "gap": self.gap,
            "likelihood_loss": self.likelihood_loss,
        }

    def kept(self, min_weight: float) -> NDArray[np.bool_]:
        """Which topics of each document are heavy enough; the heaviest always is."""
        keep: NDArray[np.bool_] = self.theta >= min_weight
        keep[np.arange(len(self)), self.theta.argmax(axis=1)] = True
        return keep


Write = Callable[[Rows], None]


def format_of(output: str) -> str:
    """Return the format that a file's name stands for.

    >>> format_of("theta.parquet"), format_of("theta.csv.gz"), format_of("-")
    ('parquet', 'csv', 'jsonl')
    """
    if output == "-":
        return "jsonl"
    path = Path(output)
    squeezed = path.suffix in COMPRESSIONS
    kind = SUFFIXES.get(Path(path.stem).suffix if squeezed else path.suffix)
    if kind is None or (squeezed and kind in ("parquet", "npz")):
        raise InputError(
            f"The output {output!r} must end in one of {', '.join(SUFFIXES)}; text also in .gz, "
            ".xz, .bz2 or .zst after that."
        )
    return kind


@contextmanager
def writer(output: str, kind: str, *, sparse: bool, min_weight: float) -> Iterator[Write]:
    """Give what writes some documents; the file appears in one step, when all are written."""
    from opelda.corpus.formats._files import write_in_one_step

    beside = Path(output).resolve().parent  # where there must be room for it anyway
    with ExitStack() as stack:
        file = stack.enter_context(write_in_one_step(output))
        if kind == "npz":
            from opelda.cli._arrays import arrays

            yield stack.enter_context(arrays(file, beside, sparse=sparse, min_weight=min_weight))
            return
        frame = _Frames(sparse, min_weight, nested=kind == "jsonl")
        if kind == "parquet":
            yield stack.enter_context(_parquet(file, frame, beside))
        else:
            yield _text(file, kind, frame)


class _Frames:
    """Rows as data frames that all have the same columns."""

    def __init__(self, sparse: bool, min_weight: float, nested: bool) -> None:
        self.sparse = sparse
        self.min_weight = min_weight
        self.nested = nested
        self.named: bool | None = None

    def __call__(self, rows: Rows) -> "pl.DataFrame":
        import polars as pl

        if self.named is None:
            self.named = rows.names is not None
        numbers = range(rows.first, rows.first + len(rows))
        documents: Any = pl.Series("document", numbers, dtype=pl.Int64)
        if self.named:
            documents = pl.Series("document", rows.names or [str(n) for n in numbers])
        facts = pl.DataFrame({"document": documents, **rows.facts})
        if not self.sparse:
            if self.nested:
                return facts.with_columns(pl.Series("theta", list(rows.theta)))
            names = [f"topic_{k}" for k in range(rows.theta.shape[1])]
            return facts.hstack(pl.DataFrame(rows.theta, schema=names).get_columns())
        return self._sparse(facts, rows)

    def _sparse(self, facts: "pl.DataFrame", rows: Rows) -> "pl.DataFrame":
        """Return a row for each topic kept, or a list of them, the heaviest first."""
        import polars as pl

        document, topic = np.nonzero(rows.kept(self.min_weight))
        weight = rows.theta[document, topic]
        order = np.lexsort((topic, -weight, document))
        long = pl.DataFrame(
            {
                "row": document[order],
                "topic": topic[order].astype(np.int32),
                "weight": weight[order],
            }
        )
        facts = facts.with_columns(pl.int_range(pl.len()).alias("row"))
        if not self.nested:
            return facts.join(long, on="row", how="left", maintain_order="left_right").drop("row")
        lists = long.group_by("row", maintain_order=True).agg(
            pl.struct("topic", "weight").alias("topics")
        )
        return facts.join(lists, on="row", how="left", maintain_order="left").drop("row")


def _text(file: Any, kind: str, frame: _Frames) -> Write:
    first = True

    def write(rows: Rows) -> None:
        nonlocal first
        found, text = frame(rows), io.BytesIO()
        if kind == "jsonl":
            found.write_ndjson(text)
        else:
            found.write_csv(text, include_header=first, separator="," if kind == "csv" else "\t")
        file.write(text.getvalue())  # not by polars, whose errors do not say what happened
        first = False

    return write


@contextmanager
def _parquet(file: Any, frame: _Frames, beside: Path) -> Iterator[Write]:
    """Collect blocks in a folder and put them together at the end: one file, little memory."""
    import polars as pl

    from opelda.corpus.formats._output import writing_by_polars

    with TemporaryDirectory(prefix=".opelda-", dir=beside) as folder:
        n_parts = 0

        def write(rows: Rows) -> None:
            nonlocal n_parts
            with writing_by_polars():
                frame(rows).write_ipc(Path(folder, f"{n_parts:09}.arrow"))
            n_parts += 1

        yield write
        with writing_by_polars():
            pl.scan_ipc(Path(folder, "*.arrow")).sink_parquet(file)
