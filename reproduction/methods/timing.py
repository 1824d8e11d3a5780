"""Table 1's time per iteration, on documents of given sizes."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from opelda.inference import Method, Topics
from reproduction.data import Data
from reproduction.experiment import Report
from reproduction.methods.measuring import (
    LEFT_OUT,
    NAMES,
    UNSCREENED,
    Problem,
    best_seconds,
    is_compiled,
    new_method,
    new_row,
    seconds_to_invert,
    too_many_programs,
)
from reproduction.rows import Row, Rows
from reproduction.settings import Settings

TOKENS_PER_WORD = 2


class Size(NamedTuple):
    """The size of documents and topics; `times` is what the counts are multiplied by.

    >>> Size(n_topics=50, n_words=100, times=4, vocabulary=1000).n_tokens
    800
    """

    n_topics: int
    n_words: int
    times: int
    vocabulary: int

    @property
    def n_tokens(self) -> int:
        """N: the distinct words have two tokens on average, times `times`."""
        return TOKENS_PER_WORD * self.n_words * self.times


def draw_documents(n_docs: int, size: Size, seed: int) -> tuple[Topics, sparse.csr_array]:
    """Draw topics, and documents about a few topics with exactly n words and N tokens each.

    >>> topics, X = draw_documents(3, Size(n_topics=5, n_words=20, times=2, vocabulary=100), 0)
    >>> topics, np.diff(X.indptr).tolist(), X.sum(axis=1).tolist()
    (Topics(n_topics=5, n_words=100), [20, 20, 20], [80.0, 80.0, 80.0])
    """
    rng = np.random.default_rng([seed, size.n_topics, size.vocabulary])
    drawn = rng.dirichlet(np.full(size.vocabulary, 0.05), size.n_topics)
    topics = 0.95 * drawn + 0.05 / size.vocabulary
    # as many topics in a document, however many there are to choose from
    mixtures = rng.dirichlet(np.full(size.n_topics, 2 / size.n_topics), n_docs)
    X = np.zeros((n_docs, size.vocabulary), np.float32)
    for counts, p in zip(X, mixtures @ topics, strict=True):
        # the first n words of a draw without replacement, then further tokens of the same words
        words = np.argsort(rng.exponential(size=len(p)) / p)[: size.n_words]
        more = rng.multinomial((TOKENS_PER_WORD - 1) * size.n_words, p[words] / p[words].sum())
        counts[words] = size.times * (1 + more)
    return Topics(topics), sparse.csr_array(X)


def iteration_times(
    data: Data,
    settings: Settings,
    report: Report,
    *,
    part: str,
    sizes: list[list[int]],
    documents: list[int],
    repeats: int,
) -> Rows:
    """Time every method on generated documents of some sizes; the data play no part.

    Methods with kernels and TLI, whose documents differ most, work through ``documents[0]``
    documents, the others through the first ``documents[1]`` of these: all have equally many words
    and tokens. Methods are kept from stopping early, since later iterations are cheaper than the
    first. What TLI does once per model is timed apart.
    """
    rows: dict[tuple[str, Size], Row] = {}
    work: dict[tuple[str, Size], tuple[Method, Problem]] = {}
    for size in (Size(*numbers) for numbers in sizes):
        topics, X = draw_documents(documents[0], size, settings.seed)
        problem = Problem(topics, X, settings.doc_topic_prior)
        for name in (*NAMES, UNSCREENED):
            n_docs = documents[0] if is_compiled(name) or name == "TLI" else documents[1]
            row = rows[name, size] = new_row(
                part,
                name,
                settings.seed,
                n_topics=size.n_topics,
                n_words=size.n_words,
                n_tokens=size.n_tokens,
                vocabulary=size.vocabulary,
                documents=n_docs,
            )
            if name == "TLI":
                if too_many_programs(size.n_topics, size.vocabulary):
                    row["note"] = LEFT_OUT
                    continue
                row["setup_seconds"] = seconds_to_invert(topics)
            work[name, size] = _steady(name, settings), problem.first(n_docs)
    timed = best_seconds(work, repeats, settings.seed, report)
    for key, (seconds, solution) in timed.items():
        n_iter = solution.n_iter
        rows[key] |= {
            "iterations": float(n_iter.mean()),
            "seconds_per_document": seconds / len(n_iter),
            "seconds_per_iteration": seconds / int(n_iter.sum()),
        }
    return list(rows.values())


def _steady(name: str, settings: Settings) -> Method:
    """Return a method that does not stop early."""
    method = new_method(name, settings)
    if name == "TLI":
        method.set_params(n_iter=settings.n_iter)
    if "tol" in method.get_params():
        method.set_params(tol=0.0)
    return method
