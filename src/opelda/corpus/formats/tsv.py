"""Tab-separated values."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from opelda.corpus._block import Block
from opelda.corpus.formats import _vocab
from opelda.corpus.formats._files import Input
from opelda.corpus.formats._format import Format, Options
from opelda.corpus.formats._tables import table_blocks
from opelda.corpus.formats._writing import table_rows, write_lines

if TYPE_CHECKING:
    from opelda.corpus._corpus import Corpus


def blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    r"""Yield the documents of a table with a header, a document a line.

    Quotes are letters like any other: a field holds neither tabs nor line ends.
    ``options.text_columns`` names columns of the header, see `columns.choose`; if they are
    numbers, from 1 on, there is no header. Blank lines are passed over, except in a table of one
    column, where they are empty documents.

    Examples
    --------
    >>> import io
    >>> source = Input.of(io.BytesIO(b'tea\tthe "best" cup\ncake\t"more\n'))
    >>> [block.documents.to_list() for block in blocks(source, Options(text_columns=("2",)))]
    [['the "best" cup', '"more']]
    """
    return table_blocks(input, options, position, "\t", quoted=False)


def write(corpus: "Corpus", path: str) -> None:
    """Write every word as often as it is counted, in a column "text", after "name" if known."""
    write_lines(corpus, path, table_rows(corpus, "\t", _field))


def _field(text: str) -> str:
    """Write a field: it holds neither tabs nor line ends."""
    return " ".join(text.split())


FORMAT = Format(
    name="tsv",
    summary="tab-separated values with a header, a document a line",
    kind="text",
    suffixes=(".tsv", ".tab"),
    blocks=blocks,
    words=_vocab.find,
    write=write,
)
