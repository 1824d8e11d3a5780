"""The form of a table's rows, as its first row says, and the columns that are read of it."""

from dataclasses import dataclass
from typing import Any

from opelda.corpus.formats._cells import LONE
from opelda.corpus.formats._fields import OPEN, fields_of
from opelda.corpus.formats._input import check_position
from opelda.corpus.formats._line_reader import LONGEST_LINE, LineReader
from opelda.corpus.formats._registry import Options
from opelda.corpus.formats._text_columns import choose, columns_beside, wanted_columns
from opelda.errors import InputError


@dataclass(frozen=True)
class Layout:
    """The form of a table's rows; if they are not `quoted`, quotes are letters like any other."""

    delimiter: str
    quoted: bool
    width: int
    text: list[int]
    names: list[str]  # of the columns; their numbers from 1 on where there is no header

    def beside(self, options: Options, label: str) -> dict[str | None, int]:
        """Return the columns that are kept beside the text, by what they are kept as."""
        if not self.names:  # of a position that a former version gave
            return {}
        text = [self.names[column] for column in self.text]
        chosen = columns_beside(self.names, text, options, f"{label}, line 1")
        return {kept: self.names.index(name) for kept, name in chosen.items()}


def read_layout(
    reader: LineReader, options: Options, delimiters: str, quoted: bool
) -> Layout | None:
    """Learn from the first row, which is taken unless columns are given by number."""
    data = reader.take(1)
    if not data:
        return None
    where = f"{reader.label}, line 1"
    delimiter = next((d for d in delimiters if d.encode() in data), delimiters[0])
    text, fields = "", list[str]()
    while not fields and data:
        text += data.decode("utf-8", "surrogateescape")
        fields, end = fields_of(text, 0, delimiter, quoted)
        is_open = not fields and len(text) < LONGEST_LINE and OPEN.match(text, end)
        data = reader.take_all(text.count("\n")) if is_open else b""  # as much again
    if not fields:
        raise InputError(f"{where} is malformed, as its quotes do not match; correct the line.")
    names = [LONE.sub("\ufffd", field).strip() for field in fields]
    wanted = options.text_columns
    if wanted and all(column.isdecimal() for column in wanted):
        columns = [_numbered(column, names, where) for column in wanted]
        for column in wanted_columns(options):
            _numbered(column, names, where)
        names = [str(number) for number in range(1, len(names) + 1)]
        reader.put_back(text.encode("utf-8", "surrogateescape"))
    else:
        try:
            chosen = choose(names, [name for name in names if name], wanted, where)
        except InputError as error:
            raise InputError(
                f"{error.message[:-1]}, or give columns by number, as '2', if there is no header.",
                **error.advice,
            ) from None
        columns = [names.index(column) for column in chosen]
        reader.put_back(text[end:].encode("utf-8", "surrogateescape"))
    return Layout(delimiter, quoted, len(names), columns, names)


def _numbered(column: str, names: list[str], where: str) -> int:
    if not column.isdecimal() or not 1 <= int(column[:9]) <= len(names):
        raise InputError(
            f"{where} has {len(names)} columns, and {column!r} is none of their numbers from 1 on; "
            "give all columns by number, or all by name."
        )
    return int(column) - 1


def stored_layout(position: Any, label: str) -> Layout:
    """Return the layout that was known when the position was reached."""
    try:
        table = {"names": [], **position["table"]}
        table.pop("name", None)  # of a former version, which had no names of columns
        layout = Layout(**table)
        good = (
            bool(layout.text)
            and layout.delimiter in (",", ";", "\t")
            and all(isinstance(n, int) and 0 <= n < layout.width for n in layout.text)
            and len(layout.names) in (0, layout.width)
            and all(isinstance(name, str) for name in layout.names)
        )
    except (TypeError, ValueError, KeyError):
        good = False
    check_position(good, position, label)
    return layout
