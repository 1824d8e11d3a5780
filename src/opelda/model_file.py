"""Model files: safetensors, written in one step, read without running anything."""

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
    """Write a model, without its callbacks, with all that it needs to go on learning.

    The file is written under a temporary name, synced and renamed: there is the old file or the new
    one, never half of one.

    Parameters
    ----------
    model : a fitted learner
    path : path
    documents : bool
        With the word counts of the last documents of a stream learned by sweeps. Without, the file
        is smaller and tells nothing of any document; the model resumes with new documents only.

    Examples
    --------
    >>> import os, tempfile, opelda
    >>> from opelda.corpus import generate
    >>> X = generate(200, n_words=50, n_topics=3).X
    >>> model = opelda.OnlineOPE(3, random_state=0).fit(X)
    >>> path = os.path.join(tempfile.mkdtemp(), "topics.opelda")
    >>> opelda.save(model, path)
    >>> bool((opelda.load(path).transform(X) == model.transform(X)).all())
    True
    """
    check_own(model, "save takes")
    check_is_fitted(model)
    state: State = vars(model)["_state"]
    check_words_rest(model)
    with state.lock:  # the arrays are the model's own
        write_model(path, model, documents=flag("documents", documents))


def load(path: str | PathLike[str], *, split: Any = None) -> Any:
    """Read a model that `save` or a checkpoint wrote, of this version or an earlier one.

    Nothing in the file is run, and everything is checked: `ModelFileError` says what is wrong.

    Parameters
    ----------
    path : path
        A model file, or the checkpoint folder of a stream.
    split : callable, optional
        The function of your own that cut texts into words (``Tokenizer(split=...)``), which no file
        holds. Without it the model takes counts, but no texts.

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
    """Change the model of a file and write it back; a stream's while no stream learns on there."""
    target = model_path(path)
    # a stream would replace the file by what it has in memory
    is_checkpoint = target.name == CHECKPOINT_FILE
    with Checkpoint(target.parent, (), Every("every", 1)) if is_checkpoint else nullcontext():
        stored = StoredModel.read(target)
        model = loaded(stored)
        edit(model)
        write_model(target, model, stored.header.get("stream"))


def follow(
    path: str | PathLike[str], *, poll: float = 1.0, timeout: float | None = None
) -> Iterator[Any]:
    """Yield the newest model of a file or checkpoint folder, now and whenever it was replaced.

    A model that was replaced before it was asked for is passed over. The path need not exist yet. A
    file that cannot be read is read again after `poll` seconds; if it has not changed by then,
    `ModelFileError` is raised.

    Parameters
    ----------
    path : path
        As for `load`.
    poll : float
        Seconds between two looks.
    timeout : float, optional
        End when there was no new model for so many seconds; by default never.

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

    `since` is the stamp and the checksum of a known model. `wait` replaces `time.sleep`, and
    returns True to end. A file that cannot be read is given to `complain`, if there is one, and
    passed over until it changes.
    """
    (seen, former), failed = since, None
    began = time.monotonic()
    while True:
        # The stamp is older than the model read after it: at worst that is read once more.
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
    """Return numbers that change when the file is replaced; None where there is none."""
    try:
        found = os.stat(model_path(path))
    except (OSError, ModelFileError):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def read(path: str | PathLike[str]) -> tuple[Any, int]:
    """Return a model, and a number that tells it from others."""
    stored = StoredModel.read(path)
    return loaded(stored), stored.header["checksum"]
