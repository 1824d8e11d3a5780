"""What the functions of `opelda.report` return: rows, and tables of them.

Fields of several rows: `topic` is a topic's number, the row of `components_`, and `label` its name;
`document` a document's number in the collection, from 0 on; `tokens` how many of its words
the model knows; `name` what the source calls it, where known; `text` how it begins, where texts
were given; `rank` 1 is the best; `low` and `high` are the ends of an interval.
"""

import html
import types
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Generic, TypeVar, get_type_hints

from opelda._names import printable
from opelda.errors import InputError

Row = TypeVar("Row")

ROWS_SHOWN, LETTERS_SHOWN = 50, 60


@dataclass(frozen=True)
class TopicRow:
    """One topic; words are the best first, with their probabilities in the topic.

    `weight` is its share of the tokens, where the model knows (see `topic_weights`); `label` the
    model's, where it was given one, else made of its words; `stability` how far it comes again in
    other runs, where the model knows (`topic_stability_`).
    """

    topic: int
    weight: float | None
    label: str
    words: tuple[str, ...]
    probabilities: tuple[float, ...]
    stability: float | None = None


@dataclass(frozen=True)
class DocumentRow:
    """A document that is typical of a topic; `weight` is the topic's share of it."""

    topic: int
    label: str
    rank: int
    weight: float
    tokens: float
    document: int
    name: str | None
    text: str | None


@dataclass(frozen=True)
class FoundRow:
    """A document that was found for query number `query`; the best `score` is 1, the least 0."""

    query: int
    rank: int
    score: float
    tokens: float
    document: int
    name: str | None
    text: str | None


@dataclass(frozen=True)
class ShareRow:
    """A topic in the documents of one time or group, the `bin`.

    `corrected_share` is its share of the likeliest mixture of these documents' words, each document
    counting alike; its interval is None for a single document. `mean_share` is the mean of the
    weights that `transform` gives, which is drawn to the prior where documents are short. `n_docs`
    are those with a word of the model. `words` stand for the topic in these documents.
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
class EffectRow:
    """How a topic's share goes with a term, the other terms being equal.

    `term` is a column of numbers or times; a level of one of categories, as ``party=R``, compared
    with the column's most frequent level; or the intercept: the share of documents of those levels
    and of mean numbers. `estimate` is by how much the mean share changes, for one more of a number,
    a year of a time, or the level; `se` its standard error; `p` the probability of an estimate as
    far from 0 if there were no effect, small by chance for some of many topics; `n_docs` the
    documents that have words and all values.
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
    """Two topics, and their similarity from 0, no word in common, to 1, the same."""

    topic: int
    other: int
    similarity: float
    label: str
    other_label: str


@dataclass(frozen=True)
class MergeRow:
    """Two topics, or topics merged before, that become one node of a tree.

    `node` is its number, K for the first merger of K topics; `first` (the heavier) and `second` are
    topics by their numbers, or nodes; `n_topics` how many it holds; `weight` its share of the
    tokens or, where shares are not known, of the topics. `loss` are the nats lost by this merger
    for each token of the collection, where its topics are known: the mutual information of topics
    and words is smaller by as much. `words` stand for it, the best by relevance first.
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
    """A topic then and now: its share of the tokens of new documents, rho, and its words."""

    topic: int
    share_before: float
    share: float
    rho: float  # the smallest meanwhile
    words: list[str]
    came: list[str]
    went: list[str]


class Table(Sequence[Row], Generic[Row]):
    """Rows of the same fields: a sequence that becomes a data frame, and a table in notebooks.

    `note` is a sentence on what its numbers mean, or empty.

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
        """Return a row, or for a slice a table of some rows."""
        rows = self._rows[index]
        return Table(self._kind, rows, self.note) if isinstance(index, slice) else rows

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
        lines = [self.columns, *([_short(cell) for cell in row] for row in self._cells())]
        columns = []
        for side, *cells in zip(self._sides(), *lines, strict=True):
            width = max(map(len, cells))
            columns.append([c.rjust(width) if side == "right" else c.ljust(width) for c in cells])
        shown = ("  ".join(line).rstrip() for line in zip(*columns, strict=True))
        return "\n".join((*shown, *self._below()))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        cells = [f'<td style="text-align: {side}">{{}}</td>' for side in self._sides()]
        row = f"<tr>{''.join(cells)}</tr>"
        body = "".join(row.format(*map(html.escape, cells)) for cells in self._cells())
        rest = "".join(f"<p>{html.escape(line)}</p>" for line in self._below())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"

    def _sides(self) -> list[str]:
        hints, numbers = get_type_hints(self._kind), (int, float, float | None)
        return ["right" if hints[name] in numbers else "left" for name in self.columns]

    def _cells(self) -> list[list[str]]:
        return [
            [printable(_cell(getattr(row, name))) for name in self.columns]
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
    return known.get(hint) or pl.List(known[hint.__args__[0]])  # tuple[str, ...]
