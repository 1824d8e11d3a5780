"""Checkpoints of a stream: the model and the position in the source, written in one rename."""

import errno
import json
import os
import stat
import time
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from opelda import _store
from opelda._replacing import lock, remove_leftovers
from opelda._validation import Every
from opelda.corpus._corpus import Seekable
from opelda.errors import InputError, ModelFileError
from opelda.learning.persistence._model_arrays import (
    as_today,
    check_own,
    parameters,
    restore,
    write_model,
)
from opelda.learning.persistence._stored_model import CHECKPOINT_FILE, StoredModel
from opelda.learning.streaming._events import TIMES_FILE


class Checkpoint:
    """A folder with a model and its position in a source, locked by one run at a time.

    A source that can seek makes its own positions; `corpus.mini_batches` makes all others.
    """

    def __init__(self, folder: str | PathLike[str], source: Any, every: Every) -> None:
        self.folder = _store.as_path(folder, "checkpoint")
        self.path = self.folder / CHECKPOINT_FILE
        self._seeks = isinstance(source, Seekable)
        self._every = every
        self._n_updates = -1  # of the model that was committed last
        self._lock: Any = None

    def __enter__(self) -> Self:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = _opened(self.folder / ".lock")
            lock(self._lock)
        except BlockingIOError:
            self._lock.close()
            raise ModelFileError(
                f"The checkpoint folder {self.folder} is in use by another run; stop that run, or "
                "choose another folder."
            ) from None
        except OSError as error:
            if self._lock is None:  # else the file system cannot lock
                raise ModelFileError(
                    f"The checkpoint folder {self.folder} cannot be used: {error.strerror}; choose "
                    "another folder."
                ) from None
        remove_leftovers(self.folder, CHECKPOINT_FILE)
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.close()

    def resume(self, model: Any) -> Any:
        """Restore the model of the checkpoint; return the position in the source, or None."""
        check_own(model, "A checkpoint holds")
        ours, arrays = parameters(model)  # refuses parameters that no file holds
        if not self.path.exists():
            return None
        stored = StoredModel.read(self.path)
        stream = stored.header.get("stream")
        if not isinstance(stream, dict) or not {"position", "seeks"} <= set(stream):
            raise ModelFileError(
                f"{self.path} is a model, not a checkpoint of a stream; choose another folder."
            )
        position, seeks = stream["position"], stream["seeks"]
        self._check_same(type(model).__name__, ours, arrays, stored)
        if seeks is not self._seeks:
            raise ModelFileError(
                f"{self.path} was written from a source that {'can' if seeks else 'cannot'} seek; "
                "pass the same source again."
            )
        restore(model, stored)
        return position

    def commit_if_due(self, model: Any, position: Any) -> None:
        """Commit if the model was updated since the last time, and it is time."""
        n_updates = model._state.n_updates
        if n_updates != self._n_updates and self._every.is_due(n_updates):
            self.commit(model, position)
            self._every.done()
            self._n_updates = n_updates

    def commit(self, model: Any, position: Any) -> None:
        """Write the model and the position in the source, or neither."""
        try:
            is_json = json.loads(json.dumps(position)) == position
        except (TypeError, ValueError, RecursionError):
            is_json = False
        if not is_json:
            raise InputError(
                f"The source's position {position!r} cannot be written as JSON; use numbers, "
                "strings, lists, and dictionaries with string keys."
            )
        write_model(self.path, model, {"position": position, "seeks": self._seeks})
        if model._state.watch is not None:
            note_time(self.folder, model._state.n_docs_seen)

    def _check_same(self, learner: str, ours: Any, arrays: Any, stored: StoredModel) -> None:
        """Refuse to resume with another learner, or with parameters that change the result."""
        if stored.header.get("class") != learner:
            raise ModelFileError(
                f"{self.path} was made by {stored.header.get('class')}, but this learner is "
                f"{learner}; choose another folder, or resume with the same learner."
            )
        theirs = stored.header.get("parameters")
        theirs = as_today(theirs, ours) if isinstance(theirs, dict) else {}
        if set(theirs) != set(ours):
            raise ModelFileError(
                f"{self.path} has other parameters than {learner}; choose another folder."
            )
        for key, value in ours.items():
            # parameters that do not change the topics
            if key in ("n_passes", "transform_method", "max_loss", "sparse_output"):
                continue
            if key == "random_state" and None in (value, theirs[key]):
                continue
            both: Any = [each.get(f"parameters.{key}") for each in (arrays, stored.arrays)]
            if value != theirs[key] or not np.array_equal(*both):
                raise ModelFileError(
                    f"{self.path} was made with {key}={theirs[key]!r}, this model has "
                    f"{repr(value) if both[0] is None else 'another one'}; choose another "
                    f"folder, or set {key} back."
                )


def note_time(folder: Path, n_documents: int) -> None:
    """Add the time to a folder's file, if the system allows."""
    with suppress(OSError), _opened(folder / TIMES_FILE, os.O_APPEND) as file:
        if os.fstat(file.fileno()).st_size > 100_000:  # every second line will do
            lines = file.readlines()
            file.truncate(0)
            file.writelines(lines[1::2])
        file.write(b"%d %.3f\n" % (n_documents, time.time()))


def _opened(path: Path, flags: int = 0) -> Any:
    """Open a plain file; a link in the folder could point anywhere."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, f"{path.name} is a symbolic link")
    # a pipe would wait
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o666)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, f"{path.name} is not a regular file")
    return os.fdopen(handle, "r+b")
