"""The choice of the number of topics, by prediction, coherence and stability."""

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
from opelda.selection._fits import HELD_OUT, ChoiceRow, Fits, HeldOutSplit, Progress, measured_fits

# title, and upper limit or None
PANELS = {
    "lpp": ("log probability of a held-out token", None),
    "quality": ("quality: coherence x stability", None),
    "coherence": ("coherence (NPMI)", None),
    "stability": ("stability over runs", 1.05),
    "distinctness": ("distinctness", 1.05),
    "live_topics": ("share of live topics", 1.05),
}


@dataclass(frozen=True, repr=False)
class Choice:
    """Numbers of topics compared: a `table` of rows, and a recommendation.

    `n_topics` is the recommended number, `advice` a text with the reasons; `n_predictive` is the
    smallest number that predicts held-out words as well as the best, within a standard error.
    """

    table: Table[ChoiceRow]
    n_topics: int
    advice: str
    n_predictive: int = field(compare=False)

    @classmethod
    def of(cls, fits: Sequence[Fits]) -> "Choice":
        """Recommend one of the numbers, which are in ascending order.

        Prediction sets a limit: the true number or somewhat more for generated documents. Below it
        the best quality decides: topics merged or split at random are neither coherent nor stable.
        """
        rows = [each.row for each in fits]
        top = max(range(len(rows)), key=lambda k: rows[k].lpp)
        # The error of the difference by document is far below the standard error of either.
        lost = [fits[top].scores - each.scores for each in fits]
        limit = next(k for k, x in enumerate(lost) if k == top or x.mean() <= standard_error(x))
        best = max(range(limit + 1), key=lambda k: rows[k].quality)
        chosen = best if rows[best].quality > 0 else limit
        advice = _advice(rows, chosen, limit)
        return cls(Table(ChoiceRow, rows), rows[chosen].n_topics, advice, rows[limit].n_topics)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw every measure over the number of topics on six Axes, by default of a new figure."""
        numbers = np.array([row.n_topics for row in self.table], np.float64)
        with frame(ax, 2.9, 2.2, len(PANELS), 3) as axes:
            for axis, (name, (title, top)) in zip(axes, PANELS.items(), strict=True):
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
                    axis.set_ylim(bottom=min(0.0, *values), top=top)
            for axis in axes[3:]:
                axis.set_xlabel("topics", fontsize="small")
        return axes

    def __repr__(self) -> str:
        return f"{self.table!r}\n{self.advice}"

    def _repr_html_(self) -> str:
        return f"{self.table._repr_html_()}<p>{html.escape(self.advice)}</p>"


def _advice(rows: Sequence[ChoiceRow], chosen: int, limit: int) -> str:
    number, quality, last = rows[chosen].n_topics, rows[chosen].quality, len(rows) - 1
    if last == 0:
        return f"Only {_topics(number)} were tried; try other numbers to compare."
    said = f"Recommended: {_topics(number)}"
    if quality <= 0:
        said += ", or none, because no number tried has topics whose words belong together"
    else:
        others = [row for row in rows[: limit + 1] if row is not rows[chosen]]
        alike = [f"{row.n_topics:,}" for row in others if row.quality >= 0.95 * quality]
        said += ", whose words best belong together and recur in other runs"
        if alike:
            said += f" ({' and '.join(alike)} {'is' if len(alike) == 1 else 'are'} nearly as good)"
    if chosen in (0, last):
        which, more = ("largest", 2 * number) if chosen else ("smallest", max(number // 2, 1))
        said += f"; {number:,} is the {which} number tried, so try {more:,}, too"
    return f"{said}."


def _topics(number: int) -> str:
    return f"{number:,} topic{'s' * (number != 1)}"


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
    """Compare numbers of topics on the same documents, and recommend one.

    Prediction of held-out words sets an upper limit; below it, coherence and stability decide
    (docs/howto/number-of-topics.md).

    Parameters
    ----------
    X : array or sparse matrix (D, V), Corpus, or documents
        As for `TopicModel.fit`.
    n_topics : iterable of int, optional
        The numbers to try; by default up to five of 2, 5, 10, 20, ..., 160, with at least 25
        documents per topic.
    model : learner of opelda, optional
        The template of all other parameters; None is ``TopicModel()``.
    n_runs, held_out : int, float
        The number of runs per number of topics, at least 2, and the share of held-out documents, at
        most 1,000 documents.
    random_state, n_jobs
        The random seed and the number of threads; None takes the model's values. Results do not
        depend on `n_jobs`.
    progress : callable, optional
        Called before each fit with its description, the number of fits done and of all fits.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.corpus import generate
    >>> X = generate(600, n_words=200, n_topics=5, random_state=0).X
    >>> found = choose_n_topics(X, [2, 5, 10], model=TopicModel(preset="fast", random_state=0))
    >>> found.advice[:21], found.table[1].n_topics, found.table.to_polars().shape
    ('Recommended: 5 topics', 5, (3, 9))
    """
    template, n_runs, drawn = resolved(model, n_runs, random_state, n_jobs)
    numbers = None if n_topics is None else as_numbers(n_topics)
    documents = HeldOutSplit.of(X, template, held_out, drawn)
    numbers = numbers or default_numbers(documents.train.shape[0])
    return Choice.of(list(measured_fits(documents, template, numbers, n_runs, drawn, progress)))


def resolved(
    model: Any, n_runs: int, random_state: Any = None, n_jobs: int | None = None
) -> tuple[Any, int, int]:
    """Return an unfitted model, the number of runs and the seed, checked."""
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
    """Return distinct numbers of topics in ascending order."""
    if isinstance(n_topics, str) or not isinstance(n_topics, Iterable):
        raise InputError(
            f"must be numbers of topics such as [10, 20], got {n_topics!r}.", "n_topics"
        )
    numbers = sorted({whole("n_topics", number) for number in n_topics})
    if len(numbers) < 2:
        raise InputError(f"must be at least two numbers to compare, got {numbers}.", "n_topics")
    return numbers


def default_numbers(n_docs: int) -> list[int]:
    """Return three to five numbers of topics, of at least 25 documents each.

    >>> default_numbers(100), default_numbers(2_000), default_numbers(10**6)
    ([2, 5, 10], [5, 10, 20, 40, 80], [10, 20, 40, 80, 160])
    """
    grid = [2, 5, 10, 20, 40, 80, 160]
    return grid[: max(sum(25 * number <= n_docs for number in grid), 3)][-5:]
