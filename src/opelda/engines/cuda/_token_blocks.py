"""Tokens that do not fit on a GPU: their topics stay here, and go there and back in blocks."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opelda.engines.cpu._updates import check_words
from opelda.engines.cuda._device import Device
from opelda.engines.cuda._documents import CudaDocuments, cut, has_room
from opelda.engines.cuda._sweeps import MOST_SMALL, CudaTokens
from opelda.engines.seam import Rows, SizeHistogram, Tokens, looked_at, numbered

# Bytes on the GPU, at most, of an entry (with what it takes to lay out its tokens) and of a token.
OF_ENTRY, OF_TOKEN, OF_DOC = 40, 22, 64
MOST_FREE = 0.6  # of the memory: topics and their counts are there too


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
    copies: NDArray[np.integer] | None,
    shift: int | None,
    topics: NDArray[np.uint16] | None,
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
