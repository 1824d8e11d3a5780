"""Rows and tables, the results of `opelda.report`.

Common fields: `topic`, the row in `components_`, and its `label`; `document`, the document's number
from 0; `tokens`, its words known to the model; `name`, in the source; `text`, its beginning;
`rank`, 1 for the best; `date` and `source`, from columns with usual names such as "date" and
"newspaper"; `low` and `high`, the limits of an interval.
"""

import html
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Generic, TypeVar, get_type_hints

from opelda._names import printable

Row = TypeVar("Row")

ROWS_SHOWN = 50


@dataclass(frozen=True)
class TopicRow:
    """One topic, with its best words and their probabilities.

    `weight` is its share of the tokens (see `topic_weights`), `stability` its `topic_stability_`;
    None if unknown. `low` and `high` are the limits of the weight, `lows` and `highs` those of the
    probabilities; None unless requested.
    """

    topic: int
    weight: float | None
    label: str
    words: tuple[str, ...]
    probabilities: tuple[float, ...]
    stability: float | None = None
    low: float | None = None
    high: float | None = None
    lows: tuple[float, ...] | None = None
    highs: tuple[float, ...] | None = None


@dataclass(frozen=True)
class DocumentRow:
    """A typical document of a topic; `weight` is the topic's share of the document."""

    topic: int
    label: str
    rank: int
    weight: float
    tokens: float
    document: int
    name: str | None
    text: str | None
    date: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class FoundRow:
    """A search result for query number `query`; `score` is from 0 to 1."""

    query: int
    rank: int
    score: float
    tokens: float
    document: int
    name: str | None
    text: str | None
    date: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class ShareRow:
    """A topic in the documents of one time or group, the `bin`.

    `corrected_share` is the topic's share of the most likely mixture of all words, with an interval
    for at least two documents; `mean_share` the mean of the weights of `transform`, biased for
    short documents; `n_docs` the number of documents with a known word.
    """

    bin: str
    topic: int
    label: str
    corrected_share: float
    low: float | None
    high: float | None
    mean_share: float
    n_docs: int
    words: tuple[str, ...]


@dataclass(frozen=True)
class GroupWordsRow:
    """The words that a group uses more than others in a topic, of a model fitted with `content`.

    `ratios` are the words' probabilities in the group, divided by those in the common topic.
    """

    topic: int
    label: str
    group: str
    words: tuple[str, ...]
    ratios: tuple[float, ...]


@dataclass(frozen=True)
class EffectRow:
    """Effect of a term on a topic's share with all other terms fixed.

    `term` is a column of numbers or times; a level, such as ``party=R``, compared with the most
    frequent one; or the intercept. `estimate` is the change of the mean share for one unit, one
    year or the level; `se` its standard error, `p` its p-value; `n_docs` the documents used.
    """

    topic: int
    label: str
    term: str
    estimate: float
    low: float
    high: float
    se: float
    p: float
    n_docs: int


@dataclass(frozen=True)
class SimilarRow:
    """Two topics, and their similarity from 0 (no common word) to 1 (equal)."""

    topic: int
    other: int
    similarity: float
    label: str
    other_label: str


@dataclass(frozen=True)
class MergeRow:
    """Two topics or nodes merged into one node of a tree.

    `node` is its number, K for the first of K topics; `first` (the heavier) and `second` are the
    numbers of the parts; `n_topics` is the number of its topics; `weight` its share of the tokens,
    or of the topics if unknown. `loss` is the mutual information of topics and words that the
    merger loses, in nats per token. `words` are the best by relevance.
    """

    node: int
    first: int
    second: int
    n_topics: int
    weight: float
    loss: float
    words: tuple[str, ...]


@dataclass(frozen=True)
class TopicMove:
    """Change of a topic's share of the tokens and of its words; `rho` is the minimum in between."""

    topic: int
    share_before: float
    share: float
    rho: float
    words: list[str]
    came: list[str]
    went: list[str]


class Table(Sequence[Row], Generic[Row]):
    """Rows of one type: a sequence that converts to a data frame and displays as a table.

    `note` is a sentence about the interpretation of the numbers, or empty.

    Examples
    --------
    >>> from opelda.report import topic_table
    >>> table = topic_table([[0.75, 0.25], [0.25, 0.75]], feature_names=["tea", "cup"])
    >>> table
    topic  weight  label     words    probabilities
        0       -  tea, cup  tea cup  0.75 0.25
        1       -  cup, tea  cup tea  0.75 0.25
    >>> table[1].words, table.to_polars().columns[:2]
    (('cup', 'tea'), ['topic', 'weight'])
    """

    def __init__(self, kind: type[Row], rows: Iterable[Row], note: str = "") -> None:
        self._kind, self._rows, self.note = kind, tuple(rows), note

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        """Return a row, or a table for a slice."""
        rows = self._rows[index]
        return Table(self._kind, rows, self.note) if isinstance(index, slice) else rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def columns(self) -> list[str]:
        """The fields of a row; fields with a default only if a row has a value."""
        return [
            field.name
            for field in fields(self._kind)  # type: ignore[arg-type]
            if field.default is MISSING or any(getattr(row, field.name) is not None for row in self)
        ]

    def to_polars(self) -> Any:
        """Return a polars data frame."""
        import polars as pl

        hints = get_type_hints(self._kind)
        return pl.DataFrame(self._by_column(), schema={name: hints[name] for name in self.columns})

    def to_pandas(self) -> Any:
        """Return a pandas data frame; pandas must be installed."""
        import pandas as pd  # type: ignore[import-untyped]

        return pd.DataFrame(self._by_column(), columns=self.columns)

    def _by_column(self) -> dict[str, list[Any]]:
        columns = {name: [getattr(row, name) for row in self] for name in self.columns}
        return {
            name: [list(value) if isinstance(value, tuple) else value for value in values]
            for name, values in columns.items()
        }

    def __repr__(self) -> str:
        cells, sides, below = self._shown()
        columns = []
        for name, side, *column in zip(self.columns, sides, *cells, strict=True):
            # at most 60 characters a cell
            column = [name, *(text if len(text) <= 60 else text[:59] + "…" for text in column)]
            width = max(map(len, column))
            columns.append([c.rjust(width) if side == "right" else c.ljust(width) for c in column])
        lines = ("  ".join(line).rstrip() for line in zip(*columns, strict=True))
        return "\n".join((*lines, *below))

    def _repr_html_(self) -> str:
        cells, sides, below = self._shown()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        row = "".join(f'<td style="text-align: {side}">{{}}</td>' for side in sides)
        body = "".join(f"<tr>{row.format(*map(html.escape, line))}</tr>" for line in cells)
        rest = "".join(f"<p>{html.escape(line)}</p>" for line in below)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"

    def _shown(self) -> tuple[list[list[str]], list[str], list[str]]:
        """Return the first rows as texts, the sides of the columns, and the lines below."""
        hints, numbers = get_type_hints(self._kind), (int, float, float | None)
        sides = ["right" if hints[name] in numbers else "left" for name in self.columns]
        cells = [
            [printable(_cell(getattr(row, name))) for name in self.columns]
            for row in self._rows[:ROWS_SHOWN]
        ]
        more = len(self) - ROWS_SHOWN
        below = [f"... and {more} more rows" * (more > 0), self.note]
        return cells, sides, [line for line in below if line]


def _cell(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(map(_cell, value))
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else f"{value:.3g}"
    return "-" if value is None else str(value)
