"""Documents that are dictionaries: one of their values, or several, is the text."""

from collections.abc import Mapping, Sequence
from typing import Any

from opelda.corpus.formats.columns import choose
from opelda.errors import InputError


def is_record(item: Any) -> bool:
    """Whether this is a dictionary with a text among its values, and not counts of words."""
    return isinstance(item, Mapping) and any(isinstance(value, str) for value in item.values())


def text_of_record(item: Any, keys: Sequence[str], where: str) -> str:
    """Return the text under the keys, joined by a space; without keys, what looks like the text."""
    if not isinstance(item, Mapping):
        raise InputError(
            f"{where} is not a dictionary but {type(item).__name__}; give dictionaries only, or "
            "texts only."
        )
    textual = [str(key) for key, value in item.items() if isinstance(value, str)]
    chosen = choose([str(key) for key in item], textual, tuple(keys), where)
    return " ".join(_text(item[key], f"{where}, {key!r},") for key in chosen)


def _text(value: Any, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
        return " ".join(value)
    raise InputError(f"{where} is not a text but {type(value).__name__}; name another with text=.")
