"""Documents that are dictionaries: one of their values, or several, is the text."""

from collections.abc import Mapping, Sequence
from typing import Any

from opelda.corpus._kinds import is_missing
from opelda.corpus.formats.columns import choose, choose_keys, listed
from opelda.errors import InputError


class Records:
    """Where the text of dictionaries is; the first one decides, unless the user does.

    Parameters
    ----------
    first : Mapping
    keys : sequence of str
        The keys asked for; none: found by name.
    name : str or None
        The key that names the documents.
    where : str
        What messages call the first one.
    """

    def __init__(self, first: Any, keys: Sequence[str], name: str | None, where: str) -> None:
        if not isinstance(first, Mapping):
            raise InputError(
                f"{where} is not a dictionary but {type(first).__name__}; give dictionaries only, "
                "or leave {text_column} out.",
                text_column=...,
            )
        self.keys = list(keys) or choose_keys(first, where)
        self.key_of_name = name
        if name is not None:
            choose(_keys(first), (), (name,), where, "key")

    def text(self, item: Any, where: str) -> str:
        """Return the text under the keys, joined by a space; a key that is missing has none."""
        if not isinstance(item, Mapping):  # an empty list
            return ""
        found = [key for key in self.keys if key in item]
        if not found:
            keys = " or ".join(map(repr, self.keys))
            raise InputError(
                f"{where} has no key {keys}; {listed(_keys(item))}: give {{text_column}}.",
                text_column=...,
            )
        return " ".join(_text(item[key], f"{where}, {key!r},") for key in found)

    def name(self, item: Any) -> str:
        """Return what the document is called."""
        value = item.get(self.key_of_name) if isinstance(item, Mapping) else None
        return "" if is_missing(value) else str(value)


def _keys(item: Mapping[Any, Any]) -> list[str]:
    return [key for key in item if isinstance(key, str)]


def _text(value: Any, where: str) -> str:
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
        return " ".join(value)
    raise InputError(
        f"{where} is not a text but {type(value).__name__}; name another with {{text_column}}.",
        text_column=...,
    )
