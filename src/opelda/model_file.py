"""Model files: safetensors, written atomically, read without running code."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from opelda import _store
from opelda._validation import Every, flag, number
from opelda.corpus.text.tokenizer import with_split
from opelda.errors import ModelFileError
from opelda.learning._state import State, check_words_rest
from opelda.learning.persistence._checkpoint import Checkpoint
from opelda.learning.persistence._model_arrays import check_own, loaded, write_model
from opelda.learning.persistence._stored_model import CHECKPOINT_FILE, StoredModel, model_path

__all__ = ["follow", "load", "save"]


def save(model: Any, path: str | PathLike[str], *, documents: bool = True) -> None:
    """Write a model with its learning state, but without its callbacks.

    The file is written under a temporary name, synced and renamed: it is always complete.

    Parameters
    ----------
    model : a fitted learner
    path : path
    documents : bool
        Include the word counts of the last documents of a stream learned by sweeps. Without them
        the file is smaller and private, and the model resumes from new documents only.

    Examples
    --------
    >>> import tempfile, opelda
    >>> path = tempfile.mkdtemp() + "/topics.opelda"
    >>> opelda.save(opelda.OnlineOPE(2, random_state=0).fit([[4, 1], [0, 3]]), path)
    >>> opelda.load(path).components_.shape
    (2, 2)
    """
    check_own(model, "save takes")
    check_is_fitted(model)
    state: State = vars(model)["_state"]
    check_words_rest(model)
    with state.lock:  # the arrays are the model's own
        write_model(path, model, documents=flag("documents", documents))


def load(path: str | PathLike[str], *, split: Any = None) -> Any:
    """Read a model that `save` or a checkpoint wrote, of this or an earlier version.

    Loading runs no code of the file and validates all values; `ModelFileError` names errors.

    Parameters
    ----------
    path : path
        A model file, or the checkpoint folder of a stream.
    split : callable, optional
        The model's own function that cuts texts (``Tokenizer(split=...)``), which files cannot
        store. Without it the model takes counts, but not texts.

    Examples
    --------
    >>> import opelda
    >>> opelda.load("no-such-file.opelda")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    opelda.errors.ModelFileError: ...
    """
    model = read(path)[0]
    if split is not None:
        words = model._state.vocabulary
        words.tokenizer = with_split(None if words is None else words.tokenizer, split)
    return model


def change(path: str | PathLike[str], edit: Callable[[Any], None]) -> None:
    """Edit the model of a file or checkpoint, which no stream may use meanwhile."""
    target = model_path(path)
    # a running stream would overwrite the file
    is_checkpoint = target.name == CHECKPOINT_FILE
    with Checkpoint(target.parent, (), Every("every", 1)) if is_checkpoint else nullcontext():
        stored = StoredModel.read(target)
        model = loaded(stored)
        edit(model)
        write_model(target, model, stored.header.get("stream"))


def follow(
    path: str | PathLike[str], *, poll: float = 1.0, timeout: float | None = None
) -> Iterator[Any]:
    """Yield the newest model of a file or checkpoint folder, now and after every replacement.

    Models that are replaced between two requests are skipped. The path need not exist. A file that
    cannot be read is read again after `poll` seconds; if it is unchanged, `ModelFileError` is
    raised.

    Parameters
    ----------
    path : path
        As for `load`.
    poll : float
        Seconds between two checks.
    timeout : float, optional
        Seconds without a new model after which to end; by default never.

    Examples
    --------
    >>> import tempfile, opelda
    >>> folder, texts = tempfile.mkdtemp(), ["stars and galaxies", "cells and proteins"] * 40
    >>> model = opelda.OnlineOPE(2, random_state=0).fit_stream(texts, checkpoint=folder)
    >>> [newest.n_docs_seen_ for newest in opelda.follow(folder, timeout=0)]
    [80]
    """
    poll = number("poll", poll, 0.0, 1e6, above=True)
    seconds = None if timeout is None else number("timeout", timeout, 0.0, 1e9)
    return map(itemgetter(0), followed(_store.as_path(path), poll, seconds))


def followed(
    path: Path,
    poll: float,
    timeout: float | None = None,
    *,
    since: tuple[Any, int] | tuple[None, None] = (None, None),
    wait: Callable[[float], Any] | None = None,
    complain: Callable[[ModelFileError], None] | None = None,
) -> Iterator[tuple[Any, int]]:
    """Yield models as `follow` does, each with its checksum.

    `since` is the stamp and the checksum of a known model. `wait` replaces `time.sleep` and returns
    True to end. With `complain`, unreadable files are reported and skipped until they change.
    """
    (seen, former), failed = since, None
    began = time.monotonic()
    while True:
        # The stamp precedes the reading: at worst the same model is read twice.
        stamp = stamp_of(path)
        if stamp is not None and stamp != seen:
            try:
                model, checksum = read(path)
            except ModelFileError as error:
                if failed == stamp == stamp_of(path):
                    if complain is None:
                        raise
                    complain(error)
                    seen = stamp
                failed = stamp
            else:
                seen = stamp
                if checksum != former:
                    former = checksum
                    yield model, checksum
                    del model
                    began = time.monotonic()
                    continue
        left = poll if timeout is None else began + timeout - time.monotonic()
        if left <= 0:
            return
        if (wait or time.sleep)(min(poll, left)):
            return


def stamp_of(path: Path) -> tuple[int, ...] | None:
    """Return numbers that change with the file; None without a file."""
    try:
        found = os.stat(model_path(path))
    except (OSError, ModelFileError):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def read(path: str | PathLike[str]) -> tuple[Any, int]:
    """Return a model and its checksum."""
    stored = StoredModel.read(path)
    return loaded(stored), stored.header["checksum"]
