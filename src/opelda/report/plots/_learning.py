"""Figures of how a model learned."""

from typing import Any

import numpy as np

from opelda.errors import InputError
from opelda.report.plots._style import BLUE, new_axes, styled, tidy


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
    'documents learned from'
    """
    curve = list(getattr(model, "learning_curve_", ()))
    if not curve:
        raise InputError("This model has no learning curve: it was learned by an earlier version.")
    documents, scores = np.array(curve, np.float64).T
    axis = new_axes(6.4, 3.6)[0, 0] if ax is None else ax
    axis.plot(documents, scores, "-o", color=BLUE, ms=4, lw=1.6)
    if documents[-1] > 300 * documents[0] > 0:
        axis.set_xscale("log")
    else:
        axis.set_xlim(left=0)
        axis.locator_params(axis="x", nbins=5)
        axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.set_xlabel("documents learned from")
    axis.set_ylabel(f"log probability of a token of\n{model.learning_curve_of_}")
    tidy(axis)
    return axis
