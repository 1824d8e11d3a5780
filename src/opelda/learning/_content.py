"""Words of topics by group: documents of a newspaper, or a party, word a topic in their own way.

A group's topic is the common one with deviations, most of them 0: beta_gkj ~ beta_kj exp(d_gkj).
They are found by expectation maximisation with Laplace priors, as in sparse additive models
(Eisenstein, Ahmed & Xing 2011), from the common topics that the learner found.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.corpus._design import Columns, Design, Factor
from opelda.engines import Engine
from opelda.engines.seam import HostWeights, Task
from opelda.errors import InputError
from opelda.inference import Topics
from opelda.learning._part import Arrays, Header, Part, check_arrays

MOST_GROUPS, N_ROUNDS = 12, 3
MOST_DEVIATION = 7.0  # of a logarithm

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Content:
    """The deviations of each group's topics; documents of other groups have the common topics."""

    factor: Factor  # its levels are the groups
    deviations: NDArray[np.float32]  # of the cells (group, topic, word) that have one
    cells: NDArray[np.int64]  # their numbers, ascending
    tables: dict[Any, Topics] = field(default_factory=dict, repr=False, compare=False)

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups."""
        return self.factor.levels

    def members(self, columns: Columns) -> NDArray[np.int64]:
        """Return the group of each document; -1 for others."""
        return self.factor.members(columns[self.factor.column])

    def of_group(self, group: int, n_topics: int, n_words: int) -> sparse.csr_array:
        """Return the deviations of a group (K, V)."""
        size = n_topics * n_words
        part = slice(*np.searchsorted(self.cells, (group * size, (group + 1) * size)))
        at = np.divmod(self.cells[part] - group * size, n_words)
        return sparse.csr_array((self.deviations[part], at), shape=(n_topics, n_words))

    def topics(self, group: int, common: NDArray[Any]) -> Topics:
        """Return the topics of a group, given the common ones (K, V), which are those of -1.

        They are kept: learning and edits, which change the common topics, drop the whole part.
        """
        if group not in self.tables:
            found = common
            if group >= 0:
                own = self.of_group(group, *common.shape).tocoo()
                found = common.astype(np.float64)
                found[own.coords] *= np.exp(own.data)
                found = (found / found.sum(axis=1, keepdims=True)).astype(np.float32)
            self.tables[group] = Topics(found)
        return self.tables[group]


def content_groups(name: Any, columns: Columns, n_docs: int) -> tuple[Factor, NDArray[np.int64]]:
    """Return a column as a factor, and the group of each document."""
    if not isinstance(name, str):
        raise InputError(f"must be the name of a column, got {name!r}.", "content")
    design = Design.of([name], columns, categorical=[name], most_levels=MOST_GROUPS)
    (factor,) = design.factors
    member = factor.members(columns[name])
    if len(member) != n_docs:
        raise InputError(f"has {len(member)} rows for {n_docs} documents.", "data")
    return factor, member


def find_content(
    engine: Engine,
    common: NDArray[np.float32],
    matrix: sparse.csr_array,
    task: Task,
    factor: Factor,
    member: NDArray[np.int64],
) -> Content:
    """Return the deviations of groups of documents from common topics (K, V)."""
    cells, deviations = [], []
    for group in range(len(factor.levels)):
        documents = engine.documents(matrix[member == group])
        own = np.zeros(common.shape)
        topics = common
        for _ in range(N_ROUNDS):
            weights = engine.weights(HostWeights(np.ascontiguousarray(topics.T), 0.0))
            found = engine.statistics(weights, documents, task, divide=True)
            counts = np.zeros(common.shape)
            counts[:, found.words] = found.values.T
            own = sparse_deviations(counts, common)
            topics = common * np.exp(own).astype(np.float32)
            topics /= topics.sum(axis=1, keepdims=True)
        at = np.flatnonzero(own)
        cells.append(at + group * own.size)
        deviations.append(own.ravel()[at].astype(np.float32))
    return Content(factor, np.concatenate(deviations), np.concatenate(cells))


def sparse_deviations(counts: Array, common: NDArray[Any]) -> Array:
    """Return the most likely deviations given expected counts of a group (K, V).

    The prior is Laplace's; its rate 1 + sqrt(expected) was best in leave-one-out prediction of two
    collections, also with groups drawn at random.

    >>> sparse_deviations(np.array([[30.0, 34.0, 36.0]]), np.array([[0.1, 0.3, 0.6]])).round(2)
    array([[ 0.95,  0.  , -0.29]])
    """
    expected = counts.sum(axis=1, keepdims=True) * common
    excess = counts - expected
    kept = np.maximum(np.abs(excess) - 1.0 - np.sqrt(expected), 0.0)
    ratio = 1.0 + np.sign(excess) * kept / np.maximum(expected, 1e-30)
    bound = np.exp(MOST_DEVIATION)
    found: Array = np.where(kept > 0.0, np.log(np.clip(ratio, 1.0 / bound, bound)), 0.0)
    return found


def _to_arrays(given: Content) -> tuple[Arrays, Header]:
    said = {"column": given.factor.column, "levels": list(given.factor.levels)}
    return {"deviations": given.deviations, "cells": given.cells}, said


def _from_arrays(arrays: Arrays, said: Header, shape: tuple[int, int]) -> Content:
    n_cells = len(arrays.get("cells", ()))
    wanted: Any = {"deviations": (np.float32, (n_cells,)), "cells": (np.int64, (n_cells,))}
    check_arrays(arrays, wanted, "words by group")
    try:
        factor = Factor(str(said["column"]), tuple(map(str, said["levels"])))
    except (KeyError, TypeError) as error:
        raise ValueError(f"its groups of words are damaged ({error})") from None
    cells, size = arrays["cells"], len(factor.levels) * shape[0] * shape[1]
    if n_cells and not (cells[0] >= 0 and cells[-1] < size and (np.diff(cells) > 0).all()):
        raise ValueError("its words by group are out of range")
    if not (np.abs(arrays["deviations"]) <= MOST_DEVIATION + 1e-3).all():
        raise ValueError("its words by group have deviations out of range")
    return Content(factor, arrays["deviations"], cells)


CONTENT = Part(
    _to_arrays,
    _from_arrays,
    edited=lambda *_: None,
    learned=lambda *_: None,
    reused=lambda *_: None,
    replaced=lambda *_: None,
)
