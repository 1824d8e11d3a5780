"""A topic model of labelled documents that classifies others."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin

from opelda._validation import whole
from opelda.engines.seam import MIXTURES, Documents
from opelda.errors import InputError
from opelda.learning._classes import Classes
from opelda.learning._learner import Given, listed
from opelda.learning._plan import Plan
from opelda.learning._prevalence import Prevalence, RowPriors
from opelda.learning._seeding import begin
from opelda.learning._state import State
from opelda.learning.topic_model import TopicModel


@listed
@dataclass(eq=False, repr=False, kw_only=True)
class TopicClassifier(ClassifierMixin, TopicModel):  # type: ignore[misc]  # untyped
    """Topics of labels, and free topics: labelled LDA (Ramage et al. 2009) for partial labels.

    A labelled document has the topics of its labels and free topics; a document without a label has
    all topics. `predict` returns the label whose topics explain most of a document.

    Parameters
    ----------
    n_components : int
        K, the number of topics: those of labels come first, in the order of `classes_`.
    topics_per_label : int
        Topics of each label.
    preset, inference, learning, batch_size, n_passes, n_sweeps : as for `TopicModel`
        Sweeps are needed.
    doc_topic_prior, topic_word_prior, transform_method, max_loss : as for `TopicModel`
    n_groups, n_runs, seeds : as for `TopicModel`
        They have no use here.
    sparse_output, engine, n_jobs, random_state, verbose, callbacks : as for `TopicModel`

    Attributes
    ----------
    classes_ : array (L,)
        The labels, sorted.

    Examples
    --------
    >>> from opelda import TopicClassifier
    >>> texts = ["the green tea", "black tea with milk", "red wine", "a dry white wine"] * 50
    >>> drinks = ["tea", None, None, "wine"] * 50
    >>> model = TopicClassifier(3, random_state=0).fit(texts, drinks)
    >>> model.predict(["milk and tea", "a red wine"]).tolist()
    ['tea', 'wine']
    """

    topics_per_label: int = 1

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return np.array(self._classes().labels)

    def _classes(self) -> Classes:
        found = self._learned().classes
        if found is None:
            raise InputError("The model has no labels; fit it with labels.")
        return found

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Learn topics of labels and free topics.

        Parameters
        ----------
        X : as for `TopicModel.fit`
        y : sequence
            A label per document: text or a number, a set or list of several, or None without.
        options
            `vocabulary`, `validation` and `validate_every` of `TopicModel.fit`.
        """
        if y is None:
            raise InputError("is missing; pass a label per document, None for unknown.", "y")
        self._labels = Classes.of(
            y, self.n_components, whole("topics_per_label", self.topics_per_label)
        )
        try:
            super().fit(X, **options)
            self._state.classes = self._labels[0]
        finally:
            del self._labels
        return self

    def _rows(
        self, X: Any, plan: Plan, how: Given, n_docs: int
    ) -> tuple[Prevalence | None, RowPriors | None]:
        for name, given in vars(how).items():
            if given is not None and name != "validate_every":
                raise InputError("cannot be combined with labels.", name)
        if not plan.schedule.n_sweeps:
            raise InputError("needs sweeps; use the preset 'best', or n_sweeps.", "preset")
        classes, member = self._labels
        if len(member) != n_docs:
            raise InputError(f"has {len(member)} labels for {n_docs} documents.", "y")
        sets, row = np.unique(member, axis=0, return_inverse=True)
        return None, RowPriors(row.ravel().astype(np.uint16), classes.allowed(sets))

    def _begun(self, plan: Plan, documents: Documents, words: Any) -> State:
        """Start the topics of a label from its documents, in turns."""
        state = plan.start(documents.n_words)
        state.vocabulary = words
        classes, member = self._labels
        given = {}
        for own, topics in zip(member.T, classes.topics, strict=True):
            numbers = np.flatnonzero(topics)
            for i, topic in enumerate(numbers.tolist()):
                rows = np.flatnonzero(own)[i :: len(numbers)]
                sums = documents.matrix[rows].sum(axis=0)[np.newaxis, :]
                if sums.any():
                    given[topic] = sparse.csr_array(sums.astype(np.float64))
        begin(plan, state, documents, given)
        state.labels = classes.names
        return state

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the share of each label (D, L) among the topics of labels."""
        topics = self._classes().topics
        _, found, _ = self._inferred(X, MIXTURES, MIXTURES)
        shares = np.asarray(found.theta, np.float64) @ topics.T
        total = shares.sum(axis=1, keepdims=True)
        even = 1.0 / shares.shape[1]
        return np.asarray(np.where(total > 0.0, shares / np.maximum(total, 1e-300), even))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label with the largest share of each document."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def score(self, X: Any, y: Any = None, **options: Any) -> float:
        """Return the accuracy of `predict`; without y, the score of `TopicModel`."""
        if y is None:
            return super(ClassifierMixin, self).score(X, **options)
        return float(np.mean(self.predict(X) == np.asarray(y)))
