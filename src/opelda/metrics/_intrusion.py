"""Intrusion tests (Chang et al., 2009): a judge looks for the word, or the topic, out of place."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any
from zlib import crc32

import numpy as np

from opelda._validation import seed, whole
from opelda.corpus._kinds import is_column, is_words
from opelda.engines.seam import content_keys, numbered, ordering, ranked
from opelda.errors import InputError
from opelda.metrics._mixture_measures import check_model, mixtures
from opelda.metrics._predictive import positive_counts
from opelda.metrics._top_words import rank_words
from opelda.metrics._topics import GivenTopics, MeasuredTopics

LEAST_SHARE = 0.05  # of the topics that a document has
LARGEST_RATIO = 0.2  # of the intruder's share to the smallest of these


@dataclass(frozen=True)
class IntrusionQuestion:
    """Choices, one of them the intruder; `document` is empty if the choices are words."""

    choices: tuple[str, ...]
    document: str = ""

    @property
    def prompt(self) -> str:
        """The question in English, for a person or a language model."""
        asked = "Which word does not belong with the others?"
        if self.document:
            asked = f"Document: {self.document}\nWhich topic does the document not have?"
        listed = (f"{number}. {text}" for number, text in enumerate(self.choices, 1))
        return "\n".join((asked, *listed, "Answer with the number only."))


@dataclass(frozen=True)
class IntrusionAnswer:
    """A judge's answer about a topic; `document` is a row, or None for words."""

    topic: int
    document: int | None
    question: IntrusionQuestion
    intruder: str
    answer: str


@dataclass(frozen=True)
class Intrusion:
    """The precision of a judge: the share of answers that name the intruder.

    `interval` is the 95% interval for independent answers (Wilson, 1927), `chance` the expected
    precision of random answers, `by_topic` the precision of each topic that has a question.
    """

    precision: float
    interval: tuple[float, float]
    chance: float
    by_topic: dict[int, float]
    answers: tuple[IntrusionAnswer, ...] = field(repr=False)


def word_intrusion(
    topics: GivenTopics,
    judge: Callable[[IntrusionQuestion], int | str],
    *,
    n_words: int = 5,
    n_questions: int = 1,
    feature_names: Sequence[str] | None = None,
    random_state: Any = None,
) -> Intrusion:
    """Ask a judge which word is not one of a topic's most probable words.

    The intruder is a top word of another topic, drawn from the half of these words that is least
    probable in the topic.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
    judge : callable
        A person at a prompt or a language model. It gets an object with `choices` and a `prompt`,
        and returns a choice or its number from 1. Other answers raise an error.
    n_words, n_questions : int
        Top words in a question, and questions per topic.
    feature_names : sequence of str, optional
        The words of the columns; by default the model's words, else x0, x1, ...
    random_state : int, RandomState, Generator or None
        The seed of intruders and of the order of choices.

    Examples
    --------
    >>> topics = [[0.5, 0.4, 0.1, 0.0], [0.0, 0.1, 0.4, 0.5]]
    >>> def longest(question):
    ...     return max(question.choices, key=len)
    >>> words = ["cat", "dog", "bond", "rate"]
    >>> found = word_intrusion(topics, longest, n_words=2, feature_names=words, random_state=0)
    >>> found.by_topic, found.precision, round(found.chance, 2)
    ({0: 1.0, 1: 0.0}, 0.5, 0.33)
    """
    measured, n_questions = MeasuredTopics.of(topics), whole("n_questions", n_questions)
    best = rank_words(measured, whole("n_words", n_words, 2), by="probability")
    names, start, asked = measured.words(feature_names), seed(random_state), []
    for topic, own in enumerate(best):
        others = np.setdiff1d(best, own)
        rarest = others[np.argsort(measured.weights[topic, others], kind="stable")]
        improbable = sorted(str(names[j]) for j in rarest[: (len(rarest) + 1) // 2])
        words = [str(names[j]) for j in own]
        # (the words, not the topic's number: topics may come in another order)
        rng = np.random.default_rng([start, crc32(" ".join(words).encode())])
        for intruder in rng.permutation(improbable)[:n_questions].tolist():
            shown = IntrusionQuestion(tuple(rng.permutation([*words, intruder]).tolist()))
            asked.append((topic, None, shown, intruder))
    return _judged(judge, asked)


def topic_intrusion(
    model: Any,
    corpus: Any,
    judge: Callable[[IntrusionQuestion], int | str],
    *,
    n_topics: int = 3,
    n_words: int = 8,
    n_questions: int = 1,
    random_state: Any = None,
) -> Intrusion:
    """Ask a judge which of a few topics a document does not have; each topic is an intruder.

    A question has the document's largest topics, of shares from 0.05. The intruder has at most a
    fifth of the smallest of these shares. A topic that fits no document has no question.

    Parameters
    ----------
    model : fitted model
    corpus : Corpus, counts or documents
        As for `transform`. The judge gets the first 1,000 characters of a text in a list or a
        column, else the document's name and characteristic words as `document`.
    n_topics, n_words : int
        Topics of the document in a question, and top words of each topic.
    judge, n_questions, random_state
        As for `word_intrusion`.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9
    >>> def judge(question):
    ...     word = question.document.split()[0]
    ...     return next(choice for choice in question.choices if word not in choice)
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> topic_intrusion(model, texts, judge, n_topics=1, n_words=3, random_state=0).precision
    1.0
    """
    check_model(model)
    measured, n_questions = MeasuredTopics.of(model, X=corpus), whole("n_questions", n_questions)
    X, names = positive_counts(measured.counts(corpus)), measured.words()
    theta, start, asked = mixtures(model, X), seed(random_state), []
    best = rank_words(measured, n_words, by="probability")
    topics = [", ".join(str(names[j]) for j in ids) for ids in best]
    n_topics = whole("n_topics", n_topics, 1, max(1, len(topics) - 1))
    largest = np.argsort(-theta, axis=1, kind="stable")[:, :n_topics]
    least = np.take_along_axis(theta, largest, axis=1).min(axis=1)
    keys = numbered(content_keys(X.indptr.astype(np.int64), X.indices, X.data), None)
    rarity = np.log1p(X.shape[0] / np.maximum(np.bincount(X.indices, minlength=X.shape[1]), 1))
    texts = list(corpus) if is_words(corpus) or is_column(corpus) else None
    titles = getattr(corpus, "names", None)
    for topic, intruder in enumerate(topics):
        fit = np.flatnonzero((least >= LEAST_SHARE) & (theta[:, topic] <= LARGEST_RATIO * least))
        order = ranked(ordering(keys[fit], start, topic))
        for row in fit[order[:n_questions]].tolist():
            if texts is None:
                part = slice(*X.indptr[row : row + 2])
                heaviest = np.argsort(-X.data[part] * rarity[X.indices[part]], kind="stable")[:20]
                text = " ".join(str(names[j]) for j in X.indices[part][heaviest])
                text = f"{titles[row]}: {text}" if titles and titles[row] else text
            else:
                text = " ".join(str(texts[row]).split())[:1000]
            rng = np.random.default_rng([start, topic, int(keys[row])])
            choices = rng.permutation([*(topics[k] for k in largest[row]), intruder]).tolist()
            asked.append((topic, row, IntrusionQuestion(tuple(choices), text), intruder))
    return _judged(judge, asked)


def _judged(
    judge: Callable[[IntrusionQuestion], int | str],
    asked: Iterable[tuple[int, int | None, IntrusionQuestion, str]],
) -> Intrusion:
    from scipy.stats import binomtest  # slow to import

    if not callable(judge):
        raise InputError(f"must be callable, got {judge!r:.60}.", "judge")
    answers, correct = [], defaultdict(list)
    for topic, document, question, intruder in asked:
        given = judge(question)
        # language models like to quote, and to repeat the choice after its number
        text, choices = str(given).strip(" \n\"'`*.").casefold(), question.choices
        number = int((re.match(r"\d{1,9}\b", text) or "0")[0])
        named = [choice for choice in choices if choice.casefold() == text]
        answer = choices[number - 1] if 1 <= number <= len(choices) else next(iter(named), None)
        if answer is None:
            raise InputError(
                f"must return a choice or its number, from 1 to {len(choices)}, but for topic "
                f"{topic} returned {given!r:.60}.",
                "judge",
            )
        answers.append(IntrusionAnswer(topic, document, question, intruder, answer))
        correct[topic].append(answer == intruder)
    if not answers:
        raise InputError("There is no intruder: topics are too alike; pass other topics.")
    n_correct = sum(map(sum, correct.values()))
    interval = binomtest(n_correct, len(answers)).proportion_ci(method="wilson")
    return Intrusion(
        precision=n_correct / len(answers),
        interval=(float(interval.low), float(interval.high)),
        chance=fmean(1 / len(answer.question.choices) for answer in answers),
        by_topic={topic: fmean(found) for topic, found in correct.items()},
        answers=tuple(answers),
    )
