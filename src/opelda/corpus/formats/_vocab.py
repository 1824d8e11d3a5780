"""Vocabulary files: a word a line, in the order of the columns, beside the documents.

Running text cannot hold every word as it is: `escape` writes white space, control characters and
the marks that formats use as percent signs and hexadecimal digits, and `unescape` reads them back.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from opelda.corpus.formats._compression import without_suffix
from opelda.corpus.formats._files import Input, write_in_one_step
from opelda.corpus.formats._format import Options
from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda.corpus._corpus import Corpus

MOST_BYTES = 2**30  # of a vocabulary file, unpacked
MOST_TOKENS = 10**8  # of one document, where every token is written out
TOKENS_AT_ONCE = 2**20

_SPECIAL = re.compile(r"[\s%:|\x00-\x1f\x7f-\x9f]")
_ESCAPED = re.compile(r"(?:%[0-9A-F]{2})+")


def find(input: Input, options: Options, *, counts: bool = False) -> list[str] | None:
    """Return the words of the columns, None where there is no vocabulary file.

    For texts only the sidecar counts; beside matrices of counts any file whose name says that it
    is a vocabulary does, unless several do.

    Examples
    --------
    >>> find(Input.of("-"), Options()) is None
    True
    """
    found = locate(input, options, counts=counts)
    if found is None:
        return None
    return read(found, options.encoding if counts else "utf-8")


def locate(input: Input, options: Options, *, counts: bool = False) -> Input | None:
    """Return the vocabulary file that belongs to a source.

    Examples
    --------
    >>> locate(Input.of("docword.kos.txt.gz"), Options(column_words="words.txt"), counts=True).label
    'words.txt'
    """
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
    for name in names:
        found = input.beside(name)
        if found is not None:
            return found
    return None


def _the_only_one(path: Path) -> list[str]:
    """Name the file in the folder that calls itself a vocabulary, if it is the only one."""
    try:
        names = {without_suffix(other.name)[0] for other in path.parent.glob("*voca*.txt*")}
    except OSError:
        return []
    names = {name for name in names if name.endswith(".txt")} - {without_suffix(path.name)[0]}
    return list(names) if len(names) == 1 else []


def sidecar(path: str) -> str | None:
    """Return where the vocabulary of a file is written; None for standard output.

    Examples
    --------
    >>> sidecar("out/news.jsonl.gz")
    'out/news.jsonl.vocab'
    """
    return None if path == "-" else f"{without_suffix(path)[0]}.vocab"


def read(input: Input, encoding: str = "utf-8") -> list[str]:
    r"""Read a vocabulary: a word a line, as it stands, with line ends of either kind.

    An empty line is the empty word.

    Raises
    ------
    InputError
        When two lines are the same, or bytes are not of this encoding.

    Examples
    --------
    >>> import io
    >>> read(Input.of(io.BytesIO(b"cat\r\nvis-\xc3\xa0-vis\n")))
    ['cat', 'vis-à-vis']
    """
    with input.open() as file:
        raw = file.read(MOST_BYTES + 1)
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
        return raw.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{label}, line {line} is not {encoding} ({error.reason}); "
            "give the vocabulary's encoding, for example {encoding}.",
            encoding="latin-1",
        ) from None
    except (LookupError, ValueError):
        raise InputError(
            f"There is no encoding {encoding!r}; give one such as 'utf-8' or 'latin-1'."
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


def write(words: Iterable[str] | None, path: str | None) -> None:
    r"""Write words, a line each, in one step; nothing where there are none, or no place.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(["cat", "dog"], f"{folder}/pets.vocab")
    ...     read(Input.of(f"{folder}/pets.vocab"))
    ['cat', 'dog']
    """
    file = as_file(words, path)
    if file is not None:
        with write_in_one_step(file[0]) as opened:
            opened.write(file[1])


def as_file(words: Iterable[str] | None, path: str | None) -> tuple[str, bytes] | None:
    """Return the path and the content of a vocabulary file; None where there is to be none.

    Raises
    ------
    InputError
        When a word has a line break in it.
    """
    if words is None or path is None:
        return None
    words = list(words)
    for word in words:
        if "\n" in word or "\r" in word:
            raise InputError(
                f"The word {word!r} has a line break in it and cannot stand in {path}, a word "
                "a line; replace the line break."
            )
    text = "".join(f"{word}\n" for word in words)
    mark = "\ufeff" if text.startswith("\ufeff") else ""  # the first one is taken for a mark
    return path, (mark + text).encode()


def escape(word: str) -> str:
    r"""Write a word without white space, control characters, ``%``, ``:`` and ``|``.

    Examples
    --------
    >>> escape("new york"), escape("50%"), escape("a:b"), escape(""), escape("caf\xe9")
    ('new%20york', '50%25', 'a%3Ab', '%', 'café')
    """
    return _SPECIAL.sub(_percent, word) if word else "%"


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


def unescape(word: str) -> str:
    """Return the word that was escaped; what is no escape is left as it is.

    Examples
    --------
    >>> unescape("new%20york"), unescape("%"), unescape("100%")
    ('new york', '', '100%')
    """
    return "" if word == "%" else _ESCAPED.sub(_character, word)


def _character(match: re.Match[str]) -> str:
    try:
        return bytes.fromhex(match[0].replace("%", "")).decode()
    except UnicodeDecodeError:
        return match[0]


def texts_of(corpus: "Corpus") -> Iterator[str]:
    """Yield documents as text: every word, escaped, as often as it is counted.

    Raises
    ------
    InputError
        When the corpus names no words, or counts are fractions or beyond writing out.

    Examples
    --------
    >>> from scipy import sparse
    >>> from opelda.corpus._corpus import Corpus
    >>> from opelda.corpus import Vocabulary
    >>> X = sparse.csr_array([[2.0, 1.0], [0.0, 0.0]])
    >>> list(texts_of(Corpus(X, Vocabulary(["new york", "cat"]))))
    ['new%20york new%20york cat', '']
    """
    if corpus.words is None:
        raise InputError(
            "The corpus names no words and cannot be written as text; "
            "give its vocabulary file with {column_words}.",
            column_words=...,
        )
    X = corpus.X
    words = np.array([*map(escape, corpus.words), ""], object)[:-1]  # one text: no array of letters
    check_whole(corpus, "text")
    ends = np.concatenate(([0], np.cumsum(X.data, dtype=np.float64)))[X.indptr]
    lengths = np.diff(ends)
    if len(lengths) and lengths.max() > MOST_TOKENS:
        raise InputError(
            f"Document {int(lengths.argmax())} has {lengths.max():.0f} words, which text would "
            f"repeat one by one; at most {MOST_TOKENS} can be written, so choose another format."
        )
    first = 0
    while first < len(lengths):
        last = int(np.searchsorted(ends, ends[first] + TOKENS_AT_ONCE, side="right")) - 1
        last = min(max(last, first + 1), len(lengths))
        entries = slice(X.indptr[first], X.indptr[last])
        repeated = np.repeat(X.indices[entries], X.data[entries].astype(np.int64))
        tokens = words[repeated].tolist()
        places = (ends[first : last + 1] - ends[first]).astype(np.int64).tolist()
        for begin, end in pairwise(places):
            yield " ".join(tokens[begin:end])
        first = last


def check_whole(corpus: "Corpus", what: str) -> None:
    """Refuse counts that are no whole numbers, for a format that cannot hold them.

    Raises
    ------
    InputError
        Naming the first such document and its word.
    """
    X = corpus.X
    whole = np.isfinite(X.data) & (np.floor(X.data) == X.data)
    if whole.all():
        return
    at = int(np.argmin(whole))
    row = int(np.searchsorted(X.indptr, at, side="right")) - 1
    column = int(X.indices[at])
    word = f"column {column}" if corpus.words is None else repr(corpus.words[column])
    raise InputError(
        f"Document {row} counts {word} as {X.data[at]:g}, and {what} holds whole numbers only; "
        "round the counts, or choose Matrix Market or npz."
    )
