"""What is chosen for a collection where the user does not say."""

# Documents seen in all, each as often as it was: where more passes no longer improve the topics.
DOCUMENTS_TO_SEE = 300_000
MOST_PASSES = 20
MOST_TOPICS, FEWEST_TOPICS, DOCUMENTS_PER_TOPIC = 100, 5, 50
LARGEST_BATCH = 1_000
N_ITER, DECAY, OFFSET, SEED = 20, 0.6, 10.0, 0


def n_topics(n_docs: int) -> int:
    """Return 100 topics, fewer for small collections: one for 50 documents, but at least 5.

    >>> n_topics(100), n_topics(1000), n_topics(1_000_000)
    (5, 20, 100)
    """
    return min(MOST_TOPICS, max(FEWEST_TOPICS, n_docs // DOCUMENTS_PER_TOPIC))


def n_passes(n_docs: int) -> int:
    """Return so many passes that 300,000 documents are seen, from 1 to 20.

    >>> n_passes(1000), n_passes(100_000), n_passes(1_000_000)
    (20, 3, 1)
    """
    return min(MOST_PASSES, max(1, round(DOCUMENTS_TO_SEE / max(n_docs, 1))))


def batch_size(n_docs: int) -> int:
    """Return 1000 documents per update, fewer where a pass would have less than 20 updates.

    >>> batch_size(400), batch_size(10_000), batch_size(1_000_000)
    (50, 500, 1000)
    """
    from opelda.learning._presets import documents_per_update

    return documents_per_update(n_docs)
