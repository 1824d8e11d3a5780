"""The two terms of f = g1 + g2: what the user writes, and its guarded evaluation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opelda.errors import InputError
from opelda.optimize._vectors import Vector, as_real_array, check_finite

_ADVICE = (
    "keep the domain where the term is finite (for logarithms: ShrunkenSimplex, or a Box with a "
    "positive lower bound) or start from another x0"
)


@dataclass(frozen=True)
class Term:
    """One of the two terms of the objective f = g1 + g2.

    OPE takes every step from gradients alone; values are asked for only where progress is
    recorded. The two are therefore separate callables.

    Parameters
    ----------
    value : callable
        ``value(x)`` returns the term at `x`, a number.
    gradient : callable
        ``gradient(x)`` returns the term's gradient at `x`, an array of the shape of `x`.

    Notes
    -----
    Both get a fresh copy of the iterate, so they may keep it or overwrite it.

    Examples
    --------
    >>> import numpy as np
    >>> from opelda.optimize import Term
    >>> log_prior = Term(lambda x: -0.5 * x @ x, lambda x: -x)
    >>> float(log_prior.value(np.array([1.0, 2.0])))
    -2.5
    >>> log_prior.gradient(np.array([1.0, 2.0]))
    array([-1., -2.])
    """

    value: Callable[[Vector], Any]
    gradient: Callable[[Vector], Any]

    def __post_init__(self) -> None:
        for name, part in (("value", self.value), ("gradient", self.gradient)):
            if not callable(part):
                raise InputError(
                    f"must be a callable of x, got {type(part).__name__}: give Term(value, "
                    "gradient) two functions.",
                    name,
                )


def evaluate_value(term: Term, name: str, x: Vector, iteration: int) -> float:
    """Return the term's value at `x`; `name` and `iteration` are for the error messages."""
    what = f"the value of {name} at iteration {iteration}"
    value = as_real_array(term.value(x.copy()), what)
    if value.shape != ():
        raise InputError(f"{what} has shape {value.shape}: return a single number.")
    check_finite(value, what, _ADVICE)
    return float(value)


def evaluate_gradient(term: Term, name: str, x: Vector, iteration: int) -> Vector:
    """Return the term's gradient at `x`; `name` and `iteration` are for the error messages."""
    what = f"the gradient of {name} at iteration {iteration}"
    gradient = as_real_array(term.gradient(x.copy()), what)
    if gradient.shape != x.shape:
        raise InputError(f"{what} has shape {gradient.shape}: return an array of shape {x.shape}.")
    check_finite(gradient, what, _ADVICE)
    return gradient
