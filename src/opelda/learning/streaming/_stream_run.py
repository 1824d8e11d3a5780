"""Learning from streams: any iterable, once through, in bounded memory, resumable."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Self

import numpy as np
from scipy import sparse

from opelda import corpus
from opelda._count_matrix import counts
from opelda._validation import Every, whole
from opelda.corpus import Corpus, DocumentStream, MiniBatch, Vocabulary
from opelda.corpus._design import Columns
from opelda.corpus._kinds import are_documents
from opelda.corpus._matrix import as_counts
from opelda.corpus.text.tokenizer import going_on_as, recalling
from opelda.engines.seam import extended
from opelda.errors import InputError
from opelda.learning._input_counts import as_vocabulary, counts_of
from opelda.learning._listeners import Reporter
from opelda.learning._plan import Plan, UpdateBatch
from opelda.learning._prevalence import Prevalence, check_alone
from opelda.learning._representation import ShowsTopics
from opelda.learning._seeds import warn_of_uncovered
from opelda.learning._state import State, learns_alone
from opelda.learning.persistence._checkpoint import Checkpoint
from opelda.learning.streaming._window_sweeps import learn


class LearnsStreams(ShowsTopics):
    """The part of a learner that follows streams."""

    n_features_in_: int

    _state: State

    @learns_alone
    def fit_stream(
        self,
        source: Iterable[Any] | PathLike[str],
        *,
        vocabulary: Vocabulary | None = None,
        validation: Any = None,
        validate_every: int = 10,
        checkpoint: str | PathLike[str] | None = None,
        every: int | str = "30s",
        prevalence: Any = None,
    ) -> Self:
        """Learn from a stream in one pass, or resume learning.

        Parameters
        ----------
        source : iterable or pathlib.Path
            Mini-batches (matrices of counts, or lists of documents that are not texts), one update
            each; documents (texts, sequences of words, mappings from word to count), gathered into
            mini-batches of `batch_size`; a column or data frame of texts, a corpus, the path of a
            file or folder, or `opelda.corpus.stream`. A list of strings is one document.
        vocabulary : Vocabulary, optional
            The words of the columns, which the model copies to `vocabulary_`. By default the
            source's own, else a vocabulary that grows to 100,000 words, then evicts rare, stale
            words. `n_unknown_tokens_` counts the tokens of words without a column.
        validation : as X of `fit`, optional
            Documents to score every `validate_every` updates, for callbacks.
        validate_every : int
        checkpoint : path, optional
            A folder for the model and the position in the source, committed together after the
            first update, every `every`, at the end, and when the source fails. A killed run that is
            called again with the same source resumes and ends with the same bytes, unless a timeout
            closed a mini-batch. A source with `position` and ``seek(position)`` seeks; the content
            of documents identifies the position in any other source.
        every : int or str
            Updates between two checkpoints, or a time such as "30s", "5m" or "1h". Writing takes a
            tenth of the time at most. A time is also the timeout of a mini-batch of a pipe, a
            followed file or folder, or an iterable that yields `opelda.corpus.NOTHING`.
        prevalence : str or iterable of str, optional
            Columns of levels that topics depend on, such as ``"party + chamber"`` or
            ``["party"]``, among the metadata of `opelda.corpus.stream` (docs/covariates.md). New
            levels may appear at any time. None: the columns of the model, if it has any.

        Returns
        -------
        self
        """
        due = Every("every", every)
        whole("validate_every", validate_every)
        with nullcontext() if checkpoint is None else Checkpoint(checkpoint, source, due) as saved:
            position = None if saved is None else saved.resume(self)
            state: State | None = getattr(self, "_state", None)
            if state is not None:
                known = getattr(source, "vocabulary", None) if vocabulary is None else vocabulary
                if state.vocabulary is not None and isinstance(known, Vocabulary):
                    # the function that cut texts is in no file
                    own = state.vocabulary
                    own.tokenizer = recalling(own.tokenizer, known.tokenizer)
            else:
                self._check_one_run()
                if vocabulary is None and isinstance(source, DocumentStream | Corpus):
                    vocabulary = source.vocabulary
            plan, words = self._plan(state), self._stream_vocabulary(vocabulary)
            plan = self._with_rows(self._with_seeds(plan, words), state, prevalence)
            scored = self._stream_validation(validation, words)
            reporter = Reporter(
                self, plan.listeners, validation=scored, validate_every=validate_every
            )
            n_given = 0 if vocabulary is None else len(vocabulary)
            run = StreamRun(self, plan, reporter, n_given, saved, position)
            batches = corpus.mini_batches(
                source,
                batch_size=plan.schedule.batch_size,
                vocabulary=words,
                n_words=None if state is None else state.weights.n_words,
                position=position,
                max_wait=due.seconds or None,
                meanwhile=run.commit_if_due,
                by_content=saved is not None,
            )
            run.learn(batches)
        if plan.seeds is not None:
            plan.seeds.warn_of_missing(self._state.vocabulary, self.n_features_in_)
            warn_of_uncovered(self.seed_coverage_)
        return self

    def _stream_vocabulary(self, given: Vocabulary | None) -> Vocabulary | None:
        """Return the vocabulary to count with: the model's own once it has one."""
        given = None if given is None else as_vocabulary(given)
        state: State | None = getattr(self, "_state", None)
        if given is None:
            return None if state is None else state.vocabulary
        if state is None:
            return given.copy()
        if state.vocabulary is None:
            if len(given) != state.weights.n_words:
                raise InputError(
                    f"The vocabulary has {len(given)} words but the model was fitted on "
                    f"{state.weights.n_words} columns; pass the vocabulary of these columns."
                )
            state.vocabulary = given.copy()
        own = state.vocabulary
        theirs = {"tokenizer": going_on_as(given.tokenizer, own.tokenizer)}
        theirs |= {n: getattr(given, n) for n in ("growing", "max_features", "when_full", "min_df")}
        other = [f"{n}={getattr(own, n)!r}" for n in theirs if getattr(own, n) != theirs[n]]
        if other or (not own.growing and own.words != given.words):
            raise InputError(
                f"The model's own vocabulary has {other[0] if other else 'other words'}; remove "
                "vocabulary=, or fit a new model."
            )
        return own

    def _with_seeds(
        self, plan: Plan, words: Vocabulary | None, X: sparse.csr_array | None = None
    ) -> Plan:
        """Look seed words up among names of columns, too; check them if documents are given."""
        if plan.seeds is None:
            return plan
        seeds = replace(plan.seeds, columns=getattr(self, "feature_names_in_", None))
        if X is not None:
            seeds.warn_of_missing(words, X.shape[1], X)
        return replace(plan, seeds=seeds)

    def _with_rows(self, plan: Plan, state: State | None, given: Any) -> Plan:
        """Begin the rows of a new stream; check the columns of a known one."""
        if given is None:
            return plan
        others = {name: getattr(self, name, None) for name in ("seeds", "n_groups")}
        check_alone(plan.schedule.n_sweeps, others)
        begun = Prevalence.begun(given, plan.alpha)
        known = None if state is None else state.prevalence
        own = [] if known is None or known.ratios is None else known.design.columns
        if state is not None and set(own) != set(begun.design.columns):
            raise InputError(
                f"differs from the columns of the model's stream ({' + '.join(own) or 'none'}); "
                "remove it, or learn a new model.",
                "prevalence",
            )
        return replace(plan, prevalence=begun)

    def _stream_validation(
        self, given: Any, words: Vocabulary | None
    ) -> Callable[[], sparse.csr_array] | None:
        """Return a function that counts the documents to score, over the words by then."""
        if given is None:
            return None
        if isinstance(given, Corpus) and (words is None or given.vocabulary is None):
            given = given.X
        if isinstance(given, Corpus) or are_documents(given):
            documents = list(given) if isinstance(given, Iterator) else given
            if words is not None:
                counts_of(documents, words)  # complains now rather than after the first updates
            return lambda: counts_of(documents, self._state.vocabulary)
        matrix = counts(given)
        # as in the stream: columns that the model does not have are left out
        return lambda: as_counts(matrix, self._state.weights.n_words, "validation")[0]


@dataclass
class StreamRun:
    """One call of `fit_stream`, once it is prepared."""

    model: Any
    plan: Plan
    reporter: Reporter
    n_given: int  # words of the given vocabulary
    saved: Checkpoint | None
    position: Any  # in the source, after the documents that were learned from
    has_learned: bool = False  # anything, in this call

    def learn(self, batches: Iterator[MiniBatch]) -> None:
        """Learn from mini-batches and commit; if the source fails, commit what was learned."""
        model, saved = self.model, self.saved
        with self.plan.listeners(model):
            while True:
                try:
                    given = next(batches, None)
                except Exception:
                    if saved is not None and hasattr(model, "_state") and self.position is not None:
                        saved.commit(model, self.position)
                    raise
                if given is None or self._learn(given):
                    break
        if not hasattr(model, "_state"):
            raise InputError("The stream has no documents to learn from; check its source.")
        if model._state.weights.n_words == 0:
            del model._state
            raise InputError("The documents of the stream have no words; check its source.")
        if saved is not None:
            saved.commit(model, self.position)

    def _learn(self, given: MiniBatch) -> bool:
        """Learn from a mini-batch; whether a listener wants to stop."""
        self.reporter.look_at(given)
        state: State | None = getattr(self.model, "_state", None)
        known = self.plan.prevalence if state is None else state.prevalence
        levels = None if known is None else known.levels(Columns(None, given))
        self._make_room(given)
        documents, unknown = self.plan.engine.documents(given.X), given.n_unknown_tokens
        batch = UpdateBatch(documents, is_new=True, n_unknown_tokens=unknown, levels=levels)
        done = learn(self.plan, self.model._state, batch)
        # Only now: a checkpoint's position is after the documents it has learned from.
        self.position = given.position
        # told before it is committed: after a kill, again rather than never
        ends = self.reporter.tell(done, batch.n_pass, batch.n_docs)
        if done is not None:
            self.has_learned = True
            self.commit_if_due()
        return ends

    def _make_room(self, batch: MiniBatch) -> None:
        """Start the model, or grow it to hold the words of a mini-batch."""
        model, plan, n_words = self.model, self.plan, batch.X.shape[1]
        if not hasattr(model, "_state"):
            if plan.seeds is not None:  # seed words need columns with names
                plan.seeds.pull(batch.vocabulary, n_words)
            state = plan.start(n_words, self.n_given)
            state.vocabulary, model.n_features_in_ = batch.vocabulary, n_words
            model._state = state
        state, rule = model._state, plan.rule
        reused = batch.change.reused if batch.change is not None else np.zeros(0, np.int32)
        grows = n_words > state.weights.n_words
        if not grows and not len(reused):
            return
        with state.lock.writing():
            # the data frame of the first fit had other columns
            model.__dict__.pop("feature_names_in_", None)
            if state.n_updates == 0:  # only the random start is there, in which words are alike
                if grows:
                    prior = extended(state.weights.host().prior, n_words)
                    state.weights = plan.engine.random_weights(
                        n_words, plan.n_topics, prior, state.seed
                    )
            else:
                if grows:
                    state.weights.grow(n_words, rule.newcomer(state.weights))
                if len(reused):
                    state.weights.reset(reused, rule.newcomer(state.weights))
                    state.update(state.changed("reused", reused, state.n_docs_seen))
            model.n_features_in_ = n_words

    def commit_if_due(self) -> None:
        """Commit after an update, or while documents are awaited, if it is time."""
        if self.saved is not None and self.has_learned:
            self.saved.commit_if_due(self.model, self.position)
