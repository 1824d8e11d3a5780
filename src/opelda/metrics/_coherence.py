"""NPMI: whether the top words of a topic occur in the same documents."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda.errors import InputError
from opelda.inference import Topics
from opelda.inference._inputs import as_csr
from opelda.metrics._top_words import top_words

DOCUMENTS_AT_ONCE = 2**15


def npmi(topics: Topics | ArrayLike, X: Any, *, top_n: int = 10) -> NDArray[np.float64]:
    """Return each topic's coherence: the mean NPMI over the pairs of its top words.

    For words i and j, with p the share of documents that hold a word, or both:
    log(p_ij / (p_i p_j)) / -log p_ij, from -1 to 1. A pair that never occurs together counts -1,
    also when one of the words never occurs at all. A pair that is in every document counts 1.

    Parameters
    ----------
    topics : array (K, V), Topics, or array of whole numbers (K, n)
        Weights of the words in each topic, or the ids of each topic's top words.
    X : array or sparse matrix (D, V)
        The documents to look in; only whether a word occurs matters.
    top_n : int
        Words per topic: the heaviest, of equal ones those of lower id; all, if there are fewer.

    Returns
    -------
    float64 array (K,)

    References
    ----------
    Aletras & Stevenson, "Evaluating topic coherence using distributional semantics" (IWCS 2013).

    Examples
    --------
    >>> X = [[1, 2, 0, 0], [3, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]
    >>> npmi([[0, 1], [2, 3], [0, 2]], X).round(2)
    array([ 1. ,  0.5, -1. ])
    """
    matrix = as_csr(X)
    n_docs, n_words = matrix.shape
    ids = top_words(topics, top_n, least=2, n_words=n_words)
    if not n_docs:
        raise InputError("X has no documents to look for the words in.")
    together = _documents_together(matrix, ids)
    first, second = np.triu_indices(ids.shape[1], 1)
    alone = np.diagonal(together, axis1=1, axis2=2)
    pairs = together[:, first, second]
    # log p_ij - log p_i - log p_j and -log p_ij, all over whole numbers of documents
    with np.errstate(divide="ignore", invalid="ignore"):
        rarity = np.log(n_docs) - np.log(pairs)
        surprise = np.log(n_docs) + np.log(pairs) - np.log(alone[:, first] * alone[:, second])
        scores = np.where(pairs == 0, -1.0, np.where(pairs == n_docs, 1.0, surprise / rarity))
    means: NDArray[np.float64] = np.clip(scores, -1.0, 1.0).mean(axis=1)
    return means


def _documents_together(matrix: sparse.csr_array, ids: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return for each topic how many documents hold each two of its words (K, n, n).

    Only the entries of top words are gathered, some documents at a time.
    """
    words, places = np.unique(ids, return_inverse=True)
    places = places.reshape(ids.shape)
    column = np.full(matrix.shape[1], -1, np.int64)
    column[words] = np.arange(len(words))
    together = np.zeros((*ids.shape, ids.shape[1]))
    for first in range(0, matrix.shape[0], DOCUMENTS_AT_ONCE):
        part = matrix[first : first + DOCUMENTS_AT_ONCE]
        columns = column[part.indices]
        keep = (columns >= 0) & (part.data > 0)
        ends = np.concatenate(([0], np.cumsum(keep)))[part.indptr]
        present = sparse.csr_array(
            (np.ones(int(ends[-1])), columns[keep], ends), shape=(part.shape[0], len(words))
        ).tocsc()
        for topic, own in enumerate(places):
            held = present[:, own]
            together[topic] += (held.T @ held).toarray()
    return together
