"""Documents and tables that tests share, and equality of models."""

from datetime import date, timedelta

import numpy as np
from pyspark.ml.linalg import DenseVector, SparseVector, VectorUDT
from pyspark.sql.types import StructType
from scipy import sparse

from opelda.corpus import generate
from opelda.learning.persistence._model_arrays import as_parts

WORDS = (
    ("star", "galaxy", "orbit", "planet", "telescope"),
    ("cell", "protein", "gene", "enzyme", "tissue"),
    ("court", "judge", "law", "trial", "jury"),
)
SCHEMA = StructType().add("id", "integer").add("part", "integer").add("features", VectorUDT())


def documents(n_docs=900, *, fractions=False, seed=0):
    """Documents of planted topics, some duplicated and some empty."""
    X = generate(n_docs, n_words=200, n_topics=4, n_tokens=40, random_state=seed).X
    X = sparse.csr_array(X, dtype=np.float32)
    if fractions:
        X.data *= np.random.default_rng(seed).choice(np.float32([1, 0.5, 0.3]), X.nnz)
    empty = sparse.csr_array((5, 200), dtype=np.float32)
    return sparse.csr_array(sparse.vstack([X, X[:60], empty, X[:20], X[:20]], "csr"))


def columns(n_docs, *, seed=0):
    """Columns of documents: parties, some of them rare, and days; some are missing."""
    rng = np.random.default_rng(seed)
    parties = np.array(["R", "D", "I", "rare", "", None], object)
    party = rng.choice(parties, n_docs, p=[0.4, 0.3, 0.2, 0.01, 0.04, 0.05]).tolist()
    days = [None, *(date(2017, 1, 1) + timedelta(days=7 * week) for week in range(50))]
    return {"party": party, "day": [days[n] for n in rng.integers(0, 51, n_docs)]}


def texts(n_docs, *, seed=0):
    """Return texts of three kinds of words: text n has kind n modulo 3."""
    rng = np.random.default_rng(seed)
    return [
        " ".join([*rng.choice(WORDS[number % 3], 8), "the", "and", "of"])
        for number in range(n_docs)
    ]


def vector(X, at, *, dense=False):
    if dense:
        return DenseVector(X[[at]].toarray().ravel().astype(float))
    some = slice(X.indptr[at], X.indptr[at + 1])
    return SparseVector(X.shape[1], X.indices[some].tolist(), X.data[some].astype(float).tolist())


def table(spark, X, *, order=None, dense=0.0, nulls=0, part=lambda number: 0, data=None):
    """Return a table of vectors, a share dense; `part` is a column to partition by."""
    rng = np.random.default_rng(0)
    order = range(X.shape[0]) if order is None else order
    rows = [(int(i), int(part(i)), vector(X, i, dense=rng.random() < dense)) for i in order]
    rows += [(X.shape[0] + i, part(i), None) for i in range(nulls)]
    if data is None:
        return spark.createDataFrame(rows, SCHEMA)
    schema = StructType(SCHEMA.fields[:]).add("party", "string").add("day", "date")
    values = [*zip(*data.values(), strict=True), *[("null", date(1900, 1, 1))] * nulls]
    return spark.createDataFrame([(*row, *values[row[0]]) for row in rows], schema)


def parts(model):
    """Return all arrays and parameters of a model file."""
    arrays, header = as_parts(model)
    return {name: array.tobytes() for name, array in arrays.items()}, header


def same(ours, theirs):
    """Assert that two models are identical."""
    (ours, header), (theirs, other) = parts(ours), parts(theirs)
    assert header == other
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []
