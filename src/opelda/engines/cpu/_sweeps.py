"""The CPU's private parts of a sweep: tokens in blocks, drawn and counted by native code."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import _native
from opelda.engines.cpu import _tables as tables
from opelda.engines.seam import (
    Prior,
    SizeHistogram,
    TokenCounts,
    Tokens,
    Weights,
    check_words,
    prior_sums,
    tokens_of,
)

LEAST_DOCS = 128  # of a block, for rows of words are laid out for its tokens
ORDERED = ("block_docs", "block_runs", "run_starts", "at", "first_group")


@dataclass(frozen=True)
class BlockTokens(Tokens):
    """Tokens in blocks of documents, word by word."""

    layout: dict[str, Any]  # as native code calls it; weights are None where all are 1
    units: NDArray[np.int64] | None  # that tokens weigh in counts, likewise
    z: NDArray[np.uint16]  # topics; an interrupted sweep leaves a mixture
    slots: _native.SlotStore  # the topics that each document has
    given: bool  # whether tokens start with topics; the first sweep enters them into the slots

    @classmethod
    def laid_out(
        cls, tokens: Tokens, topics: NDArray[np.uint16] | None, n_threads: int
    ) -> "BlockTokens":
        """Divide documents into blocks: enough for all threads, if there are as many documents."""
        rows = tokens.rows
        found = _native.token_blocks(
            rows.indptr,
            rows.words,
            rows.counts,
            tokens.first,
            n_topics=tokens.n_topics,
            n_words=tokens.n_words,
            shift=tokens.shift,
            alike=tokens.shift >= 0 and bool((rows.counts == tokens_of(rows.counts)).all()),
            # (the topics of more documents do not stay in the second cache)
            most_docs=min(max(rows.n_docs // (4 * n_threads), LEAST_DOCS), 12_288),
            n_threads=n_threads,
        )
        *parts, units = found
        names = ["block_docs", "block_groups", "block_runs", "run_words", "run_starts"]
        names += ["at", "first_group", "run_alike", "sizes", "weights"]
        layout: dict[str, Any] = dict(zip(names, parts, strict=True))
        made = cls(
            **vars(tokens),
            layout=layout,
            units=units,
            z=np.zeros(int(tokens.first[-1]), np.uint16),
            slots=_native.SlotStore(len(layout["block_docs"]) - 1, rows.n_docs),
            given=topics is not None,
        )
        if topics is not None:
            made.z[made.order(n_threads)] = topics
        return made

    def order(self, n_threads: int) -> NDArray[np.int64]:
        """Return the token numbers in the order of documents."""
        layout = {name: self.layout[name] for name in ORDERED}
        return _native.token_order(**layout, first_token=self.first, n_threads=n_threads)

    @property
    def topics(self) -> NDArray[np.uint16]:
        """The topics of the tokens, document by document."""
        return self.z[self.order(1)]

    def histogram(self, share: float, row: int | None = None) -> SizeHistogram:
        """Count documents by their tokens per topic; see `Engine.histogram`."""
        docs = self.looked_at(share, row)
        topics, sizes = _native.slot_sizes(self.slots, self.layout["block_docs"], docs)
        return SizeHistogram.of(topics, sizes, self.lengths[docs])


def sweep(
    tokens: BlockTokens,
    alpha: NDArray[np.float64],
    seed: int,
    n_draws: int,
    given: Weights | TokenCounts,
    prior: Prior | None,
    n_threads: int,
) -> TokenCounts:
    """Draw every token's topic by weights, or by counts and a prior, and count the tokens."""
    n_words, n_topics, layout = given.n_words, tokens.n_topics, tokens.layout
    check_words(tokens.rows.words, n_words)
    stride = tables.row_width(n_topics)
    alphas = np.stack([tables.padded(row, stride) for row in np.atleast_2d(alpha)])
    if isinstance(given, Weights):
        words, slots = np.unique(layout["run_words"], return_inverse=True)
        table = tables.topic_rows(given, words, n_threads=n_threads)
        layout = layout | {"run_words": slots.astype(np.int32)}
        inverse = np.zeros(stride, np.float32)  # no token is in the weights
        topics = _dense(table.rows, alphas)
    else:
        assert prior is not None
        sums = given.sums + prior_sums(prior, n_words, n_topics)
        inverse = tables.padded(1.0 / sums, stride)
        topics = _of_counts(given, prior, inverse, alphas, n_threads)
    _native.sweep(
        **layout,
        z=tokens.z,
        slots=tokens.slots,
        keys=tokens.keys,
        n_topics=n_topics,
        **topics,
        prior_rows=tokens.prior_rows,
        alpha=alphas,
        inverse=inverse,
        seed=seed,
        fresh=isinstance(given, Weights),
        given=tokens.given,
        n_draws=n_draws,
        n_threads=n_threads,
    )
    layout = tokens.layout
    starts, topic, cells = _native.count_tokens(
        layout["block_runs"],
        layout["run_words"],
        layout["run_starts"],
        layout["run_alike"],
        tokens.units,
        tokens.z,
        n_words=n_words,
        n_topics=n_topics,
        shift=tokens.shift,
        n_threads=n_threads,
    )
    counted = sparse.csr_array((cells, topic, starts), shape=(n_words, n_topics))
    return TokenCounts(counted, tokens.shift)


def _dense(rows: NDArray[np.float32], alphas: NDArray[np.float32]) -> dict[str, Any]:
    none: dict[str, Any] = dict.fromkeys(("row_starts", "row_topics", "row_values", "base"))
    # (by NumPy's own loop: it is the same for any number of BLAS's threads)
    return none | {"dense": rows, "prior": np.einsum("jk,rk->jr", rows, alphas)}


def _of_counts(
    counts: TokenCounts,
    prior: Prior,
    inverse: NDArray[np.float32],
    alphas: NDArray[np.float32],
    n_threads: int,
) -> dict[str, Any]:
    """Return the topics that counts and a prior are: sparse rows, where the prior is one number."""
    starts, topics, cells = counts.arrays
    if isinstance(prior, np.ndarray):
        dense, n_topics = tables.aligned_empty(counts.n_words, len(inverse)), counts.n_topics
        dense[:, n_topics:] = 0.0
        dense[:, :n_topics] = prior[:, None] if prior.ndim == 1 else prior[:, :n_topics]
        _native.add_counts(
            dense, starts, topics, cells, factor=2.0**-counts.shift, n_threads=n_threads
        )
        dense *= inverse
        return _dense(dense, alphas)
    values = np.empty(len(topics), np.float32)
    masses = np.empty((len(starts) - 1, len(alphas)), np.float32)
    base = np.float32(prior) * inverse
    _native.count_rows(
        starts,
        topics,
        cells,
        shift=counts.shift,
        prior=prior,
        inverse=inverse,
        alpha=alphas,
        base_masses=np.array([base.astype(np.float64) @ alpha for alpha in alphas]),
        values=values,
        masses=masses,
        n_threads=n_threads,
    )
    rows = {"row_starts": starts, "row_topics": topics, "row_values": values, "base": base}
    return rows | {"dense": None, "prior": masses}
