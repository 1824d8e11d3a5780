"""The systems: each takes documents as they come and can be asked for its topics at any time.

`start(corpus, seed, n_jobs)` makes a learner. It has `batch` (documents that it is given at a time;
0: all at once, as a collection), `prepare(counts)` (its own memory format, off the clock),
`learn(prepared)`, and `topics()` (K x V, any scale).

The paper's learners have the paper's settings (S = 5,000, kappa = .9, tau = 1, T = 50), peers those
of `benchmarks.peers` that their documentation advises. gensim, scikit-learn, Vowpal Wabbit and
river receive the number of documents in the stream; opelda's systems do not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..peers.corpora import Corpus
from ..peers.run import N_TOPICS
from ..peers.systems.gensim_ import SETTINGS as GENSIM
from ..peers.systems.scikit_learn import SETTINGS as SCIKIT_LEARN

PAPER_BATCH = 5000


class Frequencies:
    """How often each word came so far, and a tenth: one topic."""

    batch = 1000

    def __init__(self, corpus: Corpus, seed: int, n_jobs: int) -> None:
        self.counts = np.full(corpus.n_words, 0.1)

    def prepare(self, counts: sparse.csr_array) -> sparse.csr_array:
        return counts

    def learn(self, counts: sparse.csr_array) -> None:
        self.counts += np.asarray(counts.sum(axis=0)).ravel()

    def topics(self) -> np.ndarray:
        return self.counts[None]


class Opelda:
    """One of opelda's, by `partial_fit`, or by `fit` where it is to have all documents at once."""

    def __init__(self, name: str, batch: int, settings: dict[str, Any], seed: int, n_jobs: int):
        import opelda

        self.batch = batch
        learner = getattr(opelda, name)
        self.model = learner(N_TOPICS, random_state=seed, n_jobs=n_jobs, **settings)

    def prepare(self, counts: sparse.csr_array) -> sparse.csr_array:
        return counts.astype(np.float32)

    def learn(self, counts: sparse.csr_array) -> None:
        (self.model.partial_fit if self.batch else self.model.fit)(counts)

    def topics(self) -> np.ndarray:
        return self.model.components_


class Gensim:
    """gensim's LdaModel, by `update`."""

    def __init__(self, corpus: Corpus, seed: int, n_jobs: int) -> None:
        from gensim.models import LdaModel

        settings = {name: value for name, value in GENSIM["best"].items() if name != "passes"}
        self.batch = settings["chunksize"]
        words = {word: str(word) for word in range(corpus.n_words)}
        self.model = LdaModel(None, N_TOPICS, words, eval_every=None, random_state=seed, **settings)

    def prepare(self, counts: sparse.csr_array) -> list[list[tuple[int, int]]]:
        parts = counts.indptr, counts.indices, counts.data
        ends, words, times = (part.tolist() for part in parts)
        pairs = list(zip(words, times, strict=True))
        return [pairs[a:b] for a, b in itertools.pairwise(ends)]

    def learn(self, bags: list[list[tuple[int, int]]]) -> None:
        self.model.update(bags)

    def topics(self) -> np.ndarray:
        return self.model.get_topics()


class ScikitLearn:
    """scikit-learn's LatentDirichletAllocation, by `partial_fit`, in batches larger than its own.

    Its own, 128, take longer and predict no better (`benchmarks/README.md`).
    """

    def __init__(self, corpus: Corpus, seed: int, n_jobs: int) -> None:
        from sklearn.decomposition import LatentDirichletAllocation

        settings = {k: v for k, v in SCIKIT_LEARN["larger batches"].items() if k != "passes"}
        self.batch = settings["batch_size"]
        self.model = LatentDirichletAllocation(
            N_TOPICS, total_samples=corpus.n_docs, n_jobs=n_jobs, random_state=seed, **settings
        )

    def prepare(self, counts: sparse.csr_array) -> sparse.csr_array:
        return counts.astype(np.float64)

    def learn(self, counts: sparse.csr_array) -> None:
        self.model.partial_fit(counts)

    def topics(self) -> np.ndarray:
        return self.model.components_


class River:
    """river's LDA with an infinite vocabulary, one document at a time, each word counted once.

    It keeps the first words that it meets, by default 4,000; here all.
    """

    batch = 10

    def __init__(self, corpus: Corpus, seed: int, n_jobs: int) -> None:
        from river.preprocessing import LDA

        self.n_words = corpus.n_words
        self.model = LDA(
            N_TOPICS,
            number_of_documents=corpus.n_docs,
            maximum_size_vocabulary=corpus.n_words + 2,
            seed=seed,
        )

    def prepare(self, counts: sparse.csr_array) -> list[dict[int, int]]:
        return [
            dict.fromkeys(words.tolist(), 1)
            for words in np.split(counts.indices, counts.indptr[1:-1])
        ]

    def learn(self, documents: list[dict[int, int]]) -> None:
        for document in documents:
            self.model.learn_one(document)

    def topics(self) -> np.ndarray:
        """Return the means of the sticks, broken one word at a time."""
        ones, twos = (
            np.array([part[k] for k in range(N_TOPICS)])
            for part in (self.model.nu_1, self.model.nu_2)
        )
        shares = ones / (ones + twos)
        left = np.cumprod(np.pad(1 - shares, ((0, 0), (1, 0)), constant_values=1), axis=1)
        found = np.zeros((N_TOPICS, self.n_words))
        for word, at in self.model.word_to_index.items():
            found[:, word] = shares[:, at] * left[:, at]
        return found


def opelda(name: str, batch: int, **settings: Any) -> Callable[[Corpus, int, int], Opelda]:
    return lambda corpus, seed, n_jobs: Opelda(name, batch, settings, seed, n_jobs)


SYSTEMS: dict[str, Callable[[Corpus, int, int], Any]] = {
    "frequencies": Frequencies,
    "OnlineOPE": opelda("OnlineOPE", PAPER_BATCH),
    "StreamingOPE": opelda("StreamingOPE", PAPER_BATCH),
    "MLOPE": opelda("MLOPE", PAPER_BATCH),
    "TopicModel": opelda("TopicModel", 1000),
    "TopicModel, fast": opelda("TopicModel", 1000, preset="fast"),
    "TopicModel, fit": opelda("TopicModel", 0),
    "gensim": Gensim,
    "scikit-learn": ScikitLearn,
    "river": River,
}
