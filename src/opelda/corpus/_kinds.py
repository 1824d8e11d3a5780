"""Kinds of objects that users give: counts, a table, a column, a document, several documents.

Types of polars, pandas and Arrow are known by their packages, without importing these.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from opelda.corpus._column_names import usual


def package_of(item: Any) -> str:
    """Return the package that an object's type comes from."""
    return type(item).__module__.partition(".")[0]


def is_matrix(item: Any) -> bool:
    """Whether this is an array, a sparse matrix or a data frame, and no document."""
    if isinstance(item, np.ndarray):
        return not is_words(item)
    return isinstance(item, sparse.sparray | sparse.spmatrix) or (
        isinstance(getattr(item, "shape", None), tuple) and hasattr(item, "__array__")
    )


def is_table(item: Any) -> bool:
    """Whether this is a data frame of pandas, polars or Arrow."""
    return _is_called(item, "DataFrame", "LazyFrame", "Table", "RecordBatch")


def is_column(item: Any) -> bool:
    """Whether this is a column of pandas, polars or Arrow, or a vector of words or objects."""
    if isinstance(item, np.ndarray):
        return is_words(item)
    return _is_called(item, "Series", "Array", "ChunkedArray")


def holds_numbers(item: Any) -> bool:
    """Whether all that a table or a column holds are numbers: counts, and no texts."""
    if hasattr(item, "collect_schema"):  # tables of polars
        types = item.collect_schema().dtypes()
    elif is_table(item):
        types = item.schema.types if hasattr(item, "schema") else list(item.dtypes)
    else:
        types = [item.dtype if hasattr(item, "dtype") else item.type]
    return all(map(_is_number, types))


def is_words(item: Any) -> bool:
    """Whether this is a sequence of words, or an empty one, and no row of numbers."""
    if isinstance(item, np.ndarray):
        return item.ndim == 1 and item.dtype.kind in "OUT"
    if isinstance(item, str | bytes | bytearray | memoryview) or not isinstance(item, Sequence):
        return False
    return not item or isinstance(item[0], str)


def is_mapping(item: Any) -> bool:
    """Whether this is a dictionary or the like; SciPy has a sparse matrix that is one, too."""
    return isinstance(item, Mapping) and not isinstance(item, sparse.sparray | sparse.spmatrix)


def is_document(item: Any) -> bool:
    """Whether this is a text, a sequence of words, or a mapping such as counts of words."""
    return isinstance(item, str) or is_mapping(item) or is_words(item)


def is_bag(item: Any) -> bool:
    """Whether this is a list of (id, count), as gensim has them; an empty one is."""
    return isinstance(item, list | tuple) and all(
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and isinstance(pair[0], int | np.integer)
        and isinstance(pair[1], Real)
        for pair in item
    )


def is_record(item: Any) -> bool:
    """Whether this is a dictionary with a text, or a missing one, and not counts of words."""
    if not is_mapping(item):
        return False
    # anything but a number cannot be a count
    if any(not isinstance(value, Real | Decimal | np.bool_) for value in item.values()):
        return True
    return any(is_missing(item[key]) for key in usual([k for k in item if isinstance(k, str)]))


def is_empty(item: Any) -> bool:
    """Whether this is a document without words, of any kind."""
    if isinstance(item, np.ndarray):
        return item.size == 0
    return (isinstance(item, list | tuple) or is_mapping(item)) and not item


def is_missing(value: Any) -> bool:
    """Whether this stands for no value: None, NaN, NaT, or what pandas has for them."""
    if isinstance(value, float | np.datetime64):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def first_of(items: Iterable[Any]) -> Any:
    """Return the first item that is neither empty nor missing; "" without any."""
    return next((item for item in items if not is_missing(item) and not is_empty(item)), "")


def are_documents(items: Any) -> bool:
    """Whether these are documents that `read` makes counts of, and not counts already."""
    if isinstance(items, list | tuple):
        first = first_of(items)
        return is_document(first) or is_bag(first)
    if is_table(items) or is_column(items):
        return not holds_numbers(items)
    # an iterator never holds counts
    return isinstance(items, Iterator) or (isinstance(items, np.ndarray) and items.shape == (0,))


def _is_called(item: Any, *names: str) -> bool:
    """Whether this is an object of pandas, polars or Arrow of a type with such a name."""
    known = package_of(item) in ("pandas", "polars", "pyarrow")
    return known and any(base.__name__.endswith(names) for base in type(item).__mro__)


def _is_number(dtype: Any) -> bool:
    kind = getattr(dtype, "kind", None)
    if isinstance(kind, str):  # of NumPy and pandas
        return kind in "biuf"
    if hasattr(dtype, "is_numeric"):  # of polars
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    return str(dtype).startswith(("int", "uint", "halffloat", "float", "double", "bool"))
