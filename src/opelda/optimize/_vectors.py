"""Arrays that come from the user: one way to read them, one way to say what is wrong.

`name` is a parameter, or a description such as "the value of g1 at iteration 3".
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opelda.errors import InputError

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]


def wrong(name: str, text: str) -> InputError:
    """Return the error of a parameter, or of what is only described."""
    return InputError(text, name) if name.isidentifier() else InputError(f"{name} {text}")


def as_real_array(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Copy `values` into a float64 array, or say that `name` does not hold real numbers."""
    if not np.iscomplexobj(values):
        try:
            return np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            pass
    got = type(values).__name__
    raise wrong(name, f"must hold real numbers in a dense array or a list, got {got}.")


def check_finite(array: NDArray[np.float64], name: str, advice: str) -> None:
    """Raise InputError with the first entry of `array` that is NaN or infinite."""
    finite = np.isfinite(array)
    if finite.all():
        return
    where = tuple(int(i) for i in np.argwhere(~finite)[0])
    index = f" at [{', '.join(map(str, where))}]" if where else ""
    raise wrong(name, f"is {array[where]}{index}: {advice}.")


def as_vector(values: ArrayLike, n: int, name: str) -> Vector:
    """Copy `values` into a finite float64 vector of length `n`, or say what is wrong with it."""
    vector = as_real_array(values, name)
    if vector.shape != (n,):
        raise wrong(
            name,
            f"has shape {vector.shape}, but the domain is {n}-dimensional: give an array of shape "
            f"({n},).",
        )
    check_finite(vector, name, "give finite numbers")
    return vector
