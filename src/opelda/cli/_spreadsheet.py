"""Mixtures as a reader of a spreadsheet wants them, and sheets of .xlsx.

A sheet is five small files of XML in an archive; written here, for what a library takes ten seconds
for (XlsxWriter, 100,000 rows, and polars' own takes longer) takes less than one.
"""

import re
from collections.abc import Sequence
from typing import Any, Self
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import polars as pl
from numpy.typing import NDArray

from opelda.errors import InputError

MOST_ROWS, MOST_COLUMNS, MOST_LETTERS = 1_048_576, 16_384, 32_767  # of a sheet, and of a cell
MOST_BYTES = 2**31 - 2**24  # of the sheet's XML: beyond, not every program reads the archive
DIGITS = 4  # of a weight

# What XML cannot hold, and what moves a cursor or turns text around.
_ODD = re.compile("[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)")  # _x000D_ stands for a line break in these files


class Best:
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
            keep = pl.Series(shown[:, rank])
            topic = pl.Series(f"topic {rank + 1}", order[:, rank], dtype=pl.Int32)
            part = pl.DataFrame(
                [
                    topic,
                    self.labels[order[:, rank]].alias(f"label {rank + 1}"),
                    pl.Series(f"weight {rank + 1}", weights[:, rank]),
                ]
            )
            columns += part.select(pl.when(keep).then(pl.all())).get_columns()
        return pl.DataFrame([*columns, *facts.get_columns()[1:]])


class _Archive(ZipFile):
    def __del__(self) -> None:
        """Leave an archive that could not be finished as it is."""
        self.fp = None


class Sheet:
    """An .xlsx file with one sheet, written block by block."""

    def __init__(self, file: Any) -> None:
        self._archive = _Archive(file, "w", ZIP_DEFLATED, compresslevel=4)
        for name, text in PARTS.items():
            with self._archive.open(name, "w") as part:  # `writestr` would add the time
                part.write((HEAD + text).encode())
        self._out = self._archive.open("xl/worksheets/sheet1.xml", "w")
        self._n_rows = self._n_bytes = 0
        self.n_cut = 0

    def add(self, table: pl.DataFrame) -> None:
        """Write rows, with the names of columns above the first."""
        if not self._n_rows:
            if table.width > MOST_COLUMNS:
                raise InputError(
                    f"A sheet of .xlsx has {MOST_COLUMNS:,} columns at most, and this one would "
                    f"have {table.width:,}; write .csv or .parquet."
                )
            self._write(_top(table))
            self._n_rows = 1
        self._n_rows += table.height
        if self._n_rows > MOST_ROWS:
            raise InputError(
                f"A sheet of .xlsx has {MOST_ROWS:,} rows at most, and there are more documents; "
                "write .csv or .parquet, or fewer documents with --limit."
            )
        row = pl.concat_str(
            pl.lit("<row>"), *(self._cells(column) for column in table), pl.lit("</row>")
        )
        self._write(table.select(row.alias("row"))["row"].str.join("")[0])

    def _cells(self, column: pl.Series) -> pl.Expr:
        name = pl.lit(column)
        if column.dtype == pl.String:
            texts = pl.Series([None if text is None else self._text(text) for text in column])
            cell = pl.concat_str(pl.lit(TEXT[0]), pl.lit(texts), pl.lit(TEXT[1]))
        else:
            style = ' s="2"' if _is_weight(column.name) else ""
            finite = name.is_finite() if column.dtype.is_float() else name.is_not_null()
            number = pl.when(finite).then(name.cast(pl.String))
            cell = pl.concat_str(pl.lit(f"<c{style}><v>"), number, pl.lit("</v></c>"))
        return cell.fill_null("<c/>")

    def _text(self, text: str) -> str:
        found = _ODD.sub(lambda odd: f"\\u{ord(odd[0]):04x}", text)
        if 2 * len(found) > MOST_LETTERS:  # counted in halves of UTF-32
            letters = found.encode("utf-16-le")
            if len(letters) > 2 * MOST_LETTERS:
                found = letters[: 2 * MOST_LETTERS - 2].decode("utf-16-le", "ignore") + "…"
                self.n_cut += 1
        return escape(_ESCAPED.sub("_x005F_", found))

    def _write(self, text: str) -> None:
        written = text.encode()
        self._n_bytes += len(written)
        if self._n_bytes > MOST_BYTES:
            raise InputError("The sheet would be larger than 2 GB; write .csv or .parquet.")
        self._out.write(written)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is None:
            self._write("</sheetData></worksheet>")
            self._out.close()
            self._archive.close()


def _is_weight(name: str) -> bool:
    return name.startswith(("weight", "topic_"))


def _top(table: pl.DataFrame) -> str:
    """Return the beginning of a sheet: widths of columns, the first row, which stays in view."""
    widths = "".join(
        f'<col min="{i}" max="{i}" width="{_width(name)}" customWidth="1"/>'
        for i, name in enumerate(table.columns, 1)
    )
    bold = TEXT[0].replace("<c", '<c s="1"')
    names = "".join(f"{bold}{name}{TEXT[1]}" for name in table.columns)
    return (
        f'{HEAD}<worksheet xmlns="{MAIN}"><sheetViews><sheetView workbookViewId="0">'
        '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>'
        f"</sheetView></sheetViews><cols>{widths}</cols><sheetData><row>{names}</row>"
    )


def _width(name: str) -> int:
    return 50 if name == "document" else 28 if name.startswith("label") else max(len(name) + 2, 9)


TEXT = '<c t="inlineStr"><is><t xml:space="preserve">', "</t></is></c>"
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
FORMATS = "http://schemas.openxmlformats.org/"
MAIN = f"{FORMATS}spreadsheetml/2006/main"
PACKAGE, OFFICE = f"{FORMATS}package/2006", f"{FORMATS}officeDocument/2006/relationships"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
# all but the sheet itself; of the styles the second is bold, the third a percentage
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{KIND}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{KIND}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{KIND}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
    "</Relationships>",
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
    '<sheet name="topics" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><numFmts count="1">'
    '<numFmt numFmtId="164" formatCode="0.0%"/></numFmts>'
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="3"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>'
    '<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
    "</styleSheet>",
}
