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

LOOKED_AT = 5_000  # texts, whose language is that of all


@dataclass(frozen=True)
class CountWords:
    """Counts in how many texts of a batch each word is, and how often."""

    tokenizer: Tokenizer

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the words of each batch."""
        settle()
        for batch in batches:
            texts = pl.Series(pl.from_arrow(batch.column(0)))
            counted = self.tokenizer.count(texts, n_jobs=1)
            counts, n_words = counted.counts, len(counted.words)
            df = np.bincount(counts.indices, minlength=n_words)
            total = np.bincount(counts.indices, counts.data, minlength=n_words)
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array(counted.words, pa.string()),
                    pa.array(df, pa.int64()),
                    pa.array(total, pa.float64()),
                ],
                names=["word", "df", "total"],
            )


def find_vocabulary(
    texts: DataFrame,
    tokenizer: Tokenizer,
    min_df: float | None,
    max_df: float | None,
    max_features: int | None,
) -> Vocabulary:
    """Return the words of a table of one column of texts that `read` would keep.

    In alphabetical order, so that neither partitions nor the order of texts matter; likewise the
    texts that tell the language are chosen by content.
    """
    name = texts.columns[0]
    known = texts.where(col(name).isNotNull())
    n_docs = known.count()
    if not n_docs:
        raise InputError(f"The column {name} holds no texts: there is nothing to learn from.")
    if tokenizer != tokenizer.decided:
        first = known.orderBy(xxhash64(name), name).limit(LOOKED_AT)
        tokenizer = tokenizer.resolved(first.toArrow().column(0).to_pylist()).decided
    min_df = _as_bound(usual_min_df(n_docs) if min_df is None else min_df)
    counted = known.mapInArrow(CountWords(tokenizer), "word string, df long, total double")
    grouped = counted.groupBy("word").agg(added("df").alias("df"), added("total").alias("total"))
    enough = min_df if isinstance(min_df, int) else min_df * n_docs
    with explained():
        found = grouped.where(col("df") >= enough).toArrow()
    words = found.column("word").to_pylist()
    order = sorted(range(len(words)), key=words.__getitem__)
    words = [words[i] for i in order]
    df, total = (found.column(name).to_numpy()[order] for name in ("df", "total"))
    keep = found_words(df, total, n_docs, min_df, _as_bound(max_df), max_features)
    kept = [word for word, stays in zip(words, keep.tolist(), strict=True) if stays]
    return Vocabulary.known(kept, df[keep], tokenizer=tokenizer)


def _as_bound(value: float | None) -> Any:
    """Return a number of texts, or below 1 a share of them, as MLlib has one type for both."""
    return None if value is None else int(value) if value >= 1.0 else value
