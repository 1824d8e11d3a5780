"""Reading a learned model: topics, mixtures, certificates, scores."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.exceptions import NotFittedError

from opelda._validation import choice, flag, whole
from opelda._word_ranking import RANKS, Rank, best_words, heaviest, own_words, word_factors
from opelda.corpus import Vocabulary
from opelda.corpus._design import Columns
from opelda.engines import seam
from opelda.errors import InputError
from opelda.inference import Inference, Method, Topics
from opelda.inference._groups import given_vectors, infer_members
from opelda.inference._infer import as_inference, as_method, as_prior, as_task, missed
from opelda.inference._intervals import as_level, share_intervals
from opelda.learning._plan import Parameters
from opelda.learning._state import State
from opelda.learning._uncertainty import sizes
from opelda.learning.streaming._events import Event
from opelda.metrics import log_predictive_probability
from opelda.metrics._top_words import rank_words, shares_or_even
from opelda.metrics._topics import MeasuredTopics

Ids = NDArray[np.intp]


class ReadsTopics(Parameters, TransformerMixin):  # type: ignore[misc]  # which is untyped
    """The methods of a learner that read the learned topics."""

    _state: State

    def _checked(self, X: Any) -> sparse.csr_array:
        raise NotImplementedError  # the learner's

    @property
    def components_(self) -> NDArray[np.float32]:
        """The topics, K x V: each row a distribution over the words; read only."""
        topics = np.asarray(self._read(self._learned()), np.float32)
        topics.flags.writeable = False
        return topics

    @property
    def n_batch_iter_(self) -> int:
        """Updates made so far."""
        return self._learned().n_updates

    @property
    def n_docs_(self) -> int:
        """Documents learned from; the passes of `fit` count once."""
        return int(self._learned().population)

    @property
    def n_docs_seen_(self) -> int:
        """Documents learned from; every pass and sweep counts."""
        return self._learned().n_docs_seen

    @property
    def coherence_(self) -> NDArray[np.float64] | None:
        """NPMI of each topic's ten top words (K,), over the documents of `fit`.

        With fewer than four passes and sweeps (as with ``preset="fast"``), over a sample of at
        least 50,000 documents. None for streams, and after `partial_fit`.
        """
        return self._learned().coherence

    @property
    def topic_stability_(self) -> NDArray[np.float64] | None:
        """Stability of each topic (K,) over several runs of `fit`, from 0 to 1.

        The mean Jaccard similarity between the 20 top words of a topic and of the matching topic in
        each other run. None with ``n_runs=1``, for streams and after `partial_fit`.
        """
        return self._learned().stability

    @property
    def topic_uncertainty_(self) -> NDArray[np.float64] | None:
        """Relative standard error of each topic's words (K,), a mean over the 20 top words.

        Topics of small uncertainty recur in other documents of the kind
        (docs/howto/stable-topics.md). None without sweeps, for streams and after `partial_fit`.
        """
        state = self._learned()
        if state.missing is None:
            return None
        p = np.maximum(-np.sort(-self.components_, axis=1)[:, :20], 1e-12).astype(np.float64)
        n_tokens = sizes(state, p, np.arange(len(p))[:, np.newaxis])
        return np.asarray(np.sqrt((1.0 - p) / (p * n_tokens)).mean(axis=1))

    @property
    def learning_curve_(self) -> list[tuple[int, float]]:
        """At most 65 pairs of documents seen and a score, as of `score`."""
        curve = self._learned().curve
        return [] if curve is None else list(curve.points)

    @property
    def learning_curve_of_(self) -> str:
        """The documents that the learning curve scores; empty without a curve.

        "validation documents", "documents it learned from" or "documents before they were learned
        from". Scores of different kinds are not comparable.
        """
        curve = self._learned().curve
        return "" if curve is None else curve.of

    @property
    def events_(self) -> list[Event]:
        """The last 256 events of a stream learned by sweeps, without times."""
        watch = self._learned().watch
        return [] if watch is None else list(watch.events)

    @property
    def n_unknown_tokens_(self) -> float:
        """The number of stream tokens whose words have no column."""
        return self._learned().n_unknown_tokens

    @property
    def vocabulary_(self) -> Vocabulary:
        """The vocabulary of the columns."""
        words = self._learned().vocabulary
        if words is None:
            raise AttributeError(
                "This model has no vocabulary, because it was fitted to a matrix of counts."
            )
        return words

    @property
    def n_words_added_(self) -> int:
        """Words that got a column while learning, including evicted words."""
        return self.vocabulary_.n_added

    @property
    def n_words_dropped_(self) -> int:
        """Words of mini-batches without a column, once per mini-batch."""
        return self.vocabulary_.n_dropped

    def transform(self, X: Any, *, embeddings: Any = None, data: Any = None) -> Any:
        """Infer the topic mixtures of documents, by `transform_method` and `max_loss`.

        A mixture depends only on the document, the topics and the seed.

        Parameters
        ----------
        X : array or sparse matrix (D, V), Corpus, or documents
            As for `fit`. Texts need a model with a vocabulary; its tokenizer splits texts.
        embeddings : array (D, n), optional
            The documents' vectors, if `fit` got vectors; None: documents have groups by words.
        data : mapping or data frame, optional
            The columns of `prevalence` and `content`, if `fit` got them; None: those of the corpus,
            if it has them. Documents without values have the prior and the topics of all.

        Returns
        -------
        array (D, K), or CSR array with `sparse_output`
            Rows sum to 1; float64 for float64 counts, else float32; on the device of X. With
            ``set_output(transform="pandas")`` a frame: topic labels name its columns, and the
            corpus's names or the index of X its rows.
        """
        documents, found, task = self._inferred(X, seam.MIXTURES, seam.FEW_TOPICS, embeddings, data)
        missed(found, task.accuracy)
        theta = found.as_csr() if self.sparse_output else found.theta
        dtype = np.float64 if documents.dtype == np.float64 else np.float32
        return seam.where_it_was(theta.astype(dtype, copy=False), X)

    def infer(
        self,
        X: Any,
        *,
        embeddings: Any = None,
        data: Any = None,
        interval: float | None = None,
    ) -> Inference:
        """Infer the mixtures of `transform`, with certificates as of `opelda.inference.infer`.

        For documents with a group, f has the group's prior.

        Parameters
        ----------
        X, embeddings, data : as for `transform`
        interval : float or None
            The level of credible intervals of the shares, such as 0.95 (docs/inference.md). The
            prior has the weight that sweeps learned. With ``n_runs`` above 1, intervals include the
            differences between the runs' topics.
        """
        level = as_level(interval)
        _, found, task = self._inferred(X, seam.EVERYTHING, seam.SPARSE, embeddings, data, level)
        return as_inference(found, task, self.sparse_output, X)

    def _inferred(
        self,
        X: Any,
        wanted: seam.Wanted,
        of_few: seam.Wanted,
        embeddings: Any = None,
        data: Any = None,
        level: float | None = None,
    ) -> tuple[seam.Documents, seam.Solution, seam.Task]:
        """Infer, with intervals of a level; request `of_few` instead for sparse mixtures."""
        state = self._learned()
        with state.lock:
            self._check_topics(state)
            few = flag("sparse_output", self.sparse_output)
            copied = few or hasattr(self, "feature_names_in_")
            engine, documents = seam.take_documents(
                X, state.weights.n_words, self._engine, self._checked, in_place=not copied
            )
            alpha = as_prior(self.doc_topic_prior, state.weights.n_topics)
            task = as_task(self._transform_method(), alpha, state.seed, self._accuracy())
            if few and task.method.knows_loss:
                wanted = of_few
            rows = self._rows_of(X, data, documents.n_docs)
            alphas, member, tables = rows or (None, None, None)
            if state.groups is not None:
                alphas = state.groups.alphas(alpha)
                member = state.groups.members(documents.matrix, embeddings)
            elif embeddings is not None:
                raise given_vectors()
            found = infer_members(
                engine, state.weights, documents, task, wanted, alphas, member, tables
            )
            if level is not None:
                found = self._with_intervals(documents, found, task, alphas, member, tables, level)
            return documents, found, task

    def _with_intervals(
        self,
        documents: seam.Documents,
        found: seam.Solution,
        task: seam.Task,
        alphas: Any,
        member: Any,
        tables: Any,
        level: float,
    ) -> seam.Solution:
        """Add intervals of shares; their prior has the learned weight and the mixtures' mean."""
        state = self._state
        runs = None if tables else state.runs
        alpha, weight = task.alpha, float(task.alpha.sum())
        if self.doc_topic_prior is None and state.alpha is not None:
            alpha, weight = state.alpha, float(state.alpha.sum())

        def read(words: NDArray[np.int32]) -> NDArray[Any]:
            own = self._engine().read(state.weights, words)
            return own if runs is None else np.concatenate((own, *runs[..., words]))

        readers: list[Any] = [read]
        if alphas is None or member is None:
            alphas, member = alpha[np.newaxis], np.zeros(documents.n_docs, np.int64)
        else:  # (-1 is without a group)
            of_rows = weight * alphas / alphas.sum(axis=1, keepdims=True)
            alphas, member = np.vstack((of_rows, alpha)), member % (len(alphas) + 1)
            readers *= len(alphas)
        if tables:
            readers = [lambda words, own=own: own.components[:, words] for own in tables] + [read]
        drawn = share_intervals(
            documents.matrix, found.dense(), readers, alphas, member,
            level=level, seed=state.seed, n_jobs=self.n_jobs,
            n_tables=1 if runs is None else 1 + len(runs),
        )  # fmt: skip
        return replace(found, intervals=drawn)

    def _rows_of(self, X: Any, data: Any, n_docs: int) -> tuple[Any, Any, Any] | None:
        """Return the rows of columns: their priors, each document's row, and their topics.

        None without columns.
        """
        state, columns = self._state, Columns(data, X)
        prevalence, content = state.prevalence, state.content
        if prevalence is None and content is None and data is not None:
            raise InputError(
                "has no effect, because the model was fitted without prevalence and content; "
                "remove it.",
                "data",
            )
        given = {*columns.names}
        if data is None:
            if prevalence is not None and not given.issuperset(prevalence.design.columns):
                prevalence = None
            if content is not None and content.factor.column not in given:
                content = None
        if prevalence is None and content is None:
            return None
        alpha = as_prior(self.doc_topic_prior, state.weights.n_topics)
        alphas, row = alpha[np.newaxis], np.zeros(n_docs, np.int64)
        if prevalence is not None:
            alphas, row = np.vstack((prevalence.alphas(alpha), alpha)), prevalence.members(columns)
        group = row * 0 if content is None else content.members(columns)
        for found in (row, group):
            if len(found) != n_docs:
                raise InputError(f"has {len(found)} rows for {n_docs} documents.", "data")
        # (-1 is the prior, and the topics, of all documents)
        pairs, member = np.unique(np.stack((row, group)), axis=1, return_inverse=True)
        tables = None
        if content is not None:
            common = self.components_
            tables = [content.topics(g, common) for g in pairs[1].tolist()]
        return alphas[pairs[0]], member.ravel(), tables

    def _read(self, state: State, words: NDArray[np.int32] | None = None) -> NDArray[Any]:
        """Return the topics (K, V), or their columns of some words, between two updates."""
        with state.lock:
            return self._engine().read(state.weights, words)

    def _learned(self) -> State:
        """Return the state; scikit-learn's check would take longer than a document."""
        if not hasattr(self, "_state"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )
        return self._state

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        method: str | Method | None = None,
        n_splits: int = 5,
        data: Any = None,
    ) -> float:
        """Return the mean log predictive probability of held-out tokens over documents.

        Each of `n_splits` random splits observes 70% of a document's tokens and predicts the rest.

        Parameters
        ----------
        X : as for `transform`
        y : ignored
        method : str, Method or None
            The inference method, for comparing models; None: that of `transform`, and `max_loss`.
        n_splits : int
        data : as for `transform`
        """
        self._check_topics(self._learned())
        matrix = self._checked(X)
        rows = self._rows_of(X, data, matrix.shape[0])
        return self._score(matrix, method=method, n_splits=n_splits, rows=rows)

    def perplexity(self, X: Any, y: Any = None, **options: Any) -> float:
        """Return exp(-score(X)), with the options of `score`."""
        return float(np.exp(-self.score(X, **options)))

    def _score(
        self,
        matrix: sparse.csr_array,
        *,
        method: str | Method | None = None,
        n_splits: int,
        rows: tuple[Any, Any, Any] | None = None,
    ) -> float:
        state = self._state
        used = self._transform_method() if method is None else as_method(method)
        if used.needs_every_word or state.groups or rows or matrix.nnz >= matrix.shape[1]:
            topics, counted = Topics(self._read(state)), matrix
        else:  # read only the columns of the documents' words
            words, slots = np.unique(matrix.indices, return_inverse=True)
            words = words.astype(np.int32)
            topics = Topics.of_words(self._read(state, words), words)
            parts = (matrix.data, slots, matrix.indptr)
            counted = sparse.csr_array(parts, (matrix.shape[0], len(words)))
        found = log_predictive_probability(
            MeasuredTopics(
                topics.components,
                given=topics,
                inference=(used, self._accuracy()),
                groups=state.groups,
                rows=rows,
            ),
            counted,
            doc_topic_prior=as_prior(self.doc_topic_prior, state.weights.n_topics),
            method=method,
            n_splits=n_splits,
            random_state=state.seed,
            engine=self._engine(),
        )
        return float(found)

    def top_words(
        self, n_words: int = 10, feature_names: Any = None, *, by: Rank = "relevance"
    ) -> list[list[str]]:
        """Return the words that stand for each topic, the best first.

        Parameters
        ----------
        n_words : int
            Words per topic, at most V.
        feature_names : sequence of str, optional
            The words of the columns. By default the words of the vocabulary, the names of the data
            frame's columns, or x0, x1, ...; see `set_feature_names`.
        by : {"relevance", "probability", "exclusive", "tfidf", "frex"}
            How words are ranked; see `opelda.report.rank_words`.
        """
        n_columns = self._learned().weights.n_words
        n = min(whole("n_words", n_words), n_columns)
        names = self._words() if feature_names is None else feature_names
        if len(names) != n_columns:
            raise InputError(
                f"has {len(names)} words but the topics have {n_columns} columns.", "feature_names"
            )
        choice("by", by, [rank for rank in RANKS if rank != "coherence"])  # which takes documents
        best = rank_words(self, n, by=by) if by == "frex" else heaviest_words(self, n, by)
        return [[str(names[j]) for j in topic] for topic in best]

    def _words(self) -> Any:
        if self._state.vocabulary is not None:
            return self._state.vocabulary.words
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self._state.weights.n_words)] if names is None else names


def heaviest_words(model: Any, n: int, by: Rank = "probability", at_once: int = 2**24) -> Ids:
    """Return the ids of each topic's n best words, and read `at_once` weights at a time."""
    state = model._state
    n_words, n_topics = state.weights.n_words, state.weights.n_topics
    shares = shares_or_even(model, n_topics)
    weights, ids = [], []
    size = max(1, at_once // n_topics)
    for first in range(0, n_words, size):
        words = np.arange(first, min(first + size, n_words), dtype=np.int32)
        topics = model._read(state, words)
        if by in ("probability", "exclusive"):
            topics = own_words(topics, shares) if by == "exclusive" else topics
            best = heaviest(topics, min(n, len(words)))
            scores = np.take_along_axis(topics, best, axis=1)
        else:
            factors = word_factors(topics, by, shares)
            best, scores = best_words(topics, min(n, len(words)), factors)
        weights.append(scores)
        ids.append(best + first)
    best = heaviest(np.concatenate(weights, axis=1), n)
    return np.take_along_axis(np.concatenate(ids, axis=1), best, axis=1)
