"""Tables and documents' mixtures as files: Parquet, CSV, Excel, JSON Lines, NumPy."""

import io
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source
from scipy import sparse
from xlsxwriter import Workbook
from xlsxwriter.exceptions import FileCreateError

from opelda.cli._terminal import count, safe_json, tell
from opelda.corpus import MiniBatch
from opelda.corpus._column_names import usual_column
from opelda.corpus._matrix import row_sums
from opelda.corpus._time_reader import TimeReader
from opelda.corpus.formats._compression import without_suffix
from opelda.corpus.formats._writing import polars_errors, safe_cell, write_in_one_step
from opelda.errors import InputError

FORMATS = ("parquet", "csv", "tsv", "xlsx", "jsonl", "npz")
WIDTHS = {"document": 50, "words": 60}  # of columns in .xlsx
ARCHIVES = ("parquet", "xlsx", "npz")  # are compressed
SHARES = ("weight", "topic_", "low", "high", "main_topic_probability")  # columns in percent
SPREADSHEETS = ("csv", "tsv", "xlsx")  # have a row of best topics by default
MOST_ROWS, MOST_COLUMNS, MOST_LETTERS = 1_048_576, 16_384, 32_767  # of a sheet, and of a cell

# what XML cannot hold, what moves a cursor or turns text around, and the first of two escapes that
# share an underscore, which XlsxWriter leaves unchanged
OWN = re.compile(  # columns
    r"document|(unknown_)?tokens|loss|main_topic_probability"
    r"|(topic(_low|_high)?|label|weight|low|high)([ _]\d+)?"
)

# with at most the 15 digits of Excel, and without leading zeros
NUMBER = r"^-?(?:0|[1-9]\d{0,14}|(?:0|[1-9]\d{0,8})\.\d{1,6})$"

_ODD = re.compile(
    "[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
    "|_(?=x[0-9A-Fa-f]{4}_x[0-9A-Fa-f]{4}_)"
)

# lower and upper ends of credible intervals
Bounds = tuple[NDArray[np.float32], NDArray[np.float32]] | None
Write = Callable[[pl.DataFrame, NDArray[np.float32], Bounds], None]


def format_of(output: str) -> str:
    """Return the format of a file name."""
    if output == "-":
        return "jsonl"
    plain, compression = without_suffix(output)
    kind = Path(plain).suffix[1:]
    if kind not in FORMATS or (compression and kind in ARCHIVES):
        raise InputError(f"The output {output!r} must end in one of .{', .'.join(FORMATS)}.")
    return kind


def facts_of(batch: MiniBatch, first: int, found: Any) -> pl.DataFrame:
    """Return the columns beside the topics for documents numbered from `first` on."""
    assert batch.n_tokens is not None  # as of every stream
    numbers = range(first, first + batch.X.shape[0])
    names = batch.names and [name or str(n) for name, n in zip(batch.names, numbers, strict=True)]
    facts: dict[str, Any] = {
        "document": names or list(numbers),
        "tokens": found.n_tokens,
        "unknown_tokens": batch.n_tokens - row_sums(batch.X),
        "loss": found.loss,
    }
    if found.main_topic_probability is not None:
        facts["main_topic_probability"] = found.main_topic_probability
    return pl.DataFrame(facts)


class SourceColumns:
    """Columns of the source, written beside the mixtures; the first documents decide which."""

    def __init__(self, kind: str) -> None:
        self._names: list[str] | None = None
        # texts of .csv stay as in the source
        self._times = TimeReader() if kind == "xlsx" else None

    def beside(self, facts: pl.DataFrame, metadata: Any, but: dict[str, Any]) -> pl.DataFrame:
        """Return facts with columns of the same documents, numbers and dates as such."""
        found = pl.DataFrame() if metadata is None else metadata
        found = found.drop(but.get("metadata", ()), strict=False)  # embeddings
        self._names = found.columns if self._names is None else self._names
        time = usual_column("time", self._names)
        for name in self._names:
            values = found.get_column(name, default=pl.Series([None] * len(facts), dtype=pl.String))
            shown = f"{name} (input)" if OWN.fullmatch(name.lower()) else name
            facts = facts.with_columns(self.typed(values, name == time).alias(shown))
        return facts

    def typed(self, texts: pl.Series, is_time: bool) -> pl.Series:
        """Return numbers, and in .xlsx times, if all texts are; else the texts."""
        known = texts.drop_nulls()
        if known.str.contains(NUMBER).all():
            return texts.cast(
                pl.Float64 if known.str.contains(".", literal=True).any() else pl.Int64
            )
        if is_time and self._times is not None:
            with suppress(InputError):  # not times
                moments = pl.Series(self._times.read(texts.to_list()), dtype=pl.Datetime)
                first: Any = moments.min()
                if moments.is_null().equals(texts.is_null()) and first and first.year >= 1900:
                    return moments
        return texts


def best_topics(
    facts: pl.DataFrame,
    theta: NDArray[np.float32],
    bounds: Bounds,
    labels: Sequence[str],
    n: int,
    least: float,
) -> pl.DataFrame:
    """Return a row per document: source columns, best topics (number, label, weight), and facts.

    Topics lighter than `least` are empty, but for the first, and all of documents without words.
    """
    named = pl.Series(labels, dtype=pl.String)
    # of equals the lower number
    order = np.argsort(-theta, axis=1, kind="stable")[:, :n]
    weights = np.take_along_axis(theta, order, axis=1).astype(np.float64).round(4)
    shown = weights >= least
    shown[:, 0] = True
    shown &= (facts["tokens"].to_numpy() > 0)[:, np.newaxis]
    source = [column for column in facts if not OWN.fullmatch(column.name)]
    columns = [facts["document"], *source]
    for rank in range(order.shape[1]):
        part = {
            f"topic {rank + 1}": pl.Series(order[:, rank], dtype=pl.Int32),
            f"label {rank + 1}": named[order[:, rank]],
            f"weight {rank + 1}": weights[:, rank],
        }
        for name, ends in zip(("low", "high"), bounds or (), strict=False):
            own = np.take_along_axis(ends, order[:, [rank]], axis=1)[:, 0]
            part[f"{name} {rank + 1}"] = own.astype(np.float64).round(4)
        keep = pl.Series(shown[:, rank])
        columns += pl.DataFrame(part).select(pl.when(keep).then(pl.all())).get_columns()
    return pl.DataFrame(columns).hstack(facts.drop("document", *(each.name for each in source)))


@contextmanager
def writer(
    output: str,
    kind: str,
    min_weight: float | None,
    best: tuple[Sequence[str], int] | None = None,
    semicolons: bool = False,
    topics: Any = None,
) -> Iterator[Write]:
    """Return a function that writes documents' facts and mixtures to a file, atomically at the end.

    Topics below `min_weight` are excluded; None keeps all. With `best`, labels and a number
    n, a document has one row with its n best topics. An .xlsx file has a second sheet of `topics`.
    """

    def table(facts: pl.DataFrame, theta: NDArray[np.float32], bounds: Bounds) -> pl.DataFrame:
        if best is not None:
            found = best_topics(facts, theta, bounds, *best, min_weight or 0.0)
        else:
            found = _mixtures(facts, theta, bounds, min_weight, nested=kind == "jsonl")
        counts = ("tokens", "unknown_tokens")
        whole = [name for name in counts if (found[name] % 1 == 0).all()]
        return found.with_columns(pl.col(whole).cast(pl.Int64))

    with write_in_one_step(output) as file:
        if kind not in ARCHIVES:
            encoding = sys.stdout.encoding if output == "-" else None
            write = TextFile(file, kind, encoding, semicolons)
            yield lambda *given: write.add(table(*given))
            return
        # rows wait beside the output, where there must be room anyway
        beside: dict[str, Any] = {"dir": Path(output).resolve().parent, "prefix": ".opelda-"}
        with TemporaryDirectory(**beside, ignore_cleanup_errors=True) as folder:
            if kind == "xlsx":
                with Sheets(file, "documents", folder) as sheets:
                    yield lambda *given: sheets.add(table(*given))
                    if topics is not None:
                        sheets.begin("topics")
                        sheets.add(flat(topics))
                return
            parts = (_Parquet if kind == "parquet" else _Npz)(folder, min_weight)
            yield parts.add
            parts.join(file)


def flat(rows: Any) -> pl.DataFrame:
    """Return rows of `opelda.report.rows`, with a topic's words in one cell."""
    table = rows.to_polars().select(pl.exclude(pl.List(pl.Float64)))
    found: pl.DataFrame = table.with_columns(pl.col(pl.List(pl.String)).list.join(" "))
    return found


class TextFile:
    """Rows as lines of .csv, .tsv or .jsonl, written block by block.

    A .csv file begins with a byte order mark, without which Excel reads it in a code page. English
    Excel splits lines at commas, German Excel at `semicolons`, with decimal commas.
    """

    def __init__(
        self, file: Any, kind: str, encoding: str | None = None, semicolons: bool = False
    ) -> None:
        self._file, self._kind, self._encoding, self._is_first = file, kind, encoding, True
        self._separator = {"csv": ";" if semicolons else ",", "tsv": "\t"}.get(kind, "")

    def add(self, table: pl.DataFrame) -> None:
        texts = [column for column in table if column.dtype == pl.String]
        if self._kind == "jsonl":
            text = table.write_ndjson()
            if texts:
                text = safe_json(text, self._encoding)
        else:
            safe = (
                pl.Series(each.name, [t if t is None else safe_cell(t) for t in each], pl.String)
                for each in texts
            )
            rows = table.with_columns(safe).rename(safe_cell)
            text = rows.write_csv(
                include_header=self._is_first,
                separator=self._separator,
                decimal_comma=self._separator == ";",
            )
            text = "\ufeff" * (self._is_first and self._kind == "csv") + text
        self._file.write(text.encode())  # not by polars, whose errors do not say what happened
        self._is_first = False


class Sheets:
    """Sheets of an .xlsx file, one after the other, in blocks of rows that wait in a folder."""

    def __init__(self, file: Any, name: str, folder: str | None = None) -> None:
        # in memory: ZipFile would raise again on a full disk when it is closed
        self._file, self._packed = file, io.BytesIO()
        self._book = Workbook(self._packed, {"constant_memory": True, "tmpdir": folder})
        self._book.use_zip64()
        # the same mixtures give the same bytes
        self._book.set_properties({"created": datetime(1980, 1, 1)})
        self._bold = self._book.add_format({"bold": True})
        self._percent = self._book.add_format({"num_format": "0.0%"})
        self._round = self._book.add_format({"num_format": "0.00"})
        self._day = self._book.add_format({"num_format": "yyyy-mm-dd"})
        self._clock = self._book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        self._n_cut = 0
        self.begin(name)

    def begin(self, name: str) -> None:
        """Begin a sheet."""
        self._sheet, self._n_rows = self._book.add_worksheet(name), 0

    def add(self, table: pl.DataFrame) -> None:
        """Write rows, with the names of columns above the first."""
        if not self._n_rows:
            times = [name for name, kind in table.schema.items() if kind == pl.Datetime]
            self._write_names(table.columns, times)
        if self._n_rows + table.height > MOST_ROWS:
            raise InputError(f"A sheet has at most {MOST_ROWS:,} rows; write .csv.")
        rounded = {"score": self._round, "stability": self._round}
        formats = [
            self._percent if name.startswith(SHARES) else rounded.get(name)
            for name in table.columns
        ]
        for row in table.iter_rows():
            for column, value in enumerate(row):
                if isinstance(value, str):
                    self._sheet.write_string(self._n_rows, column, self._safe(value))
                elif isinstance(value, datetime):
                    form = self._clock if value.time() else self._day
                    self._sheet.write_datetime(self._n_rows, column, value, form)
                elif value is not None and math.isfinite(value):
                    self._sheet.write_number(self._n_rows, column, value, formats[column])
            self._n_rows += 1
        self._sheet.autofilter(0, 0, self._n_rows - 1, table.width - 1)

    def _write_names(self, names: Sequence[str], wide: Sequence[str] = ()) -> None:
        if len(names) > MOST_COLUMNS:
            raise InputError(f"A sheet has at most {MOST_COLUMNS:,} columns; write .csv.")
        self._sheet.freeze_panes(1, 0)
        for column, name in enumerate(names):
            width = (
                28 if name.startswith("label") else max(len(name) + 2, 20 if name in wide else 9)
            )
            self._sheet.set_column(column, column, WIDTHS.get(name, width))
            self._sheet.write_string(0, column, self._safe(name), self._bold)
        self._n_rows = 1

    def _safe(self, text: str) -> str:
        text = _ODD.sub(lambda odd: f"\\u{ord(odd[0]):04x}", text)
        if 2 * len(text) > MOST_LETTERS:  # counted in halves of UTF-32
            letters = text.encode("utf-16-le")
            if len(letters) > 2 * MOST_LETTERS:
                text = letters[: 2 * MOST_LETTERS - 2].decode("utf-16-le", "ignore") + "…"
                self._n_cut += 1
        # XlsxWriter takes a text between these for XML
        return f"{text} " if text.startswith("<r>") and text.endswith("</r>") else text

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is not None:
            for sheet in self._book.worksheets():
                sheet._opt_close()  # removes the file of rows
            return
        try:
            self._book.close()
        except FileCreateError as failed:
            raise failed.args[0] from None
        self._file.write(self._packed.getbuffer())
        if self._n_cut:
            tell(f"{count(self._n_cut, 'cell')} exceeded 32,767 characters and were truncated.")


class _Parquet:
    """Blocks of rows as Arrow files, merged at the end."""

    def __init__(self, folder: str, min_weight: float | None) -> None:
        self.folder, self.min_weight = folder, min_weight
        self.parts: list[Path] = []
        self.schema = pl.Schema()

    def add(self, facts: pl.DataFrame, theta: NDArray[np.float32], bounds: Bounds) -> None:
        table = _mixtures(facts, theta, bounds, self.min_weight)
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
    """An archive for `numpy.load`, or with sparse mixtures for `scipy.sparse.load_npz`."""

    def __init__(self, folder: str, min_weight: float | None) -> None:
        self.min_weight, self.names = min_weight, list[str]()
        self.parts: dict[str, list[Any]] = {}

    def add(self, facts: pl.DataFrame, theta: NDArray[np.float32], bounds: Bounds) -> None:
        # NumPy gives every name the room of the longest
        self.names += (str(name)[:1_000] for name in facts["document"])
        for name in facts.columns[1:]:
            self.parts.setdefault(name, []).append(facts[name].to_numpy())
        for name, ends in zip(("lower", "upper"), bounds or (), strict=False):
            self.parts.setdefault(name, []).append(ends)
        keep = None if self.min_weight is None else _kept(theta, self.min_weight)
        mixtures = theta if keep is None else sparse.csr_array(np.where(keep, theta, 0))
        self.parts.setdefault("theta", []).append(mixtures)

    def join(self, file: Any) -> None:
        mixtures = self.parts.pop("theta")
        arrays: dict[str, Any] = {"document": np.array(self.names)}
        arrays |= {name: np.concatenate(parts) for name, parts in self.parts.items()}
        if self.min_weight is None:
            arrays["theta"] = np.concatenate(mixtures)
        else:
            X = sparse.vstack(mixtures, format="csr")
            arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr.astype(np.int64)}
            arrays |= {"shape": np.array(X.shape), "format": np.array(b"csr")}
        np.savez(file, **arrays)


def _kept(theta: NDArray[np.float32], min_weight: float) -> NDArray[np.bool_]:
    """Return which topics of each document are heavy enough; the heaviest always is."""
    keep: NDArray[np.bool_] = (theta >= min_weight) & (theta > 0)
    keep[np.arange(len(keep)), theta.argmax(axis=1)] = True
    return keep


def _mixtures(
    facts: pl.DataFrame,
    theta: NDArray[np.float32],
    bounds: Bounds,
    min_weight: float | None,
    nested: bool = False,
) -> pl.DataFrame:
    """Return facts with a column for each topic, or with the topics that weigh enough."""
    ends = dict(zip(("low", "high"), bounds or (), strict=False))
    if min_weight is None and nested:
        dense = {"theta": theta} | ends
        return facts.with_columns(pl.Series(name, list(rows)) for name, rows in dense.items())
    if min_weight is None:
        dense = {"topic": theta} | {f"topic_{name}": rows for name, rows in ends.items()}
        columns = {
            f"{name}_{k}": rows[:, k] for name, rows in dense.items() for k in range(theta.shape[1])
        }
        return facts.hstack(pl.DataFrame(columns).get_columns())
    row, topic = np.nonzero(_kept(theta, min_weight))
    weight = theta[row, topic]
    order = np.lexsort((topic, -weight, row))  # a document's heaviest topic first
    long = facts[row].with_columns(
        pl.Series("topic", topic[order], dtype=pl.Int32),
        pl.Series("weight", weight[order]),
        *(pl.Series(name, rows[row[order], topic[order]]) for name, rows in ends.items()),
    )
    if not nested:
        return long
    by_row = long.group_by(pl.Series("row", row), maintain_order=True)
    struct = pl.struct("topic", "weight", *ends)
    return facts.with_columns(by_row.agg(topics=struct)["topics"])
