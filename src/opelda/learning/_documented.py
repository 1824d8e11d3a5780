"""The learners' docstrings: what each is, then what all have in common."""

from typing import TypeVar

from opelda.learning._families import ATTRIBUTES, PARAMETERS, OnlineLearner, StreamingLearner

Class = TypeVar("Class", bound=type)

POPULATION = """
    population : float or None
        D, the number of documents that the topics are to stand for (population VB, McInerney et
        al. 2015). None: the collection's size in `fit`, the documents seen so far in streams."""

KEEP_START = """
    keep_start : bool
        Keep the random start in lambda for ever, as the paper writes it. For comparison only."""

EXAMPLE = """

    Examples
    --------
    >>> from opelda import {name}
    >>> from opelda.corpus import generate
    >>> X = generate(500, n_words=60, n_topics=3, separated=True).X
    >>> model = {name}(n_components=3, batch_size=50, random_state=0).fit(X)
    >>> model.components_.shape, model.transform(X).shape
    ((3, 60), (500, 3))"""


def documented(cls: Class) -> Class:
    """Append the common parameters and attributes, and an example, to a learner's docstring."""
    extra = ""
    if issubclass(cls, OnlineLearner):
        extra = POPULATION
    elif issubclass(cls, StreamingLearner):
        extra = KEEP_START
    example = EXAMPLE.format(name=cls.__name__)
    cls.__doc__ = (cls.__doc__ or "").rstrip() + "\n" + PARAMETERS + extra + ATTRIBUTES + example
    return cls
