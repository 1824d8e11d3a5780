"""The last documents of a stream with their tokens' topics, and the counts of former documents.

The counts fade topic by topic: a topic keeps as much of its past as its new tokens bear out. This
is a power prior (Ibrahim & Chen 2000), whose exponent rho is inferred per topic and time (as in
Masegosa et al. 2017). Rho only compares topics; how fast all forget is a setting, because the best
rho for the next documents forgets too much for all later ones.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, floor, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import LARGEST_COUNT, SMALLEST_COUNT, number, whole
from opelda.engines import Engine
from opelda.engines.seam import (
    FRACTION_SHIFT,
    WORDS_AT_ONCE,
    Documents,
    Rows,
    TokenCounts,
    Weights,
    tokens_of,
)
from opelda.learning._part import Arrays, Header, Part, check_arrays
from opelda.learning.editing._edit import Edit

# Bounds of the window, chosen on 1.2 million titles (seed 0) and 100,000 abstracts
# (benchmarks/streams).
MOST_DOCS, MOST_TOKENS = 400_000, 4_000_000
# Former documents fade to 1 / e in 1.25 windows (benchmarks.streams.drift: 0 and infinity).
MEMORY = 1.25
# Topics are relearned until the window has all its tokens, or this share of its documents: few
# sweeps learn less from more documents (-8.139 from 100,000 titles, -8.161 from 400,000:
# benchmarks/README.md).
STARTED = 0.25
FORGOTTEN = np.int32(2**31 - 1)  # no word
TRIED = np.linspace(1.0, 0.0, 11)  # rho
DTYPES = {
    "indptr": np.int64, "words": np.int32, "counts": np.float32, "topics": np.uint16,
    "alpha": np.float64, "outside.indptr": np.int64, "outside.topics": np.int32,
    "outside.counts": np.int64,
}  # fmt: skip
COUNTERS = "n_new", "n_sweeps", "n_averaged"


@dataclass(frozen=True)
class Assignments:
    """Documents and the topics of their tokens."""

    rows: Rows
    topics: NDArray[np.uint16]
    prior_rows: NDArray[np.uint16] | None = None  # of the documents, if priors differ

    @classmethod
    def joined(cls, parts: "list[Assignments]") -> "Assignments":
        if not parts:
            rows = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
            return cls(rows, np.zeros(0, np.uint16))
        if len(parts) == 1:
            return parts[0]
        ends = np.cumsum([0, *(part.rows.indptr[-1] for part in parts)])
        indptr = [part.rows.indptr[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
        rows = Rows(
            np.concatenate(([0], *indptr)),
            np.concatenate([part.rows.words for part in parts]),
            np.concatenate([part.rows.counts for part in parts]),
        )
        given: Any = [part.prior_rows for part in parts]
        prior_rows = None if given[0] is None else np.concatenate(given)
        return cls(rows, np.concatenate([part.topics for part in parts]), prior_rows)

    def divided(self, first: int) -> "tuple[Assignments, Assignments]":
        """Split the documents before the document `first`."""
        rows, priors, token = self.rows, self.prior_rows, int(self.ends[first])
        one, other = (None, None) if priors is None else (priors[:first], priors[first:])
        return (
            Assignments(rows.between(0, first), self.topics[:token], one),
            Assignments(rows.between(first, rows.n_docs), self.topics[token:], other),
        )

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """The offsets of the documents' tokens, and their end."""
        ends = np.concatenate(([0], np.cumsum(tokens_of(self.rows.counts))))
        return ends[self.rows.indptr].astype(np.int64)

    @property
    def token_words(self) -> NDArray[np.int32]:
        return np.repeat(self.rows.words, tokens_of(self.rows.counts))

    def token_numbers(self, documents: NDArray[np.integer]) -> NDArray[np.int64]:
        lengths = self.ends[documents + 1] - self.ends[documents]
        firsts = self.ends[documents] - np.cumsum(lengths) + lengths
        return np.repeat(firsts, lengths) + np.arange(lengths.sum())

    def has_rows(self, n_rows: int) -> bool:
        """Return whether documents have such rows; 0 for documents without rows."""
        rows = self.prior_rows
        return not n_rows if rows is None else int(rows.max(initial=0)) < n_rows

    def documents(self, engine: Engine, n_words: int) -> Documents:
        rows = self.rows
        parts = rows.counts, rows.words, rows.indptr
        return engine.documents(sparse.csr_array(parts, shape=(rows.n_docs, n_words)))

    def tokens(self, engine: Engine, weights: Weights) -> Any:
        documents = self.documents(engine, weights.n_words)
        return engine.tokens(
            documents,
            weights.n_topics,
            copies=np.arange(documents.n_docs),  # equal documents need no numbers of their own
            shift=FRACTION_SHIFT,
            topics=self.topics,
            prior_rows=self.prior_rows,
        )


@dataclass
class Window:
    """The documents of the sweeps, and the counts of former documents.

    Arrays are never changed in place: copies share them.
    """

    alpha: NDArray[np.float64]
    outside: TokenCounts
    parts: list[Assignments] = field(default_factory=list)
    n_docs: int = 0
    n_tokens: int = 0
    n_new: int = 0  # documents since the last round
    n_sweeps: int = 0  # made, each with another seed
    n_averaged: int = 0  # sweeps that the weights are an average of
    started: float = 0.0  # `begun` when topics were relearned last; 2 to relearn none

    @classmethod
    def beside(cls, weights: Weights, alpha: NDArray[np.float64], n_docs: float) -> "Window":
        """Begin a window; topics of `n_docs` documents become counts of former documents."""
        cells, rows = sparse.csr_array((0, weights.n_topics), dtype=np.int64), weights.host().rows
        if n_docs:
            mass = float(weights.sums.sum())
            # where rows are probabilities a document counts as one token
            unit = np.ldexp(max(weights.scale * mass, n_docs) / mass, FRACTION_SHIFT)
            at_once = (rows[i : i + WORDS_AT_ONCE] for i in range(0, len(rows), WORDS_AT_ONCE))
            units = (np.rint(part.astype(np.float64) * unit).astype(np.int64) for part in at_once)
            cells = sparse.vstack([sparse.csr_array(part) for part in units], format="csr")
        outside = TokenCounts(cells, FRACTION_SHIFT)
        return cls(alpha, outside, started=2.0 if n_docs else 0.0)

    def to_arrays(self) -> tuple[Arrays, Header]:
        kept, cells = self.kept, self.outside.cells
        rows, outside = kept.rows, (cells.indptr, cells.indices, cells.data)
        parts: Any = rows.indptr, rows.words, rows.counts, kept.topics, self.alpha, *outside
        arrays = {
            name: part.astype(dtype, copy=False)
            for (name, dtype), part in zip(DTYPES.items(), parts, strict=True)
        }
        if kept.prior_rows is not None:
            arrays["prior_rows"] = kept.prior_rows
        numbers = {name: int(getattr(self, name)) for name in COUNTERS}
        return arrays, numbers | {"started": float(self.started)}

    @classmethod
    def from_arrays(cls, arrays: Arrays, numbers: Header, shape: tuple[int, int]) -> "Window":
        """Make a window for topics of a shape; raise `ValueError` for invalid values."""
        wanted: Any = {name: (dtype, (None,)) for name, dtype in DTYPES.items()}
        prior_rows = arrays.get("prior_rows")
        if prior_rows is not None:
            wanted["prior_rows"] = np.uint16, (len(arrays.get("indptr", "-")) - 1,)
        check_arrays(arrays, wanted, "documents")
        indptr, words, counts, topics, alpha, *outside = (arrays[name] for name in DTYPES)
        n_words, n_topics = shape
        _matrix(counts, words, indptr, n_words)
        cells = _matrix(outside[2], outside[1], outside[0], n_topics)
        kept = Assignments(Rows(indptr, words, counts), topics, prior_rows)
        good = (
            ((counts > SMALLEST_COUNT) & (counts <= LARGEST_COUNT)).all()
            and len(topics) == kept.ends[-1]
            and (topics < n_topics).all()
            and alpha.shape == (n_topics,)
            and (alpha > 0).all()
            and cells.shape[0] <= n_words
            and (cells.data >= 0).all()
        )
        if not good:
            raise ValueError("its documents have invalid values")
        made = cls(alpha, TokenCounts(cells, FRACTION_SHIFT), [kept])
        made.n_docs, made.n_tokens = len(indptr) - 1, len(topics)
        made.started = number("started", numbers.get("started"), 0.0, 2.0)
        for name, most in zip(COUNTERS, (made.n_docs, 2**62, 2**62), strict=True):
            setattr(made, name, whole(name, numbers.get(name), 0, most))
        return made

    @property
    def kept(self) -> Assignments:
        """All documents, without entries of forgotten words."""
        found = Assignments.joined(self.parts)
        known = found.rows.words != FORGOTTEN
        if not known.all():
            tokens = np.repeat(known, tokens_of(found.rows.counts))
            found = replace(found, rows=found.rows.where(known), topics=found.topics[tokens])
        self.parts = [found]
        return found

    @property
    def begun(self) -> float:
        """The share of the documents or tokens that end relearning."""
        return min(max(self.n_docs / (STARTED * MOST_DOCS), self.n_tokens / MOST_TOKENS), 1.0)

    @property
    def starts(self) -> bool:
        """Whether to relearn topics: `begun` passed a power of 1/4."""
        now, before = self.begun, self.started
        return now > 0 and (before == 0 or floor(log(now, 4)) > floor(log(before, 4)))

    @property
    def is_settled(self) -> bool:
        """Whether relearning has ended."""
        return self.started >= 1

    @property
    def is_due(self) -> bool:
        """Whether to sweep all documents: a tenth is new."""
        return self.n_new >= 0.1 * (self.n_docs - self.n_new)

    def take(self, more: Assignments) -> None:
        self.parts.append(more)
        self.n_docs += more.rows.n_docs
        self.n_new += more.rows.n_docs
        self.n_tokens += len(more.topics)

    def forget(self, words: NDArray[np.integer], _: float = 0.0) -> "Window":
        """Mark the entries of words that lost their columns; `kept` removes these entries."""
        gone = np.zeros(words.max() + 2, bool)
        gone[words] = True  # the last stands for all words beyond
        former, self.parts = self.parts, []
        for part in former:
            rows, words = part.rows, part.rows.words.copy()
            for first in range(0, len(words), 1 << 16):  # pieces that fit the cache
                piece = words[first : first + (1 << 16)]
                found = np.flatnonzero(np.take(gone, piece, mode="clip"))
                self.n_tokens -= int(tokens_of(rows.counts[first + found]).sum())
                piece[found] = FORGOTTEN
            rows = Rows(rows.indptr, words, rows.counts)
            self.parts.append(replace(part, rows=rows))
        cells = self.outside.cells
        counts = cells.data.copy()
        for row in np.flatnonzero(gone[: cells.shape[0]]).tolist():
            counts[cells.indptr[row] : cells.indptr[row + 1]] = 0
        parts = counts, cells.indices, cells.indptr
        self.outside = TokenCounts(sparse.csr_array(parts, shape=cells.shape), FRACTION_SHIFT)
        return self

    def edited(self, edit: Edit) -> "Window":
        """Give the tokens the topics of an edit, and end relearning."""
        assert edit.tokens is not None
        return replace(
            self,
            parts=[replace(self.kept, topics=edit.tokens.astype(np.uint16))],
            alpha=edit.added(self.alpha),
            outside=_edited(self.outside, edit),
            started=2.0,
        )

    def trim(self, engine: Engine, weights: Weights) -> tuple[Any, TokenCounts]:
        """Move the oldest documents to the fading counts; return all other tokens and counts."""
        kept = self.kept
        cells: Any = self.outside.cells.copy()
        cells.resize(weights.n_words, weights.n_topics)
        # former documents fade by the new ones' share of a full window
        fullness = min(max(self.n_docs / MOST_DOCS, self.n_tokens / MOST_TOKENS), 1.0)
        usual = exp(-fullness * self.n_new / (MEMORY * self.n_docs))
        ends = kept.ends
        beyond = int(np.searchsorted(ends, max(ends[-1] - MOST_TOKENS, 0)))
        left, kept = kept.divided(max(self.n_docs - MOST_DOCS, beyond))
        self.parts, self.n_docs, self.n_tokens = [kept], kept.rows.n_docs, len(kept.topics)
        tokens = kept.tokens(engine, weights)
        counts = count(engine, weights, tokens)
        if cells.nnz:
            recent = kept.divided(max(self.n_docs - self.n_new, 0))[1]
            new = count(engine, weights, recent.tokens(engine, weights))
            past, eta = TokenCounts(cells, FRACTION_SHIFT), float(np.mean(weights.prior))
            part = kept_of_past(new, counts - new, past, eta, usual)
            cells.data = np.floor(cells.data * part[cells.indices] + 0.5).astype(np.int64)
            cells.eliminate_zeros()
        self.outside = TokenCounts(cells, FRACTION_SHIFT)
        if left.rows.n_docs:
            self.outside += count(engine, weights, left.tokens(engine, weights))
        return tokens, counts


WINDOW = Part(
    Window.to_arrays,
    Window.from_arrays,
    edited=Window.edited,
    reused=Window.forget,
    has_documents=True,
)


def kept_of_past(
    new: TokenCounts, window: TokenCounts, past: TokenCounts, eta: float, usual: float
) -> NDArray[np.float64]:
    """Return the share of its past that each topic keeps: `usual` for the median rho."""
    rho = likeliest_rho(new, window, past, eta)
    found: NDArray[np.float64] = np.clip(usual * rho / max(np.median(rho), 0.1), 0.0, 1.0)
    return found


def likeliest_rho(
    new: TokenCounts, window: TokenCounts, past: TokenCounts, eta: float
) -> NDArray[np.float64]:
    """Return the most likely rho of each topic by its new tokens.

    Rho maximises sum_j n_kj log((c_kj + rho p_kj + eta) / sum_i (c_ki + rho p_ki + eta)) + 10 rho,
    where c are the window's counts; rho has a truncated exponential prior.
    """
    if not new.cells.nnz:
        return np.ones(new.n_topics)
    words, topics = new.cells.nonzero()
    n, held, more = (
        np.ldexp(np.asarray(counts.cells[words, topics], np.float64), -counts.shift)
        for counts in (new, window, past)
    )
    total = window.sums + window.cells.shape[0] * eta
    best, rho = np.full(new.n_topics, -np.inf), np.ones(new.n_topics)
    for part in TRIED:
        of_words = np.bincount(topics, n * np.log(held + part * more + eta), new.n_topics)
        logs = of_words - new.sums * np.log(total + part * past.sums) + 10.0 * part
        better = logs > best
        rho[better], best[better] = part, logs[better]
    return rho


def _edited(counts: TokenCounts, edit: Edit) -> TokenCounts:
    """Return the counts of former documents, by the topics of an edit."""
    former, numbers = np.array(list(edit.mapping.items())).T
    made = counts.cells @ _placed(former, numbers, (counts.n_topics, edit.n_topics))
    if edit.shares is not None:  # the first part gets the remainder
        all_ = made[:, [edit.parts[0]]].toarray()
        parts = np.floor(all_ * edit.shares[: counts.n_words, 1:]).astype(np.int64)
        changes = sparse.csr_array(np.column_stack((-parts.sum(axis=1), parts)))
        n_parts = len(edit.parts)
        made = made + changes @ _placed(np.arange(n_parts), edit.parts, (n_parts, edit.n_topics))
    made.sum_duplicates()
    made.eliminate_zeros()
    return TokenCounts(made, counts.shift)


def _placed(rows: Any, columns: Any, shape: tuple[int, int]) -> sparse.csr_array:
    ones = np.ones(len(rows), np.int64)
    return sparse.csr_array(sparse.coo_array((ones, (rows, columns)), shape=shape))


def count(engine: Engine, weights: Weights, tokens: Any) -> TokenCounts:
    """Count tokens without drawing them."""
    shape, priors = (weights.n_words, weights.n_topics), tokens.prior_rows
    alpha = np.ones((1 if priors is None else int(priors.max(initial=0)) + 1, weights.n_topics))
    none = TokenCounts(sparse.csr_array(shape, dtype=np.int64), FRACTION_SHIFT)
    return engine.sweep(weights, tokens, alpha, counts=none, prior=1.0, seed=0, n_draws=0)


def _matrix(
    data: NDArray[Any], columns: NDArray[np.int32], indptr: NDArray[np.int64], n_columns: int
) -> sparse.csr_array:
    """Return a stored matrix; its columns must be sorted and distinct."""
    try:
        matrix = sparse.csr_array((data, columns, indptr), shape=(len(indptr) - 1, n_columns))
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"its documents are not a matrix: {error}") from None
    if indptr[-1] != len(columns) or not matrix.has_canonical_format:
        raise ValueError("its documents have unsorted words")
    return matrix
