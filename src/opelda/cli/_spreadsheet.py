"""Tables as files for spreadsheets: .csv and .tsv without formulas, .xlsx by XlsxWriter."""

import io
import math
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from xlsxwriter import Workbook
from xlsxwriter.exceptions import FileCreateError, FileSizeError

from opelda.corpus.formats._writing import safe_cell, write_in_one_step
from opelda.errors import InputError

TABLES = (".csv", ".tsv", ".xlsx")
MOST_ROWS, MOST_COLUMNS, MOST_LETTERS = 1_048_576, 16_384, 32_767  # of a sheet, and of a cell
DIGITS = 4  # of a weight
CREATED = datetime(1980, 1, 1)  # the same mixtures give the same bytes

# what XML cannot hold, what moves a cursor or turns text around, and the first of two escapes that
# share an underscore, which XlsxWriter leaves as they are
_ODD = re.compile(
    "[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
    "|_(?=x[0-9A-Fa-f]{4}_x[0-9A-Fa-f]{4}_)"
)

_ESCAPE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")


class BestTopics:
    """A table of each document's best topics: number, label and weight of the first, the second.

    Topics that weigh less than `min_weight` are left empty, but for the first; so are all of a
    document without a word of the model.
    """

    def __init__(self, labels: Sequence[str], n: int, min_weight: float) -> None:
        self.labels, self.n = pl.Series(labels, dtype=pl.String), min(n, len(labels))
        self.min_weight = min_weight

    def table(self, facts: pl.DataFrame, theta: NDArray[np.float32]) -> pl.DataFrame:
        """Return the documents' names, their best topics, and the other facts."""
        # of equals the lower number
        order = np.argsort(-theta, axis=1, kind="stable")[:, : self.n]
        weights = np.take_along_axis(theta, order, axis=1).astype(np.float64).round(DIGITS)
        shown = weights >= self.min_weight
        shown[:, 0] = True
        shown &= (facts["tokens"].to_numpy() > 0)[:, np.newaxis]
        columns = [facts["document"]]
        for rank in range(self.n):
            part = pl.DataFrame(
                {
                    f"topic {rank + 1}": pl.Series(order[:, rank], dtype=pl.Int32),
                    f"label {rank + 1}": self.labels[order[:, rank]],
                    f"weight {rank + 1}": weights[:, rank],
                }
            )
            keep = pl.Series(shown[:, rank])
            columns += part.select(pl.when(keep).then(pl.all())).get_columns()
        return pl.DataFrame([*columns, *facts.get_columns()[1:]])


class Sheet:
    """An .xlsx file with one sheet, written block by block; rows wait in a folder."""

    def __init__(self, file: Any, folder: str | None = None) -> None:
        # in memory: ZipFile would complain of a full disk once more when it is discarded
        self._file, self._packed = file, io.BytesIO()
        self._book = Workbook(self._packed, {"constant_memory": True, "tmpdir": folder})
        self._book.set_properties({"created": CREATED})
        self._sheet = self._book.add_worksheet("topics")
        self._plain = self._book.add_format()
        self._bold = self._book.add_format({"bold": True})
        self._percent = self._book.add_format({"num_format": "0.0%"})
        self._n_rows = self.n_cut = 0

    def add(self, table: pl.DataFrame) -> None:
        """Write rows, with the names of columns above the first."""
        if not self._n_rows:
            self._write_names(table.columns)
        if self._n_rows + table.height > MOST_ROWS:
            raise InputError(
                f"A sheet of .xlsx has {MOST_ROWS:,} rows at most, and there are more documents; "
                "write .csv or .parquet, or fewer documents with --limit."
            )
        formats = [
            self._percent if name.startswith(("weight", "topic_")) else None
            for name in table.columns
        ]
        for row in table.iter_rows():
            for column, value in enumerate(row):
                if isinstance(value, str):
                    self._write_text(self._n_rows, column, value)
                elif value is not None and math.isfinite(value):
                    self._sheet.write_number(self._n_rows, column, value, formats[column])
            self._n_rows += 1

    def _write_names(self, names: Sequence[str]) -> None:
        if len(names) > MOST_COLUMNS:
            raise InputError(
                f"A sheet of .xlsx has {MOST_COLUMNS:,} columns at most, and this one would "
                f"have {len(names):,}; write .csv or .parquet."
            )
        self._sheet.freeze_panes(1, 0)
        for column, name in enumerate(names):
            width = 28 if name.startswith("label") else max(len(name) + 2, 9)
            self._sheet.set_column(column, column, 50 if name == "document" else width)
            self._sheet.write_string(0, column, name, self._bold)
        self._n_rows = 1

    def _write_text(self, row: int, column: int, text: str) -> None:
        text = _ODD.sub(lambda odd: f"\\u{ord(odd[0]):04x}", text)
        if 2 * len(text) > MOST_LETTERS:  # counted in halves of UTF-32
            letters = text.encode("utf-16-le")
            if len(letters) > 2 * MOST_LETTERS:
                text = letters[: 2 * MOST_LETTERS - 2].decode("utf-16-le", "ignore") + "…"
                self.n_cut += 1
        if text.startswith("<r>") and text.endswith("</r>"):  # `write_string` takes it for XML
            rest = _ESCAPE.sub(r"\\u005f", text[1:])  # which it would escape twice
            self._sheet.write_rich_string(row, column, text[0], self._plain, rest)
        else:
            self._sheet.write_string(row, column, text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is not None:
            self._sheet._opt_close()  # the file of its rows
            return
        try:
            self._book.close()
        except FileCreateError as failed:
            raise failed.args[0] from None
        except FileSizeError:
            raise InputError("The sheet would be larger than 2 GB; write .csv.") from None
        self._file.write(self._packed.getbuffer())


def safe_texts(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose texts no spreadsheet takes for formulas."""
    texts = [column for column in table if column.dtype == pl.String]
    return table.with_columns(
        pl.Series(
            column.name,
            [None if text is None else safe_cell(text) for text in column],
            dtype=pl.String,
        )
        for column in texts
    )


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table in one step; no cell is ever run as a formula."""
    suffix = path.suffix.lower()
    with write_in_one_step(path) as file:
        if suffix == ".xlsx":
            with Sheet(file) as sheet:
                sheet.add(table)
        else:
            separator = "," if suffix == ".csv" else "\t"
            file.write(safe_texts(table).write_csv(separator=separator).encode())
