"""The column of documents of a table."""

from typing import Any

from pyspark.ml.linalg import VectorUDT
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType

from opelda.errors import InputError


def documents_of(table: DataFrame, params: Any) -> DataFrame:
    """Return the column of vectors, or of texts, that parameters name; refuse another type."""
    texts = params._given("textCol")
    name = params._given("featuresCol") if texts is None else texts
    parameter = "featuresCol" if texts is None else "textCol"
    if name not in table.columns:
        raise InputError(
            f"is {name!r}, but the table has the columns {', '.join(table.columns)}.", parameter
        )
    found = table.schema[name].dataType
    if texts is None and not isinstance(found, VectorUDT):
        raise InputError(
            f"is {name!r}, a column of {found.simpleString()}; give vectors of word counts, as "
            "CountVectorizer makes them, or name a column of texts by textCol.",
            parameter,
        )
    if texts is not None and not isinstance(found, StringType):
        raise InputError(
            f"is {name!r}, a column of {found.simpleString()}; give a column of strings.",
            parameter,
        )
    return table.select(f"`{name}`")
