"""A stream of documents whose words never stop changing."""

from collections.abc import Iterator
from itertools import count, pairwise

import numpy as np

from opelda import _validation
from opelda._validation import whole
from opelda.corpus._synthetic import draw_counts, owned_topics
from opelda.errors import InputError

GOLDEN = 0.6180339887498949


def generate_stream(
    n_docs: int | None,
    *,
    batch_size: int = 1000,
    n_words: int = 2000,
    n_topics: int = 10,
    n_tokens: float = 25,
    doc_topic_prior: float = 0.1,
    new_words_per_batch: int = 20,
    random_state: int = 0,
    first_batch: int = 0,
) -> Iterator[list[dict[str, float]]]:
    """Yield mini-batches of documents ``{word: count}`` over words that come and go for ever.

    Each topic owns every ``n_topics``-th word of an endless list. Of that list `n_words` are in use
    at a time; with every batch the oldest leave and as many new ones come. A word is rare at first,
    common in its middle age, and rare again before it goes.

    Parameters
    ----------
    n_docs : int or None
        Length of the whole stream; None: without end.
    batch_size, n_words, n_topics : int
    n_tokens : float
        Mean length of the documents, at least 1 each.
    doc_topic_prior : float
    new_words_per_batch : int
    random_state : int
    first_batch : int
        Where to enter. A batch depends on the parameters, the seed and its own number only.

    Yields
    ------
    list of dict

    Examples
    --------
    >>> stream = generate_stream(2500, batch_size=1000)
    >>> batches = list(stream)
    >>> [len(batch) for batch in batches]
    [1000, 1000, 500]
    >>> next(generate_stream(2500, batch_size=1000, first_batch=2)) == batches[2]
    True
    """
    n_docs = None if n_docs is None else whole("n_docs", n_docs, 0)
    batch_size = whole("batch_size", batch_size)
    n_topics = whole("n_topics", n_topics)
    n_words = whole("n_words", n_words)
    if n_words < n_topics:
        raise InputError(f"must be at least n_topics={n_topics}, got {n_words}.", "n_words")
    prior = _validation.number("doc_topic_prior", doc_topic_prior, 0, 1e6, above=True)
    alpha = np.full(n_topics, prior)
    n_tokens = _validation.number("n_tokens", n_tokens, 0, 1e6, above=True)
    n_new = whole("new_words_per_batch", new_words_per_batch, 0)
    seed = whole("random_state", random_state, 0)
    first_batch = whole("first_batch", first_batch, 0)

    age = np.sin(np.pi * (np.arange(n_words) + 0.5) / n_words)

    def batch(number: int, size: int) -> list[dict[str, float]]:
        rng = np.random.default_rng([seed, number])
        ids = number * n_new + np.arange(n_words)
        # multiples of the golden ratio, modulo 1: spread evenly, and never in step with the topics
        weight = age / (0.02 + ids * GOLDEN % 1.0)
        topics = owned_topics(weight, ids % n_topics, n_topics)
        X = draw_counts(rng, rng.dirichlet(alpha, size), np.cumsum(topics, axis=1), n_tokens)
        names = np.array([f"w{i}" for i in ids.tolist()], object)
        words, counts = names[X.indices].tolist(), X.data.tolist()
        return [
            dict(zip(words[begin:end], counts[begin:end], strict=True))
            for begin, end in pairwise(X.indptr.tolist())
        ]

    def run() -> Iterator[list[dict[str, float]]]:
        for number in count(first_batch):
            size = batch_size if n_docs is None else min(batch_size, n_docs - number * batch_size)
            if size <= 0:
                return
            yield batch(number, size)

    return run()
