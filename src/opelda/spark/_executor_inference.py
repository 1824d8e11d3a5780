"""Inference on executors by a model that each worker loads once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from opelda import load, save
from opelda.corpus import Corpus
from opelda.engines import get_engine
from opelda.engines.seam import MIXTURES
from opelda.inference import Topics
from opelda.inference._groups import infer_members
from opelda.inference._infer import as_prior, as_task
from opelda.metrics._predictive import predicted, split_numbered
from opelda.spark._blocks import DENSE_VECTOR
from opelda.spark._worker import Counter, settle

MIXTURE, CERTIFICATE, SCORE = "mixture", "certificate", "score"
BOUNDS = "gap", "likelihood_gap", "likelihood_loss", "loss", "log_likelihood", "log_prior"
SCORES = "log_probability", "n_tokens"
# As MLlib's vectors are stored: Spark makes vectors of arrays a number at a time.
INDICES, VALUES = (
    pa.list_(pa.field("element", number, nullable=False)) for number in (pa.int32(), pa.float64())
)
KIND = pa.field("type", pa.int8(), nullable=False)
VECTOR = pa.struct([KIND, ("size", pa.int32()), ("indices", INDICES), ("values", VALUES)])
TYPES = {
    MIXTURE: VECTOR,
    CERTIFICATE: pa.struct([(name, pa.float64()) for name in BOUNDS]),
    SCORE: pa.struct([(name, pa.float64()) for name in SCORES]),
}
SCORED_BY = 0  # the seed of splits, the same for every model: scores compare


@dataclass(frozen=True)
class Shipped:
    """A model file's bytes, which every worker loads once."""

    data: bytes = field(compare=False)
    digest: str

    @classmethod
    def of(cls, model: Any) -> "Shipped":
        with TemporaryDirectory() as folder:
            path = Path(folder, "model")
            save(model, path, documents=False)
            data = path.read_bytes()
        return cls(data, sha256(data).hexdigest())

    @lru_cache(maxsize=2)  # noqa: B019  # by the digest
    def load(self) -> Any:
        """Return the model, with one thread: a task has one core."""
        with TemporaryDirectory() as folder:
            path = Path(folder, "model")
            path.write_bytes(self.data)
            model = load(path)
        model.n_jobs = 1
        return model


def inferring(
    shipped: Shipped, wanted: tuple[str, ...], names: list[str], *, texts: bool
) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    """Return a function from documents, with columns, to the wanted parts, for `arrow_udf`."""

    def infer(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        model = shipped.load()
        settle()
        state = model._state
        counter = Counter(state.weights.n_words, state.vocabulary if texts else None)
        for column in columns:
            yield _answered(model, counter, column, names, wanted)

    # pyspark derives the kind of function from these
    infer.__annotations__ = {"columns": Iterator[pa.Array], "return": Iterator[pa.Array]}
    return infer


def _answered(
    model: Any, counter: Counter, given: pa.Array, names: list[str], wanted: tuple[str, ...]
) -> pa.StructArray:
    """Return the wanted parts for documents and their columns; null for null documents."""
    column, *values = given.flatten()
    missing = pc.is_null(column)
    matrix, known = counter(column).astype(np.float32), ~missing.to_numpy(zero_copy_only=False)
    n_docs, n_topics = len(column), model._state.weights.n_topics
    if not known.any():  # a model raises for no documents
        return pa.nulls(n_docs, pa.struct([(part, TYPES[part]) for part in wanted]))
    answers: dict[str, pa.Array] = {}
    data: Any = dict(zip(names, (each.filter(known).to_pylist() for each in values), strict=True))
    corpus = Corpus(matrix, metadata=data)
    found = model.infer(corpus) if CERTIFICATE in wanted else None
    if MIXTURE in wanted:
        theta = np.zeros((n_docs, n_topics))
        theta[known] = model.transform(corpus) if found is None else found.theta
        answers[MIXTURE] = dense_vectors(theta)
    if found is not None:
        bounds = [_spread(getattr(found, name), known) for name in BOUNDS]
        answers[CERTIFICATE] = pa.StructArray.from_arrays(bounds, BOUNDS)
    if SCORE in wanted:
        scores = [_spread(values, known) for values in scored(model, corpus)]
        answers[SCORE] = pa.StructArray.from_arrays(scores, SCORES)
    return pa.StructArray.from_arrays(list(answers.values()), list(answers), mask=missing)


def dense_vectors(rows: NDArray[np.float64]) -> pa.StructArray:
    """Return rows as unwrapped vectors of MLlib."""
    ends = pa.array(np.arange(len(rows) + 1, dtype=np.int32) * rows.shape[1])
    parts = [
        pa.array(np.full(len(rows), DENSE_VECTOR, np.int8)),
        pa.nulls(len(rows), pa.int32()),
        pa.nulls(len(rows), INDICES),
        pa.ListArray.from_arrays(ends, pa.array(rows.ravel()), type=VALUES),
    ]
    return pa.StructArray.from_arrays(parts, fields=list(VECTOR))


def _spread(values: NDArray[Any], known: NDArray[np.bool_]) -> pa.Array:
    spread = np.zeros(len(known))
    spread[known] = values
    return pa.array(spread)


def scored(model: Any, corpus: Corpus) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log probability of each document's held-out tokens, and their number."""
    alike = np.zeros(len(corpus), np.int64)  # a batch's other documents must not matter
    observed, held = split_numbered(corpus, 0.3, SCORED_BY, alike)
    engine, state = get_engine("cpu", 1), model._state
    topics = Topics(model._read(state))
    alpha = as_prior(model.doc_topic_prior, topics.n_topics)
    task = as_task(model._transform_method(), alpha, SCORED_BY, model._accuracy())
    rows, seen = model._rows_of(corpus, None, len(corpus)) or [None] * 3, engine.documents(observed)
    found = infer_members(engine, topics.on(engine), seen, task, MIXTURES, *rows)
    held = held.astype(np.float64)
    held.eliminate_zeros()
    common, hidden = np.asarray(model._read(state)), engine.documents(held)
    logs = predicted(engine, common, hidden, found.theta, *rows[1:])
    return logs, held.sum(axis=1).astype(np.float64)
