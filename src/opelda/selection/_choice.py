"""How many topics? The number that fits of several numbers speak for, and why."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opelda._validation import seed, whole
from opelda.errors import InputError
from opelda.learning._learner import Learner
from opelda.learning.topic_model import TopicModel
from opelda.metrics._predictive import standard_error
from opelda.report.plots._frame import BLUE, GREY, LIGHT, frame, tidy
from opelda.report.rows import Table
from opelda.selection._fits import HELD_OUT, Fits, HeldOutSplit, Progress, measured_fits

GRID = (2, 5, 10, 20, 40, 80, 160)
DOCUMENTS_PER_TOPIC = 25
FEWEST, MOST = 3, 5  # numbers that are tried where none are given
AS_GOOD = 0.95  # of the best quality
PANELS = {
    "lpp": "log probability of a held-out token",
    "quality": "quality: coherence x stability",
    "coherence": "coherence (NPMI)",
    "stability": "stability over runs",
    "distinctness": "distinctness",
    "live_topics": "share of live topics",
}
SHARES = ("stability", "distinctness", "live_topics")


@dataclass(frozen=True)
class ChoiceRow:
    """One number of topics, as measured; means over the runs.

    Attributes
    ----------
    lpp, lpp_error : float
        Log predictive probability of a held-out token, and its standard error over documents.
    coherence : float
        NPMI of the topics' ten first words over the documents learned from.
    stability : float
        How far topics come again in the other runs: common words in the twenty first ones of
        matched topics, from 0 to 1.
    quality : float
        Mean over topics of stability times coherence, where a negative one counts 0.
    distinctness : float
        1 less the cosine of each topic and the one most like it.
    live_topics : float or None
        Topics with at least a fifth of an even share of the tokens, where the model knows.
    seconds : float
        Taken by all runs.
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

    @classmethod
    def of(cls, fits: Fits) -> "ChoiceRow":
        """Sum up the runs of one number."""
        return cls(
            fits.n_topics, float(fits.scores.mean()), standard_error(fits.scores),
            float(fits.coherence.mean()), float(fits.stability.mean()), fits.quality,
            fits.distinctness, fits.live, fits.seconds,
        )  # fmt: skip


@dataclass(frozen=True, repr=False)
class Choice:
    """Numbers of topics compared.

    Attributes
    ----------
    table : Table of ChoiceRow
        A row for each number of topics.
    n_topics, advice : int, str
        The one advised, and that in a sentence, with what it rests on.
    n_predictive : int
        The smallest number that predicts held-out words as well as any, within a standard error.
    """

    table: Table[ChoiceRow]
    n_topics: int
    advice: str
    n_predictive: int = field(compare=False)

    @classmethod
    def of(cls, fits: Sequence[Fits]) -> "Choice":
        """Advise one of the numbers, which are in their order.

        Prediction sets the limit: on generated documents it stops at the number they were drawn
        from, or somewhat later; of real ones it hardly ever does. Up to there the best quality
        decides, for topics that are merged or split at random neither cohere nor come again.
        """
        limit = _as_predictive(fits)
        quality = [each.quality for each in fits]
        best = max(range(limit + 1), key=quality.__getitem__)
        chosen = best if quality[best] > 0 else limit
        return cls(
            Table(ChoiceRow, map(ChoiceRow.of, fits)),
            fits[chosen].n_topics,
            _advice([each.n_topics for each in fits], quality, chosen, limit),
            fits[limit].n_topics,
        )

    def plot(self, *, ax: Any = None) -> Any:
        """Draw every measure over the number of topics on six Axes, by default of a new figure."""
        numbers = np.array([row.n_topics for row in self.table], np.float64)
        with frame(ax, 2.9, 2.2, len(PANELS), 3) as axes:
            for axis, (name, title) in zip(axes, PANELS.items(), strict=True):
                # None is NaN
                values = np.array([getattr(row, name) for row in self.table], np.float64)
                if name == "live_topics":
                    values = values / numbers
                axis.axvline(self.n_topics, color=GREY, lw=1.0, ls=":")
                if name == "lpp":
                    error = np.array([row.lpp_error for row in self.table])
                    axis.fill_between(numbers, values - error, values + error, color=LIGHT, lw=0)
                axis.plot(numbers, values, "-o", color=BLUE, ms=4, lw=1.6)
                axis.set_xscale("log")
                axis.margins(y=0.1)
                axis.set_title(title, loc="left", fontsize="small")
                tidy(axis)
                axis.set_xticks(numbers, [f"{number:,.0f}" for number in numbers])
                axis.tick_params(labelsize="small")
                if name != "lpp":
                    axis.set_ylim(bottom=min(0.0, *values), top=1.05 if name in SHARES else None)
            for axis in axes[3:]:
                axis.set_xlabel("topics", fontsize="small")
        return axes

    def __repr__(self) -> str:
        return f"{self.table!r}\n{self.advice}"

    def _repr_html_(self) -> str:
        return f"{self.table._repr_html_()}<p>{html.escape(self.advice)}</p>"


def _as_predictive(fits: Sequence[Fits]) -> int:
    """Return the place of the smallest number that is within a standard error of the best.

    Of the difference, document by document: that is far below the standard error of either.
    """
    best = max(fits, key=lambda each: float(each.scores.mean()))
    for place, each in enumerate(fits):
        lost = best.scores - each.scores
        if each is best or lost.mean() <= standard_error(lost):
            return place
    raise AssertionError("the best is one of them")


def _advice(numbers: Sequence[int], quality: Sequence[float], chosen: int, limit: int) -> str:
    number, last = numbers[chosen], len(numbers) - 1
    if last == 0:
        return f"Only {number:,} topics were tried, which says nothing of other numbers."
    if quality[chosen] <= 0:
        said = (
            f"Take {number:,} topics, or none: with no number tried do topics cohere and come "
            "again, and more do not predict held-out words better"
        )
    else:
        others = [k for k in range(limit + 1) if k != chosen]
        alike = [numbers[k] for k in others if quality[k] >= AS_GOOD * quality[chosen]]
        said = f"Take {number:,} topics: of the numbers tried they cohere and come again most"
        if alike:
            said += f" (quality {quality[chosen]:.2f}; about as good: {_listed(alike)})"
        elif others:
            second = max(others, key=quality.__getitem__)
            said += f" (quality {quality[chosen]:.2f}, next {quality[second]:.2f}"
            said += f" with {numbers[second]:,})"
        if limit == chosen:
            said += ", and more do not predict held-out words better"
        else:
            most = ", the most tried" if limit == last else ""
            said += (
                f"; held-out words are predicted better up to {numbers[limit]:,}{most}, as they "
                "nearly always are by more topics"
            )
    if chosen in (0, last):
        which, more = ("most", 2 * number) if chosen else ("fewest", max(number // 2, 1))
        said += f"; {number:,} is the {which} tried, so try {more:,} as well"
    return said + "."


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(f"{number:,}" for number in numbers)


def choose_n_topics(
    X: Any,
    n_topics: Iterable[int] | None = None,
    *,
    model: Any = None,
    n_runs: int = 3,
    held_out: float = HELD_OUT,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Choice:
    """Compare numbers of topics on the same documents, and advise one.

    Prediction of held-out words alone would nearly always take the largest number: it sets the
    limit, and up to there the number is taken whose topics cohere and come again in other runs most
    (docs/choosing.md).

    Parameters
    ----------
    X : array or sparse matrix (D, V), Corpus, or documents
        What `TopicModel.fit` takes.
    n_topics : iterable of int, optional
        The numbers to try; by default up to five of 2, 5, 10, 20, ..., 160, with at least 25
        documents a topic.
    model : learner of opelda, optional
        Whose other parameters are used; by default ``TopicModel()``. It is not fitted itself.
    n_runs : int
        Runs with each number, 2 or more.
    held_out : float
        Share of the documents, and at most 1,000, to predict words of instead of learning from.
    random_state, n_jobs
        By default the model's own. Results do not depend on `n_jobs`.
    progress : callable, optional
        Called before each fit with what it is, the fits done and all of them.

    Returns
    -------
    Choice
        `n_topics`, `advice` in a sentence, `table` and `plot()`.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.corpus import generate
    >>> from opelda.selection import choose_n_topics
    >>> X = generate(600, n_words=200, n_topics=5, random_state=0).X
    >>> found = choose_n_topics(X, [2, 5, 10], model=TopicModel(preset="fast", random_state=0))
    >>> found.advice[:13], found.table[1].n_topics, found.table.to_polars().shape
    ('Take 5 topics', 5, (3, 9))
    """
    template, n_runs, drawn = resolved(model, n_runs, random_state, n_jobs)
    numbers = None if n_topics is None else as_numbers(n_topics)
    documents = HeldOutSplit.of(X, template, held_out, drawn)
    numbers = numbers or default_numbers(documents.train.shape[0])
    return Choice.of(list(measured_fits(documents, template, numbers, n_runs, drawn, progress)))


def resolved(
    model: Any, n_runs: int, random_state: Any = None, n_jobs: int | None = None
) -> tuple[Any, int, int]:
    """Return the model whose parameters are used, the number of runs and the seed, checked."""
    model = TopicModel() if model is None else model
    if not isinstance(model, Learner):
        raise InputError(
            f"must be a learner such as TopicModel(), got {type(model).__name__}.", "model"
        )
    given: dict[str, Any] = model.get_params(deep=False)
    if n_jobs is not None:
        given["n_jobs"] = n_jobs
    drawn = seed(given["random_state"] if random_state is None else random_state)
    return type(model)(**given), whole("n_runs", n_runs, 2), drawn


def as_numbers(n_topics: Iterable[int]) -> list[int]:
    """Return numbers of topics, each once and in their order."""
    if isinstance(n_topics, str) or not isinstance(n_topics, Iterable):
        raise InputError(f"must be numbers of topics, as [10, 20], got {n_topics!r}.", "n_topics")
    numbers = sorted({whole("n_topics", number) for number in n_topics})
    if len(numbers) < 2:
        raise InputError(f"must be at least two numbers to compare, got {numbers}.", "n_topics")
    return numbers


def default_numbers(n_docs: int) -> list[int]:
    """Return the numbers of topics that are tried for so many documents.

    >>> default_numbers(100), default_numbers(2_000), default_numbers(10**6)
    ([2, 5, 10], [5, 10, 20, 40, 80], [10, 20, 40, 80, 160])
    """
    n_fitting = sum(DOCUMENTS_PER_TOPIC * number <= n_docs for number in GRID)
    return list(GRID[: max(n_fitting, FEWEST)][-MOST:])
