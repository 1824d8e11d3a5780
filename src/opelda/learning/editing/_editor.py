"""Topics edited by people: merged, removed, split; learning goes on from what is left."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from opelda._count_matrix import additive
from opelda._validation import whole
from opelda.engines.seam import MIXTURES
from opelda.errors import InputError
from opelda.learning._seeds import renumbered
from opelda.learning._state import State, check_rests, learns_alone
from opelda.learning._transform import ReadsTopics
from opelda.learning.editing._edit import Edit
from opelda.learning.editing._splitting import drawn_parts, expected_counts, parts_of, token_counts
from opelda.learning.editing._topic_labels import topic_number
from opelda.learning.streaming._window import Assignments

P = ParamSpec("P")
R = TypeVar("R")
MOST_PARTS = 100
CELLS_AT_ONCE = 2**22  # of documents times topics


def edits(method: Callable[P, R]) -> Callable[P, R]:
    """Let a method change topics that nobody is learning."""
    alone = learns_alone(method)

    @wraps(method)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        check_rests(args[0])
        return alone(*args, **kwargs)

    return checked


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
        n_parts, window, engine = whole("into", into, 2, MOST_PARTS), state.window, self._engine()
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
