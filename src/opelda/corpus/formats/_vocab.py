"""Vocabulary files: a word a line, in the order of the columns, beside the documents."""

from pathlib import Path

from opelda.corpus.formats._compression import read_most, without_suffix
from opelda.corpus.formats._encodings import codec
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._registry import Options
from opelda.errors import InputError

MOST_BYTES = 2**30  # of a vocabulary file, unpacked


def locate(input: Input, options: Options) -> Input | None:
    """Return the vocabulary file of a matrix of counts; None where there is none.

    Any file beside the matrix whose name says that it is a vocabulary will do, unless several do.
    """
    if options.column_words is not None:
        return Input.of(options.column_words)
    if input.path is None:
        return None
    plain = without_suffix(input.path.name)[0]
    stem = plain.rsplit(".", 1)[0]
    names = [f"{plain}.vocab", f"{stem}.vocab", f"{stem}.vocab.txt"]
    if plain.startswith("docword."):  # its own and no other: many may lie in one folder
        names.insert(0, "vocab." + plain.removeprefix("docword."))
    else:
        names += ["vocab.txt", "vocabulary.txt", *_the_only_one(input.path)]
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
    """Read a vocabulary: a word a line, as it stands, with line ends of either kind."""
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
