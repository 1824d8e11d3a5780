"""Models to arrays and plain values, and back."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from opelda import _store, learning
from opelda._validation import whole
from opelda.corpus import Vocabulary
from opelda.corpus._word_columns import pack_words, unpack_words
from opelda.engines.seam import HostWeights
from opelda.errors import InputError
from opelda.inference import METHODS, Method, PerToken
from opelda.learning._part import Arrays, Header
from opelda.learning._rules import RULES, Streaming
from opelda.learning._seeds import SEED_STRENGTH, Seeds, checked_seeds
from opelda.learning._state import PARTS, State
from opelda.learning._tps import TPS, as_word_vectors
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
# Parameters that are the machine's and the call's, not the model's.
NOT_SAVED = ("callbacks", "engine", "n_jobs", "verbose")
PRIORS = ("doc_topic_prior", "topic_word_prior")
# What older files mean that lack a parameter.
SINCE = {"preset": "paper", "sparse_output": False, "n_runs": 1, "n_groups": 0}
SINCE |= dict.fromkeys(("n_sweeps", "seeds", "transform_method", "max_loss"))


def check_own(model: Any, what: str) -> None:
    """Refuse a model of a user's class, whose code is in no file."""
    name = type(model).__name__
    if learning.MODELS.get(name) is not type(model):
        raise InputError(
            f"{what} one of opelda's learners, got {name}; a subclass of your own cannot be loaded "
            "again without its code."
        )


def write_model(path: Any, model: Any, stream: Any = None, *, documents: bool = True) -> None:
    arrays, header = as_parts(model, stream, documents=documents)
    _store.write(path, arrays, header, kind=KIND, version=FORMAT)


def as_parts(
    model: Any, stream: Any = None, *, documents: bool = True
) -> tuple[Arrays, dict[str, Any]]:
    """Return a fitted model's arrays and header; refuse a model that could not be loaded.

    `stream` is a checkpoint's source; `documents` includes the documents of a window.
    """
    state: State = model._state
    weights = state.weights
    values, arrays = parameters(model)
    model._plan(state, listen=False)  # refuses parameters that learning could not resume with
    words = range(weights.n_words) if state.vocabulary is None else state.vocabulary
    sizes = {weights.n_words, int(model.n_features_in_), len(words)}
    if len(sizes) > 1:  # a stream ran out of memory
        raise InputError(
            f"The vocabulary and the topics have different sizes ({sorted(sizes)} words): learning "
            "failed midway, and the model is not saved; fit it again."
        )
    if weights.n_words and not are_divisible(weights.totals):
        raise InputError(
            "The topics have NaN, infinite or negative weights; the model is unusable and is not "
            "saved; fit it again."
        )
    host = weights.host()
    arrays |= {"rows": np.ascontiguousarray(host.rows), "sums": weights.sums}
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


def parameters(model: Any) -> tuple[Header, Arrays]:
    """Return the parameters as plain values; arrays are apart and have the value "array"."""
    values: Header = {}
    arrays: Arrays = {}
    for name, value in model.get_params(deep=False).items():
        if name in PRIORS and np.ndim(value) > 0:
            values[name] = "array"
            arrays[f"parameters.{name}"] = np.asarray(value, np.float64)
        elif name == "random_state" and not isinstance(value, int | np.integer):
            values[name] = None  # the seed drawn from it is in the state
        elif name not in NOT_SAVED:
            values[name] = _plain(name, value)
        if isinstance(value, TPS):
            arrays["parameters.learning"] = as_word_vectors("vectors", value.vectors)
    return values, arrays


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if name == "vectors":
        return "array"
    if isinstance(value, Method):
        if METHODS.get(getattr(value, "name", "")) is not type(value):
            raise InputError(
                f"{type(value).__name__} is not one of opelda's own inference methods; a model "
                "file cannot store it."
            )
        return {"method": value.name, "parameters": _all_plain(value.get_params(deep=False))}
    if name == "seeds":
        seeds = checked_seeds(value)  # as pairs: a header's objects have no order
        pairs = [list(pair) for pair in seeds.words.items()]
        return [pairs, seeds.strength] if isinstance(value, Seeds) else pairs
    if isinstance(value, PerToken):
        return _all_plain(vars(value))
    for rule, cls in RULES.items():
        if type(value) is cls:
            return {"rule": rule, "parameters": _all_plain(vars(value))}
    raise InputError(f"is {value!r}, which a model file cannot store.", name)


def _all_plain(values: Header) -> Header:
    return {name: _plain(name, value) for name, value in values.items()}


def loaded(stored: StoredModel) -> Any:
    """Make the model of a file."""
    with blaming(stored.path):
        cls = learning.MODELS.get(str(stored.header.get("class")))
        if cls is None:
            raise ValueError(
                f"it names an unknown learner, {shortened(stored.header.get('class'))}"
            )
        known: Header = cls().get_params(deep=False)
        values = stored.header.get("parameters")
        values = as_today(values, known) if isinstance(values, dict) else {}
        if set(values) != set(known) - set(NOT_SAVED):
            raise ValueError(f"its parameters do not match {cls.__name__}")
        model = cls(**{name: _as_given(stored, name, value) for name, value in values.items()})
    restore(model, stored)
    return model


def restore(model: Any, stored: StoredModel) -> None:
    """Give a model the learned state of a file, checked."""
    with blaming(stored.path):
        host = HostWeights(*stored.weights[:5])
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
            raise ValueError("its vocabulary and its topics have different sizes")
        found = {name: stored.value(name, part) for name, part in PARTS.items()}
        state.update({name: value for name, value in found.items() if value is not None})
        ratios = None if state.prevalence is None else state.prevalence.ratios
        n_rows = 0 if ratios is None else len(ratios)
        if state.window is not None and not state.window.kept.has_rows(n_rows):
            raise ValueError("its documents have other rows than its prevalence")
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


def _as_given(stored: StoredModel, name: str, value: Any) -> Any:
    """Return a parameter of a file as its user gave it."""
    if value == "array" and name in PRIORS:
        array = stored.array(f"parameters.{name}", np.float64)
        if not 1 <= array.ndim <= 2 or not ((array >= 1e-30) & (array <= 1e6)).all():
            raise ValueError(f"its {name} is not a valid prior")
        return array
    if value == "array" and name == "vectors":
        return stored.array("parameters.learning", np.float64)
    if isinstance(value, dict):
        if name in ("inference", "transform_method"):
            return _object(stored, value, "inference method", METHODS)
        if name == "learning":
            return _object(stored, value, "update rule", RULES)
        if name == "max_loss" and value.keys() == vars(PerToken(1.0)).keys():
            return PerToken(**value)
    if name == "seeds" and isinstance(value, list):
        has_strength = len(value) == 2 and isinstance(value[1], int | float)
        pairs = value[0] if has_strength else value
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise ValueError(f"its seed words are {shortened(value)}")
        words = checked_seeds(dict(pairs)).words
        return Seeds(words, value[1]) if has_strength else words
    if isinstance(value, dict | list):
        raise ValueError(f"its parameter {name} is {shortened(value)}")
    return value


def _object(stored: StoredModel, value: Header, kind: str, classes: dict[str, Any]) -> Any:
    """Return a method or an update rule."""
    cls, parameters = classes.get(str(value.get(kind.split()[1]))), value.get("parameters")
    if cls is None or not isinstance(parameters, dict):
        raise ValueError(f"it names an unknown {kind}")
    # OPE's coins were its picks once
    renamed = {"coins" if name == "picks" else name: each for name, each in parameters.items()}
    values = as_today(renamed, ())
    if cls is Streaming:
        values = {"keep_prior": False} | values
    if values.keys() != vars(cls()).keys():
        raise ValueError(f"its parameters of the {kind} do not match {cls.__name__}")
    return cls(**{name: _as_given(stored, name, part) for name, part in values.items()})


def as_today(values: Header, known: Iterable[str]) -> Header:
    """Return the parameters of a file of any version under today's names.

    Before `transform_method`, a preset of None meant "best", or "paper" with a given method or
    rule, and a given method was that of `transform`, too.
    """
    values = {k: v for k, v in values.items() if k not in ("n_jobs", "verbose")}  # once saved
    per_token = values.pop("max_loss_per_token", None)
    if per_token is not None:
        values["max_loss"] = {"nats": per_token, "at_most": values.get("max_loss")}
    if "preset" in known:
        inference, learning = values.get("inference"), values.get("learning")
        if "transform_method" not in values:
            values["transform_method"] = None if inference is None else "same"
            if values.get("preset", "paper") is None:
                values["preset"] = "best" if inference is None and learning is None else "paper"
        # parameters of today's update rules, some of them under longer names
        former = ("learning_decay", "learning_offset", "population", "keep_start", "init")
        given = {k.removeprefix("learning_"): values.pop(k) for k in former if k in values}
        rule = learning or "online"
        own = vars(RULES[rule]()) if isinstance(rule, str) and rule in RULES else {}
        changed = {k: v for k, v in given.items() if k in own and v != own[k]}
        if changed:
            values["learning"] = {"rule": rule, "parameters": own | changed}
        words, strength = values.pop("seed_words", None), values.pop("seed_strength", SEED_STRENGTH)
        if words is not None:
            values["seeds"] = words if strength == SEED_STRENGTH else [words, strength]
    return {name: value for name, value in SINCE.items() if name in known} | values
