"""Rows of documents by columns of a table: documents of a row share a prior."""

from functools import reduce
from operator import and_

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import broadcast, col

from opelda.corpus._design import Columns, names_in
from opelda.errors import InputError
from opelda.learning._prevalence import Prevalence
from opelda.spark._errors import explained
from opelda.spark._params import check_column

MOST_COMBINATIONS = 1_000_000
ROW = "opelda_row"


def with_rows(
    table: DataFrame, document: str, formula: str, n_topics: int, seed: int
) -> tuple[DataFrame, Column, Prevalence]:
    """Return the table with the rows of documents, this column, and the rows without mixtures."""
    names = [formula] if formula in table.columns else names_in(formula)
    for name in names:
        check_column(table, name, "prevalence")
    given = [col(f"`{name}`") for name in names]
    grouped = table.where(col(f"`{document}`").isNotNull()).groupBy(*given).count()
    with explained():
        distinct = grouped.limit(MOST_COMBINATIONS + 1).toArrow()
    if distinct.num_rows > MOST_COMBINATIONS:
        raise InputError(
            f"has more than {MOST_COMBINATIONS:,} distinct combinations of values; round them.",
            "prevalence",
        )
    *values, times = (column.to_pylist() for column in distinct.columns)
    columns = Columns(dict(zip(names, values, strict=True)), times=times)
    found, row = Prevalence.of(formula, columns, n_topics, seed)
    keys = [f"{ROW}_{number}" for number in range(len(names))]
    arrays = [*distinct.columns[:-1], pa.array(row, pa.int64())]
    rows = table.sparkSession.createDataFrame(pa.table(arrays, names=[*keys, ROW]))
    same = (own.eqNullSafe(col(key)) for own, key in zip(given, keys, strict=True))
    return table.join(broadcast(rows), reduce(and_, same), "left"), rows[ROW], found
