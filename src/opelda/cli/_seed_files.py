"""Seed words from a file."""

import json
from pathlib import Path
from typing import Any

from opelda.errors import InputError

FORM = "write a line such as 'health care: health, insurance, medicaid' for each topic"


def read_seeds(given: str) -> dict[str, list[str]]:
    """Read seed words: a line for each topic, or from a .json file an object of lists."""
    path = Path(given)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8; save it as UTF-8.") from None
    found = _of_json(text, path) if path.suffix.lower() == ".json" else _of_lines(text, path)
    if not found:
        raise InputError(f"{path} holds no seed words; {FORM}.")
    return found


def _of_json(text: str, path: Path) -> dict[str, list[str]]:
    from opelda.learning._seeds import checked_words

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise InputError(f"{path} has a name twice; give each topic one of its own.")
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=once)
    except (json.JSONDecodeError, RecursionError) as error:
        where = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{path}{where} is not JSON; give an object of lists of words.") from None
    try:
        found: Any = checked_words(value)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return found  # type: ignore[no-any-return]


def _of_lines(text: str, path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, colon, rest = line.partition(":")
        name = name.strip()
        words = [word.strip() for word in rest.split(",") if word.strip()]
        if not (name and colon and words):
            raise InputError(f"{path}, line {number} has no name or no words; {FORM}.")
        if name in found:
            raise InputError(f"{path}, line {number} has {name!r} again; write its words in one.")
        found[name] = words
    return found
