"""An axis of time in bins, with labels at round times."""

import datetime as dt
from typing import Any

import numpy as np
from matplotlib import dates
from matplotlib.ticker import FuncFormatter, Locator

from opelda.report._times import bin_number, bin_start, label_of, start_of

SIZE = 9.0  # of labels, in points
# length in days; number of bins between labels, where the last number may be doubled repeatedly
BINS = {
    "minute": (1 / 1440, (1, 5, 15, 30, 60, 180, 360, 720, 1440)),
    "hour": (1 / 24, (1, 3, 6, 12, 24, 48, 168)),
    "day": (1, (1, 2, 7, 14, 28)),
    "week": (7, (1, 2, 4, 8, 13, 26, 52)),
    "month": (28, (1, 3, 6, 12, 24, 60, 120)),
    "quarter": (90, (1, 2, 4, 8, 20, 40)),
    "year": (365, (1, 2, 5, 10, 20, 50, 100)),
}
# untyped
date2num: Any = dates.date2num
num2date: Any = dates.num2date


class BinLocator(Locator):
    """Ticks at the beginnings of bins, whose labels do not overlap."""

    axis: Any

    def __init__(self, starts: list[dt.datetime], unit: str) -> None:
        self.unit, self.starts = unit, starts
        self.letters = max(map(len, _label(starts[0], unit).split("\n")))

    def __call__(self) -> Any:
        return self.tick_values(*self.axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the positions of ticks between two days."""
        axes, (days, steps) = self.axis.axes, BINS[self.unit]
        n_labels = axes.bbox.width / axes.figure.dpi * 72 / (0.66 * self.letters + 1.0) / SIZE
        least = abs(vmax - vmin) / max(n_labels, 1e-3) / days
        step = next((step for step in steps if step >= least), steps[-1])
        while step < least:
            step *= 2
        ends = date2num([self.starts[0], self.starts[-1]])
        shown = np.clip(sorted((vmin, vmax)), *ends)
        first, last = (bin_number(_moment(at), self.unit) for at in shown)
        # days and weeks are counted from the first bin
        base = bin_number(self.starts[0], self.unit) if self.unit in ("day", "week") else 0
        chosen = range(first + (base - first) % step, last + 1, step) or [first]
        return date2num([bin_start(number, self.unit) for number in chosen])


def time_axis(axis: Any, starts: list[dt.datetime], unit: str) -> None:
    axis.tick_params(axis="x", labelsize=SIZE)
    axis.xaxis.set_major_locator(BinLocator(starts, unit))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda at, _: _label(_moment(at), unit)))


def _label(moment: dt.datetime, unit: str) -> str:
    """Return the label of a time's bin; an hour's has a line for the day."""
    return "\n".join(reversed(label_of(start_of(moment, unit), unit).split()))


def _moment(at: float) -> dt.datetime:
    """Return the time at a position, which may have been rounded down."""
    found: dt.datetime = num2date(at).replace(tzinfo=None)
    return found + dt.timedelta(seconds=1)
