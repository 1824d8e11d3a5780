"""Counting the words of texts: of many in threads, of few straight over a vocabulary."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import _text
from opelda.corpus._matrix import Counted, csr
from opelda.corpus._word_columns import encodable
from opelda.corpus.text._languages import stems
from opelda.corpus.text._markup import FEW, few_without_markup, without_markup
from opelda.corpus.text._phrases import join, keys_of
from opelda.corpus.text._splitters import PAIRS, Calls, Matches, Runs, cutter, with_spaces
from opelda.errors import InputError

if TYPE_CHECKING:  # polars is imported on first use: commands without texts start faster
    import polars as pl

    from opelda.corpus.text.tokenizer import Tokenizer


def as_texts(texts: Any) -> "pl.Series":
    """Return a Series of strings without nulls, or say which document is none."""
    import polars as pl

    if isinstance(texts, pl.Series):
        if texts.dtype != pl.String and texts.len():
            raise InputError(f"The texts must be a Series of strings, not of {texts.dtype}.")
        if texts.null_count():
            raise _no_text(int(texts.is_null().arg_max() or 0), None)
        return texts.cast(pl.String)
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise InputError(
            f"The texts must be a sequence of strings, got one {type(texts).__name__}; "
            "for a single text give [text]."
        )
    values = list(texts)
    for number, text in enumerate(values):
        if not isinstance(text, str):
            raise _no_text(number, text)
    try:
        return pl.Series(values, dtype=pl.String)
    except UnicodeEncodeError:
        number = next(i for i, text in enumerate(values) if not encodable(text))
        raise InputError(
            f"Document {number} holds a lone surrogate, which is no character; "
            "decode its bytes with errors='replace'."
        ) from None


def lowered_column(texts: "pl.Series") -> "pl.Series":
    """Return the texts in lower case."""
    import polars as pl

    few = lowered(texts.to_list()) if len(texts) <= FEW else None
    return texts.str.to_lowercase() if few is None else pl.Series(few, dtype=pl.String)


def lowered(texts: list[str]) -> list[str] | None:
    """Return texts in lower case as polars has it; None where Python would have it otherwise."""
    for text in texts:
        if not text.isascii() and not _odd_letters().isdisjoint(text):
            return None
    return [text.lower() for text in texts]


@cache
def _odd_letters() -> frozenset[str]:
    """Return the letters that Python and polars lower-case in different ways."""
    import polars as pl

    odd = {"\u03a3"}  # it goes by the letters around it: their classes may differ
    for plane in range(0, 0x110000, 0x10000):  # one at a time: all of them take 300 MB
        points = range(max(plane, 0x80), plane + 0x10000)
        letters = [chr(point) for point in points if not 0xD800 <= point < 0xE000]
        by_polars = pl.Series(letters).str.to_lowercase().to_list()
        odd.update(a for a, b in zip(letters, by_polars, strict=True) if a.lower() != b)
    return frozenset(odd)


def _no_text(number: int, value: Any) -> InputError:
    kind = "missing" if value is None else f"of type {type(value).__name__}"
    return InputError(f"Document {number} is {kind}, not a text; give a string, or leave it out.")


NGRAMS = {1: (1, 1), 2: (1, 2), (1, 1): (1, 1), (1, 2): (1, 2), (2, 2): (2, 2)}
BYTES_PER_RUN = 1 << 18  # fewer are not worth a thread

Item = TypeVar("Item")
Result = TypeVar("Result")

# Words of some texts as codes in a table, and how many there are up to each text's end.
Coded = tuple[_text.WordTable, NDArray[np.int32], NDArray[np.int64]]


def count(
    texts: "pl.Series",
    *,
    markup: bool,
    segment: bool,
    lower: bool,
    cutter: Runs | Matches | Calls,
    removed: list[str],
    stem: str | None,
    ngrams: tuple[int, int],
    phrases: tuple[str, ...],
    n_jobs: int,
) -> Counted:
    """Count the words of texts; the answer is the same for any number of threads."""

    def code(run: "pl.Series") -> Coded:
        table = _text.WordTable()
        table.add(removed)  # so that these have the first codes
        run = run if markup else without_markup(run)
        run = with_spaces(run) if segment else run
        return table, *cutter.code(lowered_column(run) if lower else run, table)

    parts = _each(code, _runs(texts, n_jobs))
    table, codes_of = _joined(parts)
    # what becomes of each code: nothing, itself, or its stem
    renamed = np.arange(-len(removed), len(table) - len(removed), dtype=np.int32)
    np.maximum(renamed, -1, out=renamed)
    if stem is not None:
        stemmed = _text.WordTable()
        renamed[len(removed) :] = stemmed.add(stems(table.words(len(removed)), stem))
        table = stemmed
    elif ngrams[1] > 1:
        renamed[len(removed) :] += len(removed)
    names = [renamed if codes is None else renamed[codes] for codes in codes_of]
    if ngrams[1] == 1:
        words = table.words(0 if stem is not None else len(removed))
        if phrases:
            return _with_phrases(parts, names, words, phrases)
        return Counted(words, _counted(parts, names, len(words)))

    def pair(both: tuple[Coded, NDArray[np.int32]]) -> Coded:
        (_, codes, ends), names = both
        paired = _text.WordTable()
        return paired, *table.pairs(codes, ends, names, singles=ngrams[0] == 1, into=paired)

    parts = _each(pair, list(zip(parts, names, strict=True)))
    paired, codes_of = _joined(parts)
    own = np.arange(len(paired), dtype=np.int32)
    words = paired.words()
    return Counted(words, _counted(parts, [own if c is None else c for c in codes_of], len(words)))


def _with_phrases(
    parts: list[Coded], names: list[NDArray[np.int32]], words: list[str], phrases: tuple[str, ...]
) -> Counted:
    """Count with phrases in the place of their words; words that are only in these are none."""
    known, keys = keys_of(phrases, words)
    found = [
        (table, *join(own[codes], ends, keys, len(words)))
        for (table, codes, ends), own in zip(parts, names, strict=True)
    ]
    everything = np.concatenate([codes for _, codes, _ in found])
    codes, first = np.unique(everything, return_index=True)
    codes = codes[np.argsort(first)]  # in the order of first appearance
    renamed = np.full(len(words) + len(known), -1, np.int32)
    renamed[codes] = np.arange(len(codes), dtype=np.int32)
    all_words = [*words, *known]
    kept = [all_words[code] for code in codes]
    return Counted(kept, _counted(found, [renamed] * len(found), len(kept)))


def _runs(texts: "pl.Series", n_jobs: int) -> "list[pl.Series]":
    """Cut the texts into runs of about as many bytes each, at most one per thread."""
    if n_jobs == 1 or texts.estimated_size() < 2 * BYTES_PER_RUN:
        return [texts]
    total = np.cumsum(texts.str.len_bytes().to_numpy(), dtype=np.int64)
    n_runs = min(n_jobs, int(total[-1]) // BYTES_PER_RUN if len(total) else 0)
    if n_runs < 2:
        return [texts]
    cuts = np.searchsorted(total, total[-1] * np.arange(1, n_runs) // n_runs)
    edges = [0, *cuts.tolist(), len(texts)]
    return [texts.slice(begin, end - begin) for begin, end in pairwise(edges)]


def _each(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Do the work for every item, the first of them in this thread."""
    if len(items) == 1:
        return [work(items[0])]
    with ThreadPoolExecutor(len(items) - 1) as pool:
        rest = [pool.submit(work, item) for item in items[1:]]
        return [work(items[0]), *(future.result() for future in rest)]


def _joined(parts: list[Coded]) -> tuple[_text.WordTable, list[NDArray[np.int32] | None]]:
    """Return the table of all words, and what the codes of every part are in it; None: the same."""
    # words in order of first appearance in every part are so in all, one part after the other
    table = parts[0][0]
    return table, [None, *(table.absorb(part[0]) for part in parts[1:])]


def _counted(parts: list[Coded], names: list[NDArray[np.int32]], n_words: int) -> sparse.csr_array:
    rows = _each(
        lambda both: _text.count_rows(*both[0][1:], both[1], n_words=n_words),
        list(zip(parts, names, strict=True)),
    )
    ends, words, counts = rows[0]
    if len(rows) > 1:
        before = np.cumsum([0, *(len(row[1]) for row in rows[:-1])])
        later = (row[0][1:] + n for row, n in zip(rows, before, strict=True))
        ends = np.concatenate([ends[:1], *later])
        words = np.concatenate([row[1] for row in rows])
        counts = np.concatenate([row[2] for row in rows])
    return csr(counts, words, ends, (len(ends) - 1, n_words))


def checked_ngrams(ngrams: Any) -> tuple[int, int]:
    """Return from how many to how many words one may be made of."""
    wanted = tuple(ngrams) if isinstance(ngrams, list) else ngrams
    plain = wanted if isinstance(wanted, tuple) else (wanted,)
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in plain)
    if whole and wanted in NGRAMS:
        return NGRAMS[wanted]
    raise InputError(f"must be 1, 2, (1, 1), (1, 2) or (2, 2), got {ngrams!r:.80}.", "ngrams")


# Words entered into a table in the time that counting one text the other way takes.
WORDS_PER_CALL = 5_000


class FewTexts:
    """Counts few texts, over a table of the words that is made anew when these have changed."""

    def __init__(self) -> None:
        # the words' version, the tokenizer, and what `_table` made of them: changed in one step,
        # as several threads may count
        self._made: Any = None
        self._n_calls = 0  # that could not use it

    def count(
        self, documents: list[Any], words: list[str], version: int, tokenizer: "Tokenizer"
    ) -> sparse.csr_array | None:
        """Return counts over the words of this version; None where this way does not serve."""
        if not 0 < len(documents) <= FEW or not all(isinstance(text, str) for text in documents):
            return None
        cut = cutter(tokenizer.pattern, pairs=tokenizer.unspaced == PAIRS)
        if not tokenizer._is_plain or not isinstance(cut, Runs):
            return None
        made = self._made
        if made is None or made[:2] != (version, tokenizer):
            # Making the table waits for as many calls as would have taken as long, so that words
            # that change between calls never cost more than twice the time.
            self._made = None
            self._n_calls += 1
            if self._n_calls * WORDS_PER_CALL < len(words):
                return None
            self._n_calls = 0
            made = self._made = version, tokenizer, *_table_of(words, tokenizer._removed)
        _, _, table, columns, n_columns = made
        try:
            cleaned = documents if tokenizer.keep_markup else few_without_markup(documents)
            texts = lowered(cleaned) if tokenizer.lower else cleaned
            if texts is None:
                return None
            ends, held, counts = table.count_known(
                texts,
                columns,
                cut.classes,
                least=cut.least,
                need_letter=cut.need_letter,
                pairs=cut.pairs,
            )
        except UnicodeEncodeError:  # a lone surrogate, for which there is a sentence elsewhere
            return None
        return csr(counts, held, ends, (len(texts), n_columns))

    def __reduce__(self) -> tuple[type["FewTexts"], tuple[()]]:
        return FewTexts, ()  # a copy, or what was pickled, makes a table of its own


def _table_of(
    words: list[str], removed: list[str]
) -> tuple[_text.WordTable, NDArray[np.int32], int]:
    """Return the words and those left out as a table, the column of each, and how many."""
    table = _text.WordTable()
    n_removed = len(table.add(removed))
    codes = table.add(words)
    n_columns = len(codes)  # a stream may have added words meanwhile
    columns = np.full(len(table), -1, np.int32)
    columns[codes] = np.arange(n_columns, dtype=np.int32)
    columns[:n_removed] = -1
    return table, columns, n_columns
