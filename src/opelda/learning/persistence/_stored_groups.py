"""Groups of documents in a model's state and file."""

from dataclasses import replace
from typing import Any

import numpy as np

from opelda.inference._groups import Groups
from opelda.learning._part import Arrays, Header, Part, check_arrays


def _to_arrays(groups: Groups) -> tuple[Arrays, Header]:
    arrays: Arrays = {"axes": groups.axes, "added": groups.added}
    if groups.words is None or groups.given is None:
        return arrays, {"by_words": True}
    return arrays | {"words": groups.words, "given": groups.given}, {"by_words": False}


def _from_arrays(arrays: Arrays, said: Header, shape: tuple[int, int]) -> Groups:
    by_words = said.get("by_words")
    n_groups = len(arrays.get("added", ()))
    wanted: Any = {
        "axes": (np.float32, (None, n_groups)),
        "added": (np.float64, (n_groups, shape[1])),
    }
    check_arrays(arrays, wanted, "groups")
    axes, added = arrays["axes"], arrays["added"]
    if by_words is False:
        wanted = {
            "words": (np.float32, (len(axes), None)),
            "given": (np.float32, (None, n_groups)),
        }
        check_arrays(arrays, wanted, "groups")
    if not isinstance(by_words, bool) or len(axes) > shape[0]:
        raise ValueError("its groups have axes of another size")
    if not n_groups or not ((added >= 0.0) & (added <= 1e6)).all():
        raise ValueError("its groups have values out of range")
    return Groups(axes, added, arrays.get("words"), arrays.get("given"))


GROUPS = Part(
    _to_arrays,
    _from_arrays,
    edited=lambda groups, edit: replace(groups, added=edit.added(groups.added)),
    reused=lambda *_: None,
    replaced=lambda *_: None,
)
