"""Model files: safetensors, written in one step, read without running anything."""

from os import PathLike, fsdecode
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from opelda import _store
from opelda._validation import flag
from opelda.errors import InputError
from opelda.learning import LEARNERS
from opelda.learning._loading import from_parts
from opelda.learning._saving import FORMAT, KIND, as_parts
from opelda.learning._state import State, check_words_rest

__all__ = ["load", "save"]


def save(model: Any, path: str | PathLike[str], *, documents: bool = True) -> None:
    """Write a model with all that it needs to go on learning.

    The file is written beside its place, made durable, and renamed: there is the old one or the
    new one, never half of one. Callbacks are not saved.

    Parameters
    ----------
    model : a fitted learner
    path : path
    documents : bool
        With the word counts of the last documents, where streams are learned by sweeps of these.
        Without, the file is smaller and tells nothing of any document; a model that goes on from
        it learns from new documents only.

    Examples
    --------
    >>> import os, tempfile, opelda
    >>> from opelda.corpus import generate
    >>> X = generate(200, n_words=50, n_topics=3).X
    >>> model = opelda.OnlineOPE(3, random_state=0).fit(X)
    >>> path = os.path.join(tempfile.mkdtemp(), "topics.opelda")
    >>> opelda.save(model, path)
    >>> again = opelda.load(path)
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    if LEARNERS.get(type(model).__name__) is not type(model):
        raise InputError(
            f"save takes one of opelda's learners, got {type(model).__name__}; a subclass of your "
            "own cannot be loaded again without its code."
        )
    check_is_fitted(model)
    state: State = vars(model)["_state"]
    check_words_rest(model)
    with state.lock:  # the arrays are the model's own
        arrays, header = as_parts(model, documents=flag("documents", documents))
        _store.write(path, arrays, header, kind=KIND, version=FORMAT)


def load(path: str | PathLike[str]) -> Any:
    """Read a model that `save` or a checkpoint wrote.

    Nothing in the file is ever run, and everything is checked; a file that is not a model raises
    `ModelFileError`. Files of earlier versions are read too.

    Parameters
    ----------
    path : path

    Examples
    --------
    >>> import opelda
    >>> opelda.load("no-such-file.opelda")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    opelda.errors.ModelFileError: ...
    """
    arrays, header, version = _store.read(path, kind=KIND, newest=FORMAT)
    return from_parts(LEARNERS, arrays, header, version, Path(fsdecode(path)))
