"""Formulas of columns, such as "party + s(year)", as matrices for regressions."""

import ast
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from opelda._validation import whole
from opelda.corpus._kinds import is_missing
from opelda.corpus._time_reader import TimeReader
from opelda.errors import InputError

MOST_LEVELS, FEWEST = 20, 10  # levels of a column, documents of a level
SPLINE_TERMS = 10  # of a column, if the formula has no other number

Array = NDArray[np.float64]


class Columns:
    """Columns by name: of a table or mapping, or of the corpus's metadata.

    `times` are the numbers of documents with the values of each row, if the rows are distinct.
    """

    def __init__(self, table: Any, corpus: Any = None, times: list[int] | None = None) -> None:
        self._table: Any = getattr(corpus, "metadata", None) if table is None else table
        found = () if self._table is None else getattr(self._table, "columns", self._table)
        self.names = [str(name) for name in found]
        self._of = "the corpus" if table is None else "the table"
        self._numbers: dict[str, list[float] | None] = {}
        self.times = times

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self.names:
            has = f"has the columns {', '.join(self.names)}" if self.names else "has no columns"
            advice = "read the column with {metadata}" if self._of == "the corpus" else "pass it"
            raise InputError(
                f"Missing column {name!r}: {self._of} {has}; {advice}.", metadata=[name]
            )
        values = self._table[name]
        return values.to_list() if hasattr(values, "to_list") else list(values)

    def numbers(self, name: str) -> list[float] | None:
        """Return the values of a column of numbers, or of times in years; None for others."""
        if name not in self._numbers:
            self._numbers[name] = _numbers(self[name])
        return self._numbers[name]


@dataclass(frozen=True)
class Factor:
    """A column of numbers, of levels, or of numbers expanded into cubic B-splines.

    A time is a number, in years. The first level has no term: others are compared with it. Levels
    beyond the known are "(other)".
    """

    column: str
    levels: tuple[str, ...] = ()
    has_other: bool = False
    knots: tuple[float, ...] = ()

    @property
    def degree(self) -> int:
        """The degree of the splines."""
        return self.knots.count(self.knots[0]) - 1

    @property
    def n_terms(self) -> int:
        """The number of terms."""
        if self.knots:
            return len(self.knots) - self.degree - 2
        return len(self.levels) - 1 + self.has_other if self.levels else 1

    def terms(self, columns: Columns) -> dict[str, Array]:
        """Return the terms' names and values; NaN where the column has none."""
        if self.levels:
            return self._of_levels(columns[self.column])
        found = columns.numbers(self.column)
        if found is None:
            raise InputError(f"The column {self.column!r} must hold numbers or times.")
        x = np.array(found, np.float64)
        if not self.knots:
            return {self.column: x}
        within = np.clip(np.nan_to_num(x, nan=self.knots[0]), self.knots[0], self.knots[-1])
        basis = BSpline.design_matrix(within, np.array(self.knots), self.degree).toarray()[:, 1:]
        basis[np.isnan(x)] = np.nan
        return {f"s({self.column}){i}": column for i, column in enumerate(basis.T, 1)}

    def members(self, values: list[Any]) -> NDArray[np.int64]:
        """Return the number of each value's level; of others the next, or -1 without others."""
        number = {level: i for i, level in enumerate(self.levels)}
        other = len(self.levels) if self.has_other else -1
        found = [-1 if is_missing(v) or v == "" else number.get(str(v), other) for v in values]
        return np.array(found, np.int64)

    def _of_levels(self, values: list[Any]) -> dict[str, Array]:
        index = self.members(values)
        missing = np.where(index < 0, np.nan, 0.0)
        names = [*self.levels[1:], *(["(other)"] if self.has_other else [])]
        return {f"{self.column}={name}": missing + (index == i) for i, name in enumerate(names, 1)}


@dataclass(frozen=True)
class Design:
    """The terms of a formula: products of factors."""

    factors: tuple[Factor, ...]
    products: tuple[tuple[int, ...], ...]  # of factors, by number

    @classmethod
    def of(
        cls,
        given: str | Iterable[str],  # formulas or names
        columns: Columns,
        *,
        categorical: Iterable[str] = (),
        most_levels: int = MOST_LEVELS,
    ) -> "Design":
        """Find the levels and knots of the columns."""
        terms = [
            term
            for each in ([given] if isinstance(given, str) else given)
            for term in ([((each, 0),)] if each in columns.names else parsed(each))
        ]
        if not terms:
            raise InputError("The formula is empty; pass at least one column.")
        known = list(dict.fromkeys(factor for term in terms for factor in term))
        factors = []
        for name, n_terms in known:
            numbers = None if name in categorical else columns.numbers(name)
            if numbers is None:
                if n_terms:
                    raise InputError(f"s({name}) needs a column of numbers or times.")
                factors.append(_by_levels(name, columns, most_levels))
            else:
                factors.append(Factor(name, knots=_knots(numbers, n_terms)))
        products = dict.fromkeys(tuple(known.index(factor) for factor in term) for term in terms)
        return cls(tuple(factors), tuple(products))

    @property
    def n_terms(self) -> int:
        """The number of terms."""
        return sum(prod(self.factors[n].n_terms for n in product) for product in self.products)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(dict.fromkeys(factor.column for factor in self.factors))

    def matrix(self, columns: Columns) -> tuple[list[str], Array, NDArray[np.bool_]]:
        """Return the terms' names, a row per document, and which terms are plain numbers.

        A value that is missing is NaN.
        """
        parts = [factor.terms(columns) for factor in self.factors]
        sizes = {len(part) for terms in parts for part in terms.values()}
        if len(sizes) != 1:
            raise InputError("have different lengths; pass one value per document.", "columns")
        found: dict[str, Array] = {}
        numbers = []
        for product in self.products:
            made = {"": np.ones(sizes.copy().pop())}
            for n in product:
                made = {
                    f"{name}:{more}" if name else more: values * others
                    for name, values in made.items()
                    for more, others in parts[n].items()
                }
            found |= made
            plain = all(not (self.factors[n].levels or self.factors[n].knots) for n in product)
            numbers += [plain] * len(made)
        return list(found), np.column_stack(list(found.values())), np.array(numbers)


def parsed(formula: str) -> list[tuple[tuple[str, int], ...]]:
    """Return the terms of a formula, as products of columns with numbers of spline terms.

    >>> parsed("party * s(year, 5)")
    [(('party', 0),), (('year', 5),), (('party', 0), ('year', 5))]
    """
    wrong = InputError(
        f"The formula {formula!r} is invalid; write columns joined by +, products as a*b or a:b, "
        "splines as s(year), and other names in quotes."
    )

    def terms(node: ast.expr) -> list[tuple[tuple[str, int], ...]]:
        match node:
            case ast.BinOp(left, ast.Add(), right):
                return terms(left) + terms(right)
            case ast.BinOp(left, ast.Mult() | ast.MatMult() as how, right):
                one, two = terms(left), terms(right)
                both = [a + b for a in one for b in two]
                return both if isinstance(how, ast.MatMult) else one + two + both
            case ast.Name(name) | ast.Constant(str(name)):
                return [((name, 0),)]
            case ast.Call(ast.Name("s"), [ast.Name(name) | ast.Constant(str(name)), *rest], []):
                match rest:
                    case []:
                        return [((name, SPLINE_TERMS),)]
                    case [ast.Constant(int(n))]:
                        return [((name, whole("the number of spline terms", n, 1, 100)),)]
        raise wrong

    if formula.strip() and not set(formula) & set("+*:()~'\""):  # one name, as in "two words"
        return [((formula, 0),)]
    try:
        return terms(
            ast.parse(formula.strip().removeprefix("~").replace(":", "@").strip(), mode="eval").body
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise (error if isinstance(error, InputError) else wrong) from None


def names_in(*formulas: str) -> list[str]:
    """Return the columns of formulas."""
    found = [name for each in formulas for term in parsed(each) for name, _ in term]
    return list(dict.fromkeys(found))


def _numbers(values: list[Any]) -> list[float] | None:
    """Return numbers, or times in years; None for other values."""
    known = [None if is_missing(value) or value == "" else value for value in values]
    try:
        if any(isinstance(value, bool) for value in known):
            return None
        numbers = [np.nan if value is None else float(value) for value in known]
        return None if np.isinf(numbers).any() else numbers
    except (TypeError, ValueError):
        pass
    # distinct values in one order: neither the order nor the number of documents matters
    reader, given = TimeReader(), sorted({value for value in known if value is not None}, key=str)
    try:
        TimeReader().read(given[:: max(len(given) // 50, 1)])  # names take long to be refused
        moments = dict(zip(given, reader.read(given), strict=True))
    except InputError:
        return None
    reader.warn()
    years = {x: 1.0 + at.toordinal() / 365.2425 for x, at in moments.items() if at is not None}
    return [years.get(value, np.nan) for value in known]


def _by_levels(name: str, columns: Columns, most: int) -> Factor:
    """Return the factor of the levels of a column, the most frequent first."""
    counted = Counter[str]()
    for value, n_docs in zip(columns[name], columns.times or repeat(1), strict=False):
        if not is_missing(value) and value != "":
            counted[str(value)] += n_docs
    ordered = sorted(counted, key=lambda level: (-counted[level], level))
    n_kept = min(sum(counted[level] >= FEWEST for level in ordered), most)
    has_other = n_kept < len(ordered)
    if n_kept + has_other < 2 or not n_kept:
        raise InputError(
            f"The column {name!r} has fewer than two levels of {FEWEST} documents; remove the "
            "column."
        )
    return Factor(name, tuple(ordered[:n_kept]), has_other)


def _knots(numbers: list[float], n_terms: int) -> tuple[float, ...]:
    """Return the knots of cubic B-splines with terms between quantiles; none for a plain number."""
    different = np.unique(np.array(numbers)[~np.isnan(numbers)])
    n_terms = min(n_terms, len(different) - 1)
    if n_terms < 2:
        return ()
    degree = min(3, n_terms)
    inner = np.quantile(different, np.linspace(0.0, 1.0, n_terms - degree + 2))
    ends = [float(different[0])] * degree, [float(different[-1])] * degree
    return (*ends[0], *map(float, inner), *ends[1])
