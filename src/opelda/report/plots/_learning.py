"""Figures of how a model learned, and of how mixtures were inferred."""

from typing import Any

import numpy as np

from opelda.errors import InputError
from opelda.report.plots._style import LINES, new_axes, styled, tidy


@styled
def plot_learning(model: Any, *, ax: Any = None) -> Any:
    """Draw how the score went while the model learned.

    Parameters
    ----------
    model : fitted model
        With a `learning_curve_`.
    ax : Axes, optional
        By default that of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from opelda import TopicModel
    >>> from opelda.corpus import generate
    >>> from opelda.report import plot_learning
    >>> X = generate(500, n_words=50, n_topics=3).X
    >>> plot_learning(TopicModel(3, random_state=0).fit(X)).get_xlabel()
    'documents seen, in each pass'
    """
    curve = list(getattr(model, "learning_curve_", ()))
    if not curve:
        raise InputError("This model has no learning curve: it was learned by an earlier version.")
    documents, scores = np.array(curve, np.float64).T
    axis = new_axes(6.4, 3.6)[0, 0] if ax is None else ax
    axis.plot(documents, scores, "-o", color=LINES[0][0], ms=4, lw=1.6)
    if documents[-1] > 300 * documents[0] > 0:
        axis.set_xscale("log")
    else:
        axis.set_xlim(left=0)
        axis.locator_params(axis="x", nbins=5)
        axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.set_xlabel("documents seen, in each pass")
    axis.set_ylabel(f"log probability of a token of\n{model.learning_curve_of_}")
    tidy(axis)
    return axis


@styled
def plot_history(found: Any, *, ax: Any = None) -> Any:
    """Draw how far mixtures were from the most likely ones, iteration by iteration.

    Parameters
    ----------
    found : Inference
        As ``infer(..., history=True)`` returns it.
    ax : Axes, optional
        By default that of a new figure.

    Returns
    -------
    Axes
        Means over documents of the gap and of the loss.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from opelda.inference import infer
    >>> from opelda.report import plot_history
    >>> found = infer([[4, 0, 2]], [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], history=True)
    >>> [line.get_label() for line in plot_history(found).lines]
    ['gap', 'loss']
    """
    history = getattr(found, "history", None)
    if history is None:
        raise InputError("has no history; infer with history=True.", "found")
    axis = new_axes(6.4, 3.6)[0, 0] if ax is None else ax
    for name, (colour, _, dash) in zip(("gap", "loss"), LINES, strict=False):
        means = getattr(history, name).mean(axis=1)
        axis.plot(history.n_iter, means, dash, color=colour, lw=1.6, label=name)
    axis.set_yscale("log")
    axis.set_xlabel(f"iterations of {found.method.name}")
    axis.set_ylabel("nats, mean over documents")
    axis.legend()
    tidy(axis)
    return axis
