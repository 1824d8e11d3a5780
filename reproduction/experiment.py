"""An experiment: independent runs, a figure of their rows, and verdicts on the paper's claims."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from matplotlib.figure import Figure

from reproduction.data import Data
from reproduction.rows import Rows, too_few_updates
from reproduction.settings import Settings

# called with the share of a run that is done
Report = Callable[[float], None]
Outcome = Literal["reproduced", "partly", "not reproduced", "not tested"]


def grade(reproduced: bool, partly: bool = False) -> Outcome:
    """Return the outcome in words.

    >>> grade(False, 3 > 2)
    'partly'
    """
    return "reproduced" if reproduced else "partly" if partly else "not reproduced"


@dataclass(frozen=True)
class Run:
    """One piece of work that does not depend on any other; its rows are cached.

    ``measure(data, settings, report, **parameters)`` returns rows. The parameters are fit for JSON:
    with the data, the settings and `measure` they are the cache's key.
    """

    label: str  # shown by the progress bar
    measure: Callable[..., Rows]
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """A claim of the paper, and the verdict of the measurements.

    >>> print(Verdict("OPE is stable", "reproduced", "sd 0.4, median of 100 documents"))
    reproduced: OPE is stable (sd 0.4, median of 100 documents)
    """

    claim: str
    outcome: Outcome
    why: str  # the figures it rests on

    def __str__(self) -> str:
        return f"{self.outcome}: {self.claim} ({self.why})"


def unless_few(rows: Rows, verdicts: list[Verdict]) -> list[Verdict]:
    """Return the verdicts, taken back where the rows are of topics after too few updates."""
    why = too_few_updates(rows)
    if why is None:
        return verdicts
    return [Verdict(verdict.claim, "not tested", why) for verdict in verdicts]


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the paper."""

    name: str
    title: str  # the measurement, in a line
    place: str  # where it is in the paper: "Figure 3"
    runs: Callable[[Settings, Data], Sequence[Run]]  # the runs that settings require on some data
    draw: Callable[[Rows], Figure]  # draws all rows, also of few runs
    judge: Callable[[Rows], list[Verdict]]  # at least one verdict

    @property
    def number(self) -> str | None:
        """Its second name, "figure-3" or "table-1"; None without a number in the paper."""
        kind, _, number = self.place.lower().partition(" ")
        return f"{kind}-{number}" if kind in ("figure", "table") else None

    def __str__(self) -> str:
        return self.name if self.number is None else f"{self.name} ({self.number})"
