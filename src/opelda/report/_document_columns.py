"""Columns beside documents: times, groups and values, by name or as given."""

from typing import Any

from opelda.corpus._column_names import usual_column
from opelda.errors import InputError
from opelda.report._inferred import count_blocks


def labelled_blocks(model: Any, corpus: Any, labels: Any) -> Any:
    """Yield blocks of documents with their part of an array that has a row for each."""
    n_docs = 0
    for block in count_blocks(model, corpus):
        n_docs = block.first + block.X.shape[0]
        if n_docs > len(labels):
            break
        yield block.X, labels[block.first : n_docs]
    if n_docs != len(labels):
        more = "more" if n_docs > len(labels) else f"{n_docs}"
        raise InputError(
            f"There are {len(labels)} labels, but {more} documents; give one for each."
        )


def column_of(corpus: Any, given: Any, kind: str) -> Any:
    """Return the values given, or a column of the corpus's metadata, by name or by usual names."""
    metadata: Any = getattr(corpus, "metadata", None)
    columns = [] if metadata is None else metadata.columns
    if isinstance(given, str):
        if given in columns:
            return metadata[given]
        has = f"has the columns {', '.join(columns)}" if columns else "has no columns"
        raise InputError(
            f"There is no column {given!r}: the corpus {has}; read it with {{metadata}}.",
            metadata=[given],
        )
    if given is not None:
        return given
    name = usual_column(kind, columns)
    if name is not None:
        return metadata[name]
    raise InputError(
        f"The corpus has no column of {kind}s; give one {kind} for each document, or read it with "
        "{metadata}.",
        metadata="auto",
    )
