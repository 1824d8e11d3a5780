"""A whole collection into memory, as counts."""

from dataclasses import replace
from itertools import compress
from os import PathLike
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from opelda._count_matrix import counts
from opelda._validation import flag, number, threads
from opelda.corpus._block import Beside, Block, joined_columns
from opelda.corpus._corpus import Corpus
from opelda.corpus._counting import Merger, Progress, count_blocks, found_words, limited
from opelda.corpus._kinds import are_documents
from opelda.corpus._matrix import keep_columns
from opelda.corpus._phrases import PhraseSample
from opelda.corpus._vocabulary import Vocabulary
from opelda.corpus.sources import checked_options, open_source
from opelda.corpus.text import Tokenizer
from opelda.corpus.text._word_counting import chosen
from opelda.errors import InputError

BLOCK = 5_000  # documents counted at a time
NEARLY_THE_SAME = 0.8
LEAST_WORDS = 5  # documents of fewer distinct words can be similar at random: never copies
# Two documents are compared if the smallest hashes of their words agree for all hash functions of a
# band: at a similarity of .8 with a probability of .9998.
BANDS, HASHES = 16, 4

Share = int | float


def read(
    source: Any,
    *,
    format: str = "auto",
    text_column: str | tuple[str, ...] | list[str] | None = None,
    name_column: str | Literal[False] | None = None,
    metadata: str | tuple[str, ...] | list[str] | None = None,
    tokenizer: Tokenizer | None = None,
    vocabulary: Vocabulary | None = None,
    min_df: Share | None = None,
    max_df: Share | None = None,
    max_features: int | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    encoding: str = "utf-8",
    column_words: str | PathLike[str] | Any = None,
    first_id: Literal[0, 1] | None = None,
    limit: int | None = None,
    dedupe: bool = False,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Corpus:
    """Read a collection of documents as counts.

    Parameters
    ----------
    source : path, or documents in memory
        A file, compressed or not; a folder; a pattern such as ``"logs/*.jsonl"``; a list of
        `pathlib.Path`; ``"-"``, standard input. Or an iterable of texts, word lists, mappings from
        word to count, dictionaries with a text, or gensim's (id, count) lists; a column or a data
        frame of pandas, polars or Arrow; a matrix of counts; a corpus.
    format : str
        One of `opelda.corpus.formats.FORMATS`, or "auto": detected from the file's name and start.
    text_column : str or list of str, optional
        The columns or keys of the text; several texts are joined by a space. By default a column
        with a usual name, such as "text" or "abstract".
    name_column : str or False, optional
        The column or key of document names. By default the first of "title", "id", "name" and
        similar columns; False: no names.
    metadata : str or list of str, optional
        Columns or keys that are kept beside the counts. "auto", also in a list, selects columns
        with usual names of a time or a group, such as "date" or "author"; "*" selects all
        columns other than the text and the name.
    tokenizer : Tokenizer, optional
        The rules of words; by default ``Tokenizer()``.
    vocabulary : Vocabulary, optional
        Count these words only, with this vocabulary's tokenizer, as for a learned model.
    min_df, max_df : int or float, optional
        Exclude words in fewer or more documents; a float is a share of the documents. By default,
        of words found in texts, at least 5 documents (2 in fewer than 1,000, 1 in fewer than 50)
        and at most half of the documents.
    max_features : int, optional
        Maximum number of words; the most frequent words are kept.
    on_error : {"stop", "skip"}
        Action on a malformed document: raise an error, or skip and count the document.
    encoding : str
    column_words : path, list of words or gensim Dictionary, optional
        The words of numbered columns; a file has one word per line. By default a file beside the
        source is used.
    first_id : {None, 0, 1}
        The number of the first word, if it differs from the convention of the file's format.
    limit : int, optional
        Read the first `limit` documents only.
    dedupe : bool
        Remove near duplicates of earlier documents; see `near_duplicates`.
    n_jobs : int, optional
        Number of threads; None is all cores, but one thread inside a joblib worker. Results do not
        depend on `n_jobs`.
    progress : callable, optional
        Called after each block with the numbers of documents read, bytes read and, if known, total
        bytes.

    Returns
    -------
    Corpus
        Counts with words in alphabetical order, or in the order of the source's vocabulary.

    Examples
    --------
    >>> corpus = read(["Tea and cake", "more tea, please", "cake with tea"])
    >>> corpus.words
    ('cake', 'tea')
    >>> corpus.X.toarray().tolist()
    [[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]
    """
    options = checked_options(
        format, text_column, name_column, metadata, on_error, encoding, column_words, first_id
    )
    opened = open_source(source, options)
    if vocabulary is not None:
        if (tokenizer, min_df, max_df, max_features) != (None,) * 4:
            raise InputError(
                "A vocabulary has its own words and tokenizer; remove tokenizer, {min_df}, "
                "{max_df} and {max_features}.",
                min_df=...,
                max_df=...,
                max_features=...,
            )
        tokenizer = vocabulary.tokenizer
    if tokenizer is None and isinstance(source, Corpus) and source.vocabulary is not None:
        tokenizer = source.vocabulary.tokenizer
    tokenizer = Tokenizer() if tokenizer is None else tokenizer
    n_threads = threads(n_jobs)
    blocks = limited(opened, BLOCK, limit, progress)
    if vocabulary is None and isinstance(tokenizer.phrases, float):
        held = list(blocks)  # for the phrases of all texts
        tokenizer, blocks = _with_phrases(tokenizer, held, n_threads), iter(held)
    merger = Merger(opened.words, tokenizer, vocabulary, n_threads)
    beside: list[tuple[Beside, int]] = []
    sample = PhraseSample()  # for labels
    for block, counted, merger.tokenizer in count_blocks(blocks, tokenizer, n_threads):
        merger.add(counted)
        if merger.words_found and isinstance(block.documents, pl.Series):
            sample.add(block.documents)
        beside.append((block.beside, len(block)))
    if not merger.n_docs:
        raise InputError(f"{opened.label} has no documents; check the contents of the source.")
    X, words = merger.finish(min_df, max_df, max_features)
    if words is not None and merger.words_found:
        words.phrases = sample.phrases(words, n_threads)
    joined = Block([], None, joined_columns(beside))
    corpus = Corpus(
        X,
        words,
        joined.names,
        n_skipped=opened.problems.n_skipped,
        problems=tuple(opened.problems.first),
        n_unknown_tokens=merger.n_unknown,
        metadata=joined.metadata,
    )
    if not flag("dedupe", dedupe):
        return corpus
    return _without_copies(corpus, (min_df, max_df) if merger.words_found else None)


def near_duplicates(
    documents: Any, threshold: float = NEARLY_THE_SAME, *, n_bands: int = BANDS
) -> NDArray[np.int64]:
    """Return the earlier near duplicate of each document, or -1.

    Two documents are near duplicates if the Jaccard coefficient of their words is at least
    `threshold`. Candidates are found by MinHash (Broder 1997) and compared word by word. Duplicates
    of a duplicate refer to the first document. Documents with fewer than 5 distinct words are kept.

    Parameters
    ----------
    documents : Corpus, array or sparse matrix (D, V), or a source of `read`
    threshold : float
        Minimum share of common words.
    n_bands : int
        More bands find more pairs near the threshold and take more time.

    Returns
    -------
    int64 array (D,)

    Examples
    --------
    >>> from opelda.corpus import near_duplicates
    >>> texts = ["tea cup pot leaf water", "court judge law", "pot leaf tea water cup"]
    >>> near_duplicates(texts)
    array([-1, -1,  0])
    """
    least = number("threshold", threshold, 0.0, 1.0, above=True)
    if not isinstance(documents, Corpus) and are_documents(documents):
        documents = read(documents, min_df=1, max_df=1.0, name_column=False)
    return copies(
        documents.X if isinstance(documents, Corpus) else counts(documents), least, n_bands
    )


def _with_phrases(tokenizer: Tokenizer, held: list[Block], n_threads: int) -> Tokenizer:
    """Return the tokenizer with the language of the first texts and the phrases of all."""
    texts = next((b.documents for b in held if isinstance(b.documents, pl.Series)), None)
    if texts is None:
        return tokenizer
    known = replace(tokenizer, phrases=()).resolved(texts)
    pairs = replace(known, ngrams=2)
    merger = Merger(None, pairs, None, n_threads)
    for _, counted, _ in count_blocks(iter(held), pairs, n_threads):
        merger.add(counted)
    return replace(known, phrases=chosen(*merger.found(), tokenizer.phrases))


def _without_copies(corpus: Corpus, bounds: tuple[Any, Any] | None) -> Corpus:
    """Return a corpus without near duplicates; `bounds` are min_df and max_df of words."""
    stay = np.flatnonzero(copies(corpus.X) < 0)
    X, words = corpus.X[stay], corpus.vocabulary
    if bounds is not None and words is not None:
        df = np.bincount(X.indices, minlength=X.shape[1])
        keep = found_words(df, df.astype(np.float64), len(stay), *bounds, None)
        X = keep_columns(X, keep)
        kept = compress(words.words, keep)
        phrases = words.phrases
        words = Vocabulary.known(kept, df[keep], tokenizer=words.tokenizer)
        words.phrases = phrases
    columns = [] if corpus.metadata is None else [column[stay] for column in corpus.metadata]
    return replace(
        corpus,
        X=X,
        vocabulary=words,
        names=None if corpus.names is None else [corpus.names[i] for i in stay.tolist()],
        metadata=pl.DataFrame(columns) if columns else None,
        n_duplicates=len(corpus) - len(stay),
    )


def copies(
    counts: sparse.csr_array, least: float = NEARLY_THE_SAME, n_bands: int = BANDS
) -> NDArray[np.int64]:
    """Return the earlier near duplicate of each document, or -1."""
    ones = (counts.data > 0).astype(np.int32)
    words = sparse.csr_array((ones, counts.indices, counts.indptr), shape=counts.shape)
    words.eliminate_zeros()
    sizes = np.diff(words.indptr)
    found = np.full(words.shape[0], -1, np.int64)
    left = np.flatnonzero(sizes >= LEAST_WORDS)
    for band in range(n_bands):
        if len(left) < 2:
            break
        some = words if len(left) == words.shape[0] else words[left]
        keys = np.zeros(len(left), np.uint64)
        for which in range(HASHES):  # the smallest hash of each document's words
            hashes = np.random.PCG64([band, which]).random_raw(words.shape[1])
            smallest = np.minimum.reduceat(hashes[some.indices], some.indptr[:-1])
            keys = (keys ^ smallest) * np.uint64(0x9E3779B97F4A7C15)
        order = np.argsort(keys, kind="stable")  # in a bucket the earlier documents first
        ordered, documents = keys[order], left[order]
        begins = np.concatenate(([True], ordered[1:] != ordered[:-1]))
        # compare each document with the first of its bucket and with its predecessor
        first = documents[np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))]
        before = np.concatenate((documents[:1], documents[:-1]))
        for other in (first, before):
            here = np.flatnonzero(~begins & (found[documents] < 0))
            near = here[_alike(words, sizes, documents[here], other[here]) >= least]
            found[documents[near]] = other[near]
        left = left[found[left] < 0]
    while True:  # copies of copies
        root = np.where(found >= 0, found[found], -1)
        if not (root >= 0).any():
            return found
        found = np.where(root >= 0, root, found)


def _alike(
    words: sparse.csr_array,
    sizes: NDArray[np.integer],
    some: NDArray[np.int64],
    others: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return Jaccard's coefficients of pairs of documents."""
    at_once = 100_000
    found = np.zeros(len(some))
    for first in range(0, len(some), at_once):
        a, b = (part[first : first + at_once] for part in (some, others))
        common = words[a].multiply(words[b]).sum(axis=1)
        found[first : first + at_once] = common / (sizes[a] + sizes[b] - common)
    return found
