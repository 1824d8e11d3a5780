"""A model as named arrays and plain values, and back; nothing in them could run code."""

from typing import Any

import numpy as np

from opelda import _store, learning
from opelda._validation import whole
from opelda.corpus import Vocabulary
from opelda.corpus._word_columns import pack_words, unpack_words
from opelda.engines.seam import HostWeights
from opelda.errors import InputError
from opelda.learning._part import Arrays, Header
from opelda.learning._state import PARTS, State
from opelda.learning.persistence._parameters import NOT_SAVED, as_given, as_today, parameters
from opelda.learning.persistence._stored_model import (
    FORMAT,
    KIND,
    StoredModel,
    are_divisible,
    blaming,
    checksum,
    shortened,
)

STOP_WORDS = ("stop_words", "extra_stop_words", "phrases")  # a tokenizer's, which may be long
COUNTERS = ("seed", "n_updates", "n_docs_seen")
NUMBERS = ("population", "n_unknown_tokens")


def check_own(model: Any, what: str) -> None:
    """Refuse a model that could not be loaded without the code of its class."""
    name = type(model).__name__
    if learning.LEARNERS.get(name) is not type(model):
        raise InputError(
            f"{what} one of opelda's learners, got {name}; a subclass of your own cannot be loaded "
            "again without its code."
        )


def write_model(path: Any, model: Any, stream: Any = None, *, documents: bool = True) -> None:
    """Write a model file in one step; see `as_parts`."""
    arrays, header = as_parts(model, stream, documents=documents)
    _store.write(path, arrays, header, kind=KIND, version=FORMAT)


def as_parts(
    model: Any, stream: Any = None, *, documents: bool = True
) -> tuple[Arrays, dict[str, Any]]:
    """Return a fitted model's arrays and header; refuse what could not be loaded again.

    `stream` is what a checkpoint says of its source, `documents` whether to keep those of a window.
    """
    state: State = model._state
    weights = state.weights
    values, arrays = parameters(model)
    model._plan(state, listen=False)  # refuses parameters that learning could not resume with
    sizes = {weights.n_words, int(model.n_features_in_)}
    if state.vocabulary is not None:
        sizes.add(len(state.vocabulary))
    if len(sizes) > 1:  # a stream that failed for want of memory
        raise InputError(
            f"The model's words and topics do not agree ({sorted(sizes)} words): learning failed "
            "between the two, and it is not saved."
        )
    if weights.n_words and not are_divisible(weights.totals):
        raise InputError(
            "The topics hold weights that are no finite positive numbers: the model cannot be used "
            "any more, and is not saved."
        )
    host = weights.host()
    arrays["rows"] = np.ascontiguousarray(host.rows)
    arrays["sums"] = weights.sums
    header: Header = {
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
            # a header holds ten million bytes
            if isinstance(words, list) and sum(map(len, words)) > 1_000_000:
                tokenizer[name] = {"array": f"vocabulary.{name}"}
                arrays.update(_packed(f"vocabulary.{name}", words))
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        arrays.update(_packed("feature_names", names))
    if stream is not None:
        header["stream"] = stream
    for name, part in PARTS.items():
        value = getattr(state, name)
        if value is not None and (documents or not part.has_documents):
            parts, said = part.save(value)
            arrays.update({f"{name}.{each}".rstrip("."): array for each, array in parts.items()})
            if part.has_header:
                header[name] = said
    return arrays, header | {"checksum": checksum(arrays, header)}


def _packed(name: str, words: Any) -> Arrays:
    try:
        letters, offsets = pack_words(str(word) for word in words)
    except UnicodeEncodeError as error:
        raise InputError(
            f"The word or column name {error.object!r} cannot be written as UTF-8; rename it."
        ) from None
    return {f"{name}.bytes": letters, f"{name}.offsets": offsets}


def loaded(stored: StoredModel) -> Any:
    """Make the model that a file describes."""
    with blaming(stored.path):
        cls = learning.LEARNERS.get(str(stored.header.get("class")))
        if cls is None:
            raise ValueError(
                f"it names an unknown learner, {shortened(stored.header.get('class'))}"
            )
        known: Header = cls().get_params(deep=False)
        values = stored.header.get("parameters")
        values = as_today(values, known) if isinstance(values, dict) else {}
        if set(values) != set(known) - set(NOT_SAVED):
            raise ValueError(f"its parameters are not those of {cls.__name__}")
        model = cls(**{name: as_given(stored, name, value) for name, value in values.items()})
    restore(model, stored)
    return model


def restore(model: Any, stored: StoredModel) -> None:
    """Give a model the learned state of a file, all of it checked."""
    with blaming(stored.path):
        host = HostWeights(
            stored.rows, stored.prior, stored.scale, stored.prior_weight, stored.sums
        )
        weights, names = model._engine().weights(host), stored.names
        state = State(
            weights,
            stored.count("seed", 2**32 - 1),
            n_updates=stored.count("n_updates", 2**32 - 2),  # kernels' seeds hold 32 bits
            n_docs_seen=stored.count("n_docs_seen"),
            population=stored.number("population", 1e15),
            vocabulary=_vocabulary(stored),
            n_unknown_tokens=stored.number("n_unknown_tokens"),
        )
        if state.vocabulary is not None and len(state.vocabulary) != weights.n_words:
            raise ValueError("its numbers of words do not agree with its topics")
        found = {name: stored.value(name, part) for name, part in PARTS.items()}
        state.update({name: value for name, value in found.items() if value is not None})
        model._plan(state, listen=False)
    model.__dict__.pop("feature_names_in_", None)
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    model.n_features_in_ = weights.n_words
    model._state = state


def _vocabulary(stored: StoredModel) -> Vocabulary | None:
    packed = stored.part("vocabulary")
    if not packed and "vocabulary" not in stored.header:
        return None
    said = stored.json("vocabulary")
    for name in STOP_WORDS:
        words, tokenizer = stored.part(f"vocabulary.{name}"), said.get("tokenizer")
        if words and isinstance(tokenizer, dict):
            said = said | {"tokenizer": tokenizer | {name: unpack_words(words)}}
    whole("n_updates", said.get("n_updates"), 0)  # one more must fit too
    return Vocabulary.from_arrays(packed, said)
