"""A model as pyLDAvis takes it."""

from typing import Any

import numpy as np

from opelda.errors import InputError
from opelda.metrics._topics import MeasuredTopics
from opelda.report._inferred import check_model, infer_blocks


def to_pyldavis(model: Any, corpus: Any) -> dict[str, Any]:
    """Return the arguments of ``pyLDAvis.prepare``: ``prepare(**to_pyldavis(model, corpus))``.

    Topics keep the model's numbers, which pyLDAvis would otherwise give anew and from 1 on.
    Documents without a word of the model, which it refuses, are left out.

    Parameters
    ----------
    model : fitted model
    corpus : Corpus, counts or documents
        As for `transform`.

    Returns
    -------
    dict
        pyLDAvis 3.4 or newer takes all of it; it need not be installed for this.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.report import to_pyldavis
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9
    >>> given = to_pyldavis(TopicModel(2, random_state=0).fit(texts), texts)
    >>> given["doc_topic_dists"].shape, given["sort_topics"], given["start_index"]
    ((18, 2), False, 0)
    """
    check_model(model)
    measured = MeasuredTopics.of(model)
    blocks = list(infer_blocks(model, corpus))
    theta = np.concatenate([block.theta for block in blocks]).astype(np.float64)
    tokens = np.concatenate([block.tokens for block in blocks])
    kept = tokens > 0
    if not kept.any():
        raise InputError("There is no document with a word of the model; give others.")
    theta, tokens = theta[kept], tokens[kept]
    topics = measured.weights.astype(np.float64)
    theta /= theta.sum(axis=1, keepdims=True)
    topics /= topics.sum(axis=1, keepdims=True)
    return {
        "topic_term_dists": topics,
        "doc_topic_dists": theta,
        "doc_lengths": tokens,
        "vocab": [str(word) for word in measured.words()],
        # the tokens as the model explains them: no word has none, and lift stays finite
        "term_frequency": (tokens @ theta) @ topics,
        "sort_topics": False,
        "start_index": 0,
    }
