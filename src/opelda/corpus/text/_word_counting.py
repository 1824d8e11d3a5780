"""Counting the words of texts: of many in threads, of few straight over a vocabulary."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import _text
from opelda._validation import number
from opelda.corpus._matrix import Counted, by_appearance, csr, remap_columns, stacked
from opelda.corpus._word_columns import encodable
from opelda.corpus.text._languages import checked_words, stems
from opelda.corpus.text._markup import FEW, few_without_markup, without_markup
from opelda.corpus.text._splitters import PAIRS, WORDS, coded, scanned_runs, with_spaces
from opelda.errors import InputError

if TYPE_CHECKING:  # polars is imported on first use: commands without texts start faster
    import polars as pl

    from opelda.corpus.text.tokenizer import Tokenizer

BYTES_PER_RUN = 1 << 18  # fewer are not worth a thread
# NPMI of a phrase, and documents that must have it (`python -m benchmarks.phrases`; 20 Newsgroups)
LEAST_NPMI, LEAST_DOCUMENTS = 0.5, 10
WORDS_PER_CALL = 5_000  # entered into a table in the time of counting one text without it


def as_texts(texts: Any) -> "pl.Series":
    """Return a Series of strings without nulls; refuse other documents."""
    import polars as pl

    if isinstance(texts, pl.Series) and not texts.null_count():
        if texts.dtype != pl.String and texts.len():
            raise InputError(f"The texts must be a Series of strings, not of {texts.dtype}.")
        return texts.cast(pl.String)
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise InputError(
            f"The texts must be a sequence of strings, got one {type(texts).__name__}; pass a "
            "single text as [text]."
        )
    values = list(texts)
    for i, text in enumerate(values):
        if not isinstance(text, str):
            kind = "missing" if text is None else f"of type {type(text).__name__}"
            raise InputError(
                f"Document {i} is {kind}, not a text; pass a string, or remove the document."
            )
    try:
        return pl.Series(values, dtype=pl.String)
    except UnicodeEncodeError:
        i = next(i for i, text in enumerate(values) if not encodable(text))
        raise InputError(
            f"Document {i} has a lone surrogate, an invalid character; decode its bytes with "
            "errors='replace'."
        ) from None


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
    for plane in range(0, 0x110000, 0x10000):  # plane by plane: all characters take 300 MB
        points = range(max(plane, 0x80), plane + 0x10000)
        letters = [chr(point) for point in points if not 0xD800 <= point < 0xE000]
        by_polars = pl.Series(letters).str.to_lowercase().to_list()
        odd.update(a for a, b in zip(letters, by_polars, strict=True) if a.lower() != b)
    return frozenset(odd)


def count(texts: "pl.Series", tokenizer: "Tokenizer", n_jobs: int) -> Counted:
    """Count the words of texts; the answer is the same for any number of threads."""
    runs = [texts]
    # runs of about as many bytes each, at most one per thread
    if n_jobs > 1 and texts.estimated_size() >= 2 * BYTES_PER_RUN:
        total = np.cumsum(texts.str.len_bytes().to_numpy(), dtype=np.int64)
        n_runs = max(1, min(n_jobs, int(total[-1]) // BYTES_PER_RUN))
        cuts = np.searchsorted(total, total[-1] * np.arange(1, n_runs) // n_runs)
        edges = [0, *cuts.tolist(), len(texts)]
        runs = [texts.slice(begin, end - begin) for begin, end in pairwise(edges)]
    if len(runs) == 1:
        return count_run(texts, tokenizer)
    with ThreadPoolExecutor(len(runs) - 1) as pool:
        others = pool.map(lambda run: _table_and_counts(run, tokenizer), runs[1:])
        table, first, X = _table_and_counts(runs[0], tokenizer)  # meanwhile, in this thread
        parts = list(others)
        # words stay in the order of first appearance; those left out have the same codes in all
        table = _as_table(table)
        absorbed = [table.absorb(_as_table(part[0])) for part in parts]
        columns = [own[first:] - np.int32(first) for own in absorbed]
        n_words, rest = len(table) - first, [part[2] for part in parts]
        moved = pool.map(lambda part, own: remap_columns(part, own, n_words)[0], rest, columns)
        return Counted(table.words(first), stacked([X, *moved], n_words))


def count_run(texts: "pl.Series", tokenizer: "Tokenizer") -> Counted:
    """Count the words of texts in this thread, by a tokenizer without undecided settings."""
    table, first, X = _table_and_counts(texts, tokenizer)
    return Counted(table if isinstance(table, list) else table.words(first), X)


def _as_table(words: _text.WordTable | list[str]) -> _text.WordTable:
    if isinstance(words, list):
        table = _text.WordTable()
        table.add(words)
        return table
    return words


def _table_and_counts(
    texts: "pl.Series", tokenizer: "Tokenizer"
) -> tuple[_text.WordTable | list[str], int, sparse.csr_array]:
    """Return words as a table or list, the first word that counts, and counts from it on."""
    import polars as pl

    texts = texts if tokenizer.keep_markup else without_markup(texts)
    if (tokenizer.unspaced, tokenizer.pattern, tokenizer.split) == (WORDS, None, None):
        texts = with_spaces(texts)
    if tokenizer.lower:
        few = lowered(texts.to_list()) if len(texts) <= FEW else None
        texts = texts.str.to_lowercase() if few is None else pl.Series(few, dtype=pl.String)
    table = _text.WordTable()
    first = len(table.add(tokenizer._removed))  # the words that are left out have the first codes
    pairs = tokenizer.unspaced == PAIRS
    codes, ends = coded(texts, table, tokenizer.pattern, tokenizer.split, pairs=pairs)
    # the new number of each code; -1 for words left out
    renamed = np.arange(-first, len(table) - first, dtype=np.int32)
    np.maximum(renamed, -1, out=renamed)
    if tokenizer.stem is not None:
        stemmed = _text.WordTable()
        renamed[first:] = stemmed.add(stems(table.words(first), tokenizer.stem))
        table, first = stemmed, 0
    least, most = cast(tuple[int, int], tokenizer.ngrams)
    if most > 1:
        renamed[renamed >= 0] += first  # numbers in the table of the single words
        paired = _text.WordTable()
        codes, ends = table.pairs(codes, ends, renamed, singles=least == 1, into=paired)
        table, first, renamed = paired, 0, np.arange(len(paired), dtype=np.int32)
    if tokenizer.phrases:
        words = table.words(first)
        codes, ends, words = joined(renamed[codes], ends, tokenizer.phrases, words)
        held, renamed = by_appearance(codes, len(words))  # not words of phrases alone
        words = [words[code] for code in held]
        first = 0
    found = words if tokenizer.phrases else table
    n_words = len(found) - first
    ends, columns, counts = _text.count_rows(codes, ends, renamed, n_words=n_words)
    return found, first, csr(counts, columns, ends, (len(ends) - 1, n_words))


def checked_ngrams(ngrams: Any) -> tuple[int, int]:
    """Return the least and the most words of an n-gram."""
    known = {"1": (1, 1), "2": (1, 2), "(1, 1)": (1, 1), "(1, 2)": (1, 2), "(2, 2)": (2, 2)}
    found = known.get(repr(tuple(ngrams) if isinstance(ngrams, list) else ngrams))
    if found is None:
        raise InputError(f"must be 1, 2, (1, 1), (1, 2) or (2, 2), got {ngrams!r:.80}.", "ngrams")
    return found


def checked_phrases(phrases: Any, ngrams: tuple[int, int]) -> float | tuple[str, ...]:
    """Return phrases, sorted, or the score from which on pairs are some."""
    if phrases is False or (isinstance(phrases, tuple | list) and not phrases):
        return ()
    if ngrams != (1, 1):
        raise InputError(
            "and ngrams are mutually exclusive; remove one of the parameters.", "phrases"
        )
    if phrases is True:
        return LEAST_NPMI
    if isinstance(phrases, int | float | np.number):
        return number("phrases", phrases, -1.0, 1.0)
    words = checked_words("phrases", phrases, "True, a score from -1 to 1, or phrases")
    for phrase in words:
        if len(phrase.split(" ")) != 2 or not all(phrase.split(" ")):
            raise InputError(f"must be pairs of words, but contain {phrase!r:.80}.", "phrases")
    return words


def phrases_of(
    texts: "pl.Series", tokenizer: "Tokenizer", least: float, n_jobs: int
) -> dict[str, float]:
    """Return the phrases of texts with their NPMI, the strongest first."""
    counted = count(texts, replace(tokenizer, phrases=(), ngrams=2), n_jobs)
    columns, n_words = counted.counts.indices, len(counted.words)
    df = np.bincount(columns, minlength=n_words)
    total = np.bincount(columns, counted.counts.data, minlength=n_words)
    return chosen(counted.words, df, total, least)


def chosen(
    words: Sequence[str], document_frequency: NDArray[Any], total: NDArray[Any], least: Any
) -> dict[str, float]:
    """Return the phrases among words and pairs of words with their NPMI, the strongest first."""
    number_of = dict(zip(words, total.tolist(), strict=True))
    pairs = [
        (word, *word.split(" "))
        for word, df in zip(words, document_frequency.tolist(), strict=True)
        if df >= LEAST_DOCUMENTS and word.count(" ") == 1
    ]
    n_tokens = sum(n for word, n in number_of.items() if " " not in word)
    together = np.array([number_of[pair] for pair, _, _ in pairs]) / max(n_tokens, 1.0)
    alone = [[number_of.get(one, 0.0) for one in row[1:]] for row in pairs]
    product = np.prod(np.array(alone).reshape(-1, 2) / max(n_tokens, 1.0), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(together / product) / -np.log(together)
    kept = np.flatnonzero(npmi >= least)
    order = kept[np.argsort(-npmi[kept], kind="stable")]
    return {pairs[i][0]: float(npmi[i]) for i in order}


def joined(
    codes: NDArray[np.int32], ends: NDArray[np.int64], phrases: Any, words: list[str]
) -> tuple[NDArray[np.int32], NDArray[np.int64], list[str]]:
    """Return codes with phrases instead of their words, from the left, and the phrases' words.

    Known phrase i has the code ``len(words) + i``; -1 is left out.
    """
    parts = {part for phrase in phrases for part in phrase.split(" ")}
    code_of = {word: code for code, word in enumerate(words) if word in parts}
    phrase_of = {}
    for phrase in phrases:
        a, b = (code_of.get(part) for part in phrase.split(" "))
        if a is not None and b is not None:
            phrase_of[a * len(words) + b] = phrase
    keys = np.array(sorted(phrase_of), np.int64)
    all_words = [*words, *(phrase_of[key] for key in keys.tolist())]
    kept = codes >= 0
    ends = np.append(0, np.cumsum(kept))[ends]
    codes = codes[kept]
    if len(codes) < 2 or not len(keys):
        return codes, ends, all_words
    pair = codes[:-1].astype(np.int64) * len(words) + codes[1:]
    which = np.minimum(np.searchsorted(keys, pair), len(keys) - 1)
    found = keys[which] == pair
    inner = ends[(ends > 0) & (ends < len(codes))]
    found[inner - 1] = False  # of two texts
    # of phrases that overlap every other one is taken, from the first on
    place = np.arange(len(found))
    begins = found & ~np.append(False, found[:-1])
    first = np.maximum.accumulate(np.where(begins, place, 0))
    taken = np.flatnonzero(found & ((place - first) % 2 == 0))
    codes[taken] = len(words) + which[taken]
    stays = np.ones(len(codes), bool)
    stays[taken + 1] = False
    return codes[stays], np.append(0, np.cumsum(stays))[ends], all_words


class FewTexts:
    """Counts few texts over a table of the words, which is rebuilt when these have changed."""

    def __init__(self) -> None:
        # version, tokenizer, table, columns and their number, changed in one step for threads
        self._made: Any = None
        self._n_calls = 0  # that could not use it

    def count(
        self, documents: list[Any], words: list[str], version: int, tokenizer: "Tokenizer"
    ) -> sparse.csr_array | None:
        """Return counts over the words of this version; None where this way does not serve."""
        if not 0 < len(documents) <= FEW or not all(isinstance(text, str) for text in documents):
            return None
        made_of_runs = (tokenizer.stem, tokenizer.split, tokenizer.ngrams) == (None, None, (1, 1))
        if not made_of_runs or tokenizer.unspaced == WORDS or tokenizer.phrases:
            return None
        runs = scanned_runs(tokenizer.pattern, pairs=tokenizer.unspaced == PAIRS)
        if runs is None:
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
            table = _text.WordTable()
            n_removed = len(table.add(tokenizer._removed))
            codes = table.add(words)
            columns = np.full(len(table), -1, np.int32)
            columns[codes] = np.arange(len(codes), dtype=np.int32)
            columns[:n_removed] = -1
            # not the number of words: a stream may have added some meanwhile
            made = self._made = version, tokenizer, table, columns, len(codes)
        _, _, table, columns, n_columns = made
        try:
            cleaned = documents if tokenizer.keep_markup else few_without_markup(documents)
            texts = lowered(cleaned) if tokenizer.lower else cleaned
            if texts is None:
                return None
            ends, held, counts = table.count_known(texts, columns, **runs)
        except UnicodeEncodeError:  # a lone surrogate: counting many texts names the document
            return None
        return csr(counts, held, ends, (len(texts), n_columns))

    def __reduce__(self) -> tuple[type["FewTexts"], tuple[()]]:
        return FewTexts, ()  # a copy builds its own table
