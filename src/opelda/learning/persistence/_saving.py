"""A model as named arrays and plain values; nothing that could run code."""

import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.corpus._vocabulary_arrays import pack_words
from opelda.engines.seam import Weights
from opelda.errors import InputError
from opelda.inference import METHODS, Method
from opelda.learning._seed_words import checked_words
from opelda.learning._state import State
from opelda.learning.editing._topic_labels import to_arrays

KIND = "opelda model"
FORMAT = 2
# Parameters that are the machine's and the call's, not the model's.
NOT_SAVED = ("callbacks", "engine", "n_jobs", "verbose")
ARRAY_PARAMETERS = ("doc_topic_prior", "topic_word_prior")
SEED_WORDS = "seed_words"
# Lists of a tokenizer that may be long.
STOP_WORDS = ("stop_words", "extra_stop_words", "phrases")
COUNTERS = ("seed", "n_updates", "n_docs_seen")
NUMBERS = ("population", "n_unknown_tokens")
OF_TOPICS = {"coherence": -1.0, "stability": 0.0}  # a number from here to 1 for each, if known
# Letters of stop words from which on they are an array: a header holds ten million bytes.
LONG_STOP_WORDS = 1_000_000
# A topic's weights must add up to what single precision can divide by.
SMALLEST_TOTAL, LARGEST_TOTAL = 1e-35, 1e35

Arrays = dict[str, NDArray[Any]]


def as_parts(
    model: Any, stream: Any = None, *, documents: bool = True
) -> tuple[Arrays, dict[str, Any]]:
    """Return a fitted model's arrays and header; refuse what could not be loaded again.

    `stream` is what a checkpoint says of its source, `documents` whether to keep those of a window.
    """
    state: State = model._state
    weights = state.weights
    values, arrays = parameters(model)
    model._plan(state, listen=False)  # complains of parameters that nothing could go on with
    sizes = {weights.n_words, int(model.n_features_in_)}
    if state.vocabulary is not None:
        sizes.add(len(state.vocabulary))
    if len(sizes) > 1:  # a stream that failed for want of memory
        raise InputError(
            f"The model's words and topics do not agree ({sorted(sizes)} words): learning failed "
            "between the two, and it is not saved."
        )
    if not has_totals(weights):
        raise InputError(
            "The topics hold weights that are no finite positive numbers: the model cannot be used "
            "any more, and is not saved."
        )
    host = weights.host()
    arrays["rows"] = np.ascontiguousarray(host.rows)
    arrays["sums"] = weights.sums
    header: dict[str, Any] = {
        "class": type(model).__name__,
        "parameters": values,
        "n_topics": weights.n_topics,
        "scale": float(host.scale),
        "prior_weight": float(host.prior_weight),
        "n_features_in": int(model.n_features_in_),
        **{name: int(getattr(state, name)) for name in COUNTERS},
        **{name: float(getattr(state, name)) for name in NUMBERS},
    }
    if isinstance(host.prior, np.ndarray):
        arrays["prior"] = np.ascontiguousarray(host.prior)
    else:
        header["prior"] = float(host.prior)
    if state.vocabulary is not None:
        parts, header["vocabulary"] = state.vocabulary.to_arrays()
        arrays.update({f"vocabulary.{name}": part for name, part in parts.items()})
        tokenizer = header["vocabulary"]["tokenizer"]
        for name in STOP_WORDS:
            words = tokenizer[name]
            if isinstance(words, list) and sum(map(len, words)) > LONG_STOP_WORDS:
                tokenizer[name] = {"array": f"vocabulary.{name}"}
                arrays.update(_packed(f"vocabulary.{name}", words))
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        arrays.update(_packed("feature_names", names))
    if stream is not None:
        header["stream"] = stream
    if state.window is not None and documents:
        parts, header["window"] = state.window.to_arrays()
        arrays.update({f"window.{name}": part for name, part in parts.items()})
    if state.watch is not None:
        parts, header["watch"] = state.watch.to_arrays()
        arrays.update({f"watch.{name}": part for name, part in parts.items()})
    for name in OF_TOPICS:
        if getattr(state, name) is not None:
            arrays[name] = getattr(state, name)
    if state.curve is not None:
        parts, header["curve"] = state.curve.to_arrays()
        arrays.update({f"curve.{name}": part for name, part in parts.items()})
    if state.labels:
        arrays.update({f"labels.{name}": part for name, part in to_arrays(state.labels).items()})
    return arrays, header | {"checksum": checksum(arrays, header)}


def checksum(arrays: Arrays, header: dict[str, Any]) -> int:
    """Return the CRC-32 of everything else: storage and transfers do err."""
    rest = {name: value for name, value in header.items() if name != "checksum"}
    crc = zlib.crc32(json.dumps(rest, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        said = f"{name} {array.dtype.name} {array.shape}"
        crc = zlib.crc32(said.encode(), crc)
        crc = zlib.crc32(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data, crc)
    return crc


def parameters(model: Any) -> tuple[dict[str, Any], Arrays]:
    """Return the parameters as plain values; arrays among them apart, by the value "array"."""
    values: dict[str, Any] = {}
    arrays: Arrays = {}
    for name, value in model.get_params(deep=False).items():
        if name in NOT_SAVED:
            continue
        if isinstance(value, Method):
            values[name] = _method_values(value)
        elif name in ARRAY_PARAMETERS and np.ndim(value) > 0:
            values[name] = "array"
            arrays[f"parameters.{name}"] = np.asarray(value, np.float64)
        elif name == SEED_WORDS and value is not None:  # (a header's objects have no order)
            values[name] = [list(pair) for pair in checked_words(value).items()]
        elif isinstance(value, np.generic):
            values[name] = value.item()
        elif value is None or isinstance(value, bool | int | float | str):
            values[name] = value
        elif name == "random_state":  # the seed drawn from it is in the state
            values[name] = None
        else:
            raise InputError(f"is {value!r}, which a model file cannot hold.", name)
    return values, arrays


def _method_values(method: Method) -> dict[str, Any]:
    name = getattr(method, "name", "")
    if METHODS.get(name) is not type(method):
        raise InputError(
            f"{type(method).__name__} is not one of opelda's own inference methods; a model file "
            "cannot hold it."
        )
    values = method.get_params(deep=False)
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in values.items()}
    return {"method": name, "parameters": plain}


def _packed(name: str, words: Any) -> Arrays:
    try:
        letters, offsets = pack_words(str(word) for word in words)
    except UnicodeEncodeError as error:
        raise InputError(
            f"The word or column name {error.object!r} cannot be written as UTF-8; rename it."
        ) from None
    return {f"{name}.bytes": letters, f"{name}.offsets": offsets}


def has_totals(weights: Weights) -> bool:
    """Whether every topic has weights to divide by."""
    totals = weights.totals
    good = (totals >= SMALLEST_TOTAL) & (totals <= LARGEST_TOTAL)  # NaN is neither
    return weights.n_words == 0 or bool(good.all())
