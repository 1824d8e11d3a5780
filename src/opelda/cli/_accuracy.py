"""The accuracy that was asked of mixtures, and the documents that it cannot be proved for."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opelda.cli._show import count
from opelda.cli._standard_streams import tell


class Promise:
    """A model's accuracy, over many blocks of documents: what misses it is counted and named."""

    def __init__(self, model: Any) -> None:
        self._model = model.set_params(sparse_output=False)  # files are written block by block
        self._n_missed, self._first = 0, ""
        self._worst = 0.0
        # most topics have no share at all
        self.few_topics = model._transform_method().knows_loss

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Ignore the library's warnings of documents that `complain` will name."""
        from opelda.inference import AccuracyWarning

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            yield

    def infer(self, X: Any) -> Any:
        """Infer documents, and say nothing so far."""
        with self.quiet():
            return self._model.infer(X)

    def note(self, names: Any, found: Any) -> None:
        """Remember the documents that missed the accuracy."""
        if not len(found.missed):
            return
        if not self._n_missed:
            self._first = str(names[int(found.missed[0])])[:80]
        self._n_missed += len(found.missed)
        self._worst = max(self._worst, float(found.loss[found.missed].max()))

    def complain(self) -> None:
        """Say which documents missed the accuracy, if any."""
        if self._n_missed:
            tell(
                f"{count(self._n_missed, 'document')} could not be proved to be as accurate as "
                f"asked (the first is {self._first}): the best bound is {self._worst:.3g} nats at "
                "worst; ask for less."
            )
