"""Shares of topics over time and by group, with intervals and the words of each."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import stdtrit

from opelda._names import UNITS
from opelda._validation import choice, number, whole
from opelda._word_ranking import LAMBDA, SMALLEST, heaviest
from opelda.errors import InputError
from opelda.metrics._mixture_measures import mixtures
from opelda.metrics._top_words import labels_of
from opelda.metrics._topics import MeasuredTopics, chosen_topics
from opelda.report._document_blocks import column_of, labelled_blocks
from opelda.report._times import group_bins, time_bins
from opelda.report._unmixing import INTERVALS_NOTE, Unmixing, on_simplex
from opelda.report.rows import ShareRow, Table

MOST_GROUPS = 12


class SharesByBin(NamedTuple):
    """Shares of topics by bin, as arrays; bins without documents are left out."""

    bins: NDArray[np.intp]  # their numbers
    n_docs: NDArray[np.int64]
    shares: NDArray[np.float64]  # corrected (bins, topics); rows sum to 1
    low: NDArray[np.float64]  # the limits of the intervals; NaN for a single document
    high: NDArray[np.float64]
    means: NDArray[np.float64]  # of the documents' mixtures
    counts: sparse.csr_array  # (bins, words)


def topics_over_time(
    model: Any,
    corpus: Any,
    dates: str | Sequence[Any] | None = None,
    *,
    unit: Literal["minute", "hour", "day", "week", "month", "quarter", "year"] | None = None,
    topics: Iterable[int] | None = None,
    n_words: int = 5,
    level: float = 0.95,
) -> Table[ShareRow]:
    """Return the topics' shares of documents over time, with intervals and words.

    A corrected share is a topic's part of the most likely mixture of a bin's words; the mean share
    is the mean of `transform`, which is biased for short documents. Intervals are for
    corrected shares and fixed topics (docs/covariates.md).

    Parameters
    ----------
    model : fitted model
    corpus : Corpus, counts or documents
        As for `transform`.
    dates : str or sequence, optional
        A column of the corpus's `metadata`, or a time for each document: dates, years, ISO 8601,
        seconds since 1970, ...; zones are ignored. By default the column with a usual name.
    unit : {None, "minute", "hour", "day", "week", "month", "quarter", "year"}
        The length of the bins; by default as fits the documents.
    topics : iterable of int, optional
        The numbers of the topics, in the order wanted; None is all.
    n_words, level : int, float
        Words per topic and bin, and the level of the intervals.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> rows = topics_over_time(model, texts, [2001] * 9 + [2002] * 9)
    >>> [(row.bin, sorted(row.words), row.n_docs) for row in rows if row.mean_share > 0.5]
    [('2002', ['bonds', 'fall', 'rise'], 9), ('2001', ['cats', 'chase', 'dogs'], 9)]
    """
    if unit is not None:
        choice("unit", unit, UNITS)
    bins = time_bins(column_of(corpus, dates, "time"), unit)
    return _table(model, corpus, bins.labels, bins.index, topics, n_words, level)


def topics_by(
    model: Any,
    corpus: Any,
    column: str | Sequence[Any] | None = None,
    *,
    n_groups: int = MOST_GROUPS,
    topics: Iterable[int] | None = None,
    n_words: int = 5,
    level: float = 0.95,
) -> Table[ShareRow]:
    """Return the topics' shares of documents by group, with intervals and words.

    For differences between groups see `estimate_effect`.

    Parameters
    ----------
    model, corpus, topics, n_words, level
        As for `topics_over_time`.
    column : str or sequence, optional
        A column of `metadata`, or a group for each document; by default as for times.
    n_groups : int
        The largest number of groups; smaller groups are left out.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> rows = topics_by(model, texts, ["pets"] * 9 + ["money"] * 9)
    >>> sorted((row.bin, round(row.corrected_share)) for row in rows)
    [('money', 0), ('money', 1), ('pets', 0), ('pets', 1)]
    """
    names, index, rest = group_bins(column_of(corpus, column, "group"), whole("n_groups", n_groups))
    return _table(model, corpus, names, index, topics, n_words, level, rest)


def corpus_shares(
    model: Any,
    corpus: Any,
    index: NDArray[np.intp],
    n_bins: int,
    level: float = 0.95,
    unmixing: Unmixing | None = None,
) -> SharesByBin:
    """Return the shares of the documents of each bin; an index of -1 is no bin."""
    level = number("level", level, 0.0, 0.9999, above=True)
    unmixing = unmixing or Unmixing(model)
    n_topics, n_words = unmixing.topics.shape
    n_docs, sums = np.zeros(n_bins, np.int64), np.zeros((3, n_bins, n_topics))
    counts = frequencies = sparse.csr_array((n_bins, n_words))
    for X, part in labelled_blocks(model, corpus, index):
        (shares, known), (parts, _) = unmixing.shares(X), unmixing.frequencies(X)
        theta = mixtures(model, X)
        chosen = np.flatnonzero((part >= 0) & known)
        ones = np.ones(len(chosen)), (part[chosen], chosen)
        picked = sparse.csr_array(ones, shape=(n_bins, X.shape[0]))
        sums += [picked @ shares, picked @ shares**2, picked @ theta]
        n_docs += np.bincount(part[chosen], minlength=n_bins)
        counts, frequencies = counts + picked @ X, frequencies + picked @ parts
    bins = np.flatnonzero(n_docs)
    if not len(bins):
        raise InputError(
            "No document with a known word has a time or group; check the "
            "columns of times and groups."
        )
    n = n_docs[bins, np.newaxis]
    linear, squares, means = sums[:, bins] / n
    words = sparse.csr_array(frequencies)[bins] / n
    shares, low, high = corrected_shares(unmixing, n, words, linear, squares, level)
    counts = sparse.csr_array(counts)[bins]
    counts.sort_indices()
    return SharesByBin(bins, n_docs[bins], shares, low, high, means, counts)


def corrected_shares(
    unmixing: Unmixing, n: Any, words: Any, linear: Any, squares: Any, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the corrected shares of bins of n (bins, 1) documents, with the limits of intervals.

    `words`, `linear` and `squares` are the documents' mean word frequencies, linear shares and
    squares of these.
    """
    corrected = unmixing.likeliest(words)
    # the variance may be negative by rounding
    deviations = np.sqrt(np.maximum(squares - linear**2, 0.0) / np.maximum(n - 1, 1))
    quantile = stdtrit(np.maximum(n - 1, 1), 0.5 + level / 2)  # Student's t
    # Both estimates are consistent under the model; their difference measures its misfit.
    half = np.hypot(quantile * deviations, on_simplex(linear) - corrected)
    half = np.where(n > 1, half, np.nan)
    low, high = np.clip((corrected - half, corrected + half), 0.0, 1.0)
    return corrected, low, high


def _table(
    model: Any,
    corpus: Any,
    names: Sequence[str],
    index: NDArray[np.intp],
    topics: Iterable[int] | None,
    n_words: int,
    level: float,
    rest: str = "",
) -> Table[ShareRow]:
    n_words, labels = whole("n_words", n_words), labels_of(model)
    numbers = chosen_topics(topics, len(labels))
    unmixing, vocabulary = Unmixing(model), MeasuredTopics.of(model).words()
    found = corpus_shares(model, corpus, index, len(names), level, unmixing)
    words = [_words(vocabulary, found, unmixing, n_words, i) for i in range(len(found.bins))]
    low, high = (np.where(np.isnan(x), None, x) for x in (found.low, found.high))  # type: ignore[call-overload]
    rows = (
        ShareRow(
            names[of], topic, labels[topic], float(found.shares[i, topic]), low[i, topic],
            high[i, topic], float(found.means[i, topic]), int(found.n_docs[i]), words[i][topic],
        )
        for topic in numbers
        for i, of in enumerate(found.bins.tolist())
    )  # fmt: skip
    return Table(ShareRow, rows, INTERVALS_NOTE + rest)


def _words(
    vocabulary: Sequence[str], found: SharesByBin, unmixing: Unmixing, n_words: int, i: int
) -> list[tuple[str, ...]]:
    """Return each topic's words in a bin, by relevance among the tokens expected of the topic."""
    own = found.counts[[i]]
    ids = own.indices
    topics = unmixing.topics[:, ids].astype(np.float64)
    expected = found.shares[i, :, np.newaxis] * topics
    expected *= own.data / np.maximum(expected.sum(axis=0), SMALLEST)
    # smoothed by 100 tokens of the topic as it is everywhere, for bins of few documents
    share = (expected + 100.0 * topics) / (expected.sum(axis=1, keepdims=True) + 100.0)
    usual = (1.0 - LAMBDA) * np.log(np.maximum(unmixing.marginal[ids], SMALLEST))
    ranked = heaviest(np.log(np.maximum(share, SMALLEST)) - usual, min(n_words, len(ids)))
    return [
        tuple(str(vocabulary[ids[j]]) for j in row if expected[k, j] >= 0.5)
        for k, row in enumerate(ranked)
    ]
