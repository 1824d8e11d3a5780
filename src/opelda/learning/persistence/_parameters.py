"""A model's parameters as plain values and arrays, and those of files of every version."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from opelda.errors import InputError
from opelda.inference import METHODS, Method, PerToken
from opelda.learning._part import Arrays, Header
from opelda.learning._rules import RULES
from opelda.learning._seeds import SEED_STRENGTH, Seeds, checked_seeds
from opelda.learning.persistence._stored_model import StoredModel, shortened

# Parameters that are the machine's and the call's, not the model's.
NOT_SAVED = ("callbacks", "engine", "n_jobs", "verbose")
PRIORS = ("doc_topic_prior", "topic_word_prior")
# Parameters that older files do not have, and what they mean by that.
SINCE = {
    "preset": "paper",
    "n_sweeps": None,
    "seeds": None,
    "transform_method": None,
    "max_loss": None,
    "sparse_output": False,
    "n_runs": 1,
}
# Parameters of `TopicModel` that are parameters of its update rule today.
OF_RULE = {
    "learning_decay": "decay",
    "learning_offset": "offset",
    "population": "population",
    "keep_start": "keep_start",
    "init": "init",
}
RENAMED = {"picks": "coins"}  # parameters of methods that had other names


def parameters(model: Any) -> tuple[Header, Arrays]:
    """Return the parameters as plain values; arrays among them apart, by the value "array"."""
    values: Header = {}
    arrays: Arrays = {}
    for name, value in model.get_params(deep=False).items():
        if name in NOT_SAVED:
            continue
        if name in PRIORS and np.ndim(value) > 0:
            values[name] = "array"
            arrays[f"parameters.{name}"] = np.asarray(value, np.float64)
        elif name == "random_state" and not isinstance(value, int | np.integer):
            values[name] = None  # the seed drawn from it is in the state
        else:
            values[name] = _plain(name, value)
    return values, arrays


def _plain(name: str, value: Any) -> Any:
    """Return a parameter's value as JSON has it."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Method):
        if METHODS.get(getattr(value, "name", "")) is not type(value):
            raise InputError(
                f"{type(value).__name__} is not one of opelda's own inference methods; a model "
                "file cannot hold it."
            )
        return {"method": value.name, "parameters": _all_plain(value.get_params(deep=False))}
    if name == "seeds":
        seeds = checked_seeds(value)  # (a header's objects have no order)
        pairs = [list(pair) for pair in seeds.words.items()]
        return [pairs, seeds.strength] if isinstance(value, Seeds) else pairs
    if isinstance(value, PerToken):
        return _all_plain(vars(value))
    for rule, cls in RULES.items():
        if type(value) is cls:
            return {"rule": rule, "parameters": _all_plain(vars(value))}
    raise InputError(f"is {value!r}, which a model file cannot hold.", name)


def _all_plain(values: Header) -> Header:
    return {name: _plain(name, value) for name, value in values.items()}


def as_given(stored: StoredModel, name: str, value: Any) -> Any:
    """Return a parameter as it was given, of a file's values; raise `ValueError` for bad ones."""
    if value == "array" and name in PRIORS:
        array = stored.array(f"parameters.{name}", np.float64)
        if not 1 <= array.ndim <= 2 or not ((array >= 1e-30) & (array <= 1e6)).all():
            raise ValueError(f"its {name} cannot be a prior")
        return array
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
    values = as_today({RENAMED.get(str(k), str(k)): part for k, part in parameters.items()}, ())
    if values.keys() != vars(cls()).keys():
        raise ValueError(f"its parameters of the {kind} are not those of {cls.__name__}")
    return cls(**{name: as_given(stored, name, part) for name, part in values.items()})


def as_today(values: Header, known: Iterable[str]) -> Header:
    """Return the parameters of any version's file under today's names, which mean the same.

    Before there was a `transform_method`, no preset meant "best", or "paper" where a method or a
    rule was given, and a method that was given was that of `transform` too.
    """
    values = {k: v for k, v in values.items() if k not in ("n_jobs", "verbose")}  # once saved
    per_token = values.pop("max_loss_per_token", None)
    if per_token is not None:
        values["max_loss"] = {"nats": per_token, "at_most": values.get("max_loss")}
    if "preset" in known:
        if "transform_method" not in values:
            inference, learning = values.get("inference"), values.get("learning")
            values["transform_method"] = None if inference is None else "same"
            if values.get("preset", "paper") is None:
                values["preset"] = "best" if inference is None and learning is None else "paper"
        _move_to_rule(values)
        words, strength = values.pop("seed_words", None), values.pop("seed_strength", SEED_STRENGTH)
        if words is not None:
            values["seeds"] = words if strength == SEED_STRENGTH else [words, strength]
    return {name: value for name, value in SINCE.items() if name in known} | values


def _move_to_rule(values: Header) -> None:
    """Make a rule of the parameters that `TopicModel` had itself before, if some were given."""
    given = {new: values.pop(old) for old, new in OF_RULE.items() if old in values}
    cls = RULES.get(str(values.get("learning") or "online"))
    if cls is None:
        return
    own = vars(cls())
    given = {k: v for k, v in given.items() if k in own and v != own[k]}
    if given:
        rule = values.get("learning") or "online"
        values["learning"] = {"rule": rule, "parameters": own | given}
