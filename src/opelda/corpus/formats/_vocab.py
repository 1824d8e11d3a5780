"""Vocabulary files: a word a line, in the order of the columns, beside the documents.

Running text cannot hold every word as it is: `escape` writes white space, control characters and
the marks that formats use as percent signs and hexadecimal digits, and `unescape` reads them back.
"""

import re
from pathlib import Path

from opelda.corpus.formats._compression import read_most, without_suffix
from opelda.corpus.formats._encodings import codec
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._registry import Options
from opelda.errors import InputError

MOST_BYTES = 2**30  # of a vocabulary file, unpacked

_SPECIAL = re.compile(r"[\s%:|\x00-\x1f\x7f-\x9f]")
_ESCAPED = re.compile(r"(?:%[0-9A-F]{2})+")


def find(input: Input, options: Options, *, counts: bool = False) -> list[str] | None:
    """Return the words of the columns, None where there is no vocabulary file.

    For texts only the sidecar counts; beside matrices of counts any file whose name says that it
    is a vocabulary does, unless several do.
    """
    found = locate(input, options, counts=counts)
    if found is None:
        return None
    return read_vocabulary(found, options.encoding if counts else "utf-8")


def locate(input: Input, options: Options, *, counts: bool = False) -> Input | None:
    """Return the vocabulary file that belongs to a source."""
    if options.column_words is not None:
        return Input.of(options.column_words)
    if input.path is None:
        return None
    plain = without_suffix(input.path.name)[0]
    names = [f"{plain}.vocab"]
    if counts:
        stem = plain.rsplit(".", 1)[0]
        names += [f"{stem}.vocab", f"{stem}.vocab.txt"]
        if plain.startswith("docword."):  # its own and no other: many may lie in one folder
            names.insert(0, "vocab." + plain.removeprefix("docword."))
        else:
            names += ["vocab.txt", "vocabulary.txt"]
            names += _the_only_one(input.path)
    return next(filter(None, map(input.beside, names)), None)


def _the_only_one(path: Path) -> list[str]:
    """Name the file in the folder that calls itself a vocabulary, if it is the only one."""
    try:
        names = {without_suffix(other.name)[0] for other in path.parent.glob("*voca*.txt*")}
    except OSError:
        return []
    names = {name for name in names if name.endswith(".txt")} - {without_suffix(path.name)[0]}
    return list(names) if len(names) == 1 else []


def read_vocabulary(input: Input, encoding: str = "utf-8") -> list[str]:
    """Read a vocabulary: a word a line, as it stands, with line ends of either kind.

    An empty line is the empty word.
    """
    with input.open() as file:
        raw = read_most(file, MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise InputError(
            f"{input.label} has more than {MOST_BYTES:,} bytes, too many for a vocabulary; "
            "give a file with a word a line."
        )
    words = _decode(raw, encoding, input.label).split("\n")
    if words[-1] == "":
        words.pop()  # what follows the last line's end
    words = [word.removesuffix("\r") for word in words]
    if len(set(words)) < len(words):
        _refuse_repeated(words, input.label)
    return words


def _decode(raw: bytes, encoding: str, label: str) -> str:
    try:
        return raw.decode(codec(encoding)).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{label}, line {line} is not {encoding} ({error.reason}); "
            "give the vocabulary's encoding, for example {encoding}.",
            encoding="latin-1",
        ) from None


def _refuse_repeated(words: list[str], label: str) -> None:
    first: dict[str, int] = {}
    for line, word in enumerate(words, 1):
        if word in first:
            raise InputError(
                f"{label} has the word {word!r} in line {first[word]} and again in line {line}; "
                "make the words differ."
            )
        first[word] = line


def escape(word: str) -> str:
    r"""Write a word without white space, control characters, ``%``, ``:`` and ``|``.

    >>> escape("new york"), escape("50%"), escape("a:b"), escape(""), escape("caf\xe9")
    ('new%20york', '50%25', 'a%3Ab', '%', 'café')
    """
    return _SPECIAL.sub(_percent, word) if word else "%"


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


def unescape(word: str) -> str:
    """Return the word that was escaped; what is no escape is left as it is.

    >>> unescape("new%20york"), unescape("%"), unescape("100%")
    ('new york', '', '100%')
    """
    return "" if word == "%" else _ESCAPED.sub(_character, word)


def _character(match: re.Match[str]) -> str:
    try:
        return bytes.fromhex(match[0].replace("%", "")).decode()
    except UnicodeDecodeError:
        return match[0]
