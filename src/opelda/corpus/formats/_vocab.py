"""Vocabulary files: a word a line, in the order of the columns, beside the documents."""

from opelda.corpus.formats import Options
from opelda.corpus.formats._compression import SUFFIXES, read_most, without_suffix
from opelda.corpus.formats._input import Input, codec
from opelda.errors import InputError

MOST_BYTES = 2**30  # of a vocabulary file, unpacked


def locate(input: Input, options: Options) -> Input | None:
    """Return the vocabulary file of counts: the given one, or one beside them; None without."""
    if options.column_words is not None:
        return Input.of(options.column_words)
    if input.path is None:
        return None
    plain = without_suffix(input.path.name)[0]
    stem = plain.rsplit(".", 1)[0]
    names = [f"{plain}.vocab", f"{stem}.vocab", f"{stem}.vocab.txt"]
    if plain.startswith("docword."):  # many of them may lie in one folder
        names.insert(0, "vocab." + plain.removeprefix("docword."))
    else:
        names += ["vocab.txt", "vocabulary.txt"]
    paths = (input.path.parent / (name + end) for name in names for end in ("", *SUFFIXES))
    return next((Input.of(path) for path in paths if path.is_file()), None)


def read_vocabulary(input: Input, encoding: str = "utf-8") -> list[str]:
    """Read a vocabulary: a word a line, unchanged, with line ends of either kind."""
    with input.open() as file:
        raw = read_most(file, MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise InputError(
            f"{input.label} has more than {MOST_BYTES:,} bytes, too many for a vocabulary; "
            "pass a file with one word per line."
        )
    try:
        words = raw.decode(codec(encoding)).removeprefix("\ufeff").split("\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{input.label}, line {line} is not {encoding} ({error.reason}); pass the "
            f"vocabulary's encoding, for example {{encoding}}.",
            encoding="latin-1",
        ) from None
    if words[-1] == "":
        words.pop()  # what follows the last line's end
    words = [word.removesuffix("\r") for word in words]
    lines: dict[str, int] = {}
    for line, word in enumerate(words, 1):
        if (first := lines.setdefault(word, line)) != line:
            raise InputError(
                f"{input.label} has the word {word!r} in line {first} and a duplicate in line "
                f"{line}; remove the duplicate."
            )
    return words
