"""The GPU's private parts of a sweep: tokens laid out, drawn and counted, weights moved to counts.

Tokens that do not fit on the GPU go there and back in blocks.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines._tokens import MOST_TOKENS
from opelda.engines.cpu._tables import padded
from opelda.engines.cuda._device import LANES, Device
from opelda.engines.cuda._documents import CudaDocuments, cut, has_room
from opelda.engines.cuda._tables import CudaTable, CudaWeights, prior_parts, width_of
from opelda.engines.seam import (
    GOLDEN,
    Prior,
    Rows,
    SizeHistogram,
    TokenCounts,
    Tokens,
    check_words,
    mix,
    numbered,
    prior_sums,
    unit_of,
)

# Kernels by the most topics that a document of theirs can have.
KERNELS = {128: "sweep_128", 512: "sweep_512"}
WARPS = 8  # of a block
MOST_SMALL = 2.0**30  # units of a word that are sure to fit 32 bits


@dataclass(frozen=True)
class CudaTokens(Tokens):
    """Tokens on the GPU, document by document."""

    device: Device
    words: Any  # int32, of each token
    z: Any  # uint16: topics
    plain: Any  # which documents have tokens of weight 1 alone
    # of tokens in their documents, in probabilities and in counts; None where all are plain
    sizes: Any
    weights: Any
    units: Any
    small: bool  # 32 bits count the tokens of any word
    n_held: int  # one more than the largest word
    classes: list[tuple[int, Any]]  # (limit of topics, documents), the longest document first
    there: dict[str, Any]  # `first` and `keys` on the GPU
    known: dict[tuple[float, int | None], Any] = field(default_factory=dict)  # of `histogram`

    @classmethod
    def made(
        cls,
        documents: CudaDocuments,
        n_topics: int,
        keys: NDArray[np.uint64],
        shift: int | None,
        topics: NDArray[np.uint16] | None,
        prior_rows: NDArray[np.uint16] | None,
    ) -> "CudaTokens":
        """Make tokens of documents on the GPU; see `Engine.tokens`."""
        device, rows = documents.device, documents.there
        cp = device.cp
        each = cp.minimum(cp.ceil(rows.counts), MOST_TOKENS).astype(np.int64)
        starts = cp.concatenate((cp.zeros(1, np.int64), cp.cumsum(each)))
        first, n_tokens = starts[rows.indptr], int(starts[-1])
        if shift is None:
            whole = bool((rows.counts == cp.rint(rows.counts)).all())
            shift = unit_of(whole, float(documents.lengths.sum()))
        words, plain = cp.empty(n_tokens, np.int32), cp.empty(rows.n_docs, np.uint8)
        parts: list[Any] = [None, None, None]
        if shift < 0 or not bool((rows.counts == each).all()):
            parts = [cp.empty(n_tokens, kind) for kind in (np.float32, np.float32, np.int64)]
        device.run(
            "counts", "lay_out", rows.n_docs,
            rows.indptr, rows.words, rows.counts, starts, np.int32(rows.n_docs), np.int32(shift),
            words, plain, *parts,
            threads=LANES,
        )  # fmt: skip
        of_words = cp.bincount(rows.words, rows.counts) if n_tokens else cp.zeros(1)
        host_first = device.host(first)
        made = cls(
            rows=documents.part(),
            n_words=documents.n_words,
            n_topics=n_topics,
            keys=keys,
            first=host_first,
            shift=shift,
            prior_rows=prior_rows,
            device=device,
            words=words,
            z=cp.zeros(n_tokens, np.uint16) if topics is None else device.array(topics),
            plain=plain,
            sizes=parts[0],
            weights=parts[1],
            units=parts[2],
            small=float(of_words.max()) * 2.0**shift < MOST_SMALL,
            n_held=len(of_words),
            classes=_classes(device, np.diff(host_first), n_topics),
            there={
                "first": first,
                "keys": device.array(keys),
                "prior_rows": device.array(prior_rows),
            },
        )
        total = cp.rint(rows.counts.astype(np.float64) * 2.0**shift).astype(np.int64).sum()
        # (which `Tokens` would compute in host memory)
        vars(made).update(lengths=documents.lengths, total=float(total) * 2.0**-shift)
        return made

    @property
    def topics(self) -> NDArray[np.uint16]:
        """The topics of the tokens, document by document."""
        return self.device.host(self.z)

    def each(self, work: Callable[["CudaTokens"], None]) -> None:
        work(self)

    def histogram(self, share: float, row: int | None = None) -> SizeHistogram:
        """Count documents by their tokens per topic; see `Engine.histogram`."""
        device, cp, most_sizes = self.device, self.device.cp, 1024  # others are listed
        if (share, row) not in self.known:
            docs = self.looked_at(share, row)
            n_tokens = np.diff(self.first)[docs]
            lengths = np.unique(self.lengths[docs], return_counts=True)
            some = device.array(docs, np.int32)
            # documents with sizes that may have to be listed
            odd = (n_tokens >= most_sizes) | ~device.host(self.plain[some]).astype(bool)
            most = min(int(n_tokens.max(initial=0)) + 1, most_sizes)
            self.known[share, row] = some, lengths, most, int(n_tokens[odd].sum())
        docs, lengths, most, n_odd = self.known[share, row]
        n_topics, n_listed = self.n_topics, cp.zeros(1, np.int32)
        times = cp.zeros((n_topics, most), np.int32)
        listed = cp.empty(max(n_odd, 1), np.int32), cp.empty(max(n_odd, 1), np.float32)
        at_once = max(2**26 // n_topics, 1)  # documents whose cells fit
        for part in range(0, len(docs), at_once):
            some = docs[part : part + at_once]
            cells = cp.zeros((len(some), n_topics), np.float32)
            device.run(
                "counts", "sizes_of_documents", len(some),
                some, np.int32(len(some)), self.there["first"], self.z, self.sizes,
                np.int32(n_topics), cells,
                threads=LANES,
            )  # fmt: skip
            device.run(
                "counts", "count_sizes", cells.size,
                cells, np.int64(cells.size), np.int32(n_topics), np.int32(most), times, n_listed,
                *listed,
            )  # fmt: skip
        found = device.host(times)
        topics, sizes = np.nonzero(found)
        seen = topics, sizes.astype(np.float64), found[topics, sizes].astype(np.int64)
        n = int(n_listed[0])
        others = SizeHistogram.of(device.host(listed[0][:n]), device.host(listed[1][:n]), sizes[:0])
        more = others.topics, others.sizes, others.times
        both = [np.concatenate(pair) for pair in zip(seen, more, strict=True)]
        return SizeHistogram(*both, *lengths)


def _classes(device: Device, lengths: NDArray[np.int64], n_topics: int) -> list[tuple[int, Any]]:
    """Divide documents with tokens by the most topics they can have; the longest begin."""
    most = np.minimum(lengths, n_topics)
    found, below = [], 0
    for limit in (*KERNELS, int(most.max(initial=0))):
        docs = np.flatnonzero((most > below) & (most <= limit))
        if len(docs):
            docs = docs[np.argsort(-lengths[docs], kind="stable")]
            found.append((limit, device.array(docs, np.int32)))
        below = max(below, limit)
    return found


@dataclass(frozen=True)
class CudaTokenBlocks(Tokens):
    """Tokens in host memory, which every sweep lays out on the GPU, block by block."""

    device: Device
    topics: NDArray[np.uint16]
    small: bool  # as `CudaTokens` have it
    n_held: int
    blocks: list[tuple[int, int]]

    def each(self, work: Callable[[CudaTokens], None]) -> None:
        """Work on the tokens of each block, and take their topics back."""

        def do(block: tuple[int, int]) -> None:
            here, docs = slice(*self.first[list(block)]), slice(*block)
            there = self._made(self.rows.between(*block), docs, self.topics[here])
            work(there)
            self.topics[here] = there.topics

        self.device.side_by_side(do, self.blocks)

    def histogram(self, share: float, row: int | None = None) -> SizeHistogram:
        """Count documents by their tokens per topic; see `Engine.histogram`."""
        docs = self.looked_at(share, row)
        mine = [self.topics[self.first[doc] : self.first[doc + 1]] for doc in docs]
        topics = np.concatenate((self.topics[:0], *mine))
        return self._made(self.rows.take(docs), docs, topics).histogram(1.0)

    def _made(self, rows: Rows, docs: Any, topics: NDArray[np.uint16]) -> CudaTokens:
        parts, shape = (rows.counts, rows.words, rows.indptr), (rows.n_docs, self.n_words)
        documents = CudaDocuments(self.device, sparse.csr_array(parts, shape=shape))
        priors = None if self.prior_rows is None else self.prior_rows[docs]
        keys = self.keys[docs]
        return CudaTokens.made(documents, self.n_topics, keys, self.shift, topics, priors)


def _most_bytes(n_entries: Any, n_tokens: Any, n_docs: Any) -> Any:
    """Return the most bytes on the GPU, with those for laying tokens out."""
    return 40 * n_entries + 22 * n_tokens + 64 * n_docs


def tokens_made(
    documents: CudaDocuments,
    n_topics: int,
    copies: NDArray[np.integer] | None = None,
    shift: int | None = None,
    topics: NDArray[np.uint16] | None = None,
    prior_rows: NDArray[np.uint16] | None = None,
) -> CudaTokens | CudaTokenBlocks:
    """Make tokens of documents, on the GPU if they fit there; see `Engine.tokens`."""
    device, matrix = documents.device, documents.matrix
    n_entries, n_tokens = int(matrix.indptr[-1]), matrix.data.sum(dtype=float)
    n_bytes = _most_bytes(n_entries, n_tokens, documents.n_docs)
    # topics and their counts take the rest of the memory
    if has_room(device, n_bytes, most_free=0.6):
        keys = documents.keys if copies is None else numbered(documents.content_keys(), copies)
        return CudaTokens.made(documents, n_topics, keys, shift, topics, prior_rows)
    host = Tokens.of(documents, n_topics, copies, shift, prior_rows)
    of_words = np.bincount(host.rows.words, host.rows.counts, minlength=1)
    return CudaTokenBlocks(
        **vars(host),
        device=device,
        topics=np.zeros(host.first[-1], np.uint16) if topics is None else np.array(topics),
        small=float(of_words.max()) * 2.0**host.shift < MOST_SMALL,
        n_held=len(of_words),
        blocks=cut(_most_bytes(host.rows.indptr, host.first, np.arange(len(host.first)))),
    )


class CudaCounts(TokenCounts):
    """Dense counts on the GPU, of 32 bits where these count the tokens of any word."""

    def __init__(self, device: Device, there: Any, shift: int) -> None:
        vars(self).update(device=device, there=there, shift=shift)

    device: Device
    there: Any  # (V, K)

    @classmethod
    def of(cls, device: Device, counts: TokenCounts) -> "CudaCounts":
        """Take counts of another engine, or a sum of counts."""
        if isinstance(counts, cls):
            return counts
        starts, topics, cells = counts.arrays
        words = np.repeat(np.arange(counts.n_words), np.diff(starts))
        there = device.cp.zeros(counts.cells.shape, np.int64)
        there[device.array(words), device.array(topics)] = device.array(cells, np.int64)
        return cls(device, there, counts.shift)

    @property
    def kind(self) -> str:
        """The name of their kernels."""
        return "small" if self.there.dtype == np.int32 else "large"

    @property
    def unit(self) -> float:
        """The weight of a count of 1."""
        return 2.0**-self.shift

    @property
    def n_words(self) -> int:
        return int(self.there.shape[0])

    @property
    def n_topics(self) -> int:
        return int(self.there.shape[1])

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        with self.device.busy():
            return self.device.host(self.device.column_sums(self.there, self.n_topics)) * self.unit

    @property
    def word_sums(self) -> NDArray[np.int64]:
        return self.device.host(self.there.sum(axis=1, dtype=np.int64))

    def sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        cells, times = self.device.cp.unique(self.there[self.there != 0], return_counts=True)
        return self.device.host(cells).astype(np.int64), self.device.host(times)

    @cached_property
    def cells(self) -> sparse.csr_array:
        """The counts in host memory."""
        with self.device.busy():
            words, topics = self.device.cp.nonzero(self.there)
            values = self.device.host(self.there[words, topics]).astype(np.int64)
        starts = np.searchsorted(self.device.host(words), np.arange(self.n_words + 1))
        parts = values, self.device.host(topics).astype(np.int32), starts
        return sparse.csr_array(parts, shape=self.there.shape)


def sweep(
    tokens: CudaTokens | CudaTokenBlocks,
    alpha: NDArray[np.float64],
    seed: int,
    n_draws: int,
    given: CudaWeights | TokenCounts,
    prior: Prior | None,
) -> TokenCounts:
    """Draw every token's topic by weights, or by counts and a prior, and count the tokens."""
    device, n_topics, width = tokens.device, tokens.n_topics, width_of(tokens.n_topics)
    alphas = np.stack([padded(row, width) for row in np.atleast_2d(alpha)])
    n_words, inverse = given.n_words, np.zeros(width, np.float32)  # no token is in the weights
    if tokens.n_held > n_words:
        check_words(tokens.rows.words, n_words)
    fresh = isinstance(given, CudaWeights)
    if isinstance(given, CudaWeights):
        beta = CudaTable.of_weights(given).beta
    else:
        assert prior is not None
        there = CudaCounts.of(device, given)
        inverse = padded(1.0 / (there.sums + prior_sums(prior, n_words, n_topics)), width)
        number, of_words, of_rows = prior_parts(device, prior)
        stride = 0 if of_rows is None else of_rows.shape[1]
        beta = device.cp.empty((n_words, width), np.float32)
        device.run(
            "counts", f"rows_of_{there.kind}", n_words,
            there.there, np.float64(there.unit), np.int32(n_words), np.int32(n_topics),
            np.int32(width), device.array(inverse), number, of_words, of_rows, np.int32(stride),
            beta,
            threads=LANES,
        )  # fmt: skip
    kind = np.int32 if tokens.small else np.int64
    drawn = CudaCounts(device, device.cp.zeros((n_words, n_topics), kind), tokens.shift)

    def draw(some: CudaTokens) -> None:
        if n_draws:
            _draw(some, beta, alphas, inverse, seed, fresh, n_draws)
        n_tokens = len(some.z)
        device.run(
            "counts", f"count_{drawn.kind}", n_tokens,
            some.words, some.z, np.int64(n_tokens), np.int32(n_topics), drawn.there,
            some.units, np.int64(1 << max(tokens.shift, 0)),
        )  # fmt: skip

    tokens.each(draw)
    return drawn


def _draw(
    tokens: CudaTokens,
    beta: Any,
    alphas: NDArray[np.float32],
    inverse: NDArray[np.float32],
    seed: int,
    fresh: bool,
    n_draws: int,
) -> None:
    device, cp = tokens.device, tokens.device.cp
    n_words, n_blocks = beta.shape[0], beta.shape[1] // LANES
    weighed, n_priors = device.array(alphas), len(alphas)
    masses = cp.empty((n_priors, n_words, n_blocks), np.float32)
    prior = cp.empty((n_priors, n_words), np.float32)
    for each in range(n_priors):
        device.run(
            "counts", "masses", n_words,
            beta, np.int32(n_words), np.int32(n_blocks), weighed[each], masses[each], prior[each],
            threads=LANES,
        )  # fmt: skip
    mixed = mix(np.array([seed], np.uint64) + GOLDEN)[0]
    for limit, docs in tokens.classes:
        n_docs = len(docs)
        given = (
            docs, np.int32(n_docs), tokens.there["first"], tokens.there["keys"], mixed,
            tokens.words, tokens.z, tokens.plain, tokens.sizes, tokens.weights,
            beta, masses, prior, weighed, device.array(inverse), np.int32(tokens.n_topics),
            np.int32(n_blocks), np.int32(fresh), np.int32(n_draws), tokens.there["prior_rows"],
            np.int32(n_words),
        )  # fmt: skip
        blocks = -(-n_docs // WARPS)
        if limit in KERNELS:
            device.launch("sweep", KERNELS[limit], blocks, *given)
            continue
        # the slots of larger documents are in memory, for 8,192 warps
        blocks, room = min(blocks, 8192 // WARPS), width_of(limit)
        slots = cp.empty((blocks * WARPS, 5, room), np.int32)
        device.launch("sweep", "sweep_any", blocks, *given, slots, np.int32(room))
