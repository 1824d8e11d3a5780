"""Documents given in any form, block by block: their counts, mixtures and columns."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opelda.corpus import Corpus
from opelda.corpus._column_names import usual_column
from opelda.corpus._kinds import are_documents
from opelda.corpus._matrix import row_sums
from opelda.errors import InputError
from opelda.metrics._mixture_measures import check_model
from opelda.metrics._topics import MeasuredTopics

BLOCK = 4096


class DocumentBlock(NamedTuple):
    """Consecutive documents, numbered from `first`, counted over a model's words."""

    first: int
    X: Any  # CSR (documents, words of the model)
    names: Any = None  # sequences of texts, or None
    texts: Any = None
    metadata: Any = None  # a data frame of texts, or None

    @property
    def tokens(self) -> NDArray[np.float64]:
        """The number of the model's words in each document."""
        return row_sums(self.X)


def document_blocks(model: Any, documents: Any) -> Iterator[DocumentBlock]:
    """Yield blocks of documents given as for `transform`."""
    check_model(model)
    words = getattr(model, "vocabulary_", None)
    if words is not None and are_documents(documents) and not isinstance(documents, Corpus):
        from opelda.corpus import stream  # and polars, only now

        opened = stream(documents, vocabulary=words, batch_size=BLOCK, metadata="auto")
        yield from numbered(opened.batches(learn=False))
        return
    names, table = getattr(documents, "names", None), getattr(documents, "metadata", None)
    X = MeasuredTopics.of(model).counts(documents)
    for first in range(0, X.shape[0], BLOCK):
        rows = slice(first, first + BLOCK)
        beside = None if table is None else table[rows]
        yield DocumentBlock(first, X[rows], names and names[rows], metadata=beside)


def numbered(batches: Iterable[Any]) -> Iterator[DocumentBlock]:
    """Yield mini-batches with the numbers of their documents."""
    first = 0
    for batch in batches:
        yield DocumentBlock(first, batch.X, batch.names, batch.texts, batch.metadata)
        first += batch.X.shape[0]


def labelled_blocks(model: Any, corpus: Any, labels: Any) -> Iterator[tuple[Any, Any]]:
    """Yield blocks of counts with their rows of an array for all documents."""
    n_docs = 0
    for block in document_blocks(model, corpus):
        n_docs = block.first + block.X.shape[0]
        if n_docs > len(labels):
            break
        yield block.X, labels[block.first : n_docs]
    if n_docs != len(labels):
        more = "more" if n_docs > len(labels) else f"{n_docs}"
        raise InputError(
            f"There are {len(labels)} labels, but {more} documents; pass one label per document."
        )


def column_of(corpus: Any, given: Any, kind: str) -> Any:
    """Return the given values, or a column of the corpus's metadata, by name or by usual names."""
    metadata: Any = getattr(corpus, "metadata", None)
    columns = [] if metadata is None else metadata.columns
    name = usual_column(kind, columns) if given is None else given
    if name is None:
        raise InputError(
            f"The corpus has no column of {kind}s; pass one {kind} per document, or read the "
            "corpus with {metadata}.",
            metadata="auto",
        )
    if not isinstance(name, str):
        return name
    if name not in columns:
        has = f"has the columns {', '.join(columns)}" if columns else "has no columns"
        raise InputError(
            f"Missing column {name!r}: the corpus {has}; read the column with {{metadata}}.",
            metadata=[name],
        )
    return metadata[name]


def called(name: str | None, number: int, text: Any) -> str:
    """Return a document's name, followed by its beginning unless the name has a letter.

    >>> called("On cats", 3, "Cats sleep."), called("8811", 3, "Cats sleep."), called(None, 3, None)
    ('On cats', '8811: Cats sleep.', 'document 3')
    """
    if name and any(map(str.isalpha, name)):
        return " ".join(name.split())
    start, text = name or f"document {number}", beginning(text, 80)
    return f"{start}: {text}" if text else start


def with_details(row: Any) -> str:
    """Return how the document of a row is called, with its day and source if known."""
    day = re.sub(r"^(\d{4}-\d\d-\d\d)[T ].*", r"\1", row.date or "")
    details = ", ".join(part for part in (day, row.source) if part and part != row.name)
    name = called(row.name, row.document, row.text)
    return f"{name} ({details})" if details else name


def mended(text: str) -> str:
    """Return a text with joined lines where it is wrapped; keep paragraphs and short lines.

    A line break is a wrap if the next word does not fit into the usual width of a line.
    """
    lines = text.splitlines()
    lengths = sorted(len(line) for line in lines if line.strip())
    width = lengths[3 * len(lengths) // 4] if len(lengths) >= 4 else 0
    if not 40 <= width <= 120:
        return text
    found = lines[:1]
    for before, line in pairwise(lines):
        first = re.split(r"\s", line, maxsplit=1)[0]  # empty for indented lines
        if before.strip() and first and len(before) + len(first) >= width:
            found[-1] += f" {line}"
        else:
            found.append(line)
    return "\n".join(found)


def beginning(text: Any, n: int = 200) -> str | None:
    """Return the first n characters of a text in one line."""
    if text is None:
        return None
    line = " ".join(str(text)[: 4 * n].split())
    return line if len(line) <= n else line[: n - 1].rstrip() + "…"
