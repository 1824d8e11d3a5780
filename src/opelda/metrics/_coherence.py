"""Coherence: whether the top words of a topic occur in the same documents."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from opelda._validation import choice
from opelda.metrics._cooccurrence import Cooccurrences, count_cooccurrences
from opelda.metrics._topics import GivenTopics

# added to the share of documents that hold two words, where a measure asks for it
EPSILON = 1e-12


def coherence(
    topics: GivenTopics,
    X: Any,
    *,
    measure: Literal["npmi", "c_v", "u_mass", "c_uci"] = "npmi",
    n_words: int = 10,
) -> NDArray[np.float64]:
    """Return each topic's coherence: how often its top words occur in the same documents.

    With p the share of documents that hold a word, or two, and e = 1e-12:

    ``"npmi"``
        Mean over pairs of log(p_ij / (p_i p_j)) / -log p_ij, from -1 to 1. A pair that never occurs
        together counts -1, also when a word never occurs at all; one that is in every document
        counts 1. (gensim adds e to p_ij, which gives a pair that never occurs together -0.5 to
        -0.95, and one in every document -1.)
    ``"c_uci"``
        Mean over pairs of log((p_ij + e) / (p_i p_j)). A pair with a word that never occurs counts
        log e = -27.6, less than any other. (gensim: infinity.)
    ``"u_mass"``
        Mean over pairs of log((p_ij + e) / p_i), word i being the heavier one; 0 at most, up to
        the e. If word i never occurs the pair counts log e = -27.6. (gensim: 0, the most.)
    ``"c_v"``
        Each word's vector holds its smoothed NPMI, log((p_ij + e) / (p_i p_j)) / -log(p_ij + e),
        with every top word, itself among them, or 0 if either never occurs. Mean over words of the
        cosine between the word's vector and the sum of all, from -1 to 1; 0 where one of the two is
        zero. (gensim: NaN.)

    Otherwise the numbers are gensim's for windows longer than any document. For its own windows
    give `opelda.metrics.windows` as X.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model, or array of whole numbers (K, n)
        Weights of the words in each topic, or the ids of each topic's top words.
    X : array or sparse matrix (D, V), Corpus, texts, or iterable of mini-batches
        The documents to look in; only whether a word occurs matters. Mini-batches are matrices or
        have one as `X`; they are taken one after the other and not kept. One with fewer columns
        than there are words does not hold the others. Texts take a model with a vocabulary, and
        with one a corpus or a stream of other words is counted over the model's.
    measure : {"npmi", "c_v", "u_mass", "c_uci"}
    n_words : int
        Words per topic: the heaviest, of equal ones those of lower id; all, if there are fewer.

    Returns
    -------
    float64 array (K,)
        Finite, whatever the documents.

    References
    ----------
    Röder, Both & Hinneburg, "Exploring the space of topic coherence measures" (WSDM 2015); Mimno et
    al., "Optimizing semantic coherence in topic models" (EMNLP 2011), for U_Mass.

    Examples
    --------
    >>> X = [[1, 2, 0, 0], [3, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]
    >>> coherence([[0, 1], [2, 3]], X, measure="u_mass").round(2) + 0.0
    array([ 0.  , -0.69])
    >>> from opelda.corpus import stream
    >>> texts = ["green tea", "black tea", "red cup"] * 10
    >>> coherence([[0, 1]], stream(texts, batch_size=7), measure="c_uci").round(2)
    array([0.41])
    >>> from opelda import StreamingOPE
    >>> model = StreamingOPE(2, random_state=0).fit_stream(stream(texts))
    >>> coherence(model, ["a cup of tea", "black tea"]).shape
    (2,)
    """
    return MEASURES[choice("measure", measure, MEASURES)](count_cooccurrences(topics, X, n_words))


def npmi(topics: GivenTopics, X: Any, *, n_words: int = 10) -> NDArray[np.float64]:
    """Return `coherence` by the mean NPMI over the pairs of each topic's top words.

    Parameters and errors are those of `coherence`.

    References
    ----------
    Aletras & Stevenson, "Evaluating topic coherence using distributional semantics" (IWCS 2013).

    Examples
    --------
    >>> X = [[1, 2, 0, 0], [3, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]
    >>> npmi([[0, 1], [2, 3], [0, 2]], X).round(2)
    array([ 1. ,  0.5, -1. ])
    """
    return coherence(topics, X, measure="npmi", n_words=n_words)


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
    return _mean(np.clip(scores, -1.0, 1.0))


def _c_uci(together: Cooccurrences) -> NDArray[np.float64]:
    first, second = np.triu_indices(together.ids.shape[1], 1)
    both, alone = _shares(together)
    return _mean(_smoothed_log(both[:, first, second], alone[:, first] * alone[:, second]))


def _u_mass(together: Cooccurrences) -> NDArray[np.float64]:
    first, second = np.triu_indices(together.ids.shape[1], 1)
    both, alone = _shares(together)
    return _mean(_smoothed_log(both[:, first, second], alone[:, first]))


def _c_v(together: Cooccurrences) -> NDArray[np.float64]:
    both, alone = _shares(together)
    product = alone[:, :, None] * alone[:, None, :]
    # A word in every document has -1 with itself and 0 with the others; 1 would make no difference.
    vectors = np.where(product > 0, _smoothed_log(both, product) / -np.log(both + EPSILON), 0.0)
    total = vectors.sum(axis=1, keepdims=True)
    length = np.linalg.norm(vectors, axis=2) * np.linalg.norm(total, axis=2)
    cosine = np.zeros(length.shape)
    np.divide((vectors * total).sum(axis=2), length, out=cosine, where=length > 0)
    return _mean(np.clip(cosine, -1.0, 1.0))


def _shares(together: Cooccurrences) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return p_ij (K, n, n) and p_i (K, n)."""
    both = together.counts / together.n_docs
    return both, np.diagonal(both, axis1=1, axis2=2)


def _smoothed_log(both: NDArray[np.float64], base: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log((p_ij + e) / base), and the least it can be where the base is zero."""
    result: NDArray[np.float64] = np.log((both + EPSILON) / np.where(base > 0, base, 1.0))
    return result


def _mean(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    means: NDArray[np.float64] = scores.mean(axis=1)
    return means


MEASURES = {"npmi": _npmi, "c_v": _c_v, "u_mass": _u_mass, "c_uci": _c_uci}
