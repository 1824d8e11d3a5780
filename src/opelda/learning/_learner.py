"""The estimator behind all learners: an inference method and an update rule."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Self, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from opelda._count_matrix import counts
from opelda._validation import whole
from opelda.corpus import Corpus, Vocabulary
from opelda.corpus._design import Columns
from opelda.corpus._kinds import are_documents
from opelda.engines import A_PASS
from opelda.engines.seam import Documents, copies_by_row, enlarged
from opelda.errors import InputError
from opelda.inference._groups import as_vectors
from opelda.inference._infer import as_method, as_prior, as_task
from opelda.learning._closing_sweeps import HeldCollection, Sweeps
from opelda.learning._content import content_groups, find_content
from opelda.learning._curve import Sample, drawn
from opelda.learning._grouping import are_short, find_groups, number_of_groups
from opelda.learning._input_counts import as_corpus, counts_of, vocabulary_for
from opelda.learning._listeners import Reporter, Run
from opelda.learning._plan import Plan
from opelda.learning._prevalence import Prevalence, RowPriors, check_alone
from opelda.learning._representation import with_names
from opelda.learning._seeding import begin
from opelda.learning._seeds import warn_of_uncovered
from opelda.learning._space import Space, own_space
from opelda.learning._state import State, check_words_rest, learns_alone, learns_elsewhere
from opelda.learning._transform import heaviest_words
from opelda.learning.editing._editor import EditsTopics
from opelda.learning.streaming._stream_run import LearnsStreams
from opelda.learning.streaming._window_sweeps import learn
from opelda.metrics import coherence
from opelda.metrics._matching import match_topics, stability_over_runs
from opelda.metrics._predictive import can_be_split

# Coherence takes up to 2% of the time: with fewer than four passes and sweeps it counts a sample. A
# smaller sample would miss pairs of words.
LEAST_COUNTED = 50_000

Class = TypeVar("Class", bound=type)


def listed(cls: Class) -> Class:
    """Order the signature as the docstring."""
    text = (cls.__doc__ or "").split("    Attributes\n")[0]
    names = ", ".join(re.findall(r"^    (\w[\w, ]*) : ", text, re.MULTILINE)).split(", ")
    known = signature(cls.__init__)  # type: ignore[misc]  # (a class may inherit a signature)
    ordered = known.replace(parameters=[known.parameters[name] for name in names])
    setattr(cls, "__signature__", ordered)  # noqa: B010  # for the type checker
    return cls


def run_seeds(seed: int, n_runs: int) -> list[int]:
    """Return a seed per run: the given seed, then seeds derived from it."""
    return [seed, *np.random.SeedSequence(seed).generate_state(n_runs - 1).tolist()]


def another(model: Any, seed: int, **changes: Any) -> Any:
    """Return a silent model with the same parameters, a seed and a single run."""
    given = model.get_params(deep=False) | {"random_state": seed, "callbacks": None, "verbose": 0}
    if "n_runs" in given:
        given["n_runs"] = 1
    return type(model)(**given | changes)


def compared_words(model: Any) -> Any:
    """Return the ids (K, n) of the words that match topics."""
    # On generated documents, with two to four times their number of topics, 20 words identify true
    # topics best: an AUC of .994, against .982 for 10 words and .990 for the cosine.
    return heaviest_words(model, min(20, model._state.weights.n_words))


@dataclass(frozen=True)
class Given:
    """Arguments of `fit` beside the documents."""

    validate_every: int = 10
    embeddings: Any = None
    prevalence: Any = None  # a formula or names of columns, or a `Prevalence`
    content: Any = None  # the name of a column
    data: Any = None  # these columns, or rows of the `Prevalence`; a cluster has its own


class Learner(EditsTopics, LearnsStreams, BaseEstimator):  # type: ignore[misc]  # untyped
    """The estimator; subclasses name an inference method and an update rule."""

    @learns_alone
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        vocabulary: Vocabulary | None = None,
        validation: Any = None,
        validate_every: int = 10,
        embeddings: Any = None,
        prevalence: Any = None,
        content: str | None = None,
        data: Any = None,
    ) -> Self:
        """Learn topics from a collection; discard topics of earlier calls.

        Parameters
        ----------
        X : array or sparse matrix (D, V), Corpus, or documents
            Word counts, or documents for `opelda.corpus.read`: texts, word lists or mappings from
            word to count, in a list, an iterator, a column or a data frame.
        y : ignored
        vocabulary : Vocabulary, optional
            The words of the columns, for counts. The model keeps it to count texts.
        validation : as X, optional
            Documents to score while learning, for callbacks.
        validate_every : int
            Updates between two scores.
        embeddings : array (D, n), optional
            A vector per document by any encoder (docs/short-texts.md): topics start from clusters
            of these vectors, and documents of a cluster share a prior.
        prevalence : str or iterable of str, optional
            Columns that topics depend on, by a formula such as ``"party + s(year)"``, or by names
            (docs/covariates.md).
        content : str, optional
            A column of at most 12 groups, such as newspapers, that word topics in their own way.
        data : mapping or data frame, optional
            These columns; None: those of the corpus.
        """
        how = Given(validate_every, embeddings, prevalence, content, data)
        if self.n_runs == 1:
            self._fit(X, vocabulary, validation, how)
        else:
            self._fit_runs(X, vocabulary, validation, how)
        warn_of_uncovered(self.seed_coverage_)
        return self

    def _fit_runs(self, X: Any, vocabulary: Any, validation: Any, how: "Given") -> None:
        """Learn several times, and keep the most typical of the finished runs."""
        seeds = run_seeds(self._plan(listen=False).seed, self.n_runs)
        X = as_corpus(X, vocabulary, self.n_jobs)
        if isinstance(validation, Iterator):
            validation = list(validation)
        done: list[State] = []
        words: list[Any] = []
        try:
            for number, seed in enumerate(seeds, 1):
                run = Run(number, len(seeds), seed)
                self._fit(X, vocabulary, validation, how, run=run)
                words.append(compared_words(self))
                done.append(self._state)
        finally:
            if done:
                stability = stability_over_runs(words[: len(done)])
                prototype = int(stability.mean(axis=1).argmax())
                self._state = done[prototype]
                self._state.stability = stability[prototype] if len(done) > 1 else None
                self._state.runs = self._matched_runs(done)

    def _matched_runs(self, done: list[State]) -> Any:
        """Return the topics of other runs, in the order of the prototype's; None of a single run.

        Intervals of shares include the differences between runs.
        """
        own = np.array(self._read(self._state), np.float64)
        others = [self._read(state) for state in done if state is not self._state]
        if not others:
            return None
        return np.stack([each[match_topics(own, each)[0]] for each in others]).astype(np.float32)

    def _fit(
        self,
        X: Any,
        vocabulary: Vocabulary | None = None,
        validation: Any = None,
        how: "Given" = Given(),  # immutable
        collection: Any = None,  # a `HeldCollection` or a cluster
        run: Run = Run(),  # noqa: B008  # immutable
    ) -> None:
        """Learn topics; sweep the collection, if given, of which X is a sample."""
        whole("validate_every", how.validate_every)
        with self._all_or_nothing():
            plan = self._plan()
            matrix, words = self._counted(X, vocabulary)
            held_out: Any = None
            if validation is not None:
                held_out = self._validated(counts_of(validation, words), reset=False)
                if not can_be_split(held_out):
                    raise InputError(
                        "validation has no document with at least two tokens to score; pass "
                        "longer documents."
                    )
            # settings that depend on the documents
            schedule = self._schedule(matrix.shape[0])
            n_passes, n_sweeps = schedule.n_passes, schedule.n_sweeps
            engine = self._engine(matrix.nnz, n_sweeps + A_PASS * n_passes, anew=True)
            if n_sweeps and collection is None:
                matrix = enlarged(matrix)
            seed = plan.seed if run.seed is None else run.seed
            plan = replace(plan, schedule=schedule, engine=engine, seed=seed)
            plan = self._with_seeds(plan, words, matrix)
            documents = engine.documents(matrix)
            prevalence, priors = self._rows(X, plan, how, documents.n_docs)
            worded: Any = None
            if how.content is not None:
                if getattr(self, "n_groups", None) or how.embeddings is not None:
                    raise InputError("cannot be combined with n_groups and embeddings.", "content")
                columns = Columns(how.data, X)
                worded = content_groups(how.content, columns, documents.n_docs)
            n_groups, space, starts = self._grouped(plan, documents, how.embeddings)
            plan = replace(plan, space=space if starts else None)
            n_docs = (documents if collection is None else collection).n_docs
            self._state = state = self._begun(plan, documents, words)
            state.population = n_docs
        sample = Sample(documents, schedule.batch_size, n_passes, n_sweeps)
        reporter = Reporter(
            self,
            plan.listeners,
            n_docs_total=documents.n_docs * n_passes + n_docs * n_sweeps,
            n_passes=n_passes + n_sweeps,
            n_sweeps=n_sweeps,
            validation=None if held_out is None else lambda: held_out,
            validate_every=how.validate_every,
            sample=sample if held_out is None else None,
            run=run,
        )
        with plan.listeners(self):
            sweeps = self._go_through(plan, documents, collection, reporter, priors)
        if prevalence is not None and priors is not None and sweeps is not None:
            state.prevalence = prevalence.learned(priors, sweeps.alpha)
        elif n_groups and space is not None and state.n_updates and worded is None:
            state.groups = find_groups(self, documents, n_groups, space)
        if worded is not None and state.n_updates:
            alpha = as_prior(self.doc_topic_prior, plan.n_topics)
            task = as_task(as_method("em"), alpha, state.seed, None)
            state.content = find_content(engine, self.components_, documents.matrix, task, *worded)
        if matrix.shape[1] > 1:  # words: there are pairs
            n_counted = max(LEAST_COUNTED, documents.n_docs * (n_passes + n_sweeps) // 4)
            counted = matrix if documents.n_docs <= n_counted else drawn(documents, n_counted)
            state.coherence = coherence(heaviest_words(self, min(10, matrix.shape[1])), counted)

    def _grouped(
        self, plan: Plan, documents: Documents, embeddings: Any
    ) -> tuple[int, Space | None, bool]:
        """Return the number of groups, the documents' space, and whether topics start from it.

        The start must not depend on the number of groups: groups change no topics.
        """
        given, preset = getattr(self, "n_groups", None), getattr(self, "preset", None)
        short = preset == "best" and are_short(documents.matrix)
        has_vectors = embeddings is not None
        n_groups = number_of_groups(given, plan.n_topics, useful=short, embeddings=has_vectors)
        vectors = as_vectors(embeddings, documents.n_docs) if has_vectors else None
        if not (n_groups or short):
            return 0, None, False
        return n_groups, own_space(documents, plan.seed, vectors), short or has_vectors

    def _begun(self, plan: Plan, documents: Documents, words: Vocabulary | None) -> State:
        state = plan.start(documents.n_words)
        state.vocabulary = words
        begin(plan, state, documents)
        return state

    def _rows(
        self, X: Any, plan: Plan, how: "Given", n_docs: int
    ) -> tuple[Prevalence | None, RowPriors | None]:
        """Return the rows of documents by their columns, if topics depend on columns."""
        if how.prevalence is None:
            if how.data is not None and how.content is None:
                raise InputError("has no effect without prevalence or content.", "data")
            return None, None
        others = {name: getattr(self, name, None) for name in ("seeds", "n_groups")}
        check_alone(plan.schedule.n_sweeps, others | {"embeddings": how.embeddings})
        found, row = how.prevalence, how.data
        if not isinstance(found, Prevalence):
            columns = Columns(how.data, X)
            found, row = Prevalence.of(how.prevalence, columns, plan.n_topics, plan.seed)
        if row is not None and len(row) != n_docs:
            raise InputError(f"has {len(row)} rows for {n_docs} documents.", "data")
        ratios = np.ones((len(found.rows), plan.n_topics))
        return found, RowPriors(row, ratios, found.rows)

    def _go_through(
        self,
        plan: Plan,
        documents: Documents,
        collection: Any,
        reporter: Reporter,
        priors: RowPriors | None,
    ) -> Sweeps | None:
        """Make the passes, then the closing sweeps; return these if they were made."""
        state, schedule = self._state, plan.schedule
        for batch in plan.passes(documents):
            try:
                done = plan.update(state, batch)
            except BaseException:
                # After an interrupted first update, engines restore a random start, without the
                # documents of this start.
                if not state.n_updates:
                    state.weights = self._begun(plan, documents, state.vocabulary).weights
                raise
            if reporter.tell(done, batch.n_pass, batch.n_docs):
                return None
        if not schedule.n_sweeps or not state.n_updates:
            return None
        if collection is None:
            rows = None if priors is None else priors.of_documents
            copies = None if rows is None else copies_by_row(documents.content_keys(), rows)
            tokens = plan.engine.tokens(documents, plan.n_topics, copies=copies, prior_rows=rows)
            collection = HeldCollection(plan.engine, tokens)
        sweeps = Sweeps(plan, state, collection, plan.alpha, priors=priors)
        made = sweeps.anneal(schedule.n_sweeps)
        for n_pass, done in enumerate(made, schedule.n_passes + 1):
            state.n_updates += 1
            state.n_docs_seen += collection.n_docs
            if reporter.tell(done, n_pass, collection.n_docs):
                break
        if plan.learns_prior:
            state.alpha = sweeps.alpha
        sizes = collection.histogram(sweeps.looked_at)
        state.missing, state.weight_error = sweeps.differences.found(sizes)
        return sweeps

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Any:
        """Learn topics and return the mixtures of the same documents."""
        counted = as_corpus(X, options.get("vocabulary"), self.n_jobs)
        self.fit(counted, y, **options)
        given = {name: options.get(name) for name in ("embeddings", "data")}
        return with_names(self.transform(counted, **given), X)

    @learns_alone
    def partial_fit(
        self, X: Any, y: Any = None, *, prevalence: Any = None, data: Any = None
    ) -> Self:
        """Continue learning from more documents, in order, in batches of `batch_size`.

        Learn by sweeps of the last documents if `n_sweeps` is not 0 (docs/streams.md), else by
        updates. For the Online rule, D is the number of documents seen so far.

        Parameters
        ----------
        X : as for `fit`
            The words of the first call remain the model's words.
        y : ignored
        prevalence : str or iterable of str, optional
            As for `fit_stream`, at the first call.
        data : mapping or data frame, optional
            These columns, at every call; by default the columns of the corpus.
        """
        state: State | None = getattr(self, "_state", None)
        with self._all_or_nothing():
            plan = self._with_rows(self._plan(state), state, prevalence)
            if state is None:
                self._check_one_run()
                matrix, words = self._counted(X, None)
                plan = self._with_seeds(plan, words, matrix)
                self._state = state = plan.start(matrix.shape[1])
                state.vocabulary = words
            else:
                matrix = self._checked(X)
                plan = self._with_seeds(plan, state.vocabulary)
            levels = None if state.prevalence is None else state.prevalence.levels(Columns(data, X))
            if levels is None and data is not None:
                raise InputError("has no effect without the prevalence of a stream.", "data")
            if levels is not None and len(levels) != matrix.shape[0]:
                message = f"has {len(levels)} rows for {matrix.shape[0]} documents."
                raise InputError(message, "data")
        documents = plan.engine.documents(matrix)
        reporter = Reporter(self, plan.listeners, n_docs_total=documents.n_docs)
        with plan.listeners(self):
            for batch in plan.passes(documents, new=True):
                if levels is not None and batch.chosen is not None:
                    batch = replace(batch, levels=[levels[d] for d in batch.chosen])
                done = learn(plan, state, batch)
                if reporter.tell(done, batch.n_pass, batch.n_docs):
                    break
        return self

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Restore the model after an error in parameters or documents."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _checked(self, X: Any) -> sparse.csr_array:
        """Return documents as validated counts over the words of the model."""
        if learns_elsewhere(self) and (isinstance(X, Corpus) or are_documents(X)):
            check_words_rest(self)
        return self._validated(counts_of(X, self._state.vocabulary), reset=False)

    def _counted(self, X: Any, vocabulary: Any) -> tuple[sparse.csr_array, Vocabulary | None]:
        """Return new documents as validated counts, and the words of their columns."""
        X = as_corpus(X, vocabulary, self.n_jobs)
        matrix = self._validated(X.X if isinstance(X, Corpus) else X, reset=True)
        return matrix, vocabulary_for(X, vocabulary, matrix.shape[1])

    def _validated(self, X: Any, *, reset: bool) -> sparse.csr_array:
        """Validate counts for scikit-learn, then for kernels."""
        # scikit-learn's checks, which take longer than one document, accept all of these
        is_valid = isinstance(X, sparse.csr_array) and not reset and X.shape[0] > 0
        is_valid = is_valid and X.shape[1] == self.n_features_in_
        if not is_valid or hasattr(self, "feature_names_in_"):
            X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype="numeric")
        return counts(X)

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
