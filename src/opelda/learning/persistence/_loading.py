"""Named arrays and plain values as a model again; nothing in them is run or believed.

Whatever is wrong with a value raises a `ValueError` that says so; `blaming` makes it the file's.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._validation import number, whole
from opelda.corpus import Vocabulary
from opelda.corpus._vocabulary_arrays import unpack_words
from opelda.engines import Engine
from opelda.engines.seam import SMALLEST_SCALE, HostWeights, Prior, Weights
from opelda.errors import ModelFileError
from opelda.inference import METHODS, Method
from opelda.learning._curve import Curve
from opelda.learning._seed_words import SEED_STRENGTH, checked_words
from opelda.learning._state import State
from opelda.learning.editing._topic_labels import from_arrays as labels_from
from opelda.learning.persistence._saving import (
    ARRAY_PARAMETERS,
    NOT_SAVED,
    OF_TOPICS,
    SEED_WORDS,
    STOP_WORDS,
    Arrays,
    checksum,
    has_totals,
)
from opelda.learning.streaming._watch import Watch
from opelda.learning.streaming._window import Window

# Parameters that older files do not have, and what they mean by that.
SINCE = {
    "preset": "paper",
    "init": None,
    "n_sweeps": None,
    "seed_words": None,
    "seed_strength": SEED_STRENGTH,
    "transform_method": None,
    "max_loss": None,
    "max_loss_per_token": None,
    "sparse_output": False,
    "n_runs": 1,
}
METHOD_PARAMETERS = ("inference", "transform_method")

# Parameters of methods that had other names.
RENAMED = {"picks": "coins"}

Header = dict[str, Any]


@contextmanager
def blaming(path: Path) -> Iterator[None]:
    """Turn whatever a check makes of a value from a file into the error of that file."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(
            f"{path} is not a model this version can use: {_short(str(error), 250)}; save the "
            "model again."
        ) from None


def from_parts(
    classes: dict[str, type], arrays: Arrays, header: Header, version: int, path: Path
) -> Any:
    """Make the model that arrays and header describe."""
    with blaming(path):
        cls = classes.get(str(header.get("class")))
        if cls is None:
            raise ValueError(f"it names an unknown learner, {_short(header.get('class'))}")
        known: Header = cls().get_params(deep=False)
        values = header.get("parameters")
        values = as_today(values, known) if isinstance(values, dict) else {}
        if set(values) != set(known) - set(NOT_SAVED):
            raise ValueError(f"its parameters are not those of {cls.__name__}")
        model = cls(**{name: _parameter(arrays, name, value) for name, value in values.items()})
    restore(model, arrays, header, version, path)
    return model


def as_today(values: Header, known: Iterable[str]) -> Header:
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


def _parameter(arrays: Arrays, name: str, value: Any) -> Any:
    if value == "array" and name in ARRAY_PARAMETERS:
        array = _array(arrays, f"parameters.{name}", np.float64)
        if not 1 <= array.ndim <= 2 or not ((array >= 1e-30) & (array <= 1e6)).all():
            raise ValueError(f"its {name} cannot be a prior")
        return array
    if name in METHOD_PARAMETERS and isinstance(value, dict):
        return _method(value)
    if name == SEED_WORDS and isinstance(value, list):
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
            raise ValueError(f"its seed words are {_short(value)}")
        return checked_words(dict(value))
    if isinstance(value, dict | list):
        raise ValueError(f"its parameter {name} is {_short(value)}")
    return value


def _method(value: Header) -> Method:
    cls, values = METHODS.get(str(value.get("method"))), value.get("parameters")
    if cls is None or not isinstance(values, dict):
        raise ValueError("it names an unknown inference method")
    values = {RENAMED.get(name, name): part for name, part in values.items()}
    if set(values) != set(cls().get_params(deep=False)):
        raise ValueError(f"its parameters of inference are not those of {cls.__name__}")
    return cls(**values)


def restore(model: Any, arrays: Arrays, header: Header, version: int, path: Path) -> None:
    """Give a model the learned state that arrays and header describe, all of it checked."""
    with blaming(path):
        if header.get("checksum") != checksum(arrays, header):
            raise ValueError("it is not what was written once")
        state = State(
            _weights(model._engine(), arrays, header, version),
            _count(header, "seed", 2**32 - 1),
            n_updates=_count(header, "n_updates", 2**32 - 2),  # kernels' seeds hold 32 bits
            n_docs_seen=_count(header, "n_docs_seen"),
            population=_number(header, "population", 1e15),
            vocabulary=_vocabulary(arrays, header),
            n_unknown_tokens=_number(header, "n_unknown_tokens"),
        )
        named = _part(arrays, "feature_names")
        names = np.array(unpack_words(named), dtype=object) if named else None
        n_words = state.weights.n_words
        for part in (state.vocabulary, names, range(_count(header, "n_features_in", 2**31))):
            if part is not None and len(part) != n_words:
                raise ValueError("its numbers of words do not agree with its topics")
        shape = n_words, state.weights.n_topics
        if "window" in header:
            said = _object(header, "window")
            state.window = Window.from_arrays(_part(arrays, "window"), said, shape)
        if "watch" in header:
            said = _object(header, "watch")
            state.watch = Watch.from_arrays(_part(arrays, "watch"), said, shape)
        if "curve" in header:
            state.curve = Curve.from_arrays(_part(arrays, "curve"), _object(header, "curve"))
        for name in OF_TOPICS.keys() & arrays.keys():
            setattr(state, name, _of_topics(arrays, name, state.weights.n_topics))
        labels = _part(arrays, "labels")
        if labels:
            state.labels = labels_from(labels, state.weights.n_topics)
        model._plan(state, listen=False)
    model.__dict__.pop("feature_names_in_", None)
    if names is not None:
        model.feature_names_in_ = names
    model.n_features_in_ = n_words
    model._state = state


def _weights(engine: Engine, arrays: Arrays, header: Header, version: int) -> Weights:
    n_topics = _count(header, "n_topics")
    rows, sums = _array(arrays, "rows", np.float32, 2), _array(arrays, "sums", np.float64, 1)
    scale, weight = _number(header, "scale", 1.0), _number(header, "prior_weight", 1.0)
    width = -(-n_topics // 16) * 16 if version == 1 else n_topics  # which padded its rows
    if n_topics < 1 or rows.shape[1] != width or len(sums) != n_topics:
        raise ValueError("its topics have the wrong shape")
    if scale < SMALLEST_SCALE:
        raise ValueError("its scale is out of range")
    # extremes, of which NaN is neither: comparing all would make an array of the topics' shape
    if (rows.size and not (rows.min() >= 0 and rows.max() < np.inf)) or rows[:, n_topics:].any():
        raise ValueError("its topics hold values that cannot be weights")
    prior = _prior(arrays, header, rows.shape, n_topics)
    rows = rows[:, :n_topics]
    weights = engine.weights(HostWeights(rows, prior, scale, weight, sums))
    if not np.isfinite(sums).all() or not has_totals(weights):
        raise ValueError("it has a topic without any words")
    off = rows.sum(axis=0, dtype=np.float64) - sums
    if len(rows) and (np.abs(scale * off) > 1e-3 * weights.totals).any():
        raise ValueError("its topics do not add up to their sums")
    return weights


def _prior(arrays: Arrays, header: Header, shape: tuple[int, ...], n_topics: int) -> Prior:
    if "prior" not in arrays:
        return number("prior", header.get("prior"), 0.0, 1e6, above=True)
    prior = _array(arrays, "prior", np.float32)
    if prior.shape not in (shape[:1], shape):
        raise ValueError("its prior has the wrong shape")
    padding = prior[:0]
    if prior.ndim == 2:
        prior, padding = prior[:, :n_topics], prior[:, n_topics:]
    if not ((prior > 0) & (prior <= 1e6)).all() or padding.any():
        raise ValueError("its prior holds values out of range")
    return prior


def _of_topics(arrays: Arrays, name: str, n_topics: int) -> NDArray[np.float64]:
    found = _array(arrays, name, np.float64, 1)
    # NaN is neither
    if len(found) != n_topics or not ((found >= OF_TOPICS[name]) & (found <= 1.0)).all():
        raise ValueError(f"its {name} cannot be that of its topics")
    return found


def _vocabulary(arrays: Arrays, header: Header) -> Vocabulary | None:
    packed = _part(arrays, "vocabulary")
    if not packed and "vocabulary" not in header:
        return None
    said = _object(header, "vocabulary")
    for name in STOP_WORDS:
        words, tokenizer = _part(arrays, f"vocabulary.{name}"), said.get("tokenizer")
        if words and isinstance(tokenizer, dict):
            said = said | {"tokenizer": tokenizer | {name: unpack_words(words)}}
    _count(said, "n_updates")  # one more must fit too
    return Vocabulary.from_arrays(packed, said)


def _object(header: Header, name: str) -> Header:
    """Return a part of the header, which must be a JSON object."""
    found = header.get(name)
    if not isinstance(found, dict):
        raise ValueError(f"its {name} is {_short(found)}")
    return found


def _part(arrays: Arrays, name: str) -> Arrays:
    prefix = name + "."
    return {k.removeprefix(prefix): part for k, part in arrays.items() if k.startswith(prefix)}


def _array(arrays: Arrays, name: str, dtype: type, ndim: int | None = None) -> NDArray[Any]:
    array = arrays.get(name)
    if array is None or array.dtype != dtype or (ndim is not None and array.ndim != ndim):
        raise ValueError(f"its array {name!r} is missing or of another type")
    return array


def _count(header: Header, name: str, most: int = 2**62) -> int:
    return whole(name, header.get(name), 0, most)


def _number(header: Header, name: str, most: float = 1e300) -> float:
    return number(name, header.get(name), 0.0, most)


def _short(value: Any, length: int = 60) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text.rstrip(".") if len(text) <= length else text[: length - 3] + "..."
