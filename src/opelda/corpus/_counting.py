"""Counting the blocks of a source: one thread reads, the others count, results come in order."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Any

import polars as pl
from scipy import sparse

from opelda._validation import whole
from opelda.corpus._block import Block
from opelda.corpus._matrix import Counted
from opelda.corpus.sources import Source
from opelda.corpus.text import Tokenizer

# Blocks in flight for each thread.
AHEAD = 2

Counts = Counted | sparse.csr_array
Progress = Callable[[int, int | None, int | None], Any]


class BlockCounter:
    """Counts a source's blocks, texts by a tokenizer."""

    def __init__(self, source: Source, tokenizer: Tokenizer) -> None:
        self.source = source
        self.tokenizer = tokenizer
        # whoever asks for stop words wants them out of counted documents too
        found = tokenizer.stop_words == "auto"  # from texts, of which there are none there
        self.stop_words = tokenizer._removed[1:] if found else tokenizer._removed

    @property
    def resolved(self) -> Tokenizer:
        """The tokenizer for new texts, its language known by the first block."""
        return self.tokenizer.decided

    def run(self, blocks: Iterator[Block], n_threads: int) -> Iterator[tuple[Block, Counts]]:
        """Yield each block with its counts, in order; the next ones are being counted meanwhile.

        Without threads no block is read before the one before it was used.
        """
        first = next(blocks, None)
        if first is None:
            return
        if isinstance(first.documents, pl.Series):  # they decide the language
            self.tokenizer = self.tokenizer.resolved(first.documents)
        blocks = chain([first], blocks)
        del first
        if n_threads:
            yield from self._run_ahead(blocks, n_threads)
        else:
            for block in blocks:
                yield block, self._count(block)

    def _run_ahead(self, blocks: Iterator[Block], n_threads: int) -> Iterator[tuple[Block, Counts]]:
        waiting: deque[Future[tuple[Block, Counts]]] = deque()
        with ThreadPoolExecutor(n_threads) as pool:
            try:
                while True:
                    try:
                        block = next(blocks)
                    except StopIteration:
                        break
                    except Exception as error:  # what was read before it counts all the same
                        waiting.append(Future())
                        waiting[-1].set_exception(error)
                        break
                    waiting.append(pool.submit(lambda one: (one, self._count(one)), block))
                    del block  # none is held here while its counts are used
                    if len(waiting) > AHEAD * n_threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def _count(self, block: Block) -> Counts:
        """Return counts over words, or over the columns of the source."""
        documents = block.documents
        if isinstance(documents, pl.Series):
            return self.tokenizer.count(documents, n_jobs=1)  # blocks are counted side by side
        return documents


def limited(
    source: Source,
    block_size: int,
    limit: int | None = None,
    progress: Progress | None = None,
    position: Any = None,
) -> Iterator[Block]:
    """Yield a source's blocks up to so many documents, and say how far reading is.

    At the end, warn of skipped files.
    """
    most = whole("limit", limit) if limit is not None else 2**63
    n_docs, ended = 0, False
    while not ended:
        size = min(block_size, most - n_docs)
        ended = True
        for block in source.blocks(size, position):
            position = block.position
            if n_docs + len(block) > most:  # of a source that cannot be asked for fewer
                block = block.first(most - n_docs)
            n_docs += len(block)
            yield block
            if progress is not None:
                progress(n_docs, *(source.progress() or (None, None)))
            if n_docs == most:
                source.problems.warn()
                return
            if most - n_docs < size and source.reopens:
                ended = False  # the last block is smaller: ask for it
                break
    source.problems.warn()
