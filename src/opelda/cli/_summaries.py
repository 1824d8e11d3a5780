"""A look at the topics now and then while a stream goes by."""

from typing import Any, ClassVar

from opelda.cli._numbers import count
from opelda.cli._options import Show
from opelda.cli._output import note
from opelda.cli._topic_rows import heaviest, print_topics


class Summaries:
    """A callback that shows the heaviest topics every so many documents."""

    needs_gap: ClassVar[bool] = False

    def __init__(self, show: Show, every: int) -> None:
        self._show = show
        self._every = every
        self._next = every

    def __call__(self, report: Any) -> None:
        """Show them if it is time."""
        if self._show.quiet or report.n_docs < self._next:
            return
        self._next = (report.n_docs // self._every + 1) * self._every
        note(
            self._show,
            f"{count(report.model.n_docs_seen_, 'document')}, {count(report.n_words, 'word')}, "
            f"{report.docs_per_second:,.0f} docs/s",
        )
        print_topics(heaviest(report.model), error=True)
