"""Named arrays and plain values as a model again; nothing in them is run or believed."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from opelda.corpus import Vocabulary
from opelda.corpus._packing import unpack_words
from opelda.engines import Engine
from opelda.engines._weights import SMALLEST_SCALE, HostWeights, Weights
from opelda.errors import ModelFileError
from opelda.inference import METHODS, Method
from opelda.learning._saving import (
    ARRAY_PARAMETERS,
    NOT_SAVED,
    Arrays,
    check_parameters,
    checksum,
    has_totals,
)
from opelda.learning._state import State

# Parameters that older files do not have, and what they mean by that.
SINCE = {"preset": "paper", "init": None, "n_sweeps": None, "transform_method": None}
METHOD_PARAMETERS = ("inference", "transform_method")

# Parameters of methods that had other names.
RENAMED = {"picks": "coins"}


def from_parts(
    classes: dict[str, type], arrays: Arrays, header: dict[str, Any], version: int, path: Path
) -> Any:
    """Make the model that arrays and header describe."""
    cls = classes.get(str(header.get("class")))
    if cls is None:
        _refuse(path, f"it names an unknown learner, {_short(header.get('class'))}")
    values = header.get("parameters")
    known: dict[str, Any] = cls().get_params(deep=False)
    if isinstance(values, dict):
        values = as_today(values, known)
    if not isinstance(values, dict) or set(values) != set(known) - set(NOT_SAVED):
        _refuse(path, f"its parameters are not those of {cls.__name__}")
    model = cls(**{name: _parameter(name, value, arrays, path) for name, value in values.items()})
    restore(model, arrays, header, version, path)
    return model


def as_today(values: dict[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """Return the parameters of any version's file in today's words, which mean the same.

    Before there was a `transform_method`, no preset meant "best", or "paper" where a method or a
    rule was given, and a method that was given was that of `transform` too.
    """
    values = {k: v for k, v in values.items() if k not in ("n_jobs", "verbose")}  # once saved
    if "preset" in known and "transform_method" not in values:
        inference, learning = values.get("inference"), values.get("learning")
        values["transform_method"] = None if inference is None else "same"
        if values.get("preset", "paper") is None:
            values["preset"] = "best" if inference is None and learning is None else "paper"
    return {name: value for name, value in SINCE.items() if name in known} | values


def _parameter(name: str, value: Any, arrays: Arrays, path: Path) -> Any:
    if value == "array" and name in ARRAY_PARAMETERS:
        array = _array(arrays, f"parameters.{name}", np.float64, path)
        if not 1 <= array.ndim <= 2 or not ((array >= 1e-30) & (array <= 1e6)).all():
            _refuse(path, f"its {name} cannot be a prior")
        return array
    if name in METHOD_PARAMETERS and isinstance(value, dict):
        return _method(value, path)
    if isinstance(value, dict | list):
        _refuse(path, f"its parameter {name} is {_short(value)}")
    return value


def _method(value: dict[str, Any], path: Path) -> Method:
    cls, values = METHODS.get(str(value.get("method"))), value.get("parameters")
    if cls is None or not isinstance(values, dict):
        _refuse(path, "it names an unknown inference method")
    values = {RENAMED.get(name, name): part for name, part in values.items()}
    if set(values) != set(cls().get_params(deep=False)):
        _refuse(path, f"its parameters of inference are not those of {cls.__name__}")
    return cls(**values)


def restore(model: Any, arrays: Arrays, header: dict[str, Any], version: int, path: Path) -> None:
    """Give a model the learned state that arrays and header describe, all of it checked."""
    if header.get("checksum") != checksum(arrays, header):
        _refuse(path, "it is not what was written once")
    with _refused(path, "parameters cannot be used"):
        engine = model._engine()
    weights = _weights(engine, arrays, header, version, path)
    state = State(weights, _count(header, "seed", path, 2**32 - 1))
    state.n_updates = _count(header, "n_updates", path, 2**32 - 2)  # kernels' seeds hold 32 bits
    state.n_docs_seen = _count(header, "n_docs_seen", path)
    state.population = _number(header, "population", path, 1e15)
    state.n_unknown_tokens = _number(header, "n_unknown_tokens", path)
    if _count(header, "n_features_in", path) != weights.n_words:
        _refuse(path, "its number of words does not agree with its topics")
    with _refused(path, "parameters cannot be used"):
        check_parameters(model, weights.n_topics)
    if "vocabulary" in header or _part(arrays, "vocabulary"):
        state.vocabulary = _vocabulary(arrays, header.get("vocabulary"), path)
        if len(state.vocabulary) != weights.n_words:
            _refuse(path, "its vocabulary does not agree with its topics")
    names = None
    if _part(arrays, "feature_names"):
        with _refused(path, "column names cannot be used"):
            names = unpack_words(_part(arrays, "feature_names"))
        if len(names) != weights.n_words:
            _refuse(path, "its column names do not agree with its topics")
    model.__dict__.pop("feature_names_in_", None)
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    model.n_features_in_ = weights.n_words
    model._state = state


def _weights(
    engine: Engine, arrays: Arrays, header: dict[str, Any], version: int, path: Path
) -> Weights:
    n_topics = _count(header, "n_topics", path)
    rows = _array(arrays, "rows", np.float32, path, 2)
    sums = _array(arrays, "sums", np.float64, path, 1)
    scale, weight = _number(header, "scale", path, 1.0), _number(header, "prior_weight", path, 1.0)
    width = -(-n_topics // 16) * 16 if version == 1 else n_topics  # which padded its rows
    if n_topics < 1 or rows.shape[1] != width or len(sums) != n_topics:
        _refuse(path, "its topics have the wrong shape")
    if scale < SMALLEST_SCALE:
        _refuse(path, "its scale is out of range")
    # extremes, of which NaN is neither: comparing all would make an array of the topics' shape
    if (rows.size and not (rows.min() >= 0 and rows.max() < np.inf)) or rows[:, n_topics:].any():
        _refuse(path, "its topics hold values that cannot be weights")
    prior = _prior(arrays, header, path, rows.shape, n_topics)
    if isinstance(prior, np.ndarray) and prior.ndim == 2:
        prior = prior[:, :n_topics]
    host = HostWeights(rows[:, :n_topics], prior, scale, weight, sums)
    weights = engine.weights(host)
    if not np.isfinite(sums).all() or not has_totals(weights):
        _refuse(path, "it has a topic without any words")
    off = rows[:, :n_topics].sum(axis=0, dtype=np.float64) - sums
    if len(rows) and (np.abs(scale * off) > 1e-3 * weights.totals).any():
        _refuse(path, "its topics do not add up to their sums")
    return weights


def _prior(
    arrays: Arrays, header: dict[str, Any], path: Path, shape: tuple[int, ...], n_topics: int
) -> float | NDArray[np.float32]:
    if "prior" not in arrays:
        value = _number(header, "prior", path, 1e6)
        return value if value > 0 else _refuse(path, "its prior is 0")
    prior = _array(arrays, "prior", np.float32, path)
    if prior.shape not in (shape[:1], shape):
        _refuse(path, "its prior has the wrong shape")
    used = prior[..., :n_topics] if prior.ndim == 2 else prior
    padding = prior[:, n_topics:] if prior.ndim == 2 else prior[:0]
    if not ((used > 0) & (used <= 1e6)).all() or padding.any():
        _refuse(path, "its prior holds values out of range")
    return prior


def _vocabulary(arrays: Arrays, header: Any, path: Path) -> Vocabulary:
    if not isinstance(header, dict):
        _refuse(path, f"its vocabulary is {_short(header)}")
    with _refused(path, "vocabulary cannot be used"):
        vocabulary = Vocabulary.from_arrays(_part(arrays, "vocabulary"), header)
    _count(header, "n_updates", path)  # one more must fit too
    return vocabulary


def _part(arrays: Arrays, name: str) -> Arrays:
    prefix = name + "."
    return {key[len(prefix) :]: part for key, part in arrays.items() if key.startswith(prefix)}


def _array(
    arrays: Arrays, name: str, dtype: type, path: Path, ndim: int | None = None
) -> NDArray[Any]:
    array = arrays.get(name)
    if array is None or array.dtype != dtype or (ndim is not None and array.ndim != ndim):
        _refuse(path, f"its array {name!r} is missing or of another type")
    return array


def _count(header: dict[str, Any], name: str, path: Path, most: int = 2**62) -> int:
    value = header.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        _refuse(path, f"its {name} is {_short(value)}")
    return value


def _number(header: dict[str, Any], name: str, path: Path, most: float = 1e300) -> float:
    value = header.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        _refuse(path, f"its {name} is {_short(value)}")
    return float(value)


def _short(value: Any) -> str:
    return _cut(repr(value), 60)


def _cut(text: str, length: int) -> str:
    return text.rstrip(".") if len(text) <= length else text[: length - 3] + "..."


@contextmanager
def _refused(path: Path, what: str) -> Iterator[None]:
    """Whatever a check makes of a value from a file, the file is to blame."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        _refuse(path, f"its {what} ({_cut(str(error), 200)})")


def _refuse(path: Path, why: str) -> NoReturn:
    raise ModelFileError(
        f"{path} is not a model this version can use: {why}; save the model again."
    ) from None
