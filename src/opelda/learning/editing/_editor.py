"""Topics edited by people: merged, removed, split; learning goes on from what is left."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import learning
from opelda._count_matrix import additive
from opelda._validation import whole
from opelda.engines import Engine
from opelda.engines.seam import MIXTURES, HostWeights, Weights
from opelda.errors import InputError
from opelda.learning._seeds import renumbered
from opelda.learning._state import State, learns_alone
from opelda.learning._transform import ReadsTopics
from opelda.learning.editing._edit import Edit
from opelda.learning.editing._topic_labels import topic_number
from opelda.learning.streaming._window import Assignments

P = ParamSpec("P")
R = TypeVar("R")
CELLS_AT_ONCE = 2**22  # of documents times topics
# Less of a token than this is no sign of the topic, and a document with less than two tokens of it
# says nothing of what goes together.
LEAST_OF_TOKEN, LEAST_TOKENS = 0.05, 2.0
# Small, for most documents are about one of the parts; and given: one that is learned would begin
# by giving a part to common words.
PART_PRIOR = 0.1


def edits(method: Callable[P, R]) -> Callable[P, R]:
    """Let a method change topics that nobody is learning."""
    return learns_alone(method, in_callbacks=False)


class EditsTopics(ReadsTopics):
    """The part of a learner that changes its topics as people want them.

    All in place; ``copy.deepcopy(model)`` keeps the former one. `n_components` is what is left, and
    alpha and eta that were given per topic go along.
    """

    @edits
    def merge_topics(self, groups: Iterable[Sequence[int]] | Sequence[int]) -> dict[int, int]:
        """Merge topics: weights and alphas add up, the larger eta counts.

        The merged topic has the lowest number, and the label of the heaviest topic that has one;
        later topics move up. (By the ML rule topics have no shares, and count alike.)

        Parameters
        ----------
        groups : list of lists of int
            The numbers of the topics to merge, at least two in each list; or one such list.

        Returns
        -------
        dict from int to int
            The number of each former topic from now on.

        Examples
        --------
        >>> from opelda import OnlineOPE
        >>> from opelda.corpus import generate
        >>> X = generate(200, n_words=50, n_topics=3).X
        >>> model = OnlineOPE(5, random_state=0).fit(X)
        >>> model.merge_topics([[1, 3], [2, 4]])
        {0: 0, 1: 1, 2: 2, 3: 1, 4: 2}
        >>> model.components_.shape, model.transform(X).shape
        ((3, 50), (200, 3))
        """
        state = self._learned()
        self._check_topics(state)
        given: list[Any] = list(groups) if isinstance(groups, Iterable) else [groups]
        lists = [given] if all(np.ndim(part) == 0 for part in given) else given
        checked = [self._numbers(part, "merge") for part in lists]
        for group in checked:
            if len(group) < 2:
                raise InputError(f"Topic {group[0]} is alone; name two topics or more to merge.")
        _check_once([topic for group in checked for topic in group])
        edit = Edit.merging(checked, state.weights.sums)
        if state.window is not None:
            edit = replace(edit, tokens=edit.numbers[state.window.kept.topics])
        return self._apply(edit)

    @edits
    def remove_topics(self, topics: Iterable[int]) -> dict[int, int]:
        """Remove topics and their weights; the topics after them move up.

        In a stream learned by sweeps, their tokens of the last documents go to the topics that the
        rest of the document makes likeliest, and are drawn anew as learning goes on.

        Parameters
        ----------
        topics : list of int
            At least one topic must stay.

        Returns
        -------
        dict from int to int
            The number of each of the others from now on.

        Examples
        --------
        >>> from opelda import OnlineOPE
        >>> from opelda.corpus import generate
        >>> model = OnlineOPE(4, random_state=0).fit(generate(200, n_words=50, n_topics=3).X)
        >>> model.remove_topics([1])
        {0: 0, 2: 1, 3: 2}
        """
        state = self._learned()
        self._check_topics(state)
        gone = self._numbers(topics, "remove")
        _check_once(gone)
        if len(gone) == state.weights.n_topics:
            raise InputError("No topic would be left; keep one at least.")
        edit = Edit.removing(gone, state.weights.sums)
        if state.window is not None:
            beta, window = self._engine().read(state.weights), state.window
            likeliest = likeliest_topics(window.kept, gone, beta, window.alpha)
            edit = replace(edit, tokens=edit.numbers[likeliest])
        return self._apply(edit)

    @edits
    def split_topic(self, topic: int, documents: Any = None, *, into: int = 2) -> list[int]:
        """Split a topic by the words that go together in documents.

        A small `TopicModel` learns from the tokens that are expected to be of the topic, and each
        word's weight is divided as its tokens are: merging the parts gives the topic back. Other
        topics keep their numbers; its label is lost.

        Parameters
        ----------
        topic : int
        documents : as for `transform`, optional
            Hundreds that hold the topic. By default the last documents of a stream learned by
            sweeps; other models keep none.
        into : int
            The number of parts.

        Returns
        -------
        list of int
            The numbers of the parts, the heaviest first: the topic's own, and new ones after all
            others.

        Examples
        --------
        >>> from opelda import OnlineOPE
        >>> from opelda.corpus import generate
        >>> X = generate(300, n_words=50, n_topics=3, separated=True).X
        >>> model = OnlineOPE(2, random_state=0).fit(X)
        >>> model.split_topic(0, X)
        [0, 2]
        """
        state = self._learned()
        self._check_topics(state)
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
                f"This {type(self).__name__} keeps no documents to learn the parts of topic "
                f"{number} from; give some that it is in."
            )
        words = state.weights.host().rows[:, number]
        machine = {"engine": self.engine, "n_jobs": self.n_jobs}
        parts = parts_of(counts, words, n_parts, state.seed, **machine)
        edit = Edit.splitting(number, state.weights.n_topics, parts.shares, parts.sizes)
        if window is not None and own is not None:
            drawn = drawn_parts(engine, parts, own, state.seed)
            topics = window.kept.topics.astype(np.int64)
            topics[topics == number] = np.array(edit.parts)[drawn]
            edit = replace(edit, tokens=topics)
        self._apply(edit)
        return list(edit.parts)

    def _numbers(self, topics: Any, to: str) -> list[int]:
        if not np.ndim(topics) and not isinstance(topics, Iterable):
            topics = [topics]
        found = [topic_number(topic, self._state.weights.n_topics, to) for topic in topics]
        if not found:
            raise InputError(f"There are no topics to {to}; give their numbers.")
        return found

    def _apply(self, edit: Edit) -> dict[int, int]:
        """Make the state, and the parameters that are per topic, those of the topics there are."""
        state: State = self._state
        made = self._engine().weights(edit.weights(state.weights.host()))
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


def _check_once(topics: list[int]) -> None:
    twice = sorted(topic for topic in set(topics) if topics.count(topic) > 1)
    if twice:
        raise InputError(f"Topic {twice[0]} is named twice; name each topic once.")


def likeliest_topics(
    kept: Assignments, gone: Sequence[int], topics: NDArray[Any], alpha: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the tokens' topics, those of topics that are to go by the rest of their documents.

    The likeliest one of such a token has the largest (N_dk + alpha_k) beta_kj, N_dk being the
    document's tokens of the topics that stay; `topics` is beta (K, V).
    """
    found, ends = kept.topics.astype(np.int64), kept.ends
    lost = np.isin(found, gone)
    documents = np.repeat(np.arange(kept.rows.n_docs), np.diff(ends))
    words = kept.token_words
    concerned = np.unique(documents[lost])
    stays = np.ones(len(alpha))
    stays[list(gone)] = 0.0
    size = max(1, CELLS_AT_ONCE // len(alpha))
    for first in range(0, len(concerned), size):
        some = concerned[first : first + size]
        at = np.flatnonzero(np.isin(documents, some))
        slots = np.searchsorted(some, documents[at])
        pairs = slots * len(alpha) + found[at]
        mixtures = np.bincount(pairs, minlength=len(some) * len(alpha)).reshape(-1, len(alpha))
        scores = (mixtures + alpha) * stays
        at, slots = at[lost[at]], slots[lost[at]]
        for begin in range(0, len(at), size):
            tokens = slice(begin, begin + size)
            likely = scores[slots[tokens]] * topics[:, words[at[tokens]]].T
            found[at[tokens]] = likely.argmax(axis=1)
    return found


@dataclass(frozen=True)
class Parts:
    """Parts of a topic, the heaviest first."""

    weights: Weights  # of the parts alone
    shares: NDArray[np.float64]  # (V, parts) of each word's weight in the topic
    sizes: NDArray[np.float64]  # (parts,) of all of it


def expected_counts(
    X: sparse.csr_array, theta: NDArray[Any], topics: NDArray[Any], topic: int
) -> sparse.csr_array:
    """Return the counts of documents that are expected to be of a topic.

    Of d_j those are d_j theta_dk beta_kj / sum_k theta_dk beta_kj.
    """
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
    kept = data >= LEAST_OF_TOKEN
    ends = np.concatenate(([0], np.cumsum(kept)))[X.indptr]
    return sparse.csr_array((data[kept], X.indices[kept], ends), shape=X.shape)


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
    """Learn so many topics from the tokens of one, whose words have these weights."""
    told = counts[np.flatnonzero(counts.sum(axis=1) >= LEAST_TOKENS)]
    if told.shape[0] < n_parts:
        raise InputError(
            f"Only {told.shape[0]} of the documents have two tokens of the topic, which are too "
            f"few to split it into {n_parts}; give more documents that it is in."
        )
    # words by their own numbers would be laid out for nothing
    words = np.unique(told.indices)
    model = learning.TopicModel(n_parts, doc_topic_prior=PART_PRIOR, random_state=seed, **machine)
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
    return Parts(
        model._engine().weights(HostWeights(rows[:, order], prior, 1.0, 1.0)),
        shares[:, order],
        sizes[order],
    )


def drawn_parts(
    engine: Engine, parts: Parts, counts: sparse.csr_array, seed: int
) -> NDArray[np.uint16]:
    """Return a part for each of the tokens that were counted, document by document."""
    tokens: Any = engine.tokens(engine.documents(counts), len(parts.sizes))
    engine.sweep(parts.weights, tokens, parts.sizes, seed=seed, n_draws=5)
    topics: NDArray[np.uint16] = tokens.topics
    return topics
