"""Regression of topics' shares on columns, with intervals that hold for short documents too."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from opelda._validation import number
from opelda.corpus._design import Columns, Design
from opelda.errors import InputError
from opelda.metrics._top_words import labels_of
from opelda.metrics._topics import chosen_topics
from opelda.report._document_blocks import labelled_blocks
from opelda.report._unmixing import INTERVALS_NOTE, Unmixing
from opelda.report.rows import EffectRow, Table

INTERCEPT = "intercept"


def estimate_effect(
    model: Any,
    corpus: Any,
    columns: str | Iterable[str] | Mapping[str, Any],
    *,
    data: Any = None,
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
        A formula such as ``"party * s(year)"``, names of columns, or values by name, one for each
        document. ``a * b`` includes the product of both, ``s(year, 5)`` is a cubic spline of five
        terms. Numbers are used unchanged, times in years. Other values are categorical: at most 20
        levels of 10 documents or more, compared with the most frequent, and ``(other)``.
    data : mapping or data frame, optional
        The columns of a formula; None: the corpus's `metadata`.
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
    if hasattr(columns, "keys") or hasattr(columns, "columns"):
        data, columns = columns, [str(name) for name in getattr(columns, "columns", columns)]
    values = Columns(data, corpus)
    formula = Design.of(columns, values, categorical=set(categorical))
    for name in sorted(set(categorical) - set(formula.columns)):
        raise InputError(f"has {name!r}, which is not a column of the corpus.", "categorical")
    names, design, are_numbers = formula.matrix(values)
    names, design = [INTERCEPT, *names], np.column_stack((np.ones(len(design)), design))
    are_numbers = np.concatenate(([False], are_numbers))
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
