"""Tables: sequences of rows, data frames, text and HTML."""

from dataclasses import asdict, dataclass
from html.parser import HTMLParser

import pandas as pd
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from opelda.report import topic_table
from opelda.report.rows import ROWS_SHOWN, DocumentRow, Table


@dataclass(frozen=True)
class Cell:
    number: int
    weight: float | None
    text: str
    words: tuple[str, ...]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
CELLS = st.builds(
    Cell,
    st.integers(-(2**60), 2**60),
    st.none() | st.floats(allow_nan=False),
    TEXTS,
    st.lists(TEXTS, max_size=3).map(tuple),
)


@given(st.lists(CELLS, max_size=5))
def test_data_frames_hold_the_rows(rows):
    table = Table(Cell, rows)
    assert list(table) == rows == table
    expected = [asdict(row) | {"words": list(row.words)} for row in rows]
    frame = table.to_polars()
    assert frame.to_dicts() == expected
    assert frame.schema == {
        "number": pl.Int64, "weight": pl.Float64, "text": pl.String, "words": pl.List(pl.String),
    }  # fmt: skip
    other = table.to_pandas()
    assert isinstance(other, pd.DataFrame)
    assert list(other.columns) == table.columns
    assert other["text"].tolist() == [row.text for row in rows]


class Cells(HTMLParser):
    """Collect the cells and all tags of a table."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.cells = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag == "td":
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\u202e\u2028\x9b0m\r\n😀"


def test_notebook_tables_are_escaped():
    found = Cells(Table(Cell, [Cell(3, 0.5, HOSTILE, (HOSTILE,))])._repr_html_())
    assert found.tags == {"table", "thead", "tbody", "tr", "th", "td"}
    assert found.cells[:2] == ["3", "0.5"]
    assert found.cells[2].startswith("<script>alert(1)</script>\"'&\\x1b[31m")
    assert "".join(found.cells).isprintable()


def test_repr_escapes_control_characters():
    lines = repr(Table(Cell, [Cell(3, None, HOSTILE, ())])).splitlines()
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)


def test_long_tables_are_abbreviated_on_display():
    table = Table(Cell, [Cell(i, 0.1, "x" * 500, ()) for i in range(ROWS_SHOWN + 7)])
    assert len(table.to_polars()) == ROWS_SHOWN + 7
    for shown, end in ((repr(table), "\n"), (table._repr_html_(), "</tr>")):
        assert "7 more rows" in shown
        assert shown.count(end) == 1 + ROWS_SHOWN
    assert max(map(len, repr(table).splitlines())) < 200


def test_empty_table_has_columns():
    assert Table(DocumentRow, []).to_polars().shape == (0, 8)
    assert repr(Table(DocumentRow, [])).split() == Table(DocumentRow, []).columns


def test_parts_of_a_table_are_tables():
    table = topic_table([[0.5, 0.5]] * 4)
    assert isinstance(table[1:3], Table)
    assert [row.topic for row in table[::-1]] == [3, 2, 1, 0]
