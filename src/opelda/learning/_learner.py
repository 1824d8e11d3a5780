"""The estimator that every learner is: an inference method and an update rule."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from opelda._validation import counts, seed, whole
from opelda.corpus import Vocabulary
from opelda.engines._documents import Chosen, Documents
from opelda.engines._weights import extended
from opelda.errors import InputError
from opelda.learning._given import as_corpus, counts_of, vocabulary_for
from opelda.learning._parameters import as_word_prior
from opelda.learning._progress import Listeners
from opelda.learning._reading import ReadsTopics
from opelda.learning._reporting import Reporter
from opelda.learning._seeding import seed_topics
from opelda.learning._state import State
from opelda.learning._streaming import LearnsStreams
from opelda.learning._sweeps import check_topics, run_closing_sweeps
from opelda.metrics._split import can_be_split

# Some documents of a collection, and the number of the pass.
Batch: TypeAlias = tuple[Documents, Chosen, int]


class Learner(  # of scikit-learn's classes, which are untyped, and parts of its own
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ReadsTopics,
    LearnsStreams,
    BaseEstimator,  # type: ignore[misc]
):
    """An inference method and an update rule, which a subclass names."""

    _state: State

    # scikit-learn makes `set_output` work for what the class itself defines
    transform = ReadsTopics.transform

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        vocabulary: Vocabulary | None = None,
        validation: Any = None,
        validate_every: int = 10,
    ) -> Self:
        """Learn topics from a collection, forgetting what was learned before.

        Parameters
        ----------
        X : array or sparse matrix (D, V), Corpus, or documents
            Word counts, or what `opelda.corpus.read` makes a corpus of: texts, word lists or
            mappings from word to count, in a list, an iterator, a column or a data frame.
        y : ignored
        vocabulary : Vocabulary, optional
            The words of the columns, kept and saved with the model; documents bring their own.
            With one, `transform` and the like take texts.
        validation : as X, optional
            Documents to score the topics on while learning; see `callbacks`.
        validate_every : int
            Updates between two scores.

        Returns
        -------
        self
        """
        whole("validate_every", validate_every)
        with self._all_or_nothing():
            n_topics = whole("n_components", self.n_components)
            check_topics(n_topics, self._schedule().n_sweeps)
            engine = self._updater(n_topics=n_topics).engine
            Listeners(self.callbacks, self.verbose)
            X = as_corpus(X, vocabulary, self.n_jobs)
            matrix = self._checked(X, reset=True)
            words = vocabulary_for(X, vocabulary, matrix.shape[1])
            held_out = None
            if validation is not None:
                held_out = self._checked(counts_of(validation, words), reset=False)
            if held_out is not None and not can_be_split(held_out):
                raise InputError("validation has no document of at least two tokens to score.")
            self._start(matrix.shape[1])
            self._state.vocabulary = words
        n_docs, state = matrix.shape[0], self._state
        state.population = n_docs
        documents = engine.documents(matrix)
        schedule = self._schedule(n_docs)
        size, n_passes = schedule.batch_size, schedule.n_passes
        if schedule.init == "documents":
            seed_topics(state.weights, matrix, state.seed)

        def batches() -> Iterator[Batch]:
            for n_pass in range(n_passes):
                order = np.random.default_rng([state.seed, 4, n_pass]).permutation(n_docs)
                for first in range(0, n_docs, size):
                    yield documents, order[first : first + size], n_pass + 1

        return self._learn(
            batches(),
            n_docs_total=n_docs * (n_passes + schedule.n_sweeps),
            n_passes=n_passes + schedule.n_sweeps,
            validation=None if held_out is None else lambda: held_out,
            validate_every=validate_every,
            sweep=documents,
        )

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Any:
        """Learn topics as `fit` does and return the mixtures of the same documents."""
        X = as_corpus(X, options.get("vocabulary"), self.n_jobs)
        return super().fit_transform(X, y, **options)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Go on learning from more documents, in their order.

        For the Online rule the topics come to stand for all documents seen so far; no total is
        ever guessed.

        Parameters
        ----------
        X : as for `fit`
            The words of the first call stay the model's.
        y : ignored
        """
        size = self._schedule().batch_size
        first_call = not hasattr(self, "_state")
        with self._all_or_nothing():
            engine = self._updater().engine
            Listeners(self.callbacks, self.verbose)
            X = as_corpus(X, None, self.n_jobs) if first_call else X
            matrix = self._checked(X, reset=first_call)
            if first_call:
                self._start(matrix.shape[1])
                self._state.vocabulary = vocabulary_for(X, None, matrix.shape[1])

        documents = engine.documents(matrix)

        def batches() -> Iterator[Batch]:
            for first in range(0, matrix.shape[0], size):
                yield documents, np.arange(first, min(first + size, matrix.shape[0])), 1

        return self._learn(batches(), n_docs_total=matrix.shape[0], all_new=True)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the model as it was when something it was given turns out to be wrong."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _start(self, n_words: int, n_given: int = 0) -> None:
        """Draw the topics that learning begins with.

        A `topic_word_prior` of one number per word is for the first `n_given` words of those.
        """
        n_topics = whole("n_components", self.n_components)
        prior = as_word_prior(self._word_prior(), n_topics, n_given or n_words)
        prior = extended(prior, n_words)
        drawn = seed(self.random_state)
        weights = self._engine().random_weights(n_words, n_topics, prior, drawn)
        self._state = State(weights, drawn)

    def _learn(
        self,
        batches: Iterator[Batch],
        *,
        n_docs_total: int | None = None,
        n_passes: int | None = None,
        all_new: bool = False,
        validation: Callable[[], sparse.csr_array] | None = None,
        validate_every: int = 10,
        after: Callable[[], None] | None = None,
        sweep: Documents | None = None,
    ) -> Self:
        """Update the topics with each batch and tell the listeners.

        With ``all_new`` the documents add to those that the topics are to stand for. `sweep` is the
        collection that closing sweeps go through.
        """
        listeners = Listeners(self.callbacks, self.verbose)
        updater = self._updater(certify=listeners.needs_gap)
        reporter = Reporter(self, listeners, n_docs_total, n_passes, validation, validate_every)
        n_pass = 0
        with listeners(self):
            for documents, chosen, n_pass in batches:
                state = self._state
                n_docs = documents.n_docs if chosen is None else len(chosen)
                more = n_docs if all_new else 0
                reporter.n_docs += n_docs
                done = updater.update(
                    state.weights,
                    documents,
                    chosen,
                    number=state.n_updates + 1,
                    population=self._population(state.population + more),
                    seed=state.seed,
                )
                state.n_docs_seen += n_docs
                state.population += more
                if done is None:  # there was nothing to learn from
                    continue
                state.n_updates += 1
                if after is not None:
                    after()
                if reporter.tell(done, n_pass):
                    return self
            if sweep is not None and self._state.n_updates:
                n_sweeps = self._schedule(sweep.n_docs).n_sweeps
                learn_prior = self.doc_topic_prior is None
                run_closing_sweeps(
                    self._state, sweep, updater, reporter, n_pass, n_sweeps, learn_prior
                )
        return self

    def _checked(self, X: Any, *, reset: bool) -> sparse.csr_array:
        """Check documents as scikit-learn does, then as kernels need it."""
        state: State | None = None if reset else getattr(self, "_state", None)
        X = counts_of(X, state.vocabulary if state is not None else None)
        if reset or not self._is_like_before(X):
            X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype="numeric")
        return counts(X)

    def _is_like_before(self, X: Any) -> bool:
        """Whether scikit-learn's checks, which take longer than one document, would find nothing.

        A sparse matrix has no names of columns, and `counts` looks at its values.
        """
        return (
            isinstance(X, sparse.csr_array)
            and X.shape[0] > 0
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
        )

    @property
    def _n_features_out(self) -> int:
        return self._state.weights.n_topics

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
