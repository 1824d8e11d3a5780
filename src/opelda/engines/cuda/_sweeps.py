"""The GPU's private parts of a sweep: tokens that stay there, drawn and counted."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opelda.engines._tokens import MOST_TOKENS
from opelda.engines.cpu._tables import padded
from opelda.engines.cpu._updates import check_words
from opelda.engines.cuda._counts import CudaCounts
from opelda.engines.cuda._device import LANES, Device
from opelda.engines.cuda._documents import CudaDocuments
from opelda.engines.cuda._tables import CudaTable, CudaWeights, prior_parts, width_of
from opelda.engines.seam import (
    GOLDEN,
    Prior,
    SizeHistogram,
    TokenCounts,
    Tokens,
    looked_at,
    mix,
    prior_sums,
    unit_of,
)

if TYPE_CHECKING:
    from opelda.engines.cuda._token_blocks import CudaTokenBlocks

# Kernels by the most topics that a document of theirs can have.
KERNELS = {128: "sweep_128", 512: "sweep_512"}
WARPS = 8  # of a block
MOST_SMALL = 2.0**30  # units of a word that are sure to fit 32 bits
MOST_SIZES = 1024  # whole sizes below are counted, others listed
MOST_CELLS = 2**26  # of documents and topics whose sizes are counted at a time
MOST_WARPS = 8192  # that have slots in memory, where documents have still more topics


@dataclass(frozen=True)
class CudaTokens(Tokens):
    """Tokens on the GPU, document by document."""

    device: Device
    words: Any  # int32, of each token
    z: Any  # uint16: topics
    plain: Any  # documents whose tokens all weigh 1
    # of tokens in their documents, in probabilities and in counts; None where all documents are so
    sizes: Any
    weights: Any
    units: Any
    small: bool  # the tokens of any word can be counted in 32 bits
    n_held: int  # one more than the largest word
    classes: list[tuple[int, Any]]  # documents by the most topics they can have, the longest first
    there: dict[str, Any]  # `first` and `keys` on the GPU
    looked_at: dict[float, Any] = field(default_factory=dict)

    @classmethod
    def made(
        cls,
        device: Device,
        documents: CudaDocuments,
        n_topics: int,
        keys: NDArray[np.uint64],
        shift: int | None,
        topics: NDArray[np.uint16] | None,
    ) -> "CudaTokens":
        """Make tokens of documents on the GPU; see `Engine.tokens`."""
        cp, rows = device.cp, documents.there(device)
        each = cp.minimum(cp.ceil(rows.counts), MOST_TOKENS).astype(np.int64)
        starts = cp.concatenate((cp.zeros(1, np.int64), cp.cumsum(each)))
        first, n_tokens = starts[rows.indptr], int(starts[-1])
        if shift is None:
            whole = bool((rows.counts == cp.rint(rows.counts)).all())
            shift = unit_of(whole, float(documents.lengths(device).sum()))
        words, plain = cp.empty(n_tokens, np.int32), cp.empty(rows.n_docs, np.uint8)
        parts: tuple[Any, Any, Any] = (None, None, None)
        if shift < 0 or not bool((rows.counts == each).all()):
            parts = (cp.empty(n_tokens, np.float32), cp.empty(n_tokens, np.float32),
                     cp.empty(n_tokens, np.int64))  # fmt: skip
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
            device=device,
            words=words,
            z=cp.zeros(n_tokens, np.uint16) if topics is None else device.array(topics),
            plain=plain,
            sizes=parts[0],
            weights=parts[1],
            units=parts[2],
            small=float(of_words.max()) * 2.0**shift < MOST_SMALL,
            n_held=int(rows.words.max()) + 1 if n_tokens else 0,
            classes=_classes(device, np.diff(host_first), n_topics),
            there={"first": first, "keys": device.array(keys)},
        )
        total = cp.rint(rows.counts.astype(np.float64) * 2.0**shift).astype(np.int64).sum()
        # (what `Tokens` would work out here)
        vars(made).update(lengths=documents.lengths(device), total=float(total) * 2.0**-shift)
        return made

    @property
    def topics(self) -> NDArray[np.uint16]:
        """The topics of the tokens, document by document."""
        return self.device.host(self.z)

    def check(self, n_words: int) -> None:
        """Refuse words that the topics do not have."""
        if self.n_held > n_words:
            check_words(self.rows.words, n_words)

    def each(self, work: Callable[["CudaTokens"], None]) -> None:
        """Do some work for all tokens."""
        work(self)

    def histogram(self, share: float) -> SizeHistogram:
        """Count documents by their tokens per topic; see `Engine.histogram`."""
        device, cp = self.device, self.device.cp
        if share not in self.looked_at:
            docs = looked_at(self.keys, share)
            n_tokens = np.diff(self.first)[docs]
            lengths = np.unique(self.lengths[docs], return_counts=True)
            some = device.array(docs, np.int32)
            # documents with sizes that may have to be listed
            odd = (n_tokens >= MOST_SIZES) | ~device.host(self.plain[some]).astype(bool)
            most = min(int(n_tokens.max(initial=0)) + 1, MOST_SIZES)
            self.looked_at[share] = some, lengths, most, int(n_tokens[odd].sum())
        docs, lengths, most, n_odd = self.looked_at[share]
        n_topics, n_listed = self.n_topics, cp.zeros(1, np.int32)
        times = cp.zeros((n_topics, most), np.int32)
        listed = cp.empty(max(n_odd, 1), np.int32), cp.empty(max(n_odd, 1), np.float32)
        at_once = max(MOST_CELLS // n_topics, 1)
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
        if not n:
            return SizeHistogram(*seen, *lengths)
        others = SizeHistogram.of(device.host(listed[0][:n]), device.host(listed[1][:n]), sizes[:0])
        more = others.topics, others.sizes, others.times
        both = [np.concatenate(pair) for pair in zip(seen, more, strict=True)]
        return SizeHistogram(*both, *lengths)


def _classes(device: Device, lengths: NDArray[np.int64], n_topics: int) -> list[tuple[int, Any]]:
    """Divide documents by the most topics they can have; the longest begin, or all wait for them.

    Those without tokens are left out.
    """
    most = np.minimum(lengths, n_topics)
    found, below = [], 0
    for limit in (*KERNELS, int(most.max(initial=0))):
        docs = np.flatnonzero((most > below) & (most <= limit))
        if len(docs):
            docs = docs[np.argsort(-lengths[docs], kind="stable")]
            found.append((limit, device.array(docs, np.int32)))
        below = max(below, limit)
    return found


def sweep(
    weights: CudaWeights | None,
    tokens: "CudaTokens | CudaTokenBlocks",
    alpha: NDArray[np.float64],
    counts: TokenCounts | None,
    prior: Prior | None,
    *,
    seed: int,
    n_draws: int,
) -> TokenCounts:
    """Draw every token's topic anew, by counts and a prior, or by the weights, and count."""
    device, n_topics = tokens.device, tokens.n_topics
    width = width_of(n_topics)
    inverse = np.zeros(width, np.float32)  # no token is in the weights
    if counts is None:
        assert weights is not None
        n_words = weights.n_words
        tokens.check(n_words)
        beta = CudaTable.of_weights(weights).beta
    else:
        n_words = counts.n_words
        tokens.check(n_words)
        if prior is None:
            assert weights is not None
            prior = weights.prior
        there = CudaCounts.of(device, counts)
        inverse = padded(1.0 / (there.sums + prior_sums(prior, n_words, n_topics)), width)
        beta = _beta(there, prior, inverse, width)
    kind = np.int32 if tokens.small else np.int64
    drawn = CudaCounts(device, device.cp.zeros((n_words, n_topics), kind), tokens.shift)

    def draw(some: CudaTokens) -> None:
        if n_draws:
            _draw(some, beta, padded(alpha, width), inverse, seed, counts is None, n_draws)
        _count(some, drawn)

    tokens.each(draw)
    return drawn


def _beta(counts: CudaCounts, prior: Prior, inverse: NDArray[np.float32], width: int) -> Any:
    """Return the topics that counts and a prior are."""
    device = counts.device
    beta = device.cp.empty((counts.n_words, width), np.float32)
    number, of_words, of_rows = prior_parts(device, prior)
    stride = 0 if of_rows is None else of_rows.shape[1]
    device.run(
        "counts", f"rows_of_{counts.kind}", counts.n_words,
        counts.there, np.float64(counts.unit), np.int32(counts.n_words), np.int32(counts.n_topics),
        np.int32(width), device.array(inverse), number, of_words, of_rows, np.int32(stride), beta,
        threads=LANES,
    )  # fmt: skip
    return beta


def _draw(
    tokens: CudaTokens,
    beta: Any,
    alpha: NDArray[np.float32],
    inverse: NDArray[np.float32],
    seed: int,
    fresh: bool,
    n_draws: int,
) -> None:
    device, cp = tokens.device, tokens.device.cp
    n_words, n_blocks = beta.shape[0], beta.shape[1] // LANES
    weighed = device.array(alpha)
    masses, prior = cp.empty((n_words, n_blocks), np.float32), cp.empty(n_words, np.float32)
    device.run(
        "counts", "masses", n_words,
        beta, np.int32(n_words), np.int32(n_blocks), weighed, masses, prior,
        threads=LANES,
    )  # fmt: skip
    mixed = mix(np.array([seed], np.uint64) + GOLDEN)[0]
    for limit, docs in tokens.classes:
        n_docs = len(docs)
        given = (
            docs, np.int32(n_docs), tokens.there["first"], tokens.there["keys"], mixed,
            tokens.words, tokens.z, tokens.plain, tokens.sizes, tokens.weights,
            beta, masses, prior, weighed, device.array(inverse), np.int32(tokens.n_topics),
            np.int32(n_blocks), np.int32(fresh), np.int32(n_draws),
        )  # fmt: skip
        blocks = -(-n_docs // WARPS)
        if limit in KERNELS:
            device.launch("sweep", KERNELS[limit], blocks, *given)
            continue
        blocks, room = min(blocks, MOST_WARPS // WARPS), width_of(limit)
        slots = cp.empty((blocks * WARPS, 5, room), np.int32)
        device.launch("sweep", "sweep_any", blocks, *given, slots, np.int32(room))


def _count(tokens: CudaTokens, counts: CudaCounts) -> None:
    """Add the tokens of each word and topic to counts."""
    n_tokens = len(tokens.z)
    tokens.device.run(
        "counts", f"count_{counts.kind}", n_tokens,
        tokens.words, tokens.z, np.int64(n_tokens), np.int32(tokens.n_topics), counts.there,
        tokens.units, np.int64(1 << max(tokens.shift, 0)),
    )  # fmt: skip
