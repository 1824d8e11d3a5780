"""Coherence: whether the top words of a topic occur in the same documents."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._count_matrix import counts
from opelda._validation import choice, whole
from opelda.corpus import Corpus, DocumentStream, Vocabulary
from opelda.corpus._kinds import is_matrix
from opelda.errors import InputError
from opelda.metrics._topics import GivenTopics, MeasuredTopics

EPSILON = 1e-12  # added to the share of documents that hold two words, where a measure asks for it
MOST_BITS = 10  # words of a topic that are counted as the bits of a number
TOKENS_AT_ONCE = 2**19  # windows of a matrix times their size
NO_DOCUMENTS = "has no documents to count the words in."


def coherence(
    topics: GivenTopics,
    X: Any,
    *,
    measure: Literal["npmi", "c_v", "u_mass", "c_uci"] = "npmi",
    n_words: int = 10,
) -> NDArray[np.float64]:
    """Return each topic's coherence: how often its top words occur in the same documents.

    With p the share of documents that contain a word, or two words, and e = 1e-12
    (docs/metrics.md has the differences from gensim):

    ``"npmi"``
        Mean over pairs of log(p_ij / (p_i p_j)) / -log p_ij, from -1 (never together) to 1.
    ``"c_uci"``
        Mean over pairs of log((p_ij + e) / (p_i p_j)).
    ``"u_mass"``
        Mean over pairs of log((p_ij + e) / p_i), word i being the heavier one.
    ``"c_v"``
        Each word's vector holds its smoothed NPMI, log((p_ij + e) / (p_i p_j)) / -log(p_ij + e),
        with every top word. Mean over words of the cosine between the word's vector and the sum of
        all; 0 where one of the two is zero.

    A word that never occurs gives log e = -27.6 in C_UCI and U_Mass, and 0 in C_V.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model, or array of whole numbers (K, n)
        Weights of the words in each topic, or the ids of each topic's top words.
    X : array or sparse matrix (D, V), Corpus, texts, or iterable of mini-batches
        The documents, or `windows`; only whether a word occurs matters. Texts take a model with a
        vocabulary.
    measure : {"npmi", "c_v", "u_mass", "c_uci"}
        Röder, Both & Hinneburg (WSDM 2015); Mimno et al. (EMNLP 2011) for U_Mass; Aletras &
        Stevenson (IWCS 2013) for NPMI.
    n_words : int
        Words per topic, at most: the heaviest, ties by lower id.

    Returns
    -------
    float64 array (K,)
        Always finite.

    Examples
    --------
    >>> X = [[1, 2, 0, 0], [3, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]
    >>> coherence([[0, 1], [2, 3]], X, measure="u_mass").round(2) + 0.0
    array([ 0.  , -0.69])
    """
    score = MEASURES[choice("measure", measure, MEASURES)]
    means: NDArray[np.float64] = score(_count(topics, X, n_words)).mean(axis=1)
    return means


def npmi_of_pairs(topics: GivenTopics, X: Any, n_words: int) -> NDArray[np.float64]:
    """Return the NPMI of each pair of a topic's top words (K, pairs), as `coherence` does."""
    return _npmi(_count(topics, X, n_words))


class Cooccurrences:
    """Counts of documents by the pairs of top words they hold."""

    def __init__(self, ids: NDArray[np.intp]) -> None:
        self.ids = ids  # the top words (K, n)
        # documents by each two of a topic's words; on the diagonal by a single word
        self.counts = np.zeros((*ids.shape, ids.shape[1]), np.int64)
        self.n_docs = self.n_columns = 0  # of all matrices; of the widest
        self._words, positions = np.unique(ids, return_inverse=True)
        # of the top words among these
        self._positions: NDArray[np.intp] = positions.reshape(ids.shape)

    def add(self, matrix: sparse.csr_array) -> None:
        """Count the documents of another matrix, without the words beyond its columns."""
        self.n_docs += matrix.shape[0]
        self.n_columns = max(self.n_columns, matrix.shape[1])
        # which documents hold which top words: ones; the words are sorted, those it lacks come last
        held = (matrix[:, self._words[self._words < matrix.shape[1]]] > 0).astype(np.int32)
        shape = (matrix.shape[0], len(self._words))
        held = sparse.csr_array((held.data, held.indices, held.indptr), shape=shape)
        columns, n = held.tocsc(), self.ids.shape[1]
        if n > MOST_BITS:
            for topic, words in enumerate(self._positions):
                own = columns[:, words]
                self.counts[topic] += (own.T @ own).toarray()
            return
        # a document's words of a topic as bits of a number: half the time of the product
        bits = np.uint16(1) << np.arange(n, dtype=np.uint16)
        both = (bits[:, None] | bits).ravel()
        has_both = (np.arange(1 << n)[:, None] & both == both).astype(np.float64)
        masks = np.zeros(held.shape[0], np.uint16)
        documents, ends = columns.indices.astype(np.intp), columns.indptr.tolist()
        for topic, words in enumerate(self._positions):
            masks[:] = 0
            for bit, word in zip(bits, words.tolist(), strict=True):
                masks[documents[ends[word] : ends[word + 1]]] |= bit
            times = np.bincount(masks, minlength=1 << n)
            # sums of whole numbers below 2**53: exact
            self.counts[topic] += (times @ has_both).astype(np.int64).reshape(n, n)


def _count(topics: GivenTopics, X: Any, n_words: int) -> Cooccurrences:
    """Count over a matrix, a corpus, texts, or an iterable of mini-batches."""
    measured = MeasuredTopics.of(topics, X=X)
    found = Cooccurrences(measured.top_words(n_words, least=2))
    first, X = _first_of(X)
    is_batch = hasattr(first, "X") or isinstance(first, DocumentStream)
    if is_batch or (is_matrix(first) and len(first.shape) == 2):
        _add_batches(found, X, measured)
    else:
        found.add(measured.counts(X))
    if not found.n_docs:
        raise InputError(NO_DOCUMENTS, "X")
    if measured.are_ids and found.ids.max() >= found.n_columns:
        raise InputError(
            f"have word {found.ids.max()}, but X has only {found.n_columns} columns.",
            "topics",
        )
    return found


def _first_of(X: Any) -> tuple[Any, Any]:
    """Return the first item of an iterable of mini-batches, and all."""
    if not isinstance(X, Iterable) or isinstance(X, str | Corpus) or is_matrix(X):
        return None, X
    if isinstance(X, DocumentStream):  # which is not to be read twice
        return X, X
    if not isinstance(X, Iterator):
        return next(iter(X), None), X
    for first in X:
        return first, chain([first], X)
    raise InputError(NO_DOCUMENTS, "X")


def _add_batches(found: Cooccurrences, batches: Any, topics: MeasuredTopics) -> None:
    if topics.vocabulary is not None and isinstance(batches, DocumentStream):
        known = Vocabulary(topics.vocabulary.words, tokenizer=topics.vocabulary.tokenizer)
        batches = batches.batches(known)
    for number, batch in enumerate(batches):
        change = getattr(batch, "change", None)
        if change is not None and len(change.reused):
            raise InputError(
                f"Mini-batch {number} replaced words of columns after the topics were learned; use "
                "a vocabulary that does not evict words."
            )
        if isinstance(batch, Corpus) and topics.vocabulary is not None:
            matrix = topics.counts(batch)
        else:
            matrix = counts(batch.X if not is_matrix(batch) and hasattr(batch, "X") else batch)
        if not topics.are_ids and matrix.shape[1] > topics.n_words:
            raise InputError(
                f"The topics have {topics.n_words} words but mini-batch {number} has "
                f"{matrix.shape[1]} columns; count the documents with the topics' own vocabulary."
            )
        found.add(matrix)


def _npmi(together: Cooccurrences) -> NDArray[np.float64]:
    n_docs = together.n_docs
    first, second = np.triu_indices(together.ids.shape[1], 1)
    alone = np.diagonal(together.counts, axis1=1, axis2=2)
    pairs, product = together.counts[:, first, second], alone[:, first] * alone[:, second]
    # log p_ij - log p_i - log p_j and -log p_ij, all over whole numbers of documents
    with np.errstate(divide="ignore", invalid="ignore"):
        rarity = np.log(n_docs) - np.log(pairs)
        surprise = np.log(n_docs) + np.log(pairs) - np.log(product)
        # of nearly equal numbers the logarithms would cancel
        often = 2 * pairs > n_docs
        rarity = np.where(often, np.log1p((n_docs - pairs) / pairs), rarity)
        surprise = np.where(often, np.log1p((n_docs * pairs - product) / product), surprise)
        scores = np.where(pairs == 0, -1.0, np.where(pairs == n_docs, 1.0, surprise / rarity))
    return np.clip(scores, -1.0, 1.0)


def _c_uci(together: Cooccurrences) -> NDArray[np.float64]:
    both, alone = _shares(together)
    first, second = np.triu_indices(alone.shape[1], 1)
    return _smoothed_log(both[:, first, second], alone[:, first] * alone[:, second])


def _u_mass(together: Cooccurrences) -> NDArray[np.float64]:
    both, alone = _shares(together)
    # ids are in the order of their weights: the first of two is the heavier (Mimno et al., eq. 1)
    first, second = np.triu_indices(alone.shape[1], 1)
    return _smoothed_log(both[:, first, second], alone[:, first])


def _c_v(together: Cooccurrences) -> NDArray[np.float64]:
    both, alone = _shares(together)
    product = alone[:, :, None] * alone[:, None, :]
    # A word in every document has -1 with itself and 0 with other words; 1 would have no effect.
    vectors = np.where(product > 0, _smoothed_log(both, product) / -np.log(both + EPSILON), 0.0)
    # Röder et al.: every word against all top words together (S_one_set), by indirect cosine
    total = vectors.sum(axis=1, keepdims=True)
    length = np.linalg.norm(vectors, axis=2) * np.linalg.norm(total, axis=2)
    cosine = np.zeros(length.shape)
    np.divide((vectors * total).sum(axis=2), length, out=cosine, where=length > 0)
    return np.clip(cosine, -1.0, 1.0)


def _shares(together: Cooccurrences) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return p_ij (K, n, n) and p_i (K, n)."""
    both = together.counts / together.n_docs
    return both, np.diagonal(both, axis1=1, axis2=2)


def _smoothed_log(both: NDArray[np.float64], base: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log((p_ij + e) / base), and log e where the base is zero."""
    result: NDArray[np.float64] = np.log((both + EPSILON) / np.where(base > 0, base, 1.0))
    return result


# of each pair of top words, or of each word, (K, pairs) or (K, n); the mean is the coherence
MEASURES = {"npmi": _npmi, "c_v": _c_v, "u_mass": _u_mass, "c_uci": _c_uci}


def windows(
    documents: Iterable[Iterable[str]],
    vocabulary: Vocabulary | Mapping[str, int] | Iterable[str],
    *,
    size: int = 110,
) -> Iterator[sparse.csr_array]:
    """Yield matrices whose rows are the windows of `size` tokens in each document.

    ``coherence(topics, windows(documents, vocabulary), measure="c_v")`` is the C_V of Röder et al.;
    their NPMI and C_UCI have windows of 10. A document of N tokens has N - size + 1 windows, at
    least one. Words without a column keep their positions.

    Parameters
    ----------
    documents : iterable of sequences of words
    vocabulary : Vocabulary, mapping from word to column, or words in the order of their columns
        The topics' top words alone are enough, and the fastest.
    size : int
        Tokens per window, at least 1.

    Yields
    ------
    CSR array (windows, words), float32
        1 where a window holds a word.

    Examples
    --------
    >>> [part.toarray() for part in windows([["a", "b", "x", "a"], ["b"]], ["a", "b"], size=3)]
    [array([[1., 1.],
           [1., 1.],
           [0., 1.]], dtype=float32)]
    """
    size = whole("size", size)
    words = vocabulary.words if isinstance(vocabulary, Vocabulary) else vocabulary
    if not isinstance(words, Mapping):
        words = {word: column for column, word in enumerate(words)}
    if not words:
        raise InputError("has no words; pass at least the top words of the topics.", "vocabulary")
    return _window_matrices(documents, words, size)


def _window_matrices(
    documents: Iterable[Iterable[str]], columns: Mapping[str, int], size: int
) -> Iterator[sparse.csr_array]:
    n_words, n_at_once = max(columns.values()) + 1, max(1, TOKENS_AT_ONCE // size)
    parts: list[tuple[NDArray[np.int64], ...]] = []
    n_rows = 0
    for number, document in enumerate(documents):
        if isinstance(document, str | bytes):
            raise InputError(
                f"Document {number} must be a sequence of words, got {type(document).__name__}; "
                "split texts into words, for example with text.split()."
            )
        words = np.array([columns.get(word, -1) for word in document], np.int64)
        n_windows = max(1, len(words) - size + 1)
        for first in range(0, n_windows, n_at_once):  # a long document is cut, too
            n_new = min(n_at_once, n_windows - first)
            stretch = words[first : first + n_new + size - 1]
            position = np.arange(len(stretch))
            oldest = n_rows + np.maximum(position - size + 1, 0)
            newest = n_rows + np.minimum(position, n_new - 1)
            parts.append((stretch, oldest, newest))
            n_rows += n_new
            if n_rows >= n_at_once:
                yield _window_matrix(parts, n_rows, n_words)
                parts, n_rows = [], 0
    if n_rows:
        yield _window_matrix(parts, n_rows, n_words)


def _window_matrix(
    parts: list[tuple[NDArray[np.int64], ...]], n_rows: int, n_words: int
) -> sparse.csr_array:
    """Return windows from the tokens' words and the oldest and newest window each token is in."""
    words, oldest, newest = (np.concatenate(part) for part in zip(*parts, strict=True))
    words, oldest, newest = (part[words >= 0] for part in (words, oldest, newest))
    n_own = newest - oldest + 1
    rows = np.arange(n_own.sum()) + np.repeat(oldest - np.cumsum(n_own) + n_own, n_own)
    ones = np.ones(len(rows), np.float32)
    matrix = sparse.coo_array((ones, (rows, np.repeat(words, n_own))), (n_rows, n_words)).tocsr()
    matrix.data[:] = 1  # a window may hold a word several times
    return matrix
