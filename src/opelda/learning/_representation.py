"""Names of topics and documents, and the table of a model in notebooks."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from html import escape
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin

from opelda._names import NAMELESS
from opelda._word_ranking import distinct
from opelda.corpus import Corpus, Vocabulary
from opelda.errors import InputError
from opelda.learning._input_counts import vocabulary_for
from opelda.learning._rules import ML
from opelda.learning._seeds import N_TOP, is_uncovered
from opelda.learning._state import check_words_rest
from opelda.learning._transform import ReadsTopics, heaviest_words
from opelda.learning.editing._edit import changed_labels
from opelda.metrics._top_words import label_topics


class ShowsTopics(  # type: ignore[call-arg]  # before scikit-learn's classes, which are untyped
    ReadsTopics,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    auto_wrap_output_keys=None,  # the `transform` of `ReadsTopics` is wrapped
):
    """The methods of a learner that name topics, words and documents."""

    def set_topic_labels(self, labels: Mapping[int, str | None]) -> Self:
        """Name topics in tables, columns, pages and model files.

        `fit` forgets labels. In a stream, a topic that changes its theme loses its label.

        Parameters
        ----------
        labels : mapping from int to str or None
            Labels by the numbers of topics, each a line of at most 200 characters. None or ""
            removes a label; other topics keep their labels.
        """
        state = self._learned()
        with state.lock.writing():
            state.labels = changed_labels(state.labels, labels, state.weights.n_topics)
        return self

    def set_feature_names(self, names: Iterable[str]) -> Self:
        """Name the words of a model that was fitted on a matrix without names.

        Parameters
        ----------
        names : iterable of str
            A word per column, such as ``vectorizer.get_feature_names_out()``.
        """
        state = self._learned()
        if self._knows_words():
            raise InputError("The model already has a vocabulary; its columns cannot be renamed.")
        with state.lock.writing():
            words = Vocabulary(map(str, names))
            state.vocabulary = vocabulary_for(None, words, state.weights.n_words)
            state.computed = {}
        return self

    def _knows_words(self) -> bool:
        return self._learned().vocabulary is not None or hasattr(self, "feature_names_in_")

    @property
    def topic_labels_(self) -> list[str]:
        """The label of each topic: the given label, else `opelda.report.label_topics`."""
        self._learned()
        check_words_rest(self)
        own, given = self._computed("labels", lambda: label_topics(self)), self._given_labels()
        return [given.get(topic, label) for topic, label in enumerate(own)]

    @property
    def seed_coverage_(self) -> dict[str, tuple[int, int]]:
        """The number of seed words among the 20 top words of each seeded topic, and in total.

        Below half, the topic has another theme: a question mark follows its label.
        """
        state = self._learned()
        seeds = self._seed_topics(state.weights.n_topics)
        if seeds is None or not state.n_updates:
            return {}
        check_words_rest(self)
        seeds = replace(seeds, columns=getattr(self, "feature_names_in_", None))
        words, n_words = state.vocabulary, state.weights.n_words
        found: dict[str, tuple[int, int]] = self._computed(
            "seeds",
            lambda: seeds.coverage(words, heaviest_words(self, min(N_TOP, n_words)), n_words),
        )
        return found

    def _given_labels(self) -> dict[int, str]:
        """Return the given labels, with a question mark for names of uncovered seeds."""
        labels = dict(self._learned().labels)
        for topic, (name, found) in enumerate(self.seed_coverage_.items()):
            if labels.get(topic) == name and is_uncovered(*found):
                labels[topic] = f"{name}?"
        return labels

    def _computed(self, name: str, compute: Callable[[], Any]) -> Any:
        """Compute a value once per version of the topics."""
        state, weights = self._state, self._state.weights
        kept = state.computed.get(name)
        if kept is None or kept[0] is not weights or kept[1] != weights.version:
            # the version of before: a value computed during an update is not reused
            kept = state.computed[name] = (weights, weights.version, compute())
        return kept[2]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform` for `set_output`: the topics' labels.

        Repeated labels include the topic's number: "tea (3)". Without words and labels, names are
        class and number: "topicmodel3". `input_features` must equal the names of `fit`.
        """
        of_texts = self._learned().vocabulary is not None
        names: NDArray[Any] = super().get_feature_names_out(None if of_texts else input_features)
        labels: Mapping[int, str] = self._given_labels()
        if self._knows_words():
            labels = dict(enumerate(self.topic_labels_))
        named = [labels.get(topic) or name for topic, name in enumerate(names)]
        return np.array(distinct(named), dtype=object)

    def transform(self, X: Any, *, embeddings: Any = None, data: Any = None) -> Any:
        return with_names(super().transform(X, embeddings=embeddings, data=data), X)

    transform.__doc__ = ReadsTopics.transform.__doc__

    def _shares(self) -> NDArray[np.float64] | None:
        """Return each topic's share of the tokens; None for the ML rule, which normalises."""
        state = self._learned()
        if isinstance(self._settings()["learning"], ML):
            return None
        # the rows' sums exclude the prior
        mass = np.maximum(state.weights.sums, 0.0)
        if not state.n_updates or not mass.any():  # before the first update
            mass = np.ones(len(mass))
        shares: NDArray[np.float64] = mass / mass.sum()
        return shares

    # the topics below scikit-learn's diagram
    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._topics_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        shown: dict[str, Any] = super()._repr_mimebundle_(**options)
        if "text/html" in shown:
            shown["text/html"] += self._topics_html()
        return shown

    def _topics_html(self) -> str:
        """Return a table of the 20 heaviest topics; every text in it is escaped."""
        if not hasattr(self, "_state"):
            return ""
        try:
            labels, words = self.topic_labels_, self.top_words()
        except InputError:  # another thread is learning words
            return ""
        shares, stability = self._shares(), self.topic_stability_
        order = np.arange(len(labels)) if shares is None else np.argsort(-shares, kind="stable")
        cells = [["topic", "weight", "stability", "label", "words"]]
        for topic in order[:20].tolist():
            weight = "" if shares is None else f"{shares[topic]:.1%}"
            again = "" if stability is None else f"{stability[topic]:.2f}"
            texts = (labels[topic], " ".join(words[topic]))
            cells.append([str(topic), weight, again, *(f"<bdi>{escape(t)}</bdi>" for t in texts)])
        if stability is None:
            cells = [[*row[:2], *row[3:]] for row in cells]
        head, *rows = (
            "".join(f"<{tag}>{cell}</{tag}>" for cell in row)
            for tag, row in zip(["th"] + ["td"] * len(order), cells, strict=False)
        )
        which = f"{len(rows)} of {len(labels):,} topics" if len(rows) < len(labels) else "Topics"
        which += "" if shares is None else ", heaviest first"
        which += "" if self._knows_words() else f". {NAMELESS}"
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return (
            f"<table><caption>{which}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )


def with_names(found: Any, X: Any) -> Any:
    """Set the index of a pandas frame of mixtures: a frame's index, or a corpus's names."""
    if not hasattr(found, "set_axis"):
        return found
    names = X.names if isinstance(X, Corpus) else X.index if hasattr(X, "iloc") else None
    return found if names is None else found.set_axis(names, axis=0)
