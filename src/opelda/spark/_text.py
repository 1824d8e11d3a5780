"""The words of texts, found where the texts lie."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, xxhash64
from pyspark.sql.functions import sum as added

from opelda.corpus import Tokenizer, Vocabulary
from opelda.corpus._counting import found_words
from opelda.corpus._word_columns import usual_min_df
from opelda.errors import InputError
from opelda.spark._errors import explained
from opelda.spark._worker import settle

COUNTED = pa.schema({"word": pa.string(), "df": pa.int64(), "total": pa.float64()})


@dataclass(frozen=True)
class CountWords:
    """Yields the words of each batch, with numbers of texts and of tokens."""

    tokenizer: Tokenizer

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        for batch in batches:
            texts = pl.Series(pl.from_arrow(batch.column(0)))
            counted = self.tokenizer.count(texts, n_jobs=1)
            counts, n_words = counted.counts, len(counted.words)
            df = np.bincount(counts.indices, minlength=n_words)
            total = np.bincount(counts.indices, counts.data, minlength=n_words)
            columns = {"word": counted.words, "df": df, "total": total}
            yield pa.RecordBatch.from_pydict(columns, schema=COUNTED)


def find_vocabulary(
    texts: DataFrame,
    tokenizer: Tokenizer,
    min_df: float | None,
    max_df: float | None,
    max_features: int | None,
) -> Vocabulary:
    """Return the words of a column of texts that `read` would keep.

    Alphabetical order and a choice of texts by content, for the language, make the result
    independent of partitions.
    """
    name = texts.columns[0]
    known = texts.where(col(name).isNotNull())
    n_docs = known.count()
    if not n_docs:
        raise InputError(f"The column {name} has no texts to learn from.")
    if tokenizer != tokenizer.decided:
        first = known.orderBy(xxhash64(name), name).limit(5_000)
        tokenizer = tokenizer.resolved(first.toArrow().column(0).to_pylist()).decided
    min_df = _as_bound(usual_min_df(n_docs) if min_df is None else min_df)
    counted = known.mapInArrow(CountWords(tokenizer), "word string, df long, total double")
    grouped = counted.groupBy("word").agg(added("df").alias("df"), added("total").alias("total"))
    enough = min_df if isinstance(min_df, int) else min_df * n_docs
    with explained():
        found = pl.DataFrame(grouped.where(col("df") >= enough).toArrow()).sort("word")
    df, total = found["df"].to_numpy(), found["total"].to_numpy()
    keep = found_words(df, total, n_docs, min_df, _as_bound(max_df), max_features)
    kept = found["word"].filter(keep).to_list()
    return Vocabulary.known(kept, df[keep], tokenizer=tokenizer)


def _as_bound(value: float | None) -> Any:
    """Return a number of texts, or below 1 a share; MLlib has one type for both."""
    return None if value is None else int(value) if value >= 1.0 else value
