"""Groups of documents in a model's state and file."""

from dataclasses import replace

import numpy as np

from opelda.inference._groups import Groups
from opelda.learning._part import Arrays, Header, Part, check_arrays


def _to_arrays(groups: Groups) -> tuple[Arrays, Header]:
    return {"axes": groups.axes, "added": groups.added}, {"by_words": groups.by_words}


def _from_arrays(arrays: Arrays, said: Header, shape: tuple[int, int]) -> Groups:
    by_words = said.get("by_words")
    n_groups = len(arrays.get("added", ()))
    wanted = {"axes": (np.float32, (None, n_groups)), "added": (np.float64, (n_groups, shape[1]))}
    check_arrays(arrays, wanted, "groups")
    added = arrays["added"]
    if not isinstance(by_words, bool) or (by_words and len(arrays["axes"]) > shape[0]):
        raise ValueError("its groups have axes of another size")
    if not n_groups or not ((added >= 0.0) & (added <= 1e6)).all():
        raise ValueError("its groups have values out of range")
    return Groups(arrays["axes"], added, by_words)


GROUPS = Part(
    _to_arrays,
    _from_arrays,
    edited=lambda groups, edit: replace(groups, added=edit.added(groups.added)),
    reused=lambda *_: None,
    replaced=lambda *_: None,
)
