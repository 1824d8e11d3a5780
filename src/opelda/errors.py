"""The errors that opelda raises.

OpeldaError
├── InputError (also a ValueError)     invalid data or an invalid parameter
├── ModelFileError (also a ValueError) a model file cannot be read or written
└── EngineError (also a RuntimeError)  an engine or a method is unavailable
"""

import sys
import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["EngineError", "InputError", "ModelFileError", "OpeldaError"]


class OpeldaError(Exception):
    """Every error opelda raises on purpose.

    Examples
    --------
    >>> from opelda.metrics import topic_diversity
    >>> try:
    ...     topic_diversity([[0.5, 0.5]], n_words=0)
    ... except OpeldaError as error:
    ...     print(error)
    n_words must be a whole number, at least 1, got 0.
    """


class InputError(OpeldaError, ValueError):
    """Invalid data or an invalid parameter; the message states which, where, and what to do.

    Parameters
    ----------
    message : str
        The sentence; with a `parameter`, what follows its name.
    parameter : str, optional
        The invalid parameter.
    **advice
        Parameters to set: ``{name}`` in the message becomes the name and the value, if that is not
        ``...``.

    Examples
    --------
    >>> print(InputError("must be positive, got 0.", "min_df"))
    min_df must be positive, got 0.
    >>> print(InputError("a.csv is not UTF-8; pass {encoding}.", encoding="latin-1"))
    a.csv is not UTF-8; pass encoding='latin-1'.
    """

    def __init__(self, message: str, parameter: str | None = None, **advice: Any) -> None:
        self.message, self.parameter, self.advice = message, parameter, advice
        super().__init__(self.worded(_python_name))

    def worded(self, name: Callable[[str, Any], str]) -> str:
        """Return the sentence with each parameter as ``name(parameter, value)`` writes it."""
        text = self.message
        if self.parameter is not None:
            text = f"{name(self.parameter, ...)} {text}"
        for parameter, value in self.advice.items():
            called = name(parameter, value)
            if value is ... and called == parameter:
                called += "="
            text = text.replace(f"{{{parameter}}}", called)
        return text


def _python_name(parameter: str, value: Any) -> str:
    return parameter if value is ... else f"{parameter}={value!r}"


class ModelFileError(OpeldaError, ValueError):
    """A model file cannot be read or written; the message states which file and why.

    Examples
    --------
    >>> import opelda
    >>> try:
    ...     opelda.load("missing.opelda")
    ... except ModelFileError as error:
    ...     print("'missing.opelda' cannot be read" in str(error))
    True
    """


class EngineError(OpeldaError, RuntimeError):
    """An engine lacks a dependency, or does not support the requested method.

    Examples
    --------
    >>> issubclass(EngineError, RuntimeError)
    True
    """


class DataWarning(UserWarning):
    """Some documents or columns are ignored, or their meaning was guessed."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called opelda, skipping frames of opelda and scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals["__name__"].split(".")[0] in ("opelda", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
