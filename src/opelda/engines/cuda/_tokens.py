"""Tokens on a GPU, and those that do not fit there and go there and back in blocks."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.engines._tokens import MOST_TOKENS
from opelda.engines.cpu._updates import check_words
from opelda.engines.cuda._device import LANES, Device
from opelda.engines.cuda._documents import CudaDocuments, cut, has_room
from opelda.engines.seam import Rows, SizeHistogram, Tokens, looked_at, numbered, unit_of

# Kernels by the most topics that a document of theirs can have.
KERNELS = {128: "sweep_128", 512: "sweep_512"}
WARPS = 8  # of a block
MOST_SMALL = 2.0**30  # units of a word that are sure to fit 32 bits
MOST_SIZES = 1024  # whole sizes below are counted, others listed
MOST_CELLS = 2**26  # of documents and topics whose sizes are counted at a time
MOST_WARPS = 8192  # that have slots in memory, where documents have still more topics
# Bytes on the GPU, at most, of an entry (with what it takes to lay out its tokens) and of a token.
OF_ENTRY, OF_TOKEN, OF_DOC = 40, 22, 64
MOST_FREE = 0.6  # of the memory: topics and their counts are there too


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


@dataclass(frozen=True)
class CudaTokenBlocks(Tokens):
    """Tokens in host memory, which are made anew on the GPU, block by block, sweep after sweep."""

    device: Device
    topics: NDArray[np.uint16]
    small: bool  # the tokens of any word can be counted in 32 bits
    blocks: list[tuple[int, int]]

    def check(self, n_words: int) -> None:
        """Refuse words that the topics do not have."""
        check_words(self.rows.words, n_words)

    def each(self, work: Callable[[CudaTokens], None]) -> None:
        """Do some work for all tokens, and take their topics back."""

        def do(block: tuple[int, int]) -> None:
            here = slice(self.first[block[0]], self.first[block[1]])
            there = self._made(
                self.rows.between(*block), self.keys[slice(*block)], self.topics[here]
            )
            work(there)
            self.topics[here] = there.topics

        self.device.side_by_side(do, self.blocks)

    def histogram(self, share: float) -> SizeHistogram:
        """Count documents by their tokens per topic; see `Engine.histogram`."""
        docs = looked_at(self.keys, share)
        mine = [self.topics[self.first[doc] : self.first[doc + 1]] for doc in docs]
        topics = np.concatenate((self.topics[:0], *mine))
        return self._made(self.rows.take(docs), self.keys[docs], topics).histogram(1.0)

    def _made(self, rows: Rows, keys: NDArray[np.uint64], topics: NDArray[np.uint16]) -> CudaTokens:
        documents = CudaDocuments.of(rows, self.n_words)
        return CudaTokens.made(self.device, documents, self.n_topics, keys, self.shift, topics)


def tokens_made(
    device: Device,
    documents: CudaDocuments,
    n_topics: int,
    copies: NDArray[np.integer] | None = None,
    shift: int | None = None,
    topics: NDArray[np.uint16] | None = None,
) -> CudaTokens | CudaTokenBlocks:
    """Make tokens of documents, on the GPU if they fit there; see `Engine.tokens`."""
    n_entries, n_tokens = int(documents.matrix.indptr[-1]), documents.matrix.data.sum(dtype=float)
    n_bytes = OF_DOC * documents.n_docs + OF_ENTRY * n_entries + OF_TOKEN * n_tokens
    if has_room(device, n_bytes, MOST_FREE):
        keys = documents.keys if copies is None else numbered(documents.content_keys(), copies)
        return CudaTokens.made(device, documents, n_topics, keys, shift, topics)
    host = Tokens.of(documents, n_topics, copies, shift)
    rows = host.rows
    before = OF_ENTRY * rows.indptr + OF_TOKEN * host.first
    before = before + OF_DOC * np.arange(len(before))
    if topics is None:
        topics = np.zeros(host.first[-1], np.uint16)
    of_words = np.bincount(rows.words, rows.counts, minlength=1)
    return CudaTokenBlocks(
        **vars(host),
        device=device,
        topics=np.array(topics),
        small=float(of_words.max()) * 2.0**host.shift < MOST_SMALL,
        blocks=cut(before),
    )
