"""Regression of topics' shares on columns, with intervals that hold for short documents too."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from opelda._validation import number
from opelda.corpus._kinds import is_missing
from opelda.errors import InputError
from opelda.metrics._top_words import labels_of
from opelda.metrics._topics import chosen_topics
from opelda.report._document_blocks import column_of, labelled_blocks
from opelda.report._times import TimeReader, group_bins
from opelda.report._unmixing import INTERVALS_NOTE, Unmixing
from opelda.report.rows import EffectRow, Table

INTERCEPT = "intercept"
MOST_LEVELS, FEWEST = 20, 10  # levels of a column, documents of a level


def estimate_effect(
    model: Any,
    corpus: Any,
    columns: str | Iterable[str] | Mapping[str, Any],
    *,
    topics: Iterable[int] | None = None,
    categorical: Iterable[str] = (),
    level: float = 0.95,
) -> Table[EffectRow]:
    """Regress the topics' shares of documents on columns.

    Ordinary least squares of unbiased shares, with heteroskedasticity-robust standard errors (HC3;
    docs/covariates.md). Intervals are too narrow if the topics were learned from the same
    documents, and for groups of 10 documents or fewer. Documents with a missing value or without a
    known word are excluded.

    Parameters
    ----------
    model, corpus, topics, level
        As for `topics_over_time`.
    columns : str, iterable of str, mapping or data frame
        Names of columns of the corpus's `metadata`, or values by name, one for each document.
        Numbers are used unchanged, times in years. Other values are categorical: at most 20
        levels of 10 documents or more, compared with the most frequent, and ``(other)``.
    categorical : iterable of str
        Columns of numbers or times to use as categories.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> texts = ["cats chase dogs"] * 30 + ["bonds rise and fall"] * 30
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> pets = ["pets"] * 30 + ["money"] * 25 + ["pets"] * 5
    >>> rows = estimate_effect(model, texts, {"section": pets})
    >>> [row.term for row in rows[:2]], max(round(row.estimate, 1) for row in rows)
    (['intercept', 'section=money'], 0.9)
    """
    level = number("level", level, 0.0, 0.9999, above=True)
    labels = labels_of(model)
    numbers = chosen_topics(topics, len(labels))
    names, design, are_numbers = _design(corpus, columns, set(categorical))
    unmixing, parts = Unmixing(model), []
    for X, part in labelled_blocks(model, corpus, design):
        shares, has_words = unmixing.shares(X)
        known = has_words & ~np.isnan(part).any(axis=1)
        parts.append((shares[known], part[known]))
    shares, design = (np.concatenate(some) for some in zip(*parts, strict=True))
    n_docs = len(design)
    # so that the intercept is the share at the means
    design[:, are_numbers] -= design[:, are_numbers].sum(axis=0) / max(n_docs, 1)
    found = least_squares(names, design, shares)
    quantile = stdtrit(found.n_free, 0.5 + level / 2)  # Student's t
    rows = (
        EffectRow(
            k, labels[k], name, float(b), float(b - quantile * se), float(b + quantile * se),
            float(se), float(2 * stdtr(found.n_free, -abs(b) / se)), n_docs,
        )
        for k in numbers
        for name, b, se in zip(names, found.estimates[:, k], found.errors[:, k], strict=True)
    )  # fmt: skip
    return Table(EffectRow, rows, INTERVALS_NOTE)


class Regression(NamedTuple):
    """Coefficients of a regression and their standard errors, a column for each outcome."""

    estimates: NDArray[np.float64]
    errors: NDArray[np.float64]
    n_free: int  # documents less terms


def least_squares(names: list[str], A: NDArray[np.float64], Y: NDArray[np.float64]) -> Regression:
    """Return least squares of the outcomes Y on the columns of A, with HC3 standard errors.

    MacKinnon & White, "Some heteroskedasticity-consistent covariance matrix estimators with
    improved finite sample properties" (1985).
    """
    n_free = A.shape[0] - A.shape[1]
    if n_free < 1:
        raise InputError(
            f"There are {A.shape[0]} documents with words and all values for {A.shape[1]} "
            "terms; pass more documents or fewer columns."
        )
    Q, R = np.linalg.qr(A)
    # the last of linearly dependent columns has a residual of about 0
    for j in np.flatnonzero(np.abs(np.diag(R)) <= 1e-9 * np.linalg.norm(A, axis=0)):
        raise InputError(
            f"The term {names[j]!r} is constant or a linear combination of other terms; "
            "remove its column."
        )
    pseudo = np.linalg.solve(R, Q.T)
    estimates = pseudo @ Y
    leverage = np.minimum((Q**2).sum(axis=1), 1.0 - 1e-9)
    residuals = (Y - A @ estimates) / (1.0 - leverage)[:, np.newaxis]
    errors = np.sqrt(pseudo**2 @ residuals**2)
    return Regression(estimates, np.maximum(errors, 1e-300), n_free)


def _design(
    corpus: Any, columns: Any, categorical: set[str]
) -> tuple[list[str], NDArray[np.float64], NDArray[np.bool_]]:
    """Return the terms, a row for each document, and which are of numbers; NaN is missing."""
    given = [columns] if isinstance(columns, str) else columns
    by_name = (
        {str(name): given[name] for name in getattr(given, "columns", given)}
        if hasattr(given, "keys") or hasattr(given, "columns")
        else {name: column_of(corpus, name, "value") for name in given}
    )
    if not by_name:
        raise InputError("is empty; pass at least one column.", "columns")
    for name in sorted(categorical - by_name.keys()):
        raise InputError(f"has {name!r}, which is not a column of the corpus.", "categorical")
    names, are_numbers, parts = [INTERCEPT], [False], list[Any]()
    for name, values in by_name.items():
        plain = values.to_list() if hasattr(values, "to_list") else list(values)
        numbers = None if name in categorical else _numbers(plain)
        terms = _levels(name, plain) if numbers is None else {name: numbers}
        names += terms.keys()
        are_numbers += [numbers is not None] * len(terms)
        parts += terms.values()
    sizes = {len(part) for part in parts}
    if len(sizes) != 1:
        raise InputError("have different lengths; pass one value per document.", "columns")
    return names, np.column_stack([np.ones(sizes.pop()), *parts]), np.array(are_numbers)


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
    reader = TimeReader()
    try:
        moments = reader.read(known)
    except InputError:
        return None
    reader.warn()
    return [np.nan if moment is None else moment.toordinal() / 365.2425 for moment in moments]


def _levels(name: str, values: list[Any]) -> dict[str, NDArray[np.float64]]:
    """Return a term of zeros and ones for each level but the most frequent."""
    levels, index, _ = group_bins(values, len(values))
    sizes = np.bincount(index[index >= 0], minlength=len(levels))
    n_kept = min(int((sizes >= FEWEST).sum()), MOST_LEVELS)  # the largest come first
    if n_kept + (n_kept < len(levels)) < 2:
        raise InputError(
            f"The column {name!r} has fewer than two levels of {FEWEST} documents; remove the "
            "column."
        )
    missing = np.where(index < 0, np.nan, 0.0)
    terms = {f"{name}={levels[i]}": missing + (index == i) for i in range(1, n_kept)}
    if n_kept < len(levels):
        terms[f"{name}=(other)"] = missing + (index >= n_kept)
    return terms
