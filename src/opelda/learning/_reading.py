"""What a learned model is asked: topics, mixtures, certificates, scores."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from opelda._validation import whole
from opelda.corpus import Vocabulary
from opelda.engines import EVERYTHING, Batch, Solution, Wanted
from opelda.errors import InputError
from opelda.inference import EM, OPE, Inference, Method, Topics
from opelda.inference._infer import as_inference, as_method, fill_empty
from opelda.learning._state import State
from opelda.learning._update import Documents, Worker
from opelda.metrics import log_predictive_probability
from opelda.metrics._top_words import heaviest

# Documents inferred at a time: the topics of their words are laid out together.
CHUNK = 16_384
# Weights of topics ranked at a time.
WEIGHTS_AT_ONCE = 2**24
# Larger tables of topics are laid out in parts, if few words are asked for.
MOST_BYTES = 2**28
MIXTURES = Wanted(certificate=False, picks=False)


class ReadsTopics:
    """The part of a learner that only reads what was learned."""

    _state: State
    transform_method: str | Method | None
    n_jobs: int | None

    # what the learner provides, for the types
    def _worker(self, certify: bool = False, n_topics: int | None = None) -> Worker:
        raise NotImplementedError

    def _checked(self, X: Any, *, reset: bool) -> sparse.csr_array:
        raise NotImplementedError

    def _inference(self) -> Method:
        raise NotImplementedError

    def _transform_method(self) -> Method:
        """Return the method that mixtures are inferred with once the topics are learned."""
        given, learned_by = self.transform_method, self._inference()
        if given is None and isinstance(learned_by, OPE):
            return EM()
        if given is None or given == "same":
            return learned_by
        return as_method(given, "transform_method")

    @property
    def components_(self) -> NDArray[np.float32]:
        """The topics, K x V: each row a distribution over the words (computed on each access)."""
        check_is_fitted(self)
        store, worker = self._state.store, self._worker()
        rows, _ = worker.engine.lay_out(store.kept(), None, n_threads=worker.n_threads)
        topics: NDArray[np.float32] = rows[:, : store.n_topics].T
        return topics

    @property
    def n_batch_iter_(self) -> int:
        """Updates made so far."""
        check_is_fitted(self)
        return self._state.n_updates

    @property
    def n_docs_seen_(self) -> int:
        """Documents learned from so far, each as often as it was seen."""
        check_is_fitted(self)
        return self._state.n_docs_seen

    @property
    def n_unknown_tokens_(self) -> float:
        """Tokens met in streams whose words the model has no column for."""
        check_is_fitted(self)
        return self._state.n_unknown_tokens

    @property
    def vocabulary_(self) -> Vocabulary:
        """The vocabulary that a stream was counted with."""
        check_is_fitted(self)
        if self._state.vocabulary is None:
            raise AttributeError("This model learned from matrices: it has no vocabulary.")
        return self._state.vocabulary

    @property
    def n_words_added_(self) -> int:
        """Words that got a column while learning, those since evicted among them."""
        return self.vocabulary_.n_added

    @property
    def n_words_dropped_(self) -> int:
        """Words refused for want of a column; one refused again counts again."""
        return self.vocabulary_.n_dropped

    def transform(self, X: Any) -> NDArray[Any]:
        """Infer the topic mixtures of documents.

        A document's mixture depends on the document, the topics and the seed, on nothing else.
        `transform_method` says how it is inferred: as while learning, but by EM in the place of
        OPE, unless a method was given.

        Parameters
        ----------
        X : array or sparse matrix (D, V), Corpus, or documents
            As for `fit`. Texts need a model with a vocabulary, as one that learned from documents
            has, and are tokenised as those it learned from.

        Returns
        -------
        array (D, K)
            Rows sum to 1; float64 for float64 counts, else float32.
        """
        check_is_fitted(self)
        matrix = self._checked(X, reset=False)
        worker = self._reader()
        parts = [self._mixtures(worker, batch) for batch in self._batches(worker, matrix)]
        theta = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return theta.astype(np.float64) if matrix.dtype == np.float64 else theta

    def certificate(self, X: Any) -> Inference:
        """Infer the mixtures of `transform` with certificates, as `opelda.inference.infer` does."""
        check_is_fitted(self)
        matrix = self._checked(X, reset=False)
        worker = self._reader()
        parts = [self._certified(worker, batch) for batch in self._batches(worker, matrix)]
        return parts[0] if len(parts) == 1 else _joined(parts)

    def _reader(self) -> Worker:
        return replace(self._worker(), method=self._transform_method())

    def _batches(self, worker: Worker, matrix: sparse.csr_array) -> Iterator[Batch]:
        """The documents with the topics of their words.

        Many documents have most words between them: the topics of every word are laid out once.
        """
        store = self._state.store
        if matrix.nnz >= store.n_words and store.rows.nbytes <= MOST_BYTES:
            docs = Documents.of(matrix)
            worker.check(store, docs)
            yield worker.batch(store, docs, None)
            return
        for first in range(0, matrix.shape[0], CHUNK):
            docs = Documents.of(matrix, first, min(first + CHUNK, matrix.shape[0]))
            yield worker.batch(store, docs, worker.by_word(store, docs))

    def _mixtures(self, worker: Worker, batch: Batch) -> NDArray[np.float32]:
        found = self._solved(worker, batch, MIXTURES)
        theta = np.ascontiguousarray(found.theta, np.float32)
        fill_empty(batch, theta)
        return theta

    def _certified(self, worker: Worker, batch: Batch) -> Inference:
        found = self._solved(worker, batch, EVERYTHING)
        return as_inference(batch, found, worker.method, worker.engine, worker.n_threads)

    def _solved(self, worker: Worker, batch: Batch, wanted: Wanted) -> Solution:
        return worker.method.solve(batch, self._state.seed, worker.engine, worker.n_threads, wanted)

    def score(
        self, X: Any, y: Any = None, *, method: str | Method = "vb", n_splits: int = 5
    ) -> float:
        """Return the log predictive probability of held-out tokens, the mean over documents.

        Of each document 70% of the tokens are observed and the rest predicted, over `n_splits`
        random splits. The mixtures are inferred by VB whatever the model learned with, so that the
        scores of different learners can be compared.

        Parameters
        ----------
        X : array or sparse matrix (D, V)
        y : ignored
        method : str or Method
        n_splits : int
        """
        check_is_fitted(self)
        return self._score(self._checked(X, reset=False), method=method, n_splits=n_splits)

    def perplexity(
        self, X: Any, y: Any = None, *, method: str | Method = "vb", n_splits: int = 5
    ) -> float:
        """Return exp(-score(X))."""
        return float(np.exp(-self.score(X, method=method, n_splits=n_splits)))

    def _score(
        self, matrix: sparse.csr_array, *, method: str | Method = "vb", n_splits: int
    ) -> float:
        state, worker = self._state, self._worker()
        docs = Documents.of(matrix)
        words: NDArray[np.int32] | None = None
        places, n_words = docs.words, state.store.n_words
        if not as_method(method).needs_every_word:  # the topics of the documents' words will do
            by_word = worker.by_word(state.store, docs)
            words, places, n_words = by_word.words, by_word.places, len(by_word.words)
        rows, mean = worker.engine.lay_out(state.store.kept(), words, n_threads=worker.n_threads)
        topics = Topics.laid_out(rows, mean, state.store.n_topics, words)
        counts = sparse.csr_array((docs.counts, places, docs.indptr), (docs.n_docs, n_words))
        found = log_predictive_probability(
            topics,
            counts,
            doc_topic_prior=worker.alpha,
            method=method,
            n_splits=n_splits,
            random_state=state.seed,
            n_jobs=worker.n_threads,
        )
        return float(found)

    def top_words(self, n_words: int = 10, feature_names: Any = None) -> list[list[str]]:
        """Return each topic's most probable words, the most probable first.

        Parameters
        ----------
        n_words : int
            Words per topic; all, if there are fewer.
        feature_names : sequence of str, optional
            The words of the columns. By default those of the model's vocabulary, else those of the
            data frame it was fitted on, else x0, x1, ...
        """
        check_is_fitted(self)
        n = whole("n_words", n_words)
        store = self._state.store
        names = self._words() if feature_names is None else feature_names
        if len(names) != store.n_words:
            raise InputError(
                f"has {len(names)} words but the topics have {store.n_words} columns.",
                "feature_names",
            )
        return [[str(names[j]) for j in topic] for topic in self._heaviest(min(n, store.n_words))]

    def _heaviest(self, n: int) -> NDArray[np.intp]:
        """Return the ids of each topic's n most probable words, a part of the words at a time."""
        store, worker = self._state.store, self._worker()
        kept, weights, ids = store.kept(), [], []
        size = max(1, WEIGHTS_AT_ONCE // store.n_topics)
        for first in range(0, store.n_words, size):
            words = np.arange(first, min(first + size, store.n_words), dtype=np.int32)
            rows, _ = worker.engine.lay_out(kept, words, n_threads=worker.n_threads)
            topics = rows[:, : store.n_topics].T
            best = heaviest(topics, min(n, len(words)))
            weights.append(np.take_along_axis(topics, best, axis=1))
            ids.append(best + first)
        best = heaviest(np.concatenate(weights, axis=1), n)
        return np.take_along_axis(np.concatenate(ids, axis=1), best, axis=1)

    def _words(self) -> Any:
        if self._state.vocabulary is not None:
            return self._state.vocabulary.words
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self._state.store.n_words)] if names is None else names


def _joined(parts: list[Inference]) -> Inference:
    """Put the answers for consecutive documents together."""
    arrays = ("theta", "gap", "likelihood_gap", "log_likelihood", "log_prior", "n_iter", "n_tokens")
    whole: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in arrays
    }
    picked = [part.picked for part in parts if part.picked is not None]
    whole["picked"] = sparse.vstack(picked, format="csr") if picked else None
    return Inference(method=parts[0].method, **whole)
