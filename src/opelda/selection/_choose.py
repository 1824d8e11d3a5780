"""How many topics?"""

from collections.abc import Iterable
from typing import Any

from opelda._validation import seed, whole
from opelda.errors import InputError
from opelda.learning._learner import Learner
from opelda.learning.topic_model import TopicModel
from opelda.selection._choice import Choice
from opelda.selection._fits import HELD_OUT, Documents, Progress, measured_fits

GRID = (2, 5, 10, 20, 40, 80, 160)
DOCUMENTS_PER_TOPIC = 25
FEWEST, MOST = 3, 5  # numbers that are tried where none are given


def choose_n_topics(
    X: Any,
    n_topics: Iterable[int] | None = None,
    *,
    model: Any = None,
    n_runs: int = 3,
    held_out: float = HELD_OUT,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Choice:
    """Compare numbers of topics on the same documents, and advise one.

    Each number is learned `n_runs` times. Prediction of held-out words alone would nearly always
    take the largest: it sets the limit, and up to there the number is taken whose topics cohere and
    come again in other runs most (docs/choosing.md).

    Parameters
    ----------
    X : array or sparse matrix (D, V), Corpus, or documents
        What `TopicModel.fit` takes.
    n_topics : iterable of int, optional
        The numbers to try; by default up to five of 2, 5, 10, 20, ..., 160, with at least 25
        documents a topic.
    model : learner of opelda, optional
        Whose other parameters are used; by default ``TopicModel()``. It is not fitted itself.
    n_runs : int
        Runs with each number, 2 or more.
    held_out : float
        Share of the documents, and at most 1,000, to predict words of instead of learning from.
    random_state : int, RandomState, Generator or None
        By default the model's own.
    n_jobs : int or None
        Threads; by default the model's own. Results do not depend on it.
    progress : callable, optional
        Called before each fit with what it is, the fits done and all of them.

    Returns
    -------
    Choice
        `n_topics`, `advice` in a sentence, `table` and `plot()`.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.corpus import generate
    >>> from opelda.selection import choose_n_topics
    >>> X = generate(600, n_words=200, n_topics=5, random_state=0).X
    >>> found = choose_n_topics(X, [2, 5, 10], model=TopicModel(preset="fast", random_state=0))
    >>> found.advice[:13]
    'Take 5 topics'
    """
    template, n_runs, drawn = resolved(model, n_runs, random_state, n_jobs)
    numbers = None if n_topics is None else as_numbers(n_topics)
    documents = Documents.of(X, template, held_out, drawn)
    numbers = numbers or default_numbers(documents.train.shape[0])
    return Choice.of(list(measured_fits(documents, template, numbers, n_runs, drawn, progress)))


def resolved(
    model: Any, n_runs: int, random_state: Any = None, n_jobs: int | None = None
) -> tuple[Any, int, int]:
    """Return the model whose parameters are used, the number of runs and the seed, checked."""
    model = TopicModel() if model is None else model
    if not isinstance(model, Learner):
        raise InputError(
            f"must be a learner such as TopicModel(), got {type(model).__name__}.", "model"
        )
    given: dict[str, Any] = model.get_params(deep=False)
    if n_jobs is not None:
        given["n_jobs"] = n_jobs
    drawn = seed(given["random_state"] if random_state is None else random_state)
    return type(model)(**given), whole("n_runs", n_runs, 2), drawn


def as_numbers(n_topics: Iterable[int]) -> list[int]:
    """Return numbers of topics, each once and in their order."""
    if isinstance(n_topics, str) or not isinstance(n_topics, Iterable):
        raise InputError(f"must be numbers of topics, as [10, 20], got {n_topics!r}.", "n_topics")
    numbers = sorted({whole("n_topics", number) for number in n_topics})
    if len(numbers) < 2:
        raise InputError(f"must be at least two numbers to compare, got {numbers}.", "n_topics")
    return numbers


def default_numbers(n_docs: int) -> list[int]:
    """Return the numbers of topics that are tried for so many documents.

    >>> default_numbers(100), default_numbers(2_000), default_numbers(10**6)
    ([2, 5, 10], [5, 10, 20, 40, 80], [10, 20, 40, 80, 160])
    """
    n_fitting = sum(DOCUMENTS_PER_TOPIC * number <= n_docs for number in GRID)
    return list(GRID[: max(n_fitting, FEWEST)][-MOST:])
