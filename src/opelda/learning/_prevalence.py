"""Priors of mixtures that depend on columns of the documents, or on their labels.

Documents with equal columns are a row, and share a prior. Sweeps learn ratios between rows by
Dirichlet-multinomial regression (Mimno & McCallum 2008): alpha_rk = alpha_k exp(x_r . w_k).
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import gammaln, psi
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from opelda.corpus._design import Columns, Design, Factor, parsed
from opelda.corpus._kinds import is_missing
from opelda.engines.seam import SizeHistogram
from opelda.errors import InputError
from opelda.learning._part import Arrays, Header, Part, check_arrays
from opelda.learning.editing._edit import Edit

MOST_ROWS = 100  # a collection's further rows are clustered, a stream's have the common prior
MOST_LETTERS = 200  # of a level in a stream
MOST_RATIO = 10.0  # logarithm of a ratio of priors

Array = NDArray[np.float64]
Levels = Sequence[tuple[str, ...]]  # of documents, in each column
OPTIONS: Any = {"maxiter": 5}  # the next sweeps continue


@dataclass
class RowPriors:
    """The prior of each row of documents, relative to a common alpha, while sweeps learn it."""

    of_documents: NDArray[np.uint16] | None  # None: the collection knows them
    ratios: Array  # (rows, K)
    x: Array | None = None  # (rows, P): ratios are exp(x @ w); None: ratios are given
    w: Array | None = None  # (P, K), standard normal a priori

    def alphas(self, alpha: Array) -> Array:
        """Return the prior of each row."""
        return alpha * self.ratios

    def adapt(self, seen: list[SizeHistogram], alpha: Array) -> None:
        """Find likelier ratios by the documents' tokens per topic, a histogram per row."""
        if self.x is None or not self.x.size:
            return
        x, n_topics = self.x, len(alpha)
        start = np.zeros((x.shape[1], n_topics)) if self.w is None else self.w
        cell = np.concatenate([r * n_topics + each.topics for r, each in enumerate(seen)])
        sizes, times = (
            np.concatenate([getattr(each, name) for each in seen]) for name in ("sizes", "times")
        )
        row = np.repeat(np.arange(len(seen)), [len(each.lengths) for each in seen])
        lengths, n_alike = (
            np.concatenate([getattr(each, name) for each in seen])
            for name in ("lengths", "n_alike")
        )

        def loss(flat: Array) -> tuple[float, Array]:
            w = flat.reshape(start.shape)
            priors = alpha * _ratios(x, w)
            total, own = priors.sum(axis=1)[row], priors.ravel()[cell]
            found = (n_alike * (gammaln(total) - gammaln(total + lengths))).sum()
            found += (times * (gammaln(own + sizes) - gammaln(own))).sum()
            of_rows = np.bincount(row, n_alike * (psi(total) - psi(total + lengths)), len(x))
            slope = np.bincount(cell, times * (psi(own + sizes) - psi(own)), priors.size)
            slope = priors * (slope.reshape(priors.shape) + of_rows[:, np.newaxis])
            return 0.5 * float((w**2).sum()) - float(found), (w - x.T @ slope).ravel()

        with threadpool_limits(1):  # faster for few numbers, and the same on every machine
            found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=OPTIONS)
            self.w = found.x.reshape(start.shape)
            self.ratios = _ratios(x, self.w)


def _ratios(x: Array, w: Array) -> Array:
    ratios: Array = np.exp(np.clip(x @ w, -MOST_RATIO, MOST_RATIO))
    return ratios


@dataclass(frozen=True)
class Prevalence:
    """The mean mixture of documents by their columns: rows of a design, and their mixtures.

    In a stream, a row is a combination of levels and has no terms: a factor has a level per row.
    The first row, "", has the common prior. Documents without values have this row, and documents
    of combinations beyond `MOST_ROWS`.
    """

    design: Design
    means: Array  # (P,), of the terms
    scales: Array
    rows: Array  # (rows, P), standardised
    shares: Array  # (rows, K)
    ratios: Any = None  # (rows, K) to the common prior, in a stream

    @classmethod
    def of(
        cls, given: Any, columns: Columns, n_topics: int, seed: int
    ) -> tuple["Prevalence", NDArray[np.uint16]]:
        """Return rows without mixtures, and the row of each document, in any order of these."""
        design = Design.of(given, columns, most_levels=MOST_ROWS - 1)
        _, x, _ = design.matrix(columns)
        known = np.asarray(~np.isnan(x).any(axis=1))
        rows, found = np.unique(x[known], axis=0, return_inverse=True)
        times = np.ones(len(x)) if columns.times is None else np.array(columns.times)
        weights = np.bincount(found.ravel(), times[known]) / times[known].sum()
        means = (weights[:, np.newaxis] * rows).sum(axis=0)
        scales = np.sqrt((weights[:, np.newaxis] * (rows - means) ** 2).sum(axis=0))
        scales = np.maximum(scales, 1e-9)
        rows, row = (rows - means) / scales, np.full(len(x), len(rows))
        row[known] = found.ravel()
        if not known.all():
            rows = np.vstack((rows, np.zeros(len(means))))
        if len(rows) > MOST_ROWS:
            from scipy.cluster.vq import kmeans2  # slow imports
            from sklearn.cluster import kmeans_plusplus

            # (that of SciPy takes 2 s for 5,000 rows)
            with threadpool_limits(1):  # more threads add in another order
                start, _ = kmeans_plusplus(rows, MOST_ROWS, random_state=seed, n_local_trials=1)
            centers, _ = kmeans2(rows, start, minit="matrix")
            rows, row = centers, _nearest(rows, centers)[row]
        made = cls(design, means, scales, rows, np.ones((len(rows), n_topics)))
        return made, row.astype(np.uint16)

    @classmethod
    def begun(cls, given: Any, alpha: Array) -> "Prevalence":
        """Return the first row of a stream."""
        terms = [term for each in np.atleast_1d(given).tolist() for term in parsed(each)]
        if not terms or any(len(term) > 1 or term[0][1] for term in terms):
            raise InputError(
                "must be columns of levels joined by + in a stream, such as 'party + chamber'.",
                "prevalence",
            )
        names, none = dict.fromkeys(name for ((name, _),) in terms), np.zeros(0)
        design = Design(tuple(Factor(name, ("",)) for name in names), ())
        shares = alpha[np.newaxis] / alpha.sum()
        return cls(design, none, none, np.zeros((1, 0)), shares, np.ones_like(shares))

    def levels(self, columns: Columns) -> Levels | None:
        """Return each document's combination of levels, "" for missing values, in a stream."""
        if self.ratios is None:
            return None
        names = self.design.columns
        for name in names if len(self.rows) == 1 else ():
            if not np.isnan(columns.numbers(name) or np.nan).all():
                raise InputError(
                    f"has the column {name!r} of numbers or times, but a stream takes columns of "
                    "levels; remove this column.",
                    "prevalence",
                )
        values = [["" if is_missing(v) else str(v) for v in columns[name]] for name in names]
        if len({len(each) for each in values}) > 1:
            raise InputError("has columns of different lengths.", "data")
        return list(zip(*values, strict=True))

    def extended(self, levels: Levels) -> tuple["Prevalence", NDArray[np.uint16]]:
        """Add rows for new combinations of levels of a stream; return each document's row."""
        known = self._numbers()
        for each, _ in Counter(levels).most_common():
            if len(known) < MOST_ROWS and all(0 < len(level) <= MOST_LETTERS for level in each):
                known.setdefault(each, len(known))
        columns = zip(self.design.factors, zip(*known, strict=True), strict=True)
        factors = tuple(replace(factor, levels=each) for factor, each in columns)
        n_new = len(known) - len(self.rows)
        made = replace(
            self,
            design=replace(self.design, factors=factors),
            rows=np.zeros((len(known), 0)),
            shares=np.vstack((self.shares, np.tile(self.shares[0], (n_new, 1)))),
            ratios=np.vstack((self.ratios, np.ones((n_new, self.shares.shape[1])))),
        )
        return made, np.array([known.get(each, 0) for each in levels], np.uint16)

    def _numbers(self) -> dict[tuple[str, ...], int]:
        """Return the row of each combination of levels of a stream."""
        combined = zip(*(factor.levels for factor in self.design.factors), strict=True)
        return {each: i for i, each in enumerate(combined)}

    def priors(self, of_documents: NDArray[np.uint16]) -> RowPriors:
        """Return the priors of a stream's rows, to be learned further."""
        n_others = len(self.rows) - 1
        x = np.eye(n_others + 1)[:, 1:]
        x[1:] -= 1.0 / max(n_others, 1)
        return RowPriors(of_documents, self.ratios, x, np.log(self.ratios[1:]))

    def learned(self, priors: RowPriors, alpha: Array) -> "Prevalence":
        """Return these rows with the mixtures that sweeps learned."""
        alphas = priors.alphas(alpha)
        ratios = None if self.ratios is None else priors.ratios
        return replace(self, shares=alphas / alphas.sum(axis=1, keepdims=True), ratios=ratios)

    def members(self, columns: Columns) -> NDArray[np.int64]:
        """Return the row of each document; -1 for a missing value."""
        levels = self.levels(columns)
        if levels is not None:
            numbers = self._numbers()
            return np.array([numbers.get(each) or -1 for each in levels], np.int64)
        _, x, _ = self.design.matrix(columns)
        missing = np.isnan(x).any(axis=1)
        found = _nearest(np.nan_to_num((x - self.means) / self.scales), self.rows)
        return np.where(missing, -1, found)

    def alphas(self, alpha: Array) -> Array:
        """Return the prior of each row, with the sum of alpha."""
        return np.asarray(alpha.sum() * self.shares)


def check_alone(n_sweeps: int, others: Mapping[str, Any]) -> None:
    """Raise `InputError` for settings that cannot be combined with columns."""
    if not n_sweeps:
        raise InputError("needs sweeps; use the preset 'best', or n_sweeps.", "prevalence")
    for name, value in others.items():
        if value not in (None, 0):
            message = f"cannot be combined with {{{name}}}; remove one of them."
            raise InputError(message, "prevalence", **{name: ...})


def _nearest(x: Array, rows: Array) -> NDArray[np.int64]:
    squares = (rows**2).sum(axis=1)
    parts = [  # (the last digits of a product depend on the number of documents)
        (squares - 2.0 * x[first : first + 4096] @ rows.T).round(6).argmin(axis=1)
        for first in range(0, len(x), 4096)
    ]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _to_arrays(given: Prevalence) -> tuple[Arrays, Header]:
    said: Header = json.loads(json.dumps(asdict(given.design)))  # lists for tuples
    return {n: v for n, v in vars(given).items() if isinstance(v, np.ndarray)}, said


def _from_arrays(arrays: Arrays, said: Header, shape: tuple[int, int]) -> Prevalence:
    wanted: Any = {
        "means": (np.float64, (None,)),
        "rows": (np.float64, (None, len(arrays.get("means", ())))),
        "scales": (np.float64, (len(arrays.get("means", ())),)),
        "shares": (np.float64, (len(arrays.get("rows", ())), shape[1])),
    }
    if "ratios" in arrays:
        wanted["ratios"] = wanted["shares"]
    check_arrays(arrays, wanted, "prevalence")
    shares = arrays["shares"]
    if not len(shares) or not ((shares >= 0.0) & (shares <= 1.0)).all():
        raise ValueError("its prevalence has shares out of range")
    if not (arrays["scales"] > 0.0).all():
        raise ValueError("its prevalence has scales out of range")
    made = Prevalence(_design(said, len(arrays["means"])), **arrays)
    is_good = made.ratios is None or (
        ((shares > 0.0) & (made.ratios > 0.0)).all() and len(made._numbers()) == len(shares)
    )
    if not is_good:
        raise ValueError("its prevalence has invalid ratios or rows")
    return made


def _design(said: Header, n_terms: int) -> Design:
    """Return a design, checked: it has terms for the arrays."""
    try:
        factors = tuple(
            Factor(
                str(each["column"]),
                tuple(map(str, each["levels"])),
                each["has_other"] is True,
                tuple(map(float, each["knots"])),
            )
            for each in said["factors"]
        )
        products = tuple(tuple(map(int, each)) for each in said["products"])
        design = Design(factors, products)
        n_found = design.n_terms
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError(f"its prevalence has a damaged formula ({error})") from None
    if n_found != n_terms:
        raise ValueError("its prevalence has a formula of another size")
    return design


def _edited(given: Prevalence, edit: Edit) -> Prevalence:
    shares, ratios = edit.added(given.shares), given.ratios
    ratios = None if ratios is None else shares / edit.added(given.shares / ratios)
    return replace(given, shares=shares, ratios=ratios)


def _replaced(given: Prevalence, topics: Sequence[int]) -> Prevalence | None:
    """Give new topics the common prior, in a stream; its next sweep learns their ratios."""
    if given.ratios is None:
        return None
    ratios = given.ratios.copy()
    ratios[:, list(topics)] = 1.0
    return replace(given, ratios=ratios)


PREVALENCE = Part(_to_arrays, _from_arrays, edited=_edited, replaced=_replaced)
