"""Parts of a model's state: each declares how it is saved, loaded, edited and invalidated."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
Header = dict[str, Any]


def _unchanged(value: Any, *_: Any) -> Any:
    return value


def _dropped(value: Any, *_: Any) -> None:
    return None


@dataclass(frozen=True)
class Part:
    """The behaviour of an optional part of `State`; each function takes the part's value first.

    `load` takes the arrays, the header and the shape (V, K), and raises `ValueError` for damaged
    values. The last four functions return the new value, or None to drop the part.
    """

    save: Callable[[Any], tuple[Arrays, Header]]
    load: Callable[[Arrays, Header, tuple[int, int]], Any]
    edited: Callable[..., Any] = _unchanged  # (value, edit): topics were merged, removed or split
    learned: Callable[..., Any] = _unchanged  # (value): topics learned from more documents
    reused: Callable[..., Any] = _unchanged  # (value, columns, n_docs): columns got new words
    replaced: Callable[..., Any] = _unchanged  # (value, topics): topics got new themes
    has_header: bool = True  # in addition to arrays
    has_documents: bool = False  # which a file can omit


def per_topic(least: float) -> Part:
    """Declare a number per topic, from `least` to 1, that learning and edits invalidate."""

    def load(arrays: Arrays, _: Header, shape: tuple[int, int]) -> NDArray[np.float64]:
        check_arrays(arrays, {"": (np.float64, shape[1:])}, "numbers of topics")
        if not ((arrays[""] >= least) & (arrays[""] <= 1.0)).all():
            raise ValueError("its numbers of topics are out of range")
        return arrays[""]

    return Part(
        lambda value: ({"": value}, {}), load, edited=_dropped, learned=_dropped, has_header=False
    )


def check_arrays(
    arrays: Arrays, wanted: Mapping[str, tuple[type, tuple[int | None, ...]]], what: str
) -> None:
    """Raise `ValueError` for another type or shape (None: any length) or non-finite values."""
    for name, (dtype, shape) in wanted.items():
        array = arrays.get(name)
        if (
            array is None
            or array.dtype != dtype
            or array.ndim != len(shape)
            or any(n not in (None, length) for n, length in zip(shape, array.shape, strict=True))
        ):
            raise ValueError(f"its {what}: array {name!r} is missing or of another type")
        if not np.isfinite(array).all():
            raise ValueError(f"its {what}: array {name!r} has NaN or infinite values")


def _alpha(arrays: Arrays, _: Header, shape: tuple[int, int]) -> NDArray[np.float64]:
    check_arrays(arrays, {"": (np.float64, shape[1:])}, "alpha")
    if not ((arrays[""] >= 1e-30) & (arrays[""] <= 1e6)).all():
        raise ValueError("its alpha is out of range")
    return arrays[""]


def _runs(arrays: Arrays, _: Header, shape: tuple[int, int]) -> NDArray[np.float32]:
    check_arrays(arrays, {"": (np.float32, (None, shape[1], shape[0]))}, "runs")
    if not ((arrays[""] >= 0.0) & (arrays[""] <= 1.0)).all():
        raise ValueError("its runs have probabilities out of range")
    return arrays[""]


ALPHA = Part(
    lambda value: ({"": value}, {}),
    _alpha,
    edited=lambda value, edit: edit.added(value),
    has_header=False,
)
RUNS = Part(
    lambda value: ({"": value}, {}),
    _runs,
    edited=_dropped,
    learned=_dropped,
    reused=_dropped,
    replaced=_dropped,
    has_header=False,
)
COHERENCE = per_topic(-1.0)
STABILITY = ERROR = per_topic(0.0)
