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
from opelda._every import Every
from opelda._validation import whole
from opelda.corpus import Corpus, DocumentStream, MiniBatch, Vocabulary
from opelda.corpus._kinds import are_documents
from opelda.corpus._matrix import as_counts
from opelda.corpus.text._auto_settings import going_on_as, recalling
from opelda.engines.seam import extended
from opelda.errors import InputError
from opelda.learning._input_counts import as_vocabulary, counts_of
from opelda.learning._listeners import Reporter
from opelda.learning._plan import Batch, Parameters, Plan
from opelda.learning._seeds import warn_of_uncovered
from opelda.learning._state import State, learns_alone
from opelda.learning.persistence._checkpoint import Checkpoint
from opelda.learning.streaming._window_sweeps import learn


class LearnsStreams(Parameters):
    """The part of a learner that follows streams."""

    n_features_in_: int

    _state: State

    @property
    def seed_coverage_(self) -> dict[str, tuple[int, int]]:
        raise NotImplementedError  # see `ShowsTopics`

    @learns_alone
    def fit_stream(
        self,
        source: Iterable[Any],
        *,
        vocabulary: Vocabulary | None = None,
        validation: Any = None,
        validate_every: int = 10,
        checkpoint: str | PathLike[str] | None = None,
        every: int | str = "30s",
    ) -> Self:
        """Learn from a stream, once through, going on from what was learned before.

        Parameters
        ----------
        source : iterable
            Of mini-batches (matrices of counts, or lists of documents that are not texts), each one
            update; or of documents (a text, a sequence of words, a mapping from word to count),
            gathered into mini-batches of `batch_size`, of which one is held at most. A list of
            strings is one document and its words: give texts one by one. Or a column or data frame
            of texts, a corpus, or what `opelda.corpus.stream` gives. An iterable that waits for
            them may give None now and then: see `every`.
        vocabulary : Vocabulary, optional
            The words of the columns. By default a stream's or a corpus's own, else one that begins
            empty and grows to 100,000 columns, which rare old words then leave to new ones; from
            texts with ``min_df=None``: words that few texts had wait. The model learns on a copy,
            `vocabulary_`. If it grows, unseen words get columns; `n_words_added_` and
            `n_words_dropped_` say how many. Words without a column are counted
            (`n_unknown_tokens_`) and left out.
        validation : as X of `fit`, optional
            Scored every `validate_every` updates, for callbacks.
        validate_every : int
        checkpoint : path, optional
            A folder. After the first update, every `every` and at the end the model and the
            position in the source are committed there in one step, also if the source fails; called
            again with the same source from its beginning, a run that was killed goes on and ends
            with the same bytes as one that was not, unless documents had to wait (see `every`).
            What was learned from is known by its content and passed over, anything else is learned
            from; a source with `position` and ``seek(position)`` is asked to go there.
        every : int or str
            Between two checkpoints: a number of updates, or a time such as "30s", "5m" or "1h". By
            time, writing them takes a tenth of the time at most: large models are written less
            often. A time is also what documents wait at most for a mini-batch to be full: if a
            pipe, a file or folder that is followed, or an iterable without a length gives no more
            by then, they are learned from as they are, and committed. With a number of updates,
            and from sources that always have more to give, mini-batches are full, and what is
            learned does not depend on it.

        Returns
        -------
        self
        """
        due = Every("every", every)
        whole("validate_every", validate_every)
        with nullcontext() if checkpoint is None else Checkpoint(checkpoint, source, due) as saved:
            run = self._prepared(saved, source, vocabulary, validation, validate_every)
            batches = corpus.mini_batches(
                source,
                batch_size=run.plan.schedule.batch_size,
                vocabulary=run.words,
                n_words=self._state.weights.n_words if hasattr(self, "_state") else None,
                position=run.position,
                max_wait=due.seconds or None,
                meanwhile=run.commit_if_due,
                by_content=saved is not None,
            )
            run.learn(batches)
            run.finish()
        if run.plan.seeds is not None:
            run.plan.seeds.warn_of_missing(self._state.vocabulary, self.n_features_in_)
            warn_of_uncovered(self.seed_coverage_)
        return self

    def _prepared(
        self,
        saved: Checkpoint | None,
        source: Any,
        vocabulary: Vocabulary | None,
        validation: Any,
        validate_every: int,
    ) -> "StreamRun":
        """Resume from the checkpoint, and resolve everything before the first mini-batch."""
        position = None if saved is None else saved.resume(self)
        if hasattr(self, "_state"):
            known = getattr(source, "vocabulary", None) if vocabulary is None else vocabulary
            _recall(self._state.vocabulary, known)
        else:
            self._check_one_run()
            if vocabulary is None and isinstance(source, DocumentStream | Corpus):
                vocabulary = source.vocabulary
        plan = self._plan(getattr(self, "_state", None))
        words = self._stream_vocabulary(vocabulary)
        plan = self._with_seeds(plan, words)
        reporter = Reporter(
            self,
            plan.listeners,
            validation=self._stream_validation(validation, words),
            validate_every=validate_every,
        )
        n_given = 0 if vocabulary is None else len(vocabulary)
        return StreamRun(self, plan, reporter, words, n_given, saved, position)

    def _stream_vocabulary(self, given: Vocabulary | None) -> Vocabulary | None:
        """Return the vocabulary to count with: the model's own once it has one."""
        given = None if given is None else as_vocabulary(given)
        state: State | None = getattr(self, "_state", None)
        if state is None:
            return given.copy() if given is not None else None
        if given is None:
            return state.vocabulary
        if state.vocabulary is None:
            if len(given) != state.weights.n_words:
                raise InputError(
                    f"The vocabulary has {len(given)} words but the model was fitted on "
                    f"{state.weights.n_words} columns; give the vocabulary those were counted with."
                )
            state.vocabulary = given.copy()
        _check_alike(state.vocabulary, given)
        return state.vocabulary

    def _with_seeds(
        self, plan: Plan, words: Vocabulary | None, X: sparse.csr_array | None = None
    ) -> Plan:
        """Let seed words be looked up among names of columns too, and in documents X, if given."""
        if plan.seeds is None:
            return plan
        seeds = replace(plan.seeds, columns=getattr(self, "feature_names_in_", None))
        if X is not None:
            seeds.check(words, X)
        return replace(plan, seeds=seeds)

    def _stream_validation(
        self, given: Any, words: Vocabulary | None
    ) -> Callable[[], sparse.csr_array] | None:
        """Return what counts the documents to be scored, with the words there are by then."""
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
    words: Vocabulary | None
    n_given: int  # words that the stream began with
    saved: Checkpoint | None
    position: Any  # in the source, after the documents that were learned from
    has_learned: bool = False  # anything, in this call

    def learn(self, batches: Iterator[MiniBatch]) -> None:
        """Learn from mini-batches; if the source fails, what was learned is committed first."""
        with self.plan.listeners(self.model):
            while True:
                try:
                    given = next(batches, None)
                except Exception:
                    if hasattr(self.model, "_state") and self.position is not None:
                        self.commit()
                    raise
                if given is None or self._learn(given):
                    return

    def _learn(self, given: MiniBatch) -> bool:
        """Learn from a mini-batch; whether a listener wants to stop."""
        self.reporter.look_at(given)
        self._make_room(given)
        batch = Batch(
            self.plan.engine.documents(given.X),
            is_new=True,
            n_unknown_tokens=given.n_unknown_tokens,
        )
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
            if plan.seeds is not None:  # complains of words where columns have none
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
            # the names of the columns it was fitted on no longer are those of its columns
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

    def commit(self) -> None:
        """Commit the model and the position, where there is a checkpoint."""
        if self.saved is not None:
            self.saved.commit(self.model, self.position)

    def finish(self) -> None:
        """Refuse a stream that held nothing; commit the model."""
        if not hasattr(self.model, "_state"):
            raise InputError("The stream held no documents: there is nothing to learn from.")
        if self.model._state.weights.n_words == 0:
            del self.model._state
            raise InputError("The stream held no words to make topics of; look at its items.")
        self.commit()


def _recall(own: Vocabulary | None, given: Any) -> None:
    """Let a vocabulary have the function again that cut texts into its words."""
    if own is not None and isinstance(given, Vocabulary):
        own.tokenizer = recalling(own.tokenizer, given.tokenizer)


def _check_alike(own: Vocabulary, given: Vocabulary) -> None:
    """Refuse a vocabulary that is not the one the model learned on, nor what that began as."""
    tokenizer = going_on_as(given.tokenizer, own.tokenizer)
    pairs: dict[str, tuple[Any, Any]] = {"tokenizer": (own.tokenizer, tokenizer)}
    for name in ("growing", "max_features", "when_full", "min_df"):
        pairs[name] = getattr(own, name), getattr(given, name)
    for name, (ours, theirs) in pairs.items():
        if ours != theirs:
            raise InputError(
                f"The model's own vocabulary has {name}={ours!r} but the one given {theirs!r}; "
                "leave vocabulary= out, or begin with a new model."
            )
    if not own.growing and own.words != given.words:
        raise InputError(
            "The model's own vocabulary has other words than the one given; leave vocabulary= out, "
            "or begin with a new model."
        )
