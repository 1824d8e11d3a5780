"""Writing a corpus as lines of text, its vocabulary beside it."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from opelda.corpus.formats import _vocab
from opelda.corpus.formats._files import write_in_one_step

if TYPE_CHECKING:
    from opelda.corpus._corpus import Corpus

LINES_AT_ONCE = 1_000
BOM = "\ufeff"


def write_lines(corpus: "Corpus", path: str, lines: Iterable[str]) -> None:
    """Write lines, and the words of the columns beside them; neither if a line cannot be made."""
    iterator = iter(lines)
    vocabulary = _vocab.as_file(corpus.words, _vocab.sidecar(path))
    with write_in_one_step(path, vocabulary) as file:
        first = True
        while some := list(islice(iterator, LINES_AT_ONCE)):
            # a reader drops the first one, so that a word which begins with it needs two
            mark = BOM if first and some[0].startswith(BOM) else ""
            file.write((mark + "\n".join(some) + "\n").encode())
            first = False


def table_rows(corpus: "Corpus", separator: str, field: Callable[[str], str]) -> Iterator[str]:
    """Yield the rows of a table: a column "text", after "name" if known, each field written so."""
    texts = map(field, _vocab.texts_of(corpus))
    if corpus.names is None:
        yield "text"
        yield from texts
        return
    yield f"name{separator}text"
    for name, text in zip(corpus.names, texts, strict=True):
        yield f"{field(name)}{separator}{text}"


def names_of(corpus: "Corpus") -> Iterator[str]:
    """Yield the documents' names; where there are none, their numbers from 1."""
    if corpus.names is None:
        return map(str, range(1, len(corpus) + 1))
    return iter(corpus.names)
