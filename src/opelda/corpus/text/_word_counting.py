"""Counting the words of many texts: in runs, one per thread, joined in order."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import _text
from opelda.corpus._matrix import Counted, csr
from opelda.corpus.text._custom_splitter import Calls
from opelda.corpus.text._languages import stems
from opelda.corpus.text._markup import without_markup
from opelda.corpus.text._patterns import Matches, Runs
from opelda.corpus.text._phrases import join, keys_of
from opelda.corpus.text._texts import lowered_column
from opelda.corpus.text._unspaced import with_spaces
from opelda.errors import InputError

if TYPE_CHECKING:
    import polars as pl

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
