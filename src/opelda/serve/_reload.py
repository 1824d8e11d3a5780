"""The newest model: read again when its file was replaced, and exchanged in one step."""

import logging
import threading
from copy import deepcopy
from pathlib import Path
from typing import Any

from opelda.errors import OpeldaError
from opelda.learning._learner import Learner
from opelda.learning.persistence._model_arrays import as_parts
from opelda.model_file import followed, read, stamp_of
from opelda.serve._served import Served

POLL = 1.0  # seconds between two looks at the file

logger = logging.getLogger("opelda.serve")


class Newest:
    """Has the model that answers from now on; a file that cannot be used changes nothing."""

    def __init__(self, model: Any, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._path: Path | None = None
        if isinstance(model, Learner):
            with model._learned().lock:  # another thread may be learning on it
                own, checksum = deepcopy(model), as_parts(model)[1]["checksum"]
            self._name = type(model).__name__
        else:
            self._path = Path(model)
            self._name = self._path.name
            stamp = stamp_of(self._path)  # older than the model read after it
            own, checksum = read(self._path)
            self._later = followed(
                self._path,
                POLL,
                since=(stamp, checksum),
                wait=self._stop.wait,
                complain=self._complain,
            )
        self.served = self._made(own, checksum)

    def follow(self) -> None:
        """Begin to look at the file.

        In the process that serves: threads do not survive a fork.
        """
        if self._thread is None and self._path is not None:
            self._thread = threading.Thread(target=self._watch, daemon=True, name="opelda-follow")
            self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._stop.set()

    def _made(self, model: Any, checksum: int) -> Served:
        return Served(model.set_params(**self._settings), checksum, self._name)

    def _watch(self) -> None:
        for model, checksum in self._later:
            try:
                self.served = self._made(model, checksum)
            except Exception as error:
                self._complain(error)
            else:
                logger.info("%s was replaced; %s answers now.", self._path, self.served.version)

    def _complain(self, error: Exception) -> None:
        what = str(error) if isinstance(error, OpeldaError) else type(error).__name__
        logger.error("%s goes on answering: %s", self.served.version, what)
