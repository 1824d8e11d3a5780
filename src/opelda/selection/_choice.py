"""The number of topics that fits of several numbers speak for, and why."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from opelda.metrics._predictive import standard_error
from opelda.report._rows import Table
from opelda.selection._fits import Fits

AS_GOOD = 0.95  # of the best quality


@dataclass(frozen=True)
class ChoiceRow:
    """One number of topics, as measured; means over the runs.

    Attributes
    ----------
    n_topics : int
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

    Examples
    --------
    >>> from opelda.selection import ChoiceRow
    >>> ChoiceRow(20, -6.8, 0.03, 0.25, 0.8, 0.2, 0.9, 19.5, 3.1).n_topics
    20
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
            fits.n_topics,
            float(fits.scores.mean()),
            standard_error(fits.scores),
            float(fits.coherence.mean()),
            float(fits.stability.mean()),
            fits.quality,
            fits.distinctness,
            fits.live,
            fits.seconds,
        )


@dataclass(frozen=True, repr=False)
class Choice:
    """Numbers of topics compared.

    Attributes
    ----------
    table : Table of ChoiceRow
        A row for each number of topics.
    n_topics : int
        The one advised.
    advice : str
        That in a sentence, with what it rests on.
    n_predictive : int
        The smallest number that predicts held-out words as well as any, within a standard error.

    Examples
    --------
    >>> from opelda.corpus import generate
    >>> from opelda.selection import choose_n_topics
    >>> X = generate(600, n_words=200, n_topics=5, random_state=0).X
    >>> found = choose_n_topics(X, [2, 5, 10], random_state=0)
    >>> found.table[1].n_topics, found.table.to_polars().shape
    (5, (3, 9))
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
        """Draw every measure over the number of topics, with the one advised marked.

        Parameters
        ----------
        ax : array of six Axes, optional
            By default those of a new figure.

        Returns
        -------
        array of Axes
        """
        from opelda.selection._plot import plot_choice

        return plot_choice(self, ax=ax)

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
