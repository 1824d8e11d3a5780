"""Comma-separated values."""

import re
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

SPECIAL = re.compile('[",;\\t\\r\\n]')


def blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    r"""Yield the documents of a table with a header, a document a row.

    Fields may stand in quotes and hold line ends then, as RFC 4180 has it; a first row without a
    comma may separate fields by semicolons or tabs. ``options.text_columns`` names columns of the
    header, see `columns.choose`; if they are numbers, from 1 on, there is no header. Blank lines
    are passed over, except in a table of one column, where they are empty documents.

    Examples
    --------
    >>> import io
    >>> source = Input.of(io.BytesIO(b'id,text\n1,"tea, no milk"\n2,cup\n'))
    >>> [block.documents.to_list() for block in blocks(source, Options())]
    [['tea, no milk', 'cup']]
    """
    return table_blocks(input, options, position, ",;\t", quoted=True)


def write(corpus: "Corpus", path: str) -> None:
    """Write every word as often as it is counted, in a column "text", after "name" if known."""
    write_lines(corpus, path, table_rows(corpus, ",", _field))


def _field(text: str) -> str:
    """Write a field, in quotes if it needs them; an empty one does where it is alone in a line."""
    if text and not SPECIAL.search(text):
        return text
    return '"' + text.replace('"', '""') + '"'


FORMAT = Format(
    name="csv",
    summary="comma-separated values with a header, a document a row",
    kind="text",
    suffixes=(".csv",),
    blocks=blocks,
    words=_vocab.find,
    write=write,
)
