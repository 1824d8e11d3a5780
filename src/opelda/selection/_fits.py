"""Runs that differ in the number of topics or the seed alone, measured and compared."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import seed as checked_seed
from opelda._validation import whole
from opelda.corpus import Corpus
from opelda.errors import InputError
from opelda.learning._input_counts import as_corpus
from opelda.learning._learner import Learner, another, compared_words, run_seeds
from opelda.learning._listeners import A_PASS
from opelda.metrics import log_predictive_probability
from opelda.metrics._matching import similarities, stability_over_runs
from opelda.metrics._predictive import as_share, can_be_split, standard_error

HELD_OUT = 0.1  # of the documents
N_SPLITS = 2

# called before each fit: description, number of fits done, number of all fits
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class ChoiceRow:
    """Measures of models with one number of topics, averaged over the runs.

    `lpp` is the log predictive probability of a held-out token, `lpp_error` its standard error over
    documents; `coherence` the NPMI of the topics' top ten words over the training documents;
    `stability` the share of common words in the top twenty words of matched topics; `quality` the
    mean over topics of stability times coherence, where negative coherence counts as 0;
    `distinctness` is 1 minus the cosine of each topic and its nearest topic; `live_topics` the
    number of topics with at least a fifth of an even share of the tokens, if known; `seconds` the
    time of all runs.
    """

    n_topics: int
    lpp: float
    lpp_error: float
    coherence: float
    stability: float
    quality: float
    distinctness: float
    live_topics: float | None
    seconds: float


class Fits(NamedTuple):
    row: ChoiceRow
    scores: NDArray[np.float64]  # log predictive probability of each held-out document, over runs


class HeldOutSplit(NamedTuple):
    """Documents to learn from and documents to predict, over the words of the former."""

    train: sparse.csr_array
    held_out: sparse.csr_array

    @classmethod
    def of(cls, X: Any, model: Any, share: float, seed: int) -> "HeldOutSplit":
        """Hold out a share of the documents, which depends on contents and seed alone."""
        share = as_share(share)
        X = as_corpus(X, None, model.n_jobs)
        matrix = another(model, seed)._validated(X.X if isinstance(X, Corpus) else X, reset=True)
        n_docs = matrix.shape[0]
        order = model._engine().documents(matrix).order(seed, 2**31)  # no pass has this order
        # the standard error of 1,000 documents is far below the differences between fits
        n_held = min(max(round(share * n_docs), 1), 1_000, n_docs - 1)
        held, train = matrix[np.sort(order[:n_held])], matrix[np.sort(order[n_held:])]
        # a word without training documents is unknown to all models
        known = np.flatnonzero(train.sum(axis=0) > 0)
        found = cls(train[:, known], held[:, known])
        if len(known) < 2 or not can_be_split(found.held_out):
            raise InputError(
                "Too few documents or words for a held-out score; pass more documents."
            )
        return found


def expected_seconds(
    documents: HeldOutSplit, model: Any, numbers: Sequence[int], n_runs: int, seed: int
) -> float:
    """Return about the time of `measured_fits`, by two fits of 5% of the documents, 1,000 at least.

    They have the fewest and the most topics; the time of other numbers is between the two.
    """
    n_docs, ends = documents.train.shape[0], (numbers[0], numbers[-1])
    step = max(min(n_docs // 1_000, 20), 1)
    small = HeldOutSplit(documents.train[::step], documents.held_out[::step])
    seconds = [each.row.seconds for each in measured_fits(small, model, ends, 1, seed)]
    part, whole = (
        X.nnz * (schedule.n_sweeps + A_PASS * schedule.n_passes)
        for X, _ in (small, documents)
        for schedule in (model._schedule(X.shape[0]),)
    )
    return float(n_runs * whole / part * np.interp(numbers, ends, seconds).sum())


def measured_fits(
    documents: HeldOutSplit,
    model: Any,
    numbers: Sequence[int],
    n_runs: int,
    seed: int,
    progress: Progress | None = None,
) -> Iterator[Fits]:
    """Yield the measures of n_runs runs with each number of topics."""
    n_done = 0
    # the split has other columns than the seed words
    free: dict[str, Any] = {"seeds": None} if hasattr(model, "seeds") else {}
    for n_topics in numbers:
        begun, runs = perf_counter(), []
        for number, run_seed in enumerate(run_seeds(seed, n_runs), 1):
            if progress is not None:
                doing = f"{n_topics:,} topics, run {number} of {n_runs}"
                progress(doing, n_done, len(numbers) * n_runs)
            learner = another(model, run_seed, n_components=n_topics, **free)
            runs.append(_measured(learner.fit(documents.train), documents, seed))
            n_done += 1
        predicted, cohering, words, distinctness, live = zip(*runs, strict=True)
        scores: NDArray[np.float64] = np.mean(predicted, axis=0)
        coherence, stable = np.array(cohering), stability_over_runs(words)
        known = [n for n in live if n is not None]
        row = ChoiceRow(
            n_topics,
            lpp=float(scores.mean()),
            lpp_error=standard_error(scores),
            coherence=float(coherence.mean()),
            stability=float(stable.mean()),
            quality=float((stable * np.maximum(coherence, 0.0)).mean()),
            distinctness=float(np.mean(distinctness)),
            live_topics=float(np.mean(known)) if known else None,
            seconds=perf_counter() - begun,
        )
        yield Fits(row, scores)


def _measured(model: Any, documents: HeldOutSplit, seed: int) -> tuple[Any, ...]:
    """Return a fit's scores of documents, coherence, words, distinctness and live topics."""
    # by VB and with the same splits for every fit, so that scores compare topics alone
    predicted = log_predictive_probability(
        model, documents.held_out, n_splits=N_SPLITS, random_state=seed, n_jobs=model.n_jobs,
        engine=model.engine,
    )  # fmt: skip
    shares, alike = model._shares(), similarities(model, model)
    np.fill_diagonal(alike, -1.0)
    distinctness = float(1.0 - alike.max(axis=1).mean()) if len(alike) > 1 else 1.0
    live = None if shares is None else int((shares * len(shares) >= 0.2).sum())
    return predicted.per_document, model.coherence_, compared_words(model), distinctness, live


class Stability(NamedTuple):
    """The stability of a model's topics over other runs; as a float, their mean.

    `topics` are the shares of common words in the top twenty words of each topic and its match,
    averaged over the other runs; `runs` are the means over topics of each run compared with all
    other runs, the model first.
    """

    topics: NDArray[np.float64]
    runs: NDArray[np.float64]

    def __float__(self) -> float:
        return float(self.topics.mean())


def stability(
    model: Any,
    X: Any,
    *,
    n_runs: int = 10,
    random_state: Any = None,
    progress: Progress | None = None,
) -> Stability:
    """Measure the stability of a model's topics across random seeds.

    The model stores the result as `topic_stability_` until it is trained again.
    ``TopicModel(n_runs=...)`` measures the same during `fit` and keeps the most typical run.

    Parameters
    ----------
    model : fitted learner of opelda
    X : array or sparse matrix (D, V), Corpus, or texts
        The training documents of the model, or similar documents.
    n_runs : int
        The number of runs including the model, at least 2.
    random_state : int, RandomState, Generator or None
        The random seed of the other runs; None derives seeds from the model's.
    progress : callable, optional
        As for `choose_n_topics`.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.corpus import generate
    >>> X = generate(300, n_words=100, n_topics=3, separated=True).X
    >>> model = TopicModel(3, random_state=0).fit(X)
    >>> found = stability(model, X, n_runs=3)
    >>> bool((model.topic_stability_ == found.topics).all())
    True
    """
    if not isinstance(model, Learner):
        raise InputError(
            f"must be a fitted learner such as TopicModel(), got {type(model).__name__}.", "model"
        )
    n_runs, state = whole("n_runs", n_runs, 2), model._learned()
    counts, words = model._checked(X), [compared_words(model)]
    drawn = state.seed if random_state is None else checked_seed(random_state)
    for number, run_seed in enumerate(run_seeds(drawn, n_runs)[1:]):
        if progress is not None:
            progress(f"run {number + 1} of {n_runs - 1}", number, n_runs - 1)
        run = another(model, run_seed).fit(counts, vocabulary=state.vocabulary)
        words.append(compared_words(run))
    found = stability_over_runs(words)
    with state.lock.writing():
        state.stability = found[0]
    return Stability(found[0], found.mean(axis=1))
