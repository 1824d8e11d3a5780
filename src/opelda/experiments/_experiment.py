"""What an experiment is: independent runs, a figure of their rows, and a verdict on the paper."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from opelda.experiments._data import Data
from opelda.experiments._settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# one line of a table: names of columns and plain values
Row = dict[str, Any]
Rows = list[Row]
# told the share of a run that is done
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
    """One piece of work that does not depend on any other; what is done once is kept.

    Attributes
    ----------
    label : str
        What the progress bar shows.
    measure : callable
        ``measure(data, settings, report, **parameters)`` returns rows.
    parameters : dict
        Fit for JSON: with the data, the settings and `measure` they name the result.
    """

    label: str
    measure: Callable[..., Rows]
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What the measurements say about something the paper says.

    Attributes
    ----------
    claim : str
    outcome : {"reproduced", "partly", "not reproduced", "not tested"}
    why : str
        The figures it rests on.

    Examples
    --------
    >>> print(Verdict("OPE is stable", "reproduced", "sd 0.4, median of 100 documents"))
    reproduced: OPE is stable (sd 0.4, median of 100 documents)
    """

    claim: str
    outcome: Outcome
    why: str

    def __str__(self) -> str:
        return f"{self.outcome}: {self.claim} ({self.why})"


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the paper.

    Attributes
    ----------
    name : str
        As `opelda reproduce` takes it.
    title : str
        What is measured, in a line.
    place : str
        Where it is in the paper.
    runs : callable
        The runs that settings ask for on some data.
    draw : callable
        Rows of all runs to a figure. It must draw whatever rows there are, also of few runs.
    judge : callable
        Rows of all runs to verdicts, at least one.
    """

    name: str
    title: str
    place: str
    runs: Callable[[Settings, Data], Sequence[Run]]
    draw: Callable[[Rows], "Figure"]
    judge: Callable[[Rows], list[Verdict]]
