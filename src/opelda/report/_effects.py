"""Regression of topics' shares on columns, with intervals that hold for short documents too."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import stdtr, stdtrit

from opelda._validation import number, whole
from opelda.corpus._design import Columns, Design
from opelda.errors import InputError
from opelda.metrics._top_words import labels_of
from opelda.metrics._topics import chosen_topics
from opelda.report._cross_fitting import cross_fitted
from opelda.report._document_blocks import labelled_blocks
from opelda.report._unmixing import CROSS_FITTED_NOTE, INTERVALS_NOTE, Unmixing
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
    clusters: str | Iterable[Any] | None = None,
    at: str | None = None,
    n_splits: int = 0,
    level: float = 0.95,
    progress: Callable[[str, int, int], None] | None = None,
) -> Table[EffectRow]:
    """Regress the topics' shares of documents on columns.

    Ordinary least squares of unbiased shares, with robust standard errors (HC3, or of clusters;
    docs/covariates.md). If the topics were learned from the same documents, effects are exaggerated
    and intervals too narrow without `n_splits`. Intervals are also too narrow for groups of 10
    documents or fewer. Documents with a missing value or without a known word are excluded.

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
    clusters : str or sequence, optional
        A column, or a value per document, such as its author: documents of a cluster may be alike.
    at : str, optional
        A column of the formula. The rows are then predicted shares, averaged over the documents,
        with this column set to each level, or to 25 values from the least to the largest.
    n_splits : int
        Random splits for cross-fitting, at least 2, for documents that the model has learned from:
        topics are learned again without each third of the documents, and matched to the model's.
        Intervals include the error of topics. Each split takes about the time of two calls of
        `fit`; 3 splits are enough. 0: the model's topics, treated as known.
    progress : callable, optional
        Called before each refit with a description, the refits done and all refits.

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
    whole("n_splits", n_splits, 0)
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
    unmixing, parts, counted = Unmixing(model), [], list[Any]()
    for X, part in labelled_blocks(model, corpus, design):
        shares, has_words = unmixing.shares(X)
        known = has_words & ~np.isnan(part).any(axis=1)
        parts.append((shares[known], part[known], known))
        if n_splits:
            counted.append(X[known])
    shares, design, known = (np.concatenate(some) for some in zip(*parts, strict=True))
    n_docs, wanted, cluster = len(design), None, None
    if clusters is not None:
        given = values[clusters] if isinstance(clusters, str) else list(clusters)
        if len(given) != len(known):
            raise InputError(f"has {len(given)} values for {len(known)} documents.", "clusters")
        cluster = np.unique([str(value) for value in given], return_inverse=True)[1][known]
    # so that the intercept is the share at the means
    means = np.where(are_numbers, design.sum(axis=0) / max(n_docs, 1), 0.0)
    terms = names
    if at is not None:
        names, wanted = _predictions(formula, values, at, known)
        wanted -= means

    def regression(shares: NDArray[np.float64]) -> Regression:
        return least_squares(terms, design - means, shares, wanted, cluster)

    found, note = regression(shares), INTERVALS_NOTE
    if n_splits:
        X = sparse.vstack(counted, "csr")
        how = (lambda Y: regression(Y).estimates, n_splits, cluster, progress)
        shares, variance = cross_fitted(model, X, shares, *how)
        found, note = regression(shares), CROSS_FITTED_NOTE
        found = found._replace(errors=np.sqrt(found.errors**2 + variance))
    quantile = stdtrit(found.n_free, 0.5 + level / 2)  # Student's t
    rows = (
        EffectRow(
            k, labels[k], name, float(b), float(b - quantile * se), float(b + quantile * se),
            float(se), float(2 * stdtr(found.n_free, -abs(b) / se)), n_docs,
        )
        for k in numbers
        for name, b, se in zip(names, found.estimates[:, k], found.errors[:, k], strict=True)
    )  # fmt: skip
    return Table(EffectRow, rows, note)


def _predictions(
    formula: Design, values: Columns, at: str, known: NDArray[np.bool_]
) -> tuple[list[str], NDArray[np.float64]]:
    """Return the settings of a column, and the mean terms of the known documents at each."""
    factor = next((each for each in formula.factors if each.column == at), None)
    if factor is None:
        raise InputError(f"is {at!r}, which is not a column of the formula.", "at")
    # (times are read once)
    table: dict[str, Any] = {
        each.column: values[each.column] if each.levels else values.numbers(each.column)
        for each in formula.factors
    }
    settings: list[Any] = [*factor.levels, *(["(other)"] if factor.has_other else [])]
    if not settings:
        numbers = np.array(table[at])[known]
        settings = np.linspace(numbers.min(), numbers.max(), 25).tolist()
    rows = []
    for setting in settings:
        _, x, _ = formula.matrix(Columns(table | {at: [setting] * len(known)}))
        rows.append(np.append(1.0, x[known].mean(axis=0)))
    names = [f"{at}={each:.8g}" if isinstance(each, float) else f"{at}={each}" for each in settings]
    return names, np.array(rows)


class Regression(NamedTuple):
    """Estimates of a regression and their standard errors, a column for each outcome."""

    estimates: NDArray[np.float64]
    errors: NDArray[np.float64]
    n_free: int  # documents less terms, or clusters less one


def least_squares(
    names: list[str],
    A: NDArray[np.float64],
    Y: NDArray[np.float64],
    wanted: NDArray[np.float64] | None = None,
    cluster: NDArray[np.intp] | None = None,
) -> Regression:
    """Return least squares of the outcomes Y on the columns of A, with HC3 standard errors.

    The rows of `wanted` are combinations of coefficients to estimate instead. With `cluster`, the
    errors are those of the delete-one-cluster jackknife, which is HC3 for single documents
    (MacKinnon & White, "Some heteroskedasticity-consistent covariance matrix estimators with
    improved finite sample properties", 1985).
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
    residuals = Y - A @ estimates
    if cluster is not None:
        changes = _without_clusters(A, residuals, cluster)
        n_free = len(changes) - 1
        errors = np.sqrt(((changes if wanted is None else wanted @ changes) ** 2).sum(axis=0))
    else:
        leverage = np.minimum((Q**2).sum(axis=1), 1.0 - 1e-9)
        pseudo = pseudo if wanted is None else wanted @ pseudo
        errors = np.sqrt(pseudo**2 @ (residuals / (1.0 - leverage)[:, np.newaxis]) ** 2)
    estimates = estimates if wanted is None else wanted @ estimates
    return Regression(estimates, np.maximum(errors, 1e-300), n_free)


def _without_clusters(
    A: NDArray[np.float64], residuals: NDArray[np.float64], cluster: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the change of the coefficients without each cluster (clusters, terms, outcomes)."""
    order = np.argsort(cluster, kind="stable")
    first = np.flatnonzero(np.diff(cluster[order])) + 1
    gram = A.T @ A
    try:
        return np.array(
            [
                np.linalg.solve(gram - A[rows].T @ A[rows], A[rows].T @ residuals[rows])
                for rows in np.split(order, first)
            ]
        )
    except np.linalg.LinAlgError:
        raise InputError(
            "A term is known from one cluster only; remove its column, or the clusters."
        ) from None
