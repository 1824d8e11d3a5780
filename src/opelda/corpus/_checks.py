"""Checks that several files of this package make."""

from typing import Any

import numpy as np

from opelda.errors import InputError

# As inference has it: up to here a count times a weight stays within single precision.
LARGEST_COUNT = 1e13


def whole_number(name: str, value: Any, least: int = 0, most: int = 2**31 - 1) -> int:
    """Return a whole number within its limits as an int."""
    if (
        isinstance(value, int | np.integer)
        and not isinstance(value, bool)
        and least <= value <= most
    ):
        return int(value)
    raise InputError(f"{name} must be a whole number from {least} to {most}, got {value!r}.")


def positive_number(name: str, value: Any, most: float) -> float:
    """Return a number above zero as a float."""
    if isinstance(value, int | float | np.integer | np.floating) and 0 < value <= most:
        return float(value)
    raise InputError(f"{name} must be a number above 0 and up to {most:g}, got {value!r}.")
