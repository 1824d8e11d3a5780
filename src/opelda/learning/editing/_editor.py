"""Merging, removing and splitting topics of a learned model."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import learning
from opelda._count_matrix import additive
from opelda._validation import whole
from opelda.engines.seam import MIXTURES, HostWeights, Weights
from opelda.errors import InputError
from opelda.learning._seeds import renumbered
from opelda.learning._state import State, learns_alone
from opelda.learning._transform import ReadsTopics
from opelda.learning.editing._edit import Edit, topic_number
from opelda.learning.streaming._window import Assignments

P = ParamSpec("P")
R = TypeVar("R")


def edits(method: Callable[P, R]) -> Callable[P, R]:
    """Let a method change topics that nobody is learning."""
    return learns_alone(method, in_callbacks=False)


class EditsTopics(ReadsTopics):
    """The part of a learner that changes its topics in place.

    ``copy.deepcopy(model)`` keeps the former model. `n_components`, alpha and eta follow.
    """

    @edits
    def merge_topics(self, groups: Iterable[Sequence[int]] | Sequence[int]) -> dict[int, int]:
        """Merge topics: weights and alphas add up, the larger eta counts.

        The merged topic gets the lowest number and the label of the heaviest labelled topic; later
        topics move up.

        Parameters
        ----------
        groups : list of lists of int
            The numbers of the topics to merge, at least two per list; a single list is accepted.

        Returns
        -------
        dict from int to int
            The new number of each former topic.

        Examples
        --------
        >>> from opelda import OnlineOPE
        >>> from opelda.corpus import generate
        >>> model = OnlineOPE(5, random_state=0).fit(generate(200, n_words=50, n_topics=3).X)
        >>> model.merge_topics([[1, 3], [2, 4]])
        {0: 0, 1: 1, 2: 2, 3: 1, 4: 2}
        """
        state = self._editable()
        given: list[Any] = list(groups) if isinstance(groups, Iterable) else [groups]
        lists = [given] if all(np.ndim(part) == 0 for part in given) else given
        checked = [self._numbers(part, "merge") for part in lists]
        for group in checked:
            if len(group) < 2:
                raise InputError(
                    f"Topic {group[0]} is alone in its group; pass at least two topics to merge."
                )
        self._numbers([topic for group in checked for topic in group], "merge")
        edit, window = Edit.merging(checked, state.weights.sums), state.window
        return self._apply(edit, None if window is None else edit.numbers[window.kept.topics])

    @edits
    def remove_topics(self, topics: Iterable[int]) -> dict[int, int]:
        """Remove topics and their weights; the topics after them move up.

        In a stream learned by sweeps, the tokens of the removed topics in recent documents are
        reassigned to the most likely topics given the other tokens of the document.

        Parameters
        ----------
        topics : list of int
            The numbers of the topics to remove; at least one topic must remain.

        Returns
        -------
        dict from int to int
            The new number of each remaining topic.

        Examples
        --------
        >>> from opelda import OnlineOPE
        >>> from opelda.corpus import generate
        >>> model = OnlineOPE(4, random_state=0).fit(generate(200, n_words=50, n_topics=3).X)
        >>> model.remove_topics([1])
        {0: 0, 2: 1, 3: 2}
        """
        state = self._editable()
        gone = self._numbers(topics, "remove")
        if len(gone) == state.weights.n_topics:
            raise InputError("No topic would be left; keep at least one topic.")
        edit, window, tokens = Edit.removing(gone, state.weights.sums), state.window, None
        if window is not None:
            beta = self._engine().read(state.weights)
            tokens = edit.numbers[likeliest_topics(window.kept, gone, beta, window.alpha)]
        return self._apply(edit, tokens)

    @edits
    def split_topic(self, topic: int, documents: Any = None, *, into: int = 2) -> list[int]:
        """Split a topic by the words that occur together in documents.

        A small `TopicModel` learns from the topic's expected tokens, and each word's weight is
        divided as its tokens are: merging the parts restores the topic. Other topics keep their
        numbers; the topic's label is lost.

        Parameters
        ----------
        topic : int
        documents : as for `transform`, optional
            Documents, best hundreds, that contain the topic. The default is the last documents of a
            stream learned by sweeps.
        into : int
            The number of parts.

        Returns
        -------
        list of int
            The numbers of the parts, heaviest first: the number of the topic, then new numbers
            after all others.

        Examples
        --------
        >>> from opelda import OnlineOPE
        >>> from opelda.corpus import generate
        >>> X = generate(300, n_words=50, n_topics=3, separated=True).X
        >>> model = OnlineOPE(2, random_state=0).fit(X)
        >>> model.split_topic(0, X)
        [0, 2]
        """
        state = self._editable()
        number = topic_number(topic, state.weights.n_topics, "split")
        n_parts, window, engine = whole("into", into, 2, 100), state.window, self._engine()
        n_words = state.weights.n_words
        own = None if window is None else token_counts(window.kept, number, n_words)
        if documents is not None:
            given, found, _ = self._inferred(additive(documents), MIXTURES, MIXTURES)
            counts = expected_counts(given.matrix, found.theta, engine.read(state.weights), number)
        elif own is not None:
            counts = own
        else:
            raise InputError(
                f"This {type(self).__name__} stores no documents to split topic {number} with; "
                "pass documents that contain this topic."
            )
        words = state.weights.host().rows[:, number]
        machine = {"engine": self.engine, "n_jobs": self.n_jobs}
        parts = parts_of(counts, words, n_parts, state.seed, **machine)
        edit = Edit.splitting(number, state.weights.n_topics, parts.shares, parts.sizes)
        topics = None
        if window is not None and own is not None:
            tokens: Any = engine.tokens(engine.documents(own), n_parts)
            engine.sweep(parts.weights, tokens, parts.sizes, seed=state.seed, n_draws=5)
            topics = window.kept.topics.astype(np.int64)
            topics[topics == number] = np.array(edit.parts)[tokens.topics]
        self._apply(edit, topics)
        return list(edit.parts)

    def _editable(self) -> State:
        state: State = self._learned()
        self._check_topics(state)
        return state

    def _numbers(self, topics: Any, to: str) -> list[int]:
        if not np.ndim(topics) and not isinstance(topics, Iterable):
            topics = [topics]
        found = [topic_number(topic, self._state.weights.n_topics, to) for topic in topics]
        if not found:
            raise InputError(f"No topics to {to}; pass topic numbers.")
        twice = sorted(topic for topic in set(found) if found.count(topic) > 1)
        if twice:
            raise InputError(f"Duplicate topic {twice[0]}; pass each topic once.")
        return found

    def _apply(self, edit: Edit, tokens: NDArray[np.integer] | None = None) -> dict[int, int]:
        """Edit the state and the parameters per topic; a window's tokens get these topics."""
        state: State = self._state
        edit = replace(edit, tokens=tokens)
        host = state.weights.host()
        prior = edit.largest(np.asarray(host.prior)) if np.ndim(host.prior) == 2 else host.prior
        host = replace(host, rows=edit.added(host.rows, edit.shares), prior=prior, sums=None)
        made = self._engine().weights(host)
        parameters: dict[str, Any] = {"n_components": edit.n_topics}
        if np.ndim(self.doc_topic_prior) == 1:
            parameters["doc_topic_prior"] = edit.added(np.asarray(self.doc_topic_prior, float))
        word_prior: Any = getattr(self, "topic_word_prior", None)
        if np.ndim(word_prior) == 2:
            etas = np.asarray(word_prior, float).T
            parameters["topic_word_prior"] = edit.largest(etas).T
        seeds = getattr(self, "seeds", None)
        if seeds is not None:
            parameters["seeds"] = renumbered(seeds, edit.mapping)
        parts = state.changed("edited", edit)
        with state.lock.writing():
            state.weights = made
            state.update(parts)
            for name, value in parameters.items():
                setattr(self, name, value)
        return edit.mapping


def likeliest_topics(
    kept: Assignments, gone: Sequence[int], topics: NDArray[Any], alpha: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the tokens' topics, with tokens of removed topics in their likeliest topics.

    These maximise (N_dk + alpha_k) beta_kj, where N_dk counts the document's other tokens; `topics`
    is beta (K, V).
    """
    found, words = kept.topics.astype(np.int64), kept.token_words
    documents = np.repeat(np.arange(kept.rows.n_docs), np.diff(kept.ends))
    cells, shape = (np.ones(len(found)), (documents, found)), (kept.rows.n_docs, len(alpha))
    mixtures = sparse.csr_array(sparse.coo_array(cells, shape=shape))
    stays = np.ones(len(alpha))
    stays[list(gone)] = 0.0
    lost, at_once = np.flatnonzero(np.isin(found, gone)), max(1, 2**22 // len(alpha))
    for first in range(0, len(lost), at_once):
        at = lost[first : first + at_once]
        scores = (mixtures[documents[at]].toarray() + alpha) * stays * topics[:, words[at]].T
        found[at] = scores.argmax(axis=1)
    return found


class Parts(NamedTuple):
    """Parts of a topic, the heaviest first."""

    weights: Weights  # of the parts alone
    shares: NDArray[np.float64]  # (V, parts) of each word's weight in the topic
    sizes: NDArray[np.float64]  # (parts,) of the topic; they sum to 1


def expected_counts(
    X: sparse.csr_array, theta: NDArray[Any], topics: NDArray[Any], topic: int
) -> sparse.csr_array:
    """Return the expected counts of a topic, d_j theta_dk beta_kj / sum_k theta_dk beta_kj."""
    data, at_once = np.zeros(X.nnz), 1024  # documents
    for first in range(0, X.shape[0], at_once):
        ends = X.indptr[first : first + at_once + 1]
        here = slice(int(ends[0]), int(ends[-1]))
        documents = np.repeat(np.arange(first, first + len(ends) - 1), np.diff(ends))
        words, slots = np.unique(X.indices[here], return_inverse=True)
        beta = np.ascontiguousarray(topics[:, words].T, np.float64)
        all_ = np.einsum("ik,ik->i", theta[documents], beta[slots])
        own = theta[documents, topic] * beta[slots, topic]
        data[here] = X.data[here] * own / np.maximum(all_, 1e-300)
    data[data < 0.05] = 0.0  # so little of a token is no sign of the topic
    found = sparse.csr_array((data, X.indices, X.indptr), shape=X.shape, copy=True)
    found.eliminate_zeros()
    return found


def token_counts(kept: Assignments, topic: int, n_words: int) -> sparse.csr_array:
    """Return how many tokens of each document are of a topic, by word."""
    documents = np.repeat(np.arange(kept.rows.n_docs), np.diff(kept.ends))
    own = kept.topics == topic
    cells = np.ones(int(own.sum()), np.float32), (documents[own], kept.token_words[own])
    shape = kept.rows.n_docs, n_words
    return sparse.csr_array(sparse.coo_array(cells, shape=shape))


def parts_of(
    counts: sparse.csr_array, weights: NDArray[Any], n_parts: int, seed: int, **machine: Any
) -> Parts:
    """Learn the parts of a topic from its token counts; `weights` are its words' weights."""
    # words of one document come together: it needs two tokens
    told = counts[np.flatnonzero(counts.sum(axis=1) >= 2.0)]
    if told.shape[0] < n_parts:
        raise InputError(
            f"Only {told.shape[0]} documents have at least two tokens of the topic, too few to "
            f"split it into {n_parts} topics; pass more documents that contain this topic."
        )
    words = np.unique(told.indices)
    # A small alpha, as most documents are about one part. A learned alpha would first give a part
    # to common words.
    model = learning.TopicModel(n_parts, doc_topic_prior=0.1, random_state=seed, **machine)
    model.fit(told[:, words])
    host = model._state.weights.host()
    rows = np.zeros((counts.shape[1], n_parts), np.float32)
    rows[words] = host.scale * host.rows
    prior = np.full(counts.shape[1], np.mean(host.prior), np.float32)
    prior[words] = host.prior
    sizes = rows.sum(axis=0, dtype=np.float64)
    sizes /= sizes.sum()
    shares = rows + prior[:, np.newaxis] * sizes
    shares /= shares.sum(axis=1, keepdims=True)
    order = np.argsort(-(weights @ shares), kind="stable")
    made = model._engine().weights(HostWeights(rows[:, order], prior, 1.0, 1.0))
    return Parts(made, shares[:, order], sizes[order])
