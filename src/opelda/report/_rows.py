"""Rows as programs, data frames, terminals and notebooks take them."""

import html
import types
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from typing import Any, Generic, TypeVar, get_type_hints, overload

from opelda._printable import printable
from opelda.errors import InputError

Row = TypeVar("Row")

ROWS_SHOWN, LETTERS_SHOWN = 50, 60


class Table(Sequence[Row], Generic[Row]):
    """Rows that all have the same fields: a sequence, and a data frame for whoever wants one.

    A notebook shows it as a table. `note` is a sentence on what its numbers mean, or empty.

    Examples
    --------
    >>> from opelda.report import topic_table
    >>> table = topic_table([[0.75, 0.25], [0.25, 0.75]], feature_names=["tea", "cup"])
    >>> table[1].words
    ('cup', 'tea')
    >>> table
    topic  weight  label     words    probabilities
        0       -  tea, cup  tea cup  0.75 0.25
        1       -  cup, tea  cup tea  0.75 0.25
    >>> table.to_polars().columns
    ['topic', 'weight', 'label', 'words', 'probabilities']
    """

    def __init__(self, kind: type[Row], rows: Iterable[Row], note: str = "") -> None:
        self._kind, self._rows, self.note = kind, tuple(rows), note

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> "Table[Row]": ...

    def __getitem__(self, index: int | slice) -> "Row | Table[Row]":
        if isinstance(index, slice):
            return Table(self._kind, self._rows[index], self.note)
        return self._rows[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def columns(self) -> list[str]:
        """The fields of a row; those that may be left out only where a row has them."""
        return [
            field.name
            for field in fields(self._kind)  # type: ignore[arg-type]
            if field.default is MISSING or any(getattr(row, field.name) is not None for row in self)
        ]

    def to_polars(self) -> Any:
        """Return the rows as a data frame of polars."""
        import polars as pl

        hints = get_type_hints(self._kind)
        schema = {name: _polars_type(hints[name]) for name in self.columns}
        return pl.DataFrame(self._by_column(), schema=schema)

    def to_pandas(self) -> Any:
        """Return the rows as a data frame of pandas, which must be installed."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError:
            raise InputError(
                "to_pandas needs pandas, which is not installed; install it, or use to_polars()."
            ) from None
        return pd.DataFrame(self._by_column(), columns=self.columns)

    def _by_column(self) -> dict[str, list[Any]]:
        def plain(value: Any) -> Any:
            return list(value) if isinstance(value, tuple) else value

        return {name: [plain(getattr(row, name)) for row in self] for name in self.columns}

    def __repr__(self) -> str:
        lines = [self.columns, *self._cells(lambda cell: _short(printable(cell)))]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        right = [name in self._numbers() for name in self.columns]
        shown = (
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(line, widths, right, strict=True)
            ).rstrip()
            for line in lines
        )
        return "\n".join((*shown, *self._below()))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        right = [name in self._numbers() for name in self.columns]
        styles = [f"text-align: {'right' if number else 'left'}" for number in right]
        body = "".join(
            "<tr>"
            + "".join(
                f'<td style="{style}">{cell}</td>' for style, cell in zip(styles, row, strict=True)
            )
            + "</tr>"
            for row in self._cells(lambda cell: html.escape(printable(cell)))
        )
        rest = "".join(f"<p>{html.escape(line)}</p>" for line in self._below())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"

    def _numbers(self) -> list[str]:
        hints = get_type_hints(self._kind)
        return [name for name in self.columns if hints[name] in (int, float, float | None)]

    def _cells(self, written: Any) -> list[list[str]]:
        return [
            [written(_cell(getattr(row, name))) for name in self.columns]
            for row in self._rows[:ROWS_SHOWN]
        ]

    def _below(self) -> list[str]:
        more = len(self) - ROWS_SHOWN
        return [line for line in (f"... and {more} more rows" * (more > 0), self.note) if line]


def _cell(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(map(_cell, value))
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else f"{value:.3g}"
    return str(value)


def _short(text: str) -> str:
    return text if len(text) <= LETTERS_SHOWN else text[: LETTERS_SHOWN - 1] + "…"


def _polars_type(hint: Any) -> Any:
    import polars as pl

    if isinstance(hint, types.UnionType):  # or None
        hint = next(kind for kind in hint.__args__ if kind is not type(None))
    known = {int: pl.Int64, float: pl.Float64, str: pl.String}
    if hint in known:
        return known[hint]
    return pl.List(known[hint.__args__[0]])  # tuple[str, ...]
