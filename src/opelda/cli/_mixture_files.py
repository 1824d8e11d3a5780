"""Documents' mixtures as files: Parquet, CSV, Excel, JSON Lines, NumPy; block by block."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from opelda.cli._spreadsheet import BestTopics, Sheet, safe_texts
from opelda.cli._standard_streams import safe_json, tell
from opelda.corpus import MiniBatch
from opelda.corpus._matrix import row_sums
from opelda.corpus.formats._compression import SUFFIXES as COMPRESSIONS
from opelda.corpus.formats._compression import without_suffix
from opelda.corpus.formats._writing import polars_errors, write_in_one_step
from opelda.errors import InputError

SUFFIXES = {
    ".parquet": "parquet", ".csv": "csv", ".tsv": "tsv", ".xlsx": "xlsx", ".jsonl": "jsonl",
    ".npz": "npz",
}  # fmt: skip
ARCHIVES = ("parquet", "xlsx", "npz")  # are compressed already
SPREADSHEETS = ("csv", "tsv", "xlsx")  # are for people, if nothing else is asked for

# Characters of a name in an array of NumPy, which gives every name the room of the longest.
LONGEST_NAME = 1_000

Write = Callable[[pl.DataFrame, NDArray[np.float32]], None]


def format_of(output: str) -> str:
    """Return the format that a file's name stands for.

    >>> format_of("theta.parquet"), format_of("theta.csv.gz"), format_of("-")
    ('parquet', 'csv', 'jsonl')
    """
    if output == "-":
        return "jsonl"
    plain, compression = without_suffix(output)
    kind = SUFFIXES.get(Path(plain).suffix)
    if kind is None or (compression and kind in ARCHIVES):
        raise InputError(
            f"The output {output!r} must end in one of {', '.join(SUFFIXES)}; text also in "
            f"{', '.join(COMPRESSIONS)} after that."
        )
    return kind


def facts_of(batch: MiniBatch, first: int, found: Any) -> pl.DataFrame:
    """Return the columns beside the topics for documents numbered from `first` on."""
    assert batch.n_tokens is not None  # as of every stream
    numbers = range(first, first + batch.X.shape[0])
    names = batch.names and [name or str(n) for name, n in zip(batch.names, numbers, strict=True)]
    return pl.DataFrame(
        {
            "document": names or list(numbers),
            "tokens": found.n_tokens,
            "unknown_tokens": batch.n_tokens - row_sums(batch.X),
            "loss": found.loss,
        }
    )


@contextmanager
def writer(
    output: str, kind: str, min_weight: float | None, best: BestTopics | None = None
) -> Iterator[Write]:
    """Give a function of documents' facts and mixtures, whose file appears in one step at the end.

    Lighter topics than `min_weight` are left out; None is every topic. With `best` a document has
    one row, with its best topics.
    """

    def table(facts: pl.DataFrame, theta: NDArray[np.float32]) -> pl.DataFrame:
        if best is not None:
            return best.table(facts, theta)
        return _table(facts, theta, min_weight, nested=kind == "jsonl")

    with write_in_one_step(output) as file:
        if kind not in ARCHIVES:
            yield _text(file, kind, table, sys.stdout.encoding if output == "-" else None)
            return
        # rows wait beside the output, where there must be room anyway
        beside: dict[str, Any] = {"dir": Path(output).resolve().parent, "prefix": ".opelda-"}
        with TemporaryDirectory(**beside, ignore_cleanup_errors=True) as folder:
            if kind == "xlsx":
                with Sheet(file, folder) as sheet:
                    yield lambda facts, theta: sheet.add(_whole(table(facts, theta)))
                if sheet.n_cut:
                    n = f"{sheet.n_cut:,}"
                    tell(f"{n} cells had more than 32,767 characters and were cut there.")
                return
            parts = (_Parquet if kind == "parquet" else _Npz)(folder, min_weight)
            yield parts.add
            parts.join(file)


def _text(file: Any, kind: str, table: Any, encoding: str | None) -> Write:
    first = True

    def add(facts: pl.DataFrame, theta: NDArray[np.float32]) -> None:
        nonlocal first
        rows = _whole(table(facts, theta))
        if kind == "jsonl":
            text = rows.write_ndjson()
            if facts["document"].dtype == pl.String:
                text = safe_json(text, encoding)
        else:
            separator = "," if kind == "csv" else "\t"
            text = safe_texts(rows).write_csv(include_header=first, separator=separator)
        file.write(text.encode())  # not by polars, whose errors do not say what happened
        first = False

    return add


def _whole(table: pl.DataFrame) -> pl.DataFrame:
    """Return tokens as whole numbers, where they are."""
    names = [name for name in ("tokens", "unknown_tokens") if (table[name] % 1 == 0).all()]
    return table.with_columns(pl.col(names).cast(pl.Int64))


class _Parquet:
    """Blocks of rows as Arrow files, put together at the end."""

    def __init__(self, folder: str, min_weight: float | None) -> None:
        self.folder, self.min_weight = folder, min_weight
        self.parts: list[Path] = []
        self.schema = pl.Schema()

    def add(self, facts: pl.DataFrame, theta: NDArray[np.float32]) -> None:
        table = _table(facts, theta, self.min_weight)
        self.parts.append(Path(self.folder, f"{len(self.parts)}.arrow"))
        with polars_errors():
            table.write_ipc(self.parts[-1])
        # if any block has names of documents, all numbers become text
        named = self.schema.get("document") == pl.String
        self.schema = table.schema
        if named:
            self.schema["document"] = pl.String()

    def join(self, file: Any) -> None:
        with polars_errors():
            register_io_source(self._tables, schema=self.schema).sink_parquet(file)

    def _tables(self, *_: Any) -> Iterator[pl.DataFrame]:
        for path in self.parts:
            # polars would expand brackets and stars in a path
            with open(path, "rb") as part:
                yield pl.read_ipc(part).cast(self.schema)


class _Npz:
    """Arrays that grow on disk, put together as an archive for `numpy.load`."""

    def __init__(self, folder: str, min_weight: float | None) -> None:
        self.folder, self.min_weight = folder, min_weight
        self.dtypes: dict[str, np.dtype[Any]] = {}
        self.names: list[str] = []
        self.n_topics = self.n_kept = 0

    def add(self, facts: pl.DataFrame, theta: NDArray[np.float32]) -> None:
        arrays = {name: facts[name].to_numpy() for name in facts.columns[1:]}
        if self.min_weight is None:
            arrays["theta"] = theta
        else:
            keep = _kept(theta, self.min_weight)
            ends = self.n_kept + np.cumsum(keep.sum(axis=1))
            arrays["data"] = theta[keep]
            arrays["indices"] = np.nonzero(keep)[1].astype(np.int32)
            arrays["indptr"] = ends if self.names else np.insert(ends, 0, 0)
            self.n_kept, self.n_topics = int(ends[-1]), keep.shape[1]
        self.names += (str(name)[:LONGEST_NAME] for name in facts["document"])
        for name, values in arrays.items():
            dtype = self.dtypes.setdefault(name, values.dtype)
            with open(Path(self.folder, name), "ab") as file:
                file.write(np.ascontiguousarray(values, dtype).data)

    def join(self, file: Any) -> None:
        arrays: dict[str, Any] = {"document": np.array(self.names)}
        for name, dtype in self.dtypes.items():
            values = np.memmap(Path(self.folder, name), dtype, "r")
            arrays[name] = values.reshape(len(self.names), -1) if name == "theta" else values
        if self.min_weight is not None:  # as `scipy.sparse.load_npz` reads it
            arrays["shape"] = np.array([len(self.names), self.n_topics])
            arrays["format"] = np.array(b"csr")
        np.savez(file, **arrays)


def _kept(theta: NDArray[np.float32], min_weight: float) -> NDArray[np.bool_]:
    """Return which topics of each document are heavy enough; the heaviest always is."""
    keep: NDArray[np.bool_] = (theta >= min_weight) & (theta > 0)
    keep[np.arange(len(keep)), theta.argmax(axis=1)] = True
    return keep


def _table(
    facts: pl.DataFrame, theta: NDArray[np.float32], min_weight: float | None, nested: bool = False
) -> pl.DataFrame:
    """Return facts with a column for each topic, or with the topics that weigh enough.

    `nested` puts a document's topics into one cell; without, sparse ones have a row each.
    """
    if min_weight is None and nested:
        return facts.with_columns(pl.Series("theta", list(theta)))
    if min_weight is None:
        names = [f"topic_{k}" for k in range(theta.shape[1])]
        return facts.hstack(pl.DataFrame(theta, schema=names).get_columns())
    row, topic = np.nonzero(_kept(theta, min_weight))
    weight = theta[row, topic]
    order = np.lexsort((topic, -weight, row))  # a document's heaviest topic first
    long = facts[row].with_columns(
        topic=pl.Series(topic[order], dtype=pl.Int32), weight=pl.Series(weight[order])
    )
    if not nested:
        return long
    by_row = long.group_by(pl.Series("row", row), maintain_order=True)
    return facts.with_columns(by_row.agg(topics=pl.struct("topic", "weight"))["topics"])
