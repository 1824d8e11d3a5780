"""Topics as they were given, beside the form that inference wants, and mixtures by them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opelda.engines import Engine
from opelda.inference import Method, Topics, infer
from opelda.inference._infer import as_method
from opelda.inference._inputs import as_batch, as_prior, as_seed


@dataclass(frozen=True)
class Given:
    """Topics to measure with.

    Attributes
    ----------
    table : Topics
        Laid out for inference, in single precision.
    weights : float array (K, V)
        As they were given.

    Examples
    --------
    >>> Given.of([[0.9, 0.1]]).weights
    array([[0.9, 0.1]])
    """

    table: Topics
    weights: NDArray[Any]

    @classmethod
    def of(cls, topics: Topics | ArrayLike) -> "Given":
        """Check topics; an array of single or double precision stays one."""
        if isinstance(topics, Topics):
            return cls(topics, topics.components)
        dense: Any = topics.toarray() if hasattr(topics, "toarray") else topics
        table = Topics(dense)
        array = np.asarray(dense)
        # whole numbers, fractions and texts of numbers are topics, too
        return cls(table, array if array.dtype == np.float32 else array.astype(np.float64))

    def mixtures(
        self,
        X: Any,
        *,
        doc_topic_prior: ArrayLike | None,
        method: str | Method,
        random_state: Any,
        n_jobs: int | None,
        engine: str | Engine,
    ) -> NDArray[Any]:
        """Infer theta (D, K); by the reference from the topics and the prior in double precision.

        `infer` has single precision there too, and rounds what it returns.
        """
        if engine != "reference":
            return infer(
                X,
                self.table,
                doc_topic_prior=doc_topic_prior,
                method=method,
                random_state=random_state,
                n_jobs=n_jobs,
                engine=engine,
            ).theta
        alpha = as_prior(doc_topic_prior, self.table.n_topics)
        batch: Any = as_batch(X, self.table, alpha)
        batch = replace(batch, rows=self.weights.T, alpha=alpha)
        solution = as_method(method).solve_reference(batch, as_seed(random_state))
        theta: NDArray[Any] = np.asarray(solution.theta)
        theta[np.diff(batch.indptr) == 0] = alpha / alpha.sum()
        return theta
